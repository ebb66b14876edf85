// Center and dispersions of a generalized Mallows model together: minimises sum_j N_j h_{n-j+1}(x_j / N_j) over orders, where x_j
// is the sum of stage j over the rankings, N_j their weight and h the stage cost (stage.h). Exact where n allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/model/consensus.h"
#include "caucus/model/kendall.h"
#include "caucus/model/pair_matrix.h"

namespace caucus {

struct GeneralizedConsensus {
  std::vector<ItemId> order;
  std::vector<double> theta;  // n - 1
  double cost = 0.0;          // minus the maximal log-likelihood
  double lower_bound = 0.0;
  bool optimal = false;
  std::uint64_t nodes = 0;
};

// Stage statistics of code s: R_j(b, a) = weight of the rankings whose j-th item is b while a is not used yet.
class StagePairs {
 public:
  explicit StagePairs(std::size_t num_items = 0)
      : size_(num_items), pairs_(num_items, PairMatrix(num_items)), weight_(num_items, 0.0) {}
  std::size_t num_items() const { return size_; }
  void add(std::span<const ItemId> ranking, double weight);  // strict, top-t. O(t n)
  const PairMatrix& operator[](std::size_t stage) const { return pairs_[stage]; }
  double weight(std::size_t stage) const { return weight_[stage]; }  // of the rankings that have this stage

 private:
  std::size_t size_;
  std::vector<PairMatrix> pairs_;
  std::vector<double> weight_;
};

// Made once per number of items: holds tables of stage costs.
class GeneralizedConsensusSolver {
 public:
  explicit GeneralizedConsensusSolver(std::size_t num_items);

  // Code v. `pairs` hold weights, `total` is the weight of all rankings. Sets of items placed first are searched level by level
  // (methods 5.1) with stage-wise bounds (5.6): n <= 64, feasible to n of about 20. `start` is an order to begin from.
  GeneralizedConsensus solve_v(const PairMatrix& pairs, double total, ConsensusMethod method, const ConsensusLimits& limits = {},
                               std::span<const ItemId> start = {}) const;

  // Code s: all n! orders for n <= max_enumerated_items (by adjacent swaps, O(n) each); beyond, alternation of the center given
  // theta (a Kemeny problem with weights theta_j R_j) and theta given the center, then local search: not certified.
  static constexpr std::size_t max_enumerated_items = 10;
  GeneralizedConsensus solve_s(const StagePairs& pairs, ConsensusMethod method, const ConsensusLimits& limits = {},
                               std::span<const ItemId> start = {}) const;

 private:
  double cost_from_below(double mean, std::size_t m) const;  // chord of the concave h_m: never above it

  static constexpr std::size_t cells = 256;
  std::size_t size_;
  std::vector<double> table_;  // h_m at cells + 1 means in [0, (m-1)/2]
};

}  // namespace caucus
