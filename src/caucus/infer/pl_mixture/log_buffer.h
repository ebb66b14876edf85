// Logarithms of many numbers at once.
#pragma once

#include <cstddef>

namespace caucus::pl_mixture {

// values[i] <- -log(values[i]) for positive values; count is a multiple of 8.
void negative_logs(double* values, std::size_t count);

}  // namespace caucus::pl_mixture
