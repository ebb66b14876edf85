#!/usr/bin/env bash
# Fails when a file includes a layer it may not: see docs/design.md, "One direction".
set -euo pipefail
cd "$(dirname "$0")/.."
declare -A number=([base]=0 [data]=1 [io]=2 [model]=2 [result]=3 [infer]=4 [evaluate]=5 [service]=6 [report]=7 [caucus.h]=8)
bad=0
complain() { echo "$1" >&2; bad=1; }

while IFS=: read -r file line include; do
  layer=$(cut -d/ -f3 <<<"$file")
  target=$(sed -E 's|.*"caucus/([a-z_]+)/.*|\1|' <<<"$include")
  [ -n "${number[$layer]:-}" ] || complain "$file: unknown layer $layer"
  if [ "$layer" != "$target" ] && [ "${number[$target]}" -ge "${number[$layer]}" ]; then
    complain "$file:$line: layer $layer (${number[$layer]}) includes $target (${number[$target]})"
  fi
  # No family includes another. A folder without family.cc is a library of procedures, open to all families.
  if [ "$layer" = infer ] && [ "$target" = infer ]; then
    own=$(cut -d/ -f4 <<<"$file")
    other=$(sed -E 's|.*"caucus/infer/([^"/]+)/.*|\1|;t;s|.*||' <<<"$include")
    [ -z "$other" ] || [ "$other" = "$own" ] || [ ! -e "src/caucus/infer/$other/family.cc" ] || complain "$file:$line: family $own includes family $other"
  fi
done < <(grep -rnE '^#include "caucus/' src/caucus --include='*.h' --include='*.cc')

# The library never prints, exits or reads the environment; MPI, Python and argument parsing stay in apps.
while IFS= read -r hit; do complain "$hit: not in the library"; done < <(
  grep -rnE '<(iostream|CLI/|mpi\.h|Python\.h|csignal)|std::(cout|cerr|exit|getenv)|\bgetenv\(|\bexit\(' src/caucus \
    --include='*.h' --include='*.cc' | grep -vE '_(test|bench)\.cc:' || true)
exit $bad
