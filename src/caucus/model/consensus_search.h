// The exact search behind find_consensus. Internal.
#pragma once

#include "caucus/model/consensus.h"

namespace caucus::detail {

// Majority margins of one component: margin(a, b) = max(0, Q(a, b) - Q(b, a)).
struct Margins {
  std::size_t size;
  std::vector<double> value;
  double unit = 0.0;  // greatest common divisor of the margins, where they are whole numbers: costs of orders differ by multiples
  double operator()(std::size_t a, std::size_t b) const { return value[a * size + b]; }
  double& operator()(std::size_t a, std::size_t b) { return value[a * size + b]; }

  void find_unit();
  double excess_of(std::span<const ItemId> order) const;  // what an order costs above the sum of pairwise minima
  // An order that is better than one of this excess costs less by more than this: by `unit`, or by what is not rounding.
  double least_gain(double excess) const;
};

// What one component gives: order as indices into the component, cost above the sum of pairwise minima.
struct Solved {
  std::vector<std::size_t> order;
  double excess = 0.0;
  double lower_bound = 0.0;
  bool optimal = false;
};

Consensus search_consensus(const PairMatrix& pairs, const ConsensusLimits& limits);

// Branch and bound on the linear program (triangle_program.h) from the best order and bound known, until `nodes` (see PivotBudget)
// comes to `max_nodes`. `pairs`: of the component.
Solved solve_by_program(const Margins& margins, const PairMatrix& pairs, Solved best, const ConsensusLimits& limits,
                        std::uint64_t max_nodes, std::uint64_t& nodes);

}  // namespace caucus::detail
