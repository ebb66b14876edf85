#!/usr/bin/env bash
# scripts/valgrind.sh CAUCUS: every family's fit, and what is done with a model afterwards, under valgrind on small data. Fails where it reads memory that was never
# written or not its own, or loses any.
set -euo pipefail
cd "$(dirname "$0")/.."
caucus=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
checked=0
check() {
  checked=$((checked + 1))
  if ! valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite "$caucus" "$@" --threads 1 >"$folder/out" 2>"$folder/err"; then
    echo "valgrind: caucus $*" >&2
    cat "$folder/err" >&2
    exit 1
  fi
}
python3 - "$folder" <<'PY'
import random, sys
draw = random.Random(1)
head = "# NUMBER ALTERNATIVES: 5\n" + "".join(f"# ALTERNATIVE NAME {i}: item {i}\n" for i in range(1, 6))
def ballots(length, ties=False):
    for _ in range(12):
        order = [str(i) for i in draw.sample(range(1, 6), 5)][:length]
        if ties:
            order[1:3] = ["{" + ",".join(order[1:3]) + "}"]
        yield "1: " + ",".join(order) + "\n"
for name, length, ties in (("whole.soc", 5, False), ("top.soi", 3, False), ("ties.toc", 5, True)):
    with open(f"{sys.argv[1]}/{name}", "w") as out:
        out.write(head + "".join(ballots(length, ties)))
with open(f"{sys.argv[1]}/table.csv", "w") as out:
    out.write("x,z,y\n" + "".join(f"{draw.random():.3f},{draw.choice('pq')},{draw.choice('abc')}\n" for _ in range(30)))
PY
for method in em em-lsr emm em-cml em-gmm em-slsr spectral gibbs; do
  check fit "$folder/whole.soc" -k 2 --restarts 1 --method "$method" --iterations 5 $([ "$method" = gibbs ] && echo --sweeps 40 --burnin 10) --out "$folder/pl-$method.json"
done
check fit "$folder/ties.toc" -k 2 --restarts 1 --iterations 5 --bootstrap 2 --out "$folder/ties.json"
check fit "$folder/top.soi" -k 2 --restarts 1 --iterations 5 --dampening on --out "$folder/damp.json"
for distance in kendall spearman footrule hamming cayley ulam; do
  check fit "$folder/whole.soc" --family mallows -k 2 --restarts 1 --distance "$distance" --out "$folder/mallows-$distance.json"
done
check fit "$folder/top.soi" --family mallows -k 2 --restarts 1 --unranked absent --out "$folder/subset.json"
check fit "$folder/whole.soc" --family mallows -k 2 --restarts 1 --method tensor --out "$folder/tensor.json"
check fit "$folder/top.soi" --family gmallows -k 2 --restarts 1 --bootstrap 2 --out "$folder/gmallows.json"
for method in exact cccp sgd searchpi; do check fit "$folder/whole.soc" --family m4 -k 2 --restarts 1 --method "$method" --iterations 5 --out "$folder/m4.json"; done
for method in exact-gibbs beta-gibbs slice-gibbs; do
  check fit "$folder/top.soi" --family dpm --method "$method" --sweeps 30 --burnin 5 --chains 1 --split-merge 1 --out "$folder/dpm.json"
done
check fit "$folder/top.soi" --family kde --out "$folder/kde.json"
check fit "$folder/whole.soc" --family ebms --out "$folder/ebms.json"
check select "$folder/top.soi" --components 1..2
for model in pl-em ties mallows-kendall gmallows m4 dpm kde; do
  data=whole.soc
  [ "$model" = ties ] && data=ties.toc
  check score "$folder/$model.json" "$folder/$data"
  check assign "$folder/$model.json" "$folder/$data"
done
for method in em gibbs variational logit-lasso; do
  check regress "$folder/table.csv" --target y --method "$method" $([[ $method = gibbs || $method = logit-lasso ]] && echo --sweeps 40 --burnin 10) --out "$folder/regress.json"
done
echo "valgrind: $checked commands, nothing found"
