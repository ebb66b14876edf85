#!/usr/bin/env bash
# clang-tidy over the library and the command line: check-tidy.sh BUILD-FOLDER [LAYER...]. Unity files are read, one a layer, so that
# every header is parsed once a layer: 150 s of CPU for all layers but infer, which is looked at when it is named. The list of checks,
# shadowed names among them, is .clang-tidy. Skipped (exit 77) where the program is missing or the build has no unity files.
set -euo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
command -v clang-tidy-16 >/dev/null || { echo "check-tidy: clang-tidy-16 is not installed" >&2; exit 77; }
layers=("${@:2}")
[ ${#layers[@]} -gt 0 ] || layers=(base data io model result evaluate service report cli)
units=()
for layer in "${layers[@]}"; do
  mapfile -t -O ${#units[@]} units < <(find "$build" -path "*/caucus_$layer.dir/*" -name 'unity_*_cxx.cxx')
done
[ ${#units[@]} -gt 0 ] || { echo "check-tidy: $build has no unity files; configure with -DCAUCUS_UNITY=ON" >&2; exit 77; }
[ -e "$build/compile_commands.json" ] || { echo "check-tidy: $build has no compile_commands.json" >&2; exit 1; }
# Generic warnings of another compiler are its own affair.
printf '%s\0' "${units[@]}" | xargs -0 -n 1 -P "${JOBS:-2}" \
  clang-tidy-16 -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wshadow 2> >(grep -vE 'warnings? generated|Suppressed|Use -header-filter' >&2 || true)
