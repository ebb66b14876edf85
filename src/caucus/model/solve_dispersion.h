// The dispersion at which a mean that falls with theta takes a given value.
#pragma once

#include <algorithm>
#include <cmath>

#include "caucus/model/stage.h"

namespace caucus {

// The theta in [0, max_theta] with mean(theta) = target, by Newton steps kept inside a bracket; the mean falls by variance(theta).
// 0 or max_theta where the target is out of range.
template <class Mean, class Variance>
double solve_decreasing(double target, double guess, Mean&& mean, Variance&& variance) {
  if (target >= mean(0.0)) return 0.0;
  if (target <= mean(max_theta)) return max_theta;
  double low = 0.0, high = max_theta, theta = guess > 0.0 && guess < max_theta ? guess : 0.5;
  double previous_width = high - low;
  for (int iteration = 0; iteration < 200; ++iteration) {
    const double value = mean(theta) - target;
    if (value == 0.0) return theta;
    (value > 0.0 ? low : high) = theta;
    const double slope = -variance(theta);
    // In log theta the function is close to linear for large theta; a plain step is best near the root.
    double next = slope < 0.0 ? theta - value / slope : -1.0;
    if (!(next > low && next < high)) {
      // For large theta the mean falls like exp(-theta): step in its logarithm.
      const double ratio = mean(theta) / target;
      next = ratio > 0.0 ? theta + std::log(ratio) : -1.0;
      if (!(next > low && next < high)) next = 0.5 * (low + high);
    }
    if (std::abs(next - theta) <= 1e-15 * std::max(theta, 1e-3) || high - low <= 1e-15 * high) return next;
    // Newton that no longer shrinks the bracket is helped by a bisection now and then.
    if (iteration % 8 == 7) {
      if (high - low > 0.5 * previous_width) next = 0.5 * (low + high);
      previous_width = high - low;
    }
    theta = next;
  }
  return theta;
}

}  // namespace caucus
