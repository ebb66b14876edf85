// Several rankings by one voter: the unit of the mixture is the voter, P(v) = sum_k b_k prod_r P_k(r) over the rankings r of v.
//
// An E-step is one pass over the voters (block_pass-inl.h, tie_kernel.cc): the likelihoods of a voter's rankings are multiplied,
// the product decides, and wins and exposures of each ranking are added up while what they are made of is still in the cache.
// Distinct rankings stay stored once; a voter's are found by number. Where memberships come from elsewhere (gibbs, structured
// utilities) the halves of the pass stand below: log P_k of every distinct ranking, and sums for given shares.
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
SharedSums add_shares(const Batch& batch, const Parameters& parameters, std::span<const double> shares, const Workers& workers);

// From a group for each voter: log odds of winning in the pairs of the rankings that a group's voters cast.
Parameters labelled_voters_start(const Objective& objective, std::span<const std::uint32_t> labels);
// The same from the labels of infer/voter_starts.h.
Parameters voter_start(const Objective& objective, std::uint64_t seed, std::uint64_t index);

}  // namespace caucus::pl_mixture
