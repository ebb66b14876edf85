#include "caucus/infer/mallows_tensor/learn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/infer/mallows_tensor/recover.h"

namespace caucus::mallows_tensor {
namespace {

double threshold_of(const TopCounts& counts, const LearnOptions& options) {
  return options.conditioning.value_or(std::min(0.1, 10.0 / std::sqrt(std::max(counts.total(), 1.0))));
}

void sort_candidates(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
}

void add_new(std::vector<Candidate>& candidates, Candidate candidate) {
  for (Candidate& known : candidates)
    if (same_centers(known.pair, candidate.pair)) {
      if (candidate.score > known.score) known = std::move(candidate);
      return;
    }
  candidates.push_back(std::move(candidate));
}

void order_by_weight(MallowsPair& pair) {
  if (pair.weight[0] >= pair.weight[1]) return;
  std::swap(pair.weight[0], pair.weight[1]);
  std::swap(pair.theta[0], pair.theta[1]);
  std::swap(pair.center[0], pair.center[1]);
}

}  // namespace

std::string_view name_of(Branch branch) {
  switch (branch) {
    case Branch::decomposition:
      return "decomposition";
    case Branch::moved_items:
      return "moved items";
    case Branch::recursion:
      return "recursion";
    case Branch::one_ranking:
      return "one ranking";
    case Branch::exhaustive:
      return "exhaustive";
  }
  return "";
}

std::vector<Candidate> learn_by_decomposition(const TopCounts& counts, const LearnOptions& options, std::uint64_t seed,
                                              LearnResult& report) {
  const std::size_t n = counts.num_items();
  report.threshold = threshold_of(counts, options);
  std::vector<Candidate> candidates;
  if (n < min_partition_items || !(counts.total() > 0.0)) return candidates;
  const MomentScore score(counts);
  const double noise = 3.0 / std::sqrt(counts.total());
  const int repeats =
      options.partitions > 0 ? options.partitions : 8 * static_cast<int>(std::ceil(std::log2(static_cast<double>(n))));
  for (int repeat = 0; repeat < repeats && !options.stopped(); ++repeat) {
    RandomStream random(seed, Purpose::initialise, static_cast<std::uint64_t>(repeat));
    const Partition partition = random_partition(n, random);
    const Eigen::MatrixXd tensor = partition_tensor(counts, partition);
    const Decomposition decomposition = tensor_decomp(tensor, partition[1].size(), partition[2].size());
    ++report.partitions_tried;
    // A rank-2 direction that sampling alone would give says nothing, however well conditioned it looks: each unfolding's second
    // singular value must exceed the expected norm of the error of its entries, sqrt(sum p / N).
    const double sampling_error = std::sqrt(tensor.sum() / counts.total());
    double evidence = infinity;
    for (const auto& values : decomposition.unfolding) evidence = std::min(evidence, values[1] / sampling_error);
    const double conditioning = evidence > 1.0 ? decomposition.conditioning() : 0.0;
    if (repeat == 0 || conditioning > report.conditioning) {
      report.conditioning = conditioning;
      report.evidence = evidence;
      report.second_singular_value = decomposition.second_singular_value;
      report.unfolding = decomposition.unfolding;
    }
    if (!(conditioning > report.threshold)) continue;
    const TopK top = infer_top_k(counts, partition, decomposition, noise);
    if (!top.usable) continue;
    ++report.partitions_passed;

    const ItemId star = most_telling_item(counts, top);
    Candidate best;
    best.score = -infinity;
    const auto consider = [&](MallowsPair pair, ItemId item, const char* how) {
      pair = score.fit_parameters(assign_ranks(counts, pair, item), 15);
      const double value = score(pair);
      if (value > best.score) best = Candidate{std::move(pair), value, how};
    };
    if (const auto pivot = find_pivot(counts, top, 0.9, 100.0 / counts.total()))
      consider(recover_by_pivot(counts, top, *pivot), pivot->item, "pivot");
    consider(recover_by_linear_system(counts, top), star, "linear system");
    MallowsPair sorted;
    sorted.weight = top.weight;
    sorted.theta = top.theta;
    sorted.center = top.order;
    consider(std::move(sorted), star, "prefix");
    add_new(candidates, std::move(best));
  }
  sort_candidates(candidates);
  if (options.climb) {
    std::vector<Candidate> climbed;
    const std::size_t tries = std::min<std::size_t>(candidates.size(), n <= 20 ? 6 : 2);
    for (std::size_t i = 0; i < tries; ++i) {
      candidates[i].pair = score.climb(candidates[i].pair, n <= 20, options.stop);
      candidates[i].score = score(candidates[i].pair);
      add_new(climbed, candidates[i]);
    }
    candidates = std::move(climbed);
    sort_candidates(candidates);
  } else if (!candidates.empty()) {
    candidates.front().pair = score.fit_parameters(candidates.front().pair);
    candidates.front().score = score(candidates.front().pair);
  }
  return candidates;
}

LearnResult learn_two_mallows(const TopCounts& counts, const CountSource& source, const LearnOptions& options, std::uint64_t seed) {
  if (counts.num_items() < 2) throw UsageError("method tensor needs at least two items");
  const MomentScore score(counts);
  LearnResult result;
  std::vector<Candidate> candidates;
  if (counts.num_items() < min_partition_items) {
    result.threshold = threshold_of(counts, options);
    candidates = explain_exhaustively(counts, 1.0, 6);
    result.branch = Branch::exhaustive;
    result.warnings.push_back(
        fmt::format("{} items are too few for the top-3 tensor (6 are needed): all pairs of rankings were compared instead",
                    counts.num_items()));
  } else {
    candidates = learn_by_decomposition(counts, options, seed, result);
    // A pair that explains the top-3 counts badly may still be a degenerate one that noise carried over the threshold.
    const bool doubtful =
        candidates.empty() || result.conditioning < 3.0 * result.threshold || score.triple_misfit(candidates.front().pair) > 2.0;
    if (options.stopped()) {
      if (candidates.empty()) {
        candidates.push_back(explain_by_one_ranking(counts));
        result.branch = Branch::one_ranking;
      }
    } else if (doubtful) {
      Degenerate degenerate = handle_degenerate_cases(counts, source, options, seed);
      if (candidates.empty() || degenerate.best.score > candidates.front().score) {
        result.branch = degenerate.branch;
        result.common_prefix = degenerate.common_prefix;
        candidates.insert(candidates.begin(), degenerate.best);
      } else {
        add_new(candidates, degenerate.best);
      }
      for (Candidate& other : degenerate.others) add_new(candidates, std::move(other));
      add_new(candidates, explain_by_one_ranking(counts));
      if (result.branch != Branch::decomposition) {
        const Candidate chosen = candidates.front();
        sort_candidates(candidates);
        const auto found = std::find_if(candidates.begin(), candidates.end(),
                                        [&](const Candidate& c) { return same_centers(c.pair, chosen.pair); });
        std::rotate(candidates.begin(), found, found + 1);
      }
    }
    if (result.branch != Branch::decomposition)
      result.warnings.push_back(
          fmt::format("no partition of the items separates the two models (best conditioning {:.2g}, needed {:.2g}): {} branch",
                      result.conditioning, result.threshold, name_of(result.branch)));
    else if (result.conditioning < 3.0 * result.threshold)
      result.warnings.push_back(
          fmt::format("the decomposition is near its noise (conditioning {:.2g}, threshold {:.2g}): treat the result as a start",
                      result.conditioning, result.threshold));
  }
  if (candidates.size() > 8) {
    // The simplest explanation stays among those handed on, however it scores.
    const auto one =
        std::find_if(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.pair.center[0] == c.pair.center[1]; });
    if (one != candidates.end() && one - candidates.begin() >= 8) std::swap(candidates[7], *one);
    candidates.resize(8);
  }
  for (Candidate& candidate : candidates) order_by_weight(candidate.pair);
  result.pair = candidates.front().pair;
  result.rest = candidates.front().rest;
  result.score = candidates.front().score;
  result.misfit = score.triple_misfit(result.pair);
  result.candidates = std::move(candidates);
  return result;
}

}  // namespace caucus::mallows_tensor
