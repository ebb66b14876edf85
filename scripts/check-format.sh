#!/usr/bin/env bash
# Fails when a C++ file is not as clang-format-16 lays it out ('make format' mends it), when a line is longer than its limit all the same
# (it breaks no word and no raw string), and when a file has more than 600 lines. Skipped (exit 77) where the program is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-format-16 >/dev/null || { echo "check-format: clang-format-16 is not installed" >&2; exit 77; }
files() { find src apps python tests experiments bench examples \( -name '*.h' -o -name '*.cc' \) -print0; }
limit=$(sed -n 's/^ColumnLimit: //p' .clang-format)
bad=0
files | xargs -0 clang-format-16 --dry-run --Werror || bad=1
LC_ALL=C.UTF-8 python3 - "$limit" 3< <(files) <<'PYTHON' || bad=1
import os, sys
limit, bad = int(sys.argv[1]), 0
for path in filter(None, os.fdopen(3).read().split("\0")):
    lines = open(path, encoding="utf-8").read().splitlines()
    for number, line in enumerate(lines, 1):
        if len(line) > limit:
            print(f"{path}:{number}: {len(line)} characters, the limit is {limit}")
            bad = 1
    if len(lines) > 600:
        print(f"{path}: {len(lines)} lines, the limit is 600")
        bad = 1
sys.exit(bad)
PYTHON
exit $bad
