#!/usr/bin/env bash
# scripts/special-functions.sh NUMBERS_TEST: docs/special-functions.md, from a run of that program, which compares with a hundred digits.
set -euo pipefail
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
CAUCUS_ERROR_TABLE=$rows "$1" --gtest_brief=1 >&2
cat <<PAGE
# Special functions, to how many digits

Made by \`make special-functions\` ($(date +%F)). Every function that sums, integrates or cancels is compared with the same in a hundred digits (Boost.Multiprecision; integrals
and long sums in 34) over its domain, thickest where one formula hands over to another. The error is relative to the true value, or to max(1, value) where a logarithm crosses
zero. \`tests/numbers\` is part of the suite and fails above the bound. Double precision is 1.1e-16. Normalisers under footrule and Spearman's distance are counts over all rankings to 14 items,
held to enumeration in \`distances_test.cc\`; beyond, like Ulam's beyond 60, they are estimates that state their error.

| function | domain | points | worst error | there | bound | measured |
|---|---|---|---|---|---|---|
PAGE
cat "$rows"
