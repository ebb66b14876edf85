#!/usr/bin/env bash
# scripts/validate-quick.sh PATH-TO-CAUCUS: a dozen data sets of every study; fails where a sampler or an interval is off beyond chance.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python=${PYTHON:-python3}
"$python" scripts/validate.py run --quick --caucus "$1" --out "$folder"
"$python" scripts/validate.py summary --out "$folder" --results "$folder/summary.json"
