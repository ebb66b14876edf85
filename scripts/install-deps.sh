#!/usr/bin/env bash
# Installs what caucus needs to build, from Debian's packages. Does nothing when all is there.
# "scripts/install-deps.sh test" adds what only the tests and checks need, "browser" also a browser for the report's tests. "python" makes a
# virtual environment in build/venv with what the Python package's tests need, from PyPI: Debian's own Python is not to be changed by pip.
set -euo pipefail

build=(g++ cmake ninja-build ccache
       libeigen3-dev libboost-dev libtbb-dev libhwy-dev libcli11-dev libfmt-dev
       nlohmann-json3-dev libfast-float-dev libxxhash-dev libzstd-dev zlib1g-dev
       nodejs npm)
python=(python3 python3-dev python3-venv)
test=(libopenmpi-dev openmpi-bin libgtest-dev libbenchmark-dev librapidcheck-dev python3 python3-jsonschema clang-16 libclang-rt-16-dev clang-format-16 clang-tidy-16)
browser=(chromium fonts-dejavu-core)

packages=("${build[@]}")
[ "${1:-build}" = python ] && packages+=("${python[@]}")
[[ "${1:-build}" == test || "${1:-build}" == browser ]] && packages+=("${test[@]}")
[ "${1:-build}" = browser ] && packages+=("${browser[@]}")

missing=()
for package in "${packages[@]}"; do
  # Any node from 18 on will do, wherever it comes from.
  if [[ $package == nodejs || $package == npm ]] && command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2>/dev/null; then continue; fi
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
install_missing() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "install-deps: run as root or install sudo; missing: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  echo "Installing: ${missing[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
[ ${#missing[@]} -eq 0 ] || install_missing

# The virtual environment is made anew when the list of packages changes.
venv() {
  local folder=build/venv list=python/requirements-test.txt
  cmp -s "$list" "$folder/installed.txt" && return
  echo "Installing the Python packages of $list into $folder" >&2
  python3 -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$list"
  cp "$list" "$folder/installed.txt"
}
cd "$(dirname "$0")/.."
[ "${1:-build}" != python ] || venv
