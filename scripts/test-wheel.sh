#!/usr/bin/env bash
# Installs a wheel into an empty virtual environment in a clean folder, where nothing but numpy comes with it and neither a compiler nor the
# source is in sight, and runs the tutorial and the command there. scripts/test-wheel.sh SOURCE [BUILD]: the wheel of BUILD, a build of the tree
# that is there; without it the newest of build/wheels (make wheel).
set -euo pipefail
source=$(realpath "$1")
cd "$source"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wheels=build/wheels
if [ -n "${2:-}" ]; then
  wheels=$work/wheels
  scripts/wheel.sh "$wheels" "$2"
fi
wheel=$(ls -t "$wheels"/caucus-*.whl | head -n 1)
case $wheel in
  *-manylinux_*) ;;
  *) echo "$wheel: the tag names no glibc" >&2; exit 1 ;;
esac
build/venv/bin/python -m venv "$work/empty"
"$work/empty/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"
installed=$("$work/empty/bin/python" -m pip list --format=freeze --disable-pip-version-check | sed 's/==.*//' | grep -vE '^(pip|setuptools|wheel)$' | sort | tr '\n' ' ')
[ "$installed" = "caucus numpy " ] || { echo "the wheel brought more than numpy: $installed" >&2; exit 1; }
build/venv/bin/python python/tools/tutorial_script.py examples/tutorial.ipynb >"$work/tutorial.py"
cp examples/town.soi "$work"
cd "$work"
alone() { env -i PATH="$work/empty/bin" HOME="$work" "$@"; }
alone python - <<'PYTHON'
import os, re, sys
import caucus
assert caucus.__file__.startswith(sys.prefix), caucus.__file__
# The libraries that not every Linux has come from the wheel.
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
ours = [path for path in loaded if re.match(r"lib(tbb|hwy|fmt|zstd|xxhash)\b", os.path.basename(path))]
assert len(ours) >= 3 and all(path.startswith(sys.prefix) for path in ours), ours
PYTHON
alone python tutorial.py >/dev/null
[ -s report.html ]
alone caucus --version
alone caucus fit town.soi -k 3 --quiet --out model.json
alone python -c 'import caucus; assert abs(caucus.load("model.json").loglik_ + 16053.4486) < 1e-3'
printf '%s: installed, tutorial and command ran\n' "$(basename "$wheel")"
