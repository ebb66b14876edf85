// EM for two Mallows models on complete rankings of few items, from any start: what `--polish on` does.
//
// Given both centers, the likelihood sees a ranking only through its two distances (d1, d2). One pass over the rankings tallies
// these cells, and how often each pair of items stands in each order within a cell. From the tally every EM iteration is exact and
// costs O(cells n^2), whatever the number of rankings, until a center moves and the tally is made anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "caucus/data/ranking.h"
#include "caucus/infer/mallows_tensor/pair.h"
#include "caucus/result/fit_summary.h"

namespace caucus::mallows_tensor {

struct PolishOptions {
  int iterations = 5000;     // most EM iterations
  double tolerance = 1e-12;  // relative gain of log-likelihood over one cycle that counts as converged
  bool accelerate = true;    // SQUAREM on weight and scales while the centers rest
  // Where EM rests, try to exchange neighbours in a center or in both: leaves shallow local optima. Such moves, and the choice
  // between ends of several starts, are judged by log-likelihood minus log(number of rankings at the distance of the two centers),
  // which keeps chance from pulling equal centers apart: pairs of rankings d apart are that many times as many as equal ones.
  bool exchange = true;
  std::function<bool()> stop;  // asked once per tally and every 100 iterations
};

struct PolishResult {
  MallowsPair pair;  // heavier component first
  double loglik = 0.0;
  double entropy = 0.0;  // of the memberships
  int iterations = 0;
  int tallies = 0;    // passes over the rankings
  int exchanges = 0;  // moves that EM alone would not have made
  StopReason stop_reason = StopReason::converged;
  std::vector<double> trace;
};

class PairPolisher {
 public:
  static constexpr std::size_t max_items = 20;

  PairPolisher(const RankingSet& rankings, std::size_t num_items, int threads);
  // From pair bits: bit index(a, b), a < b, of ranking i in words [i w, i w + w), set where a stands before b.
  PairPolisher(std::vector<std::uint64_t> bits, std::vector<double> weights, std::size_t num_items, int threads);

  static std::size_t pair_index(std::size_t a, std::size_t b) { return b * (b - 1) / 2 + a; }
  static std::size_t num_words(std::size_t num_items) { return (num_items * (num_items - 1) / 2 + 63) / 64; }
  static void set_bits(std::span<const ItemId> order, std::span<std::uint64_t> out);

  PolishResult run(MallowsPair start, const PolishOptions& options = {}) const;
  // The log-likelihood of the centers of `pair` at their best weights and scales. One pass.
  MallowsPair fit_parameters(MallowsPair pair, double& loglik) const;
  // run() from the `finalists` starts whose centers explain the rankings best; the best end.
  PolishResult run_best(std::span<const MallowsPair> starts, std::size_t finalists, const PolishOptions& options = {}) const;

  double log_likelihood(const MallowsPair& pair) const;

 private:
  struct Cell {
    std::uint32_t d1, d2;
    double count;
  };
  struct Tally {
    std::vector<Cell> cells;
    std::vector<double> forward;  // [cell][pair]: weight with a before b, a < b
  };
  Tally tally(const MallowsPair& pair, bool with_pairs) const;
  double step(const Tally& tally, const MallowsPair& now, bool move_centers, MallowsPair& next, double* entropy = nullptr) const;
  // EM from one tally until a center moves (true), nothing gains, or it is told to stop.
  bool climb(const Tally& tally, const PolishOptions& options, MallowsPair& now, PolishResult& result) const;
  bool exchange(const Tally& tally, MallowsPair& pair, double loglik) const;
  double penalty(const MallowsPair& pair) const { return log_at_distance_[kendall(pair.center[0], pair.center[1])]; }
  static double fit_cells(std::span<const Cell> cells, MallowsPair& pair, std::size_t num_items, int steps);

  std::size_t num_items_;
  std::size_t num_pairs_;
  std::size_t words_;
  int threads_;
  std::vector<std::uint64_t> bits_;
  std::vector<double> weights_;
  double total_ = 0.0;
  std::vector<double> log_at_distance_;
};

}  // namespace caucus::mallows_tensor
