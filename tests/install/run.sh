#!/usr/bin/env bash
# Installs the built project into a temporary prefix and builds a program that finds it there.
set -euo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$source/tests/install" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/build"
"$work/build/consumer" "$source/examples/town.soi"
"$work/prefix/bin/caucus" info "$source/examples/town.soi" >/dev/null
