#!/usr/bin/env bash
# scripts/fuzz.sh SECONDS [TARGET...]: fuzzes every parser (or those named) for SECONDS each, one after the other, and adds the time to
# tests/fuzz/corpus/seconds.txt where it is a minute or more. Inputs that break one land in build/fuzz/findings. It begins with
# tests/fuzz/corpus; what was learnt stays in build/fuzz/corpus for the next run.
# scripts/fuzz.sh keep [TARGET...]: the smallest set of inputs that covers what is known goes into tests/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: scripts/fuzz.sh SECONDS|keep [TARGET...]}
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(preflib preflib-old csv-wide csv-matrix csv-long csv-pairwise csv-ratings csv-order jsonl blt cds auto table)

cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzz -j "${JOBS:-$(nproc)}"
build/fuzz/tests/fuzz/write_seeds build/fuzz/seeds
mkdir -p build/fuzz/findings tests/fuzz/corpus
kept=tests/fuzz/corpus
ledger=$kept/seconds.txt  # target, seconds, inputs tried
touch "$ledger"
begin() {
  mkdir -p "build/fuzz/corpus/$1" "build/fuzz/seeds/$1"
  if [ -e "$kept/$1.tar.gz" ]; then tar -xzf "$kept/$1.tar.gz" -C "build/fuzz/corpus/$1"; fi
}
if [ "$seconds" = keep ]; then
  for target in "${targets[@]}"; do
    begin "$target"
    least=build/fuzz/least/$target
    rm -rf "$least" && mkdir -p "$least"
    "build/fuzz/tests/fuzz/fuzz-$target" -merge=1 -max_len=4096 "$least" "build/fuzz/corpus/$target" "build/fuzz/seeds/$target" >"build/fuzz/$target.merge.log" 2>&1
    tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$least" -cf - . | gzip -n9 >"$kept/$target.tar.gz"
    echo "$target: $(find "$least" -type f | wc -l) inputs, $(stat -c %s "$kept/$target.tar.gz") bytes"
  done
  exit 0
fi
failed=0
for target in "${targets[@]}"; do
  begin "$target"
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
    if [ "$seconds" -ge 60 ]; then
      tried=$(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/$target.log")
      awk -v target="$target" -v seconds="$seconds" -v tried="$tried" '
        $1 == target {$2 += seconds; $3 += tried; found = 1} {print}
        END {if (!found) print target, seconds, tried}' "$ledger" >"$ledger.new"
      mv "$ledger.new" "$ledger"
    fi
  fi
done
exit $failed
