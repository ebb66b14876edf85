#!/usr/bin/env bash
# Benchmarks: every program checks its answer first, then prints ratios within one run. Usage: bench.sh [pl|read|mallows|tensor ...]
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || wanted=(read mallows tensor pl)
cmake --preset bench >/dev/null
cmake --build --preset bench -j "${JOBS:-$(nproc)}"
for name in "${wanted[@]}"; do
  echo "== $name"
  case "$name" in
    pl) scripts/bench-pl.sh ;;
    *) "build/bench/${name}_bench" ;;
  esac
done
