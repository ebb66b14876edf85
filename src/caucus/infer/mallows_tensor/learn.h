// A mixture of two Mallows models from counts: Algorithm 1 of Awasthi, Blum, Sheffet & Vijayaraghavan (2014).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/infer/mallows_tensor/counts.h"
#include "caucus/infer/mallows_tensor/decompose.h"
#include "caucus/infer/mallows_tensor/pair.h"
#include "caucus/infer/mallows_tensor/score.h"

namespace caucus::mallows_tensor {

// The fewest items whose top-3 tensor can be cut into three parts of two.
inline constexpr std::size_t min_partition_items = 6;

enum class Branch {
  decomposition,  // a partition passed the conditioning test
  moved_items,    // degenerate: equal scales, all but two items keep their ratio
  recursion,      // degenerate: a common prefix was taken off
  one_ranking,    // degenerate: nothing better than one ranking with two scales
  exhaustive,     // fewer than six items: all pairs of rankings tried
};
std::string_view name_of(Branch branch);

struct LearnOptions {
  int partitions = 0;                  // random partitions; 0: 8 ceil(log2 n)
  std::optional<double> conditioning;  // least second singular value (eps_2); unset: 10 / sqrt(N), at most 0.1
  bool climb = true;                   // hill climbing on the moment score after RECOVER-REST: beyond the paper
  std::function<bool()> stop;          // asked within the search: what has been found by then is the answer

  bool stopped() const { return stop && stop(); }
};

struct Candidate {
  MallowsPair pair;
  double score = 0.0;  // MomentScore of the counts it was found on
  std::string rest;    // how RECOVER-REST found it: "pivot", "linear system", "prefix", ..
};

struct LearnResult {
  MallowsPair pair;  // heavier component first
  Branch branch = Branch::decomposition;
  std::string rest;
  int partitions_tried = 0;
  int partitions_passed = 0;
  double threshold = 0.0;
  // Of the best-conditioned partition: sigma_2 of the three normalised factor pairs, singular values of the three unfoldings.
  // Conditioning is 0 where no second direction stands out of the sampling error.
  double conditioning = 0.0;
  double evidence = 0.0;  // least second singular value of an unfolding, in sampling errors
  std::array<double, 3> second_singular_value{};
  std::array<std::array<double, 2>, 3> unfolding{};
  std::vector<ItemId> common_prefix;  // items that the degenerate branch took off
  double score = 0.0;
  double misfit = 0.0;                // top-3 deviance per degree of freedom
  std::vector<Candidate> candidates;  // explanations of the counts, best first, the first being `pair`
  std::vector<std::string> warnings;

  bool trusted() const { return branch == Branch::decomposition && conditioning >= 3.0 * threshold; }
};

// Candidates of every partition that passes, best first; fills in the partitions' part of `report`. Empty: degenerate.
std::vector<Candidate> learn_by_decomposition(const TopCounts& counts, const LearnOptions& options, std::uint64_t seed,
                                              LearnResult& report);

// HANDLE-DEGENERATE-CASES. `source` may be null: no recursion then, and the data need not be at hand.
struct Degenerate {
  Candidate best;
  Branch branch = Branch::moved_items;
  std::vector<ItemId> common_prefix;
  std::vector<Candidate> others;
};
Degenerate handle_degenerate_cases(const TopCounts& counts, const CountSource& source, const LearnOptions& options,
                                   std::uint64_t seed);

// Equal scales and all but two items with the same ratio x / y: exchanges of two items and cyclic shifts. Best first, at most
// `limit`.
std::vector<Candidate> explain_by_moved_items(const TopCounts& counts, std::size_t limit, const std::function<bool()>& stop = {});

// All pairs of rankings of 2 to 5 items, the scales given as a start. Best first, at most `limit`.
std::vector<Candidate> explain_exhaustively(const TopCounts& counts, double theta, std::size_t limit);

// One ranking, two scales: sorted by mean position.
Candidate explain_by_one_ranking(const TopCounts& counts);

// `counts` with nothing deleted. Fewer than two items: UsageError.
LearnResult learn_two_mallows(const TopCounts& counts, const CountSource& source, const LearnOptions& options, std::uint64_t seed);

}  // namespace caucus::mallows_tensor
