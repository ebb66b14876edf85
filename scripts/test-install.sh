#!/usr/bin/env bash
# 'pip install .' in a fresh clone, and of the sdist of build/wheels, both with build isolation, each into an empty environment.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
try() {  # NAME WHAT: what pip is told to install
  build/venv/bin/python -m venv "$work/$1"
  (cd "$work" && time "$work/$1/bin/python" -m pip install --quiet --disable-pip-version-check "$2")
  (cd "$work" && env -i PATH="$work/$1/bin" python -c 'import caucus; model = caucus.PlackettLuceMixture(3).fit(caucus.examples.town())
assert abs(model.loglik_ + 16053.4486) < 1e-3 and len(model.report()) > 100000' && "$work/$1/bin/caucus" --version)
  echo "pip install of the $1: done"
}
git clone --quiet . "$work/clone"
try clone-env "$work/clone"
try sdist-env "$(realpath "$(ls -t build/wheels/caucus-*.tar.gz | head -n 1)")"
