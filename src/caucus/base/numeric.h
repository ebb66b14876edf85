// Small numerical helpers that several families need.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

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

// The place of the largest; the first of equals.
inline std::uint32_t most_probable(std::span<const double> probabilities) {
  return static_cast<std::uint32_t>(std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin());
}

// The value with a share p below it, interpolated between neighbors (Hyndman & Fan 1996, type 7). Sorts the values.
inline double quantile(std::vector<double>& values, double p) {
  std::sort(values.begin(), values.end());
  const double at = p * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}
// The nearest of the values themselves: for places, which have nothing between them. Reorders them. O(n).
inline double nearest_quantile(std::vector<double>& values, double p) {
  const auto k = static_cast<std::ptrdiff_t>(p * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + k, values.end());
  return values[static_cast<std::size_t>(k)];
}

// Subtracts the mean: utilities are identified up to a constant.
inline void center(std::span<double> values) {
  const double mean = values.empty() ? 0.0 : sum(values) / static_cast<double>(values.size());
  for (double& value : values) value -= mean;
}

}  // namespace caucus
