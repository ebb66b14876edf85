#!/usr/bin/env bash
# Builds a wheel and an sdist into a folder: scripts/wheel.sh FOLDER [pip's settings]. The wheel is repaired by auditwheel: it then holds the
# libraries it needs, and its tag says the oldest glibc it runs on, which is about that of this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
shift
python=build/venv/bin/python
mkdir -p "$folder"
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
$python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$raw" "$@" .
rm -f "$folder"/caucus-*
PATH="$PWD/build/venv/bin:$PATH" $python -m auditwheel --quiet repair --plat auto --wheel-dir "$folder" "$raw"/caucus-*.whl
$python -m build --sdist --no-isolation --outdir "$folder" . >/dev/null
ls -1 "$folder"/caucus-*
