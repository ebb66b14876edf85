#!/usr/bin/env bash
# Reports in a real browser: pages of made-up data for every family, and pages that the command writes. Skipped (exit 77) without Chromium.
#   scripts/test-report.sh BUILD_DIR
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:?usage: scripts/test-report.sh BUILD_DIR}")
out=$build/report-test
rm -rf "$out"
mkdir -p "$out"

node web/tools/fixtures.mjs "$out/fixtures"
# Votes of two camps, with names that would do harm if a browser read them as markup.
cat >"$out/votes.soi" <<'VOTES'
# FILE NAME: votes.soi
# TITLE: Harmful names
# NUMBER ALTERNATIVES: 5
# NUMBER VOTERS: 330
# NUMBER UNIQUE ORDERS: 6
# ALTERNATIVE NAME 1: <script>alert(1)</script>
# ALTERNATIVE NAME 2: </script>
# ALTERNATIVE NAME 3: <img src=x onerror=alert(1)>
# ALTERNATIVE NAME 4: Library & "Park"
# ALTERNATIVE NAME 5: <!-- Zoë
120: 1,2,3,4,5
60: 2,1,3
40: 5,4,3,2,1
70: 5,4,3
30: 4,5
10: 3,1,5
VOTES
grep -E '^#|: ([0-9],){4}' "$out/votes.soi" >"$out/complete.soi"  # some families take complete rankings only
caucus=$build/caucus
families=$("$caucus" families --json | python3 -c 'import json,sys; print(*[f["name"] for f in json.load(sys.stdin)["families"]])')
for family in $families; do
  votes=$out/votes.soi more=()
  case $family in
    pl | mallows | gmallows) more=(-k 2) ;;
    m4) votes=$out/complete.soi more=(-k 2) ;;
    dpm) more=(--iterations 200 --burnin 100 --chains 2) ;;
  esac
  "$caucus" fit "$votes" --family "$family" "${more[@]}" --out "$out/$family.json" --report "$out/$family.html" --quiet >/dev/null
done
"$caucus" select "$out/votes.soi" -k 1..3 --out "$out/chosen.json" --report "$out/select.html" --quiet >/dev/null
"$caucus" fit "$out/votes.soi" --out "$out/one.json" --quiet >/dev/null
"$caucus" report "$out/one.json" "$out/pl.json" --data "$out/votes.soi" --out "$out/changes.html" --quiet
"$caucus" report "$out/pl.json" --out "$out/no-data.html" --quiet
python3 scripts/check-report-data.py "$out"/*.html "$out"/fixtures/*.html

if [ -z "${CHROMIUM:=$(command -v chromium || command -v chromium-browser || true)}" ]; then
  echo "test-report: no Chromium here; the pages were made but not opened" >&2
  exit 77
fi
export CHROMIUM
# What the command does not make from these votes comes from made-up data: regression, several models, 500 items in 100 groups.
node web/tools/browser.mjs "$out"/*.html "$out"/fixtures/{evil,regression,compare,large}.html
