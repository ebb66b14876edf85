#!/usr/bin/env bash
# scripts/check-hardened.sh PROGRAM: is it position-independent, with read-only relocations bound at the start, stack protection and checked string functions?
set -uo pipefail
program=$1
status=0
want() {  # WHAT PATTERN: readelf's output must hold it
  grep -qE "$2" <<<"$facts" || { echo "$program: $1 is missing" >&2; status=1; }
}
facts=$(readelf -W -h -l -d --dyn-syms "$program") || exit 1
want "a position-independent program" 'Type: +DYN'
want "read-only relocations" 'GNU_RELRO'
want "binding at the start" 'BIND_NOW|Flags:.* NOW'
want "a stack that is not executable" 'GNU_STACK.* RW '
want "stack protection" '__stack_chk_fail'
want "checked memory functions" '__(memcpy|memmove|memset|read|snprintf|vsnprintf|fprintf)_chk'
want "checks of the standard library's containers" '__glibcxx_assert_fail'
exit $status
