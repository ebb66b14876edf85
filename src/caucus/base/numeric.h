// Small numerical helpers that several families need.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace caucus {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// log(sum_i exp(values[i])); -inf for an empty or all -inf span.
inline double log_sum_exp(std::span<const double> values) {
  double largest = -infinity;
  for (double value : values) largest = std::max(largest, value);
  if (!(largest > -infinity)) return -infinity;
  double sum = 0.0;
  for (double value : values) sum += std::exp(value - largest);
  return largest + std::log(sum);
}

// log(1 - exp(-x)) for x > 0 without cancellation (Maechler 2012).
inline double log1mexp(double x) { return x < 0.6931471805599453 ? std::log(-std::expm1(-x)) : std::log1p(-std::exp(-x)); }

inline double sum(std::span<const double> values) {
  double total = 0.0;
  for (double value : values) total += value;
  return total;
}

// Subtracts the mean: utilities are identified up to a constant.
inline void center(std::span<double> values) {
  const double mean = values.empty() ? 0.0 : sum(values) / static_cast<double>(values.size());
  for (double& value : values) value -= mean;
}

}  // namespace caucus
