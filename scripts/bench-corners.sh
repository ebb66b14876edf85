#!/usr/bin/env bash
# The slow corners against packages of PyPI, which are put into a virtual environment of their own. Usage: bench-corners.sh CAUCUS [NAME...]
# CAUCUS_DATA names the folder with real data. What is missing is said and left out.
set -euo pipefail
cd "$(dirname "$0")/.."
export CAUCUS_DATA=${CAUCUS_DATA:-../shared/data} BENCH_FOLDER=${BENCH_FOLDER:-build/bench/drawn}
caucus=${1:?usage: bench-corners.sh CAUCUS [NAME...]}
shift
venv=build/bench/peers
if [ ! -e "$venv/bin/python" ]; then
  python3 -m venv "$venv" && "$venv/bin/pip" install --quiet numpy  # nothing goes without it
  for package in choix scikit-learn evalica polars pandas highspy; do
    "$venv/bin/pip" install --quiet "$package" || echo "$package could not be installed: its lines are left out"
  done
fi
"$venv/bin/python" bench/corners.py "$caucus" "$@"
