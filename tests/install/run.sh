#!/usr/bin/env bash
# Installs the built project into a temporary prefix and builds examples/fit.cc, which finds it there.
set -euo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$source/tests/install" -B "$work/build" -G Ninja -DEXAMPLES="$source/examples" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/build"
"$work/build/fit" "$source/examples/town.soi" | tee "$work/said"
grep -q '^2400 rankings, log-likelihood -16053.45$' "$work/said"
! "$work/build/fit" "$work/no-such-file" 2>/dev/null
# Headers of the library, and none of its tests.
[ -e "$work/prefix/include/caucus/caucus.h" ]
[ -z "$(find "$work/prefix/include" -name '*test*')" ]
"$work/prefix/bin/caucus" info "$source/examples/town.soi" >/dev/null
