// Several rankings by one voter: the unit of the mixture is the voter, P(v) = sum_k b_k prod_r P_k(r) over the rankings r of v.
//
// An E-step is two passes over the distinct rankings. The first gives log P_k of each; sums over a voter's rankings (sparse counts)
// give the voter's memberships; their sums over those who cast a ranking are the weights under which the second pass adds up wins
// and exposures. Distinct rankings stay stored once, and every M-step is that of weighted rankings.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "caucus/infer/pl_mixture/objective.h"

namespace caucus::pl_mixture {

// log P_k of the rankings of the batch: logs[r * K + k], by ranking of the batch. O(total length * K).
std::vector<double> component_logs(const Batch& batch, const Parameters& parameters, int threads);

// Wins and exposures [k * n + i] when ranking r of the batch belongs to group k with weight shares[r * K + k].
struct SharedSums {
  std::vector<double> wins, expected;
};
SharedSums add_shares(const Batch& batch, const Parameters& parameters, std::span<const double> shares, int threads);

// From a group for each voter: log odds of winning in the pairs of the rankings that a group's voters cast.
Parameters labelled_voters_start(const Objective& objective, std::span<const std::uint32_t> labels);
// The same from the labels of infer/voter_starts.h.
Parameters voter_start(const Objective& objective, std::uint64_t seed, std::uint64_t index);

}  // namespace caucus::pl_mixture
