// The moment-based start of Zhao, Piech & Xia (2016), for any number of components.
#pragma once

#include <cstdint>

#include "caucus/infer/pl_mixture/objective.h"

namespace caucus::pl_mixture {

// Generalized method of moments on the shares of first places and of ordered first two places. Their algorithm solves groups of
// four items with twenty such moments for K = 2; here all items and any K are fitted at once by least squares, from a random point.
// For complete rankings and ballots of two or more places. O(n^2 K) per evaluation after one pass over the data.
Parameters moments_start(const Objective& objective, std::uint64_t seed, std::uint64_t index);

}  // namespace caucus::pl_mixture
