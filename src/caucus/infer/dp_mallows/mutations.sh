#!/usr/bin/env bash
# Plants one small error at a time in a copy of the sampler's sources and expects a test to fail for each.
#   mutations.sh BUILD_FOLDER      (an existing build with infer_dp_mallows_test)
# Only the changed file is compiled; it is linked before the library, so its symbols win. First the same without an error: all must pass.
set -uo pipefail
source=$(cd "$(dirname "$0")/../../../.." && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=src/caucus/infer/dp_mallows
survived=0

# mutate FILE 's/old/new/' TEST_FILTER WHAT
mutate() {
  local file=$1 change=$2 filter=$3 what=$4
  mkdir -p "$work/$here"
  sed -E "$change" "$source/$here/$file" > "$work/$here/$file"
  if [ -n "$change" ] && cmp -s "$source/$here/$file" "$work/$here/$file"; then echo "DOES NOT APPLY: $what"; survived=1; return; fi
  g++ -std=c++20 -O2 -DNDEBUG -I"$source/src" -c "$work/$here/$file" -o "$work/mutant.o" || { echo "DOES NOT COMPILE: $what"; survived=1; return; }
  g++ -o "$work/mutant" "$work/mutant.o" "$build"/CMakeFiles/infer_dp_mallows_test.dir/$here/*_test.cc.o -Wl,--allow-multiple-definition \
      "$build"/libcaucus_infer.a "$build"/libcaucus_result.a "$build"/libcaucus_model.a "$build"/libcaucus_io.a "$build"/libcaucus_data.a \
      "$build"/libcaucus_base.a -lgtest -lgtest_main -lhwy -ltbb -lfmt -lz -lzstd -lpthread || { echo "DOES NOT LINK: $what"; survived=1; return; }
  if "$work/mutant" --gtest_filter="$filter" --gtest_brief=1 > /dev/null 2>&1; then
    if [ -n "$change" ]; then echo "SURVIVED: $what"; survived=1; else echo "passes: $what"; fi
  elif [ -n "$change" ]; then echo "killed: $what"; else echo "FAILS: $what"; survived=1; fi
}

exact='Chain.ExactGibbsKeepsTheExactPosterior'
slice='Chain.SliceGibbsKeepsTheExactPosterior:Chain.ANewClustersThetaCountsItsBallot'
mutate chain.cc '' "$exact:$slice:CenterSampler.*:StageQuadrature.*:Chain.SplitMergeKeepsTheExactPosterior" "the sampler as it is"
mutate table.cc 's/log_size_\[slot\] = size_\[slot\] > 0.0 \? std::log\(size_\[slot\]\) : -infinity;/log_size_[slot] = size_[slot] > 0.0 ? std::log(size_[slot] + (sign < 0.0 ? 1.0 : 0.0)) : -infinity;/' \
  "$exact" "N in place of N_{-i} in the weight of the old cluster"
mutate table.cc 's/counts_\[j \* stride_ \+ slot\] \+= sign;/if (sign > 0.0) counts_[j * stride_ + slot] += sign;/' "$exact" "stage counts still hold the ballot that left"
mutate table.cc 's/sums_\[j \* stride_ \+ slot\] \+= sign \* scratch_codes_\[j\];/if (sign > 0.0) sums_[j * stride_ + slot] += scratch_codes_[j];/' "$exact" "stage sums still hold the ballot that left"
mutate chain.cc 's/if \(emptied\) table_.release\(old_slot\);/if (emptied) table_.set_candidate(old_slot, 0.0);/' "$exact" "an emptied cluster stays in the race"
mutate chain.cc 's/std::log\(alpha_\) \+ prior_.log_new\(ranking.size\(\)\)/std::log(alpha_) + prior_.log_new(points_.num_items)/' "$exact" "1 \/ n! for a new cluster whatever the length"
mutate chain.cc 's/prior_.stage_size\(j\), cluster.prior\[j\] \+ code, prior_.nu\(\) \+ more, rng_/prior_.stage_size(j), cluster.prior[j] + code, prior_.nu(), rng_/' "$slice" "theta of a new cluster forgets its ballot's count"
mutate stage.cc 's/\(1.0 \+ b\) \/ a\)/(2.0 + b) \/ a)/; s/log_value = -a \* node - b \* log_z/log_value = -a * node - (b + 0.1) * log_z/' "$exact:StageQuadrature.*" "b off by a tenth in the integral"
mutate center.cc 's/log_sum \+= log_total - remaining;/log_sum += log_total;/' "$exact:CenterSampler.*" "normalisers of the stages without the remaining cost"
mutate center.cc 's/gain_\[items\[p\]\] -= loss;/if (p + 1 < stage) gain_[items[p]] -= loss;/' "$exact:CenterSampler.*" "the item just before keeps its gain"
mutate split_merge.cc 's/log_ratio -= scan_labels\(points, labels, nullptr\);/scan_labels(points, labels, nullptr);/' "Chain.SplitMergeKeepsTheExactPosterior" "the proposal's label probability left out of the ratio"
exit $survived
