// Intervals of what follows from the coefficients of a membership.
#pragma once

#include <vector>

#include "caucus/result/membership.h"

namespace caucus {

// The same with coefficients drawn from their covariance; none where it was not estimated.
std::vector<Membership> draw_coefficients(const Membership& membership, std::size_t count);

}  // namespace caucus
