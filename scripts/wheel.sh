#!/usr/bin/env bash
# A wheel and an sdist: scripts/wheel.sh FOLDER. With a second argument, a build of this tree that has the extension module and the program, a
# wheel alone, put together from what is there. auditwheel repairs wheels: they then hold the libraries they need, and the tag says the oldest
# glibc they run on, which is about that of this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
built=${2:+-Ccmake.define.CAUCUS_BUILT=$(realpath "$2")}
python=build/venv/bin/python
mkdir -p "$folder"
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
$python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$raw" \
  ${built:+"$built" -Cbuild-dir="$raw/build"} .
rm -f "$folder"/caucus-*
PATH="$PWD/build/venv/bin:$PATH" $python -m auditwheel repair --plat auto --wheel-dir "$folder" "$raw"/caucus-*.whl >"$raw/log" 2>&1 || { cat "$raw/log" >&2; exit 1; }
if [ -z "$built" ]; then
  mkdir -p web/dist
  trap 'rm -rf "$raw" web/dist' EXIT
  cp "$(ls -t build/wheel-*/web/page.cc | head -n 1)" web/dist/page.cc
  $python -m build --sdist --no-isolation --outdir "$folder" . >/dev/null
fi
ls -1 "$folder"/caucus-*
