#!/usr/bin/env bash
# Speed of the family pl as ratios in one run; answers are checked first. CAUCUS_DATA names the folder with real data.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${CAUCUS_DATA:-../shared/data}
cmake --preset bench >/dev/null
cmake --build --preset bench --target pl_speed_bench >/dev/null
bench=$PWD/build/bench/pl_speed_bench

for part in pass threads scale large; do "$bench" $part; done  # one process each, so that the memory is its own
sushi=$data/preflib/00014-00000001.soc west=$data/preflib/00001-00000002.soi apa=$data/classic/apa1980_complete.soc
for job in "$sushi 1" "$sushi 2" "$sushi 3" "$sushi 5" "$west 1" "$west 2" "$west 3" "$apa 2"; do
  set -- $job
  [ -e "$1" ] && "$bench" fit "$1" "$2"
done
[ -e "$sushi" ] && "$bench" gibbs "$sushi" 3

venv=build/bench/venv
if [ ! -e "$venv/bin/python" ]; then
  python3 -m venv "$venv" && "$venv/bin/pip" install --quiet choix numpy
fi
"$venv/bin/python" bench/pl_peers.py "$bench" "$sushi"
