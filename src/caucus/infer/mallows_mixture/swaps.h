// What swaps of neighbours in a center do to the likelihood, without a pass for each.
//
// With the rest as it is, the probability of ranking i under component k takes a factor f_i, and so its likelihood the factor
// 1 + r_ik (f_i - 1), r_ik its membership: one number per ranking, component and swap.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "caucus/infer/mallows_mixture/engine.h"

namespace caucus::mallows_mixture {

struct Swaps {
  double loglik;                        // before
  std::span<const double> weights;      // of the rankings
  std::span<const double> memberships;  // times weights: [i * K + k], of the own blocks
  std::size_t num_components, num_items;
};

// Writes f_i - 1 of a ranking for all swaps: [k * (n - 1) + p] for places p and p + 1 of center k. Called from several threads.
using SwapFactors = std::function<void(std::size_t ranking, std::span<double> less_one)>;

// Log-likelihoods after the swaps, laid out alike.
std::vector<double> logliks_after(const Swaps& swaps, const Workers& workers, const SwapFactors& factors);

// The same for an engine whose memberships come from its log_joint.
std::vector<double> logliks_after_swaps(const Engine& engine, const Parameters& now, std::span<const double> weights,
                                        const Workers& workers, const SwapFactors& factors);

}  // namespace caucus::mallows_mixture
