#!/usr/bin/env bash
# Fails where a family's name stands quoted outside infer/ and tests: what the outside needs to know of a family stands in its
# FamilyInfo, so that a new one is one folder and one line in the list (CONTRIBUTING.md). Fails too where the format of files reaches
# a header of the typed layers.
set -euo pipefail
cd "$(dirname "$0")/.."
bad=0
complain() { echo "$1: $2" >&2; bad=1; }

names=$(grep -rhoE "(return \{|^ +)\.name = \"[a-z0-9-]+\"" src/caucus/infer/*/family.cc | sed -E 's/.*"(.*)"/\1/' | sort -u | paste -sd "|")
[ -n "$names" ] || { echo "no family found in src/caucus/infer/*/family.cc" >&2; exit 1; }
while IFS= read -r hit; do complain "$hit" "a family's name outside infer/"; done < <(
  grep -rnE "\"($names)\"" src/caucus apps --include='*.h' --include='*.cc' --include='*.ts' |
    grep -vE '^src/caucus/infer/|_(test|bench)\.cc:|:[0-9]+: *//' || true)

# record_json.h and model_json.h are private to the writer and reader of model files.
while IFS= read -r hit; do complain "$hit" "JSON in a header"; done < <(
  grep -rnE 'nlohmann' src/caucus/{base,data,io,model,infer,result,evaluate,service} --include='*.h' |
    grep -vE '^src/caucus/result/(record|model)_json\.h:' || true)
exit $bad
