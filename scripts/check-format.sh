#!/usr/bin/env bash
# Fails when a C++ file is not as clang-format-16 lays it out; 'make format' mends it. Skipped (exit 77) where the program is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-format-16 >/dev/null || { echo "check-format: clang-format-16 is not installed" >&2; exit 77; }
find src apps python tests experiments bench examples \( -name '*.h' -o -name '*.cc' \) -print0 | xargs -0 clang-format-16 --dry-run --Werror
