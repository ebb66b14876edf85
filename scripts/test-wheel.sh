#!/usr/bin/env bash
# Installs the wheel into an empty virtual environment in a clean folder, where nothing but numpy comes with it, and runs the tutorial there.
# scripts/test-wheel.sh SOURCE [pip's settings]
set -euo pipefail
source=$1
shift
cd "$source"
scripts/wheel.sh build/wheels "$@"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build/venv/bin/python -m venv "$work/empty"
"$work/empty/bin/python" -m pip install --quiet --disable-pip-version-check "$PWD"/build/wheels/caucus-*.whl
build/venv/bin/python python/tools/tutorial_script.py examples/tutorial.ipynb >"$work/tutorial.py"
cd "$work"
unset PYTHONPATH
installed=$("$work/empty/bin/python" -m pip list --format=freeze --disable-pip-version-check | sed 's/==.*//' | grep -vE '^(pip|setuptools|wheel)$' | sort | tr '\n' ' ')
[ "$installed" = "caucus numpy " ] || { echo "the wheel brought more than numpy: $installed" >&2; exit 1; }
"$work/empty/bin/python" tutorial.py
[ -s report.html ]
"$work/empty/bin/caucus" --version
"$work/empty/bin/caucus" fit "$source/examples/town.soi" -k 3 --quiet --out model.json
"$work/empty/bin/python" -c 'import caucus; assert abs(caucus.load("model.json").loglik_ + 16053.4486) < 1e-3'
# The libraries it needs are its own or the system's C library.
