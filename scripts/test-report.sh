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
    dpm) more=(--sweeps 200 --burnin 100 --chains 2) ;;
  esac
  "$caucus" fit "$votes" --family "$family" "${more[@]}" --out "$out/$family.json" --report "$out/$family.html" --quiet >/dev/null
done
"$caucus" select "$out/votes.soi" -k 1..3 --out "$out/chosen.json" --report "$out/select.html" --quiet >/dev/null
"$caucus" fit "$out/votes.soi" -k 1 --out "$out/one.json" --quiet >/dev/null
"$caucus" report "$out/one.json" "$out/pl.json" --data "$out/votes.soi" --out "$out/changes.html" --quiet
"$caucus" report "$out/pl.json" --out "$out/no-data.html" --quiet
"$caucus" compare "$out/votes.soi" --families pl,mallows,kde -k 1..2 --folds 3 --out "$out/compared.json" --report "$out/compare.html" --quiet >/dev/null
# Three kinds of animal, told apart by size.
python3 - "$out/animals.csv" <<'ANIMALS'
import random, sys
draw = random.Random(4)
with open(sys.argv[1], "w") as file:
    print("size,age,colour,kind", file=file)
    for _ in range(150):
        kind = draw.choice(["ant", "<b>bee</b>", "cow"])
        center = {"ant": 0.0, "<b>bee</b>": 2.0, "cow": 5.0}[kind]
        print(f"{draw.gauss(center, 1.2):.3f},{draw.gauss(40, 9):.1f},{draw.choice(['red', 'blue'])},{kind}", file=file)
ANIMALS
"$caucus" regress "$out/animals.csv" --target kind --method gibbs --sweeps 400 --path "$out/path.csv" --path-grid 1,0.3,0.1 --out "$out/regress.json" --report "$out/regress.html" --quiet >/dev/null

# Real elections and polls, where they are at hand.
shared=${CAUCUS_DATA:-$PWD/../shared/data}
if [ -e "$shared/preflib/00001-00000003.soi" ]; then
  "$caucus" fit "$shared/preflib/00001-00000003.soi" -k 4 --out "$out/meath.json" --report "$out/meath.html" --quiet >/dev/null
else
  echo "test-report: no Meath 2002 in $shared, so no page of a real election" >&2
fi
if [ -e "$shared/preflib/00014-00000001.soc" ]; then
  "$caucus" fit "$shared/preflib/00014-00000001.soc" -k 5 --out "$out/sushi.json" --quiet >/dev/null
  # One thread's processor time: what a quiet machine takes at most, however busy this one is.
  python3 - "$caucus" report "$out/sushi.json" --data "$shared/preflib/00014-00000001.soc" --threads 1 --out "$out/sushi.html" --quiet <<'TIME'
import resource, subprocess, sys
best = None
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(sys.argv[1:], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    best = took if best is None else min(best, took)
print(f"report of Sushi, K = 5: {best:.2f} s")
sys.exit(0 if best < 1.0 else "the report of Sushi, K = 5, takes more than a second")
TIME
else
  echo "test-report: no Sushi in $shared, so the time to write its report was not measured" >&2
fi
python3 scripts/check-report-data.py "$out"/*.html "$out"/fixtures/*.html

if [ -z "${CHROMIUM:=$(command -v chromium || command -v chromium-browser || true)}" ]; then
  echo "test-report: no Chromium here; the pages were made but not opened" >&2
  exit 77
fi
export CHROMIUM
# What the command does not make from these votes comes from made-up data: regression, several models, 500 items in 100 groups.
node web/tools/browser.mjs "$out"/*.html "$out"/fixtures/{evil,election,battles,regression,compare,large}.html
