#!/usr/bin/env bash
# Benchmarks: every program checks its answer first, then prints ratios within one run. Usage: bench.sh [pl|read|mallows|tensor|scale|corners ...]
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || wanted=(read mallows tensor pl scale corners)
cmake --preset bench >/dev/null
cmake --build --preset bench -j "${JOBS:-$(nproc)}"
for name in "${wanted[@]}"; do
  echo "== $name"
  case "$name" in
    pl) scripts/bench-pl.sh ;;
    scale) python3 bench/scale.py build/bench/caucus "$([ -x build/bench/caucus-mpi ] && echo build/bench/caucus-mpi || echo -)" "${BALLOTS:-1e7}" ;;
    corners) scripts/bench-corners.sh build/bench/caucus ;;
    *) "build/bench/${name}_bench" ;;
  esac
done
