// Starting points.
#pragma once

#include <cstdint>

#include "caucus/infer/pl_mixture/objective.h"
#include "caucus/infer/pl_mixture/options.h"

namespace caucus::pl_mixture {

// Utilities around zero, weights equal. Start `index` of this seed.
Parameters random_start(const Objective& objective, std::uint64_t seed, std::uint64_t index);

// Tie strengths to begin with: the share of stages that ended in a tie of that order.
TieStrengths initial_ties(const Objective& objective);

}  // namespace caucus::pl_mixture
