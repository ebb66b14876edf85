#!/usr/bin/env bash
# Fits the bundled example and shows what caucus prints. Usage: demo.sh PATH-TO-CAUCUS
set -euo pipefail
caucus=$(realpath "$1")
cd "$(dirname "$0")/.."
out=build/demo
mkdir -p "$out"
say() { printf '\n$ caucus %s\n' "$*"; "$caucus" "$@"; }

say info examples/town.soi
say fit examples/town.soi --out "$out/town.json"
say assign "$out/town.json" examples/town.soi --out "$out/members.csv"
if "$caucus" report --help >/dev/null 2>&1; then  # left out by -DCAUCUS_REPORT=OFF
  say report "$out/town.json" --data examples/town.soi --out "$out/report.html"
  printf '\nThe report is %s: open it in a browser.\n' "$PWD/$out/report.html"
fi
