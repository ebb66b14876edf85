#!/usr/bin/env bash
# Builds Release and runs every test: unit, oracle, golden, property, contract, command line, installed
# package, Python package, documentation, layers, format, and a short fuzz run. Warnings are errors. 'make test' calls it; so does CI.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
fuzz_seconds=${CAUCUS_FUZZ_SECONDS:-5}

step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

step "build"
cmake --preset release -DCAUCUS_TESTS=ON -DCAUCUS_EXPERIMENTS=ON -DCAUCUS_UNITY=ON -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
  -DCAUCUS_PYTHON=ON -DPython_EXECUTABLE="$PWD/build/venv/bin/python" >/dev/null
cmake --build --preset release -j "$jobs"

step "tests"
ctest --preset release -j "$jobs" --no-tests=error

if [ "$fuzz_seconds" -gt 0 ] && command -v clang++-16 >/dev/null; then
  step "fuzz each parser for $fuzz_seconds s"
  scripts/fuzz.sh "$fuzz_seconds"
fi
step "all done"
