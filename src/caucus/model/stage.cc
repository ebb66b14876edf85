#include "caucus/model/stage.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/model/solve_dispersion.h"

namespace caucus {

namespace {

// Below this value of m theta the terms of Z_m(theta) and Z_1 nearly cancel and series take over.
constexpr double series_limit = 1.0;

// B_2k / (2k)!, k = 1.. : 1/(e^x - 1) = 1/x - 1/2 + sum_k c_k x^(2k-1). Eleven terms leave less than 1e-17 for |x| <= 1.
constexpr std::array<double, 11> bernoulli{0.08333333333333333,    -0.001388888888888889,   3.306878306878307e-05,
                                           -8.267195767195768e-07, 2.08767569878681e-08,    -5.284190138687493e-10,
                                           1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15,
                                           -2.174868698558062e-16, 5.5090028283602295e-18};

// sum_k c_k x^(2k) / (2k) = log(sinh(x/2) / (x/2)).
double log_sinhc_half(double x) {
  const double y = x * x;
  double sum = 0.0;
  for (std::size_t k = bernoulli.size(); k-- > 0;) sum = y * (sum + bernoulli[k] / (2.0 * static_cast<double>(k) + 2.0));
  return sum;
}

// 1/(e^x - 1) - 1/x + 1/2: the derivative of the above.
double bernoulli_rest(double x) {
  const double y = x * x;
  double sum = 0.0;
  for (std::size_t k = bernoulli.size(); k-- > 0;) sum = y * sum + bernoulli[k];
  return x * sum;
}

// Minus the derivative of the above.
double bernoulli_slope(double x) {
  const double y = x * x;
  double sum = 0.0;
  for (std::size_t k = bernoulli.size(); k-- > 0;) sum = y * sum + bernoulli[k] * (2.0 * static_cast<double>(k) + 1.0);
  return -sum;
}

// e^x / (e^x - 1)^2.
double inverse_sinh_squared(double x) {
  const double e = std::exp(-x), d = -std::expm1(-x);
  return e / (d * d);
}

}  // namespace

double log_stage_normalizer(double theta, std::size_t m) {
  if (m <= 1) return 0.0;
  const double size = static_cast<double>(m);
  if (theta == 0.0) return std::log(size);
  if (m == 2) return std::log1p(std::exp(-theta));
  if (size * theta < series_limit)
    return std::log(size) - 0.5 * (size - 1.0) * theta + log_sinhc_half(size * theta) - log_sinhc_half(theta);
  return log1mexp(size * theta) - log1mexp(theta);
}

double stage_mean(double theta, std::size_t m) {
  if (m <= 1) return 0.0;
  const double size = static_cast<double>(m);
  if (m == 2) return 1.0 / (1.0 + std::exp(theta));
  if (size * theta < series_limit) return 0.5 * (size - 1.0) + bernoulli_rest(theta) - size * bernoulli_rest(size * theta);
  return 1.0 / std::expm1(theta) - size / std::expm1(size * theta);
}

double stage_variance(double theta, std::size_t m) {
  if (m <= 1) return 0.0;
  const double size = static_cast<double>(m);
  if (size * theta < series_limit) return bernoulli_slope(theta) - size * size * bernoulli_slope(size * theta);
  return inverse_sinh_squared(theta) - size * size * inverse_sinh_squared(size * theta);
}

double solve_stage_theta(double mean, std::size_t m) {
  if (m <= 1) return 0.0;
  if (m == 2) return mean >= 0.5 ? 0.0 : mean <= 0.0 ? max_theta : std::min(max_theta, std::log1p(-mean) - std::log(mean));
  return solve_decreasing(
      mean, 0.5, [m](double theta) { return stage_mean(theta, m); }, [m](double theta) { return stage_variance(theta, m); });
}

double stage_cost(double mean, std::size_t m) {
  const double theta = solve_stage_theta(mean, m);
  return theta * mean + log_stage_normalizer(theta, m);
}

double log_q_factorial(double theta, std::size_t n) {
  double total = 0.0;
  for (std::size_t m = 2; m <= n; ++m) total += log_stage_normalizer(theta, m);
  return total;
}

double mean_distance(double theta, std::size_t n) {
  double total = 0.0;
  for (std::size_t m = 2; m <= n; ++m) total += stage_mean(theta, m);
  return total;
}

double variance_distance(double theta, std::size_t n) {
  double total = 0.0;
  for (std::size_t m = 2; m <= n; ++m) total += stage_variance(theta, m);
  return total;
}

namespace {
template <class Stage>
std::vector<double> running_sums(double theta, std::size_t n, Stage&& stage) {
  std::vector<double> out(n + 1, 0.0);
  for (std::size_t m = 2; m <= n; ++m) out[m] = out[m - 1] + stage(theta, m);
  return out;
}
}  // namespace

std::vector<double> log_q_factorials(double theta, std::size_t n) { return running_sums(theta, n, log_stage_normalizer); }
std::vector<double> mean_distances(double theta, std::size_t n) { return running_sums(theta, n, stage_mean); }
std::vector<double> variance_distances(double theta, std::size_t n) { return running_sums(theta, n, stage_variance); }

double solve_mallows_theta(double distance, double total, std::size_t n, std::span<const double> group_weight, double guess) {
  if (!(total > 0.0) || n < 2) return 0.0;
  // log [n]! - sum over groups of log [s]!: each group of size s takes the stages 2..s out of the sum over 2..n. Collected by
  // stage first, so that what cancels does so exactly.
  std::vector<double> stage_weight(n + 1, total);
  double larger = 0.0;
  for (std::size_t m = n; m >= 2; --m) {
    if (m < group_weight.size()) larger += group_weight[m];
    stage_weight[m] -= larger;
  }
  const auto weighted = [&](double theta, double (*stage)(double, std::size_t)) {
    double value = 0.0;
    for (std::size_t m = 2; m <= n; ++m)
      if (stage_weight[m] != 0.0) value += stage_weight[m] * stage(theta, m);
    return value;
  };
  return solve_decreasing(
      distance, guess, [&](double theta) { return weighted(theta, stage_mean); },
      [&](double theta) { return weighted(theta, stage_variance); });
}

}  // namespace caucus
