#!/usr/bin/env bash
# scripts/fuzz.sh SECONDS [TARGET...]: fuzzes every parser (or those named) for SECONDS each, one after the other. Inputs that
# break one land in build/fuzz/findings. What was learnt stays in build/fuzz/corpus for the next run.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: scripts/fuzz.sh SECONDS [TARGET...]}
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(preflib preflib-old csv-wide csv-matrix csv-long csv-pairwise csv-ratings csv-order jsonl blt cds auto table)

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzz -j "${JOBS:-$(nproc)}"
build/fuzz/tests/fuzz/write_seeds build/fuzz/seeds
mkdir -p build/fuzz/findings
failed=0
for target in "${targets[@]}"; do
  mkdir -p "build/fuzz/corpus/$target" "build/fuzz/seeds/$target"
  regressions=()
  [ -d "tests/fuzz/regressions/$target" ] && regressions=("tests/fuzz/regressions/$target")
  echo "fuzz $target for $seconds s"
  if ! "build/fuzz/tests/fuzz/fuzz-$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
      -malloc_limit_mb=512 -print_final_stats=1 -artifact_prefix="build/fuzz/findings/$target-" \
      "build/fuzz/corpus/$target" "build/fuzz/seeds/$target" ${regressions[@]+"${regressions[@]}"} >"build/fuzz/$target.log" 2>&1; then
    echo "fuzz $target: a finding, see build/fuzz/$target.log" >&2
    tail -30 "build/fuzz/$target.log" >&2
    failed=1
  else
    grep -E 'number_of_executed_units|peak_rss_mb' "build/fuzz/$target.log" | sed 's/^stat::/  /'
  fi
done
exit $failed
