#!/usr/bin/env bash
# Fails where a family's name stands quoted outside infer/ and tests: what the outside needs to know of a family stands in its
# FamilyInfo, so that a new one is one folder and one line in the list (CONTRIBUTING.md). Fails too where the format of files reaches
# a header of the typed layers, and where a family has another shape than the rest.
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

# Every family has the same shape, and its namespace is its folder. A folder without family.cc is a library of procedures.
for folder in src/caucus/infer/*/; do
  name=$(basename "$folder")
  while IFS= read -r hit; do complain "$hit" "the namespace of this folder is caucus::$name"; done < <(
    grep -nE '^namespace caucus::' "$folder"*.h "$folder"*.cc | grep -vE ":namespace caucus::$name(::[A-Za-z_:]+)? \{" || true)
  [ -e "$folder/family.cc" ] || continue
  for file in README.md options.h fit.h fitted.h family.h; do
    [ -e "$folder$file" ] || complain "$folder" "a family has a $file"
  done
done
exit $bad
