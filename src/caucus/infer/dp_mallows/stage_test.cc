#include "caucus/infer/dp_mallows/stage.h"

#include <gtest/gtest.h>

#include <boost/math/quadrature/exp_sinh.hpp>
#include <boost/math/quadrature/tanh_sinh.hpp>
#include <cmath>

#include "caucus/base/numeric.h"

namespace caucus::dp_mallows {
namespace {

// I_m(a, b) by double-exponential quadrature in pieces around the mode, with Z_m as the plain sum.
double log_integral_oracle(std::size_t m, double a, double b) {
  const auto log_f = [&](double theta) {
    double z = 0.0;
    for (std::size_t s = 0; s < m; ++s) z += std::exp(-theta * static_cast<double>(s));
    return -a * theta - b * std::log(z);
  };
  // Golden-section search for the top of the concave function, then double-exponential pieces.
  double low = 0.0, high = (1.0 + b) / a;
  for (int i = 0; i < 300; ++i) {
    const double x = low + 0.382 * (high - low), y = low + 0.618 * (high - low);
    if (log_f(x) < log_f(y))
      low = x;
    else
      high = y;
  }
  const double mode = 0.5 * (low + high), top = log_f(mode);
  double reach = 1e-9;
  while (log_f(mode + reach) > top - 50.0) reach *= 1.2;
  const auto f = [&](double theta) { return std::exp(log_f(theta) - top); };
  boost::math::quadrature::tanh_sinh<double> inner;
  boost::math::quadrature::exp_sinh<double> outer;
  double total = 0.0;
  constexpr int pieces = 24;
  const double start = std::max(0.0, mode - reach);
  if (start > 0.0) total += inner.integrate(f, 0.0, start);
  for (int k = 0; k < pieces; ++k) {
    const double x = start + (mode + reach - start) * k / pieces, y = start + (mode + reach - start) * (k + 1) / pieces;
    total += inner.integrate(f, x, y);
  }
  total += outer.integrate(f, mode + reach, infinity);
  return top + std::log(total);
}

TEST(StageQuadrature, MatchesDoubleExponentialQuadrature) {
  for (std::size_t m : {2, 3, 10, 60})
    for (double a : {0.1, 1.0, 7.0, 300.0, 20000.0})
      for (double b : {0.3, 1.0, 12.0, 5000.0}) {
        const double expected = log_integral_oracle(m, a, b);
        EXPECT_NEAR(log_stage_integral(m, a, b), expected, 2e-11 * std::max(1.0, std::abs(expected))) << m << " " << a << " " << b;
      }
}

// Lemma 5: the predictive codes of a stage sum to one, and the predictive is the ratio of two integrals.
TEST(StageQuadrature, PredictiveSumsToOneAndIsTheRatio) {
  StageQuadrature quadrature;
  for (std::size_t m : {1, 2, 5, 20, 533})
    for (double a : {0.5, 3.0, 250.0, 90000.0})
      for (double b : {0.5, 1.0, 40.0, 4000.0}) {
        quadrature.build(m, a, b);
        std::vector<double> log_p(m);
        quadrature.log_predictive(log_p);
        EXPECT_NEAR(log_sum_exp(log_p), 0.0, 1e-11) << m << " " << a << " " << b;
        for (std::size_t s : {std::size_t{0}, m / 2, m - 1}) {
          const double ratio = log_stage_integral(m, a + static_cast<double>(s), b + 1.0) - log_stage_integral(m, a, b);
          EXPECT_NEAR(log_p[s], ratio, 1e-9 * std::max(1.0, std::abs(ratio))) << m << " " << a << " " << b << " " << s;
          EXPECT_NEAR(quadrature.log_predictive_at(static_cast<double>(s)), ratio, 1e-9 * std::max(1.0, std::abs(ratio)));
        }
      }
}

// Quadratures at shared places against one of its own for each (a, b), over stages from certain to worse than chance.
TEST(StageQuadrature, SharedNodes) {
  RandomStream rng(3, Purpose::test, 5);
  int shared = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::size_t m = 2 + rng.below(40);
    const double b = std::exp(std::log(1e5) * rng.uniform());
    // Half of them about chance, where the density is cut off at zero.
    const double share = round % 2 == 0 ? 0.7 * std::pow(rng.uniform(), 3.0) : 0.5 * (1.0 - 0.3 * rng.uniform());
    const double mean = share * static_cast<double>(m - 1) + 1e-4;
    const double a = 0.3 + std::floor(mean * b);
    const auto near = near_nodes(m, a, b);
    if (!near) continue;
    ++shared;
    const StageRule rule(m, near->a, near->b);
    StageQuadrature own;
    own.build(m, a, b);
    std::vector<double> found(m), expected(m);
    rule.log_predictive(a, b, found);
    own.log_predictive(expected);
    double total = 0.0;
    for (std::size_t s = 0; s < m; ++s) {
      EXPECT_NEAR(found[s], expected[s], 2e-10 * std::max(1.0, std::abs(expected[s]))) << m << ' ' << a << ' ' << b << ' ' << s;
      total += std::exp(found[s]);
    }
    EXPECT_NEAR(total, 1.0, 1e-10);
  }
  EXPECT_GT(shared, 500);
}

// Next to chance, held to a sum over a far finer grid (Simpson's rule in theta).
TEST(StageQuadrature, NextToChance) {
  for (const std::size_t m : {3, 10, 30})
    for (const double b : {30.0, 300.0, 5000.0})
      for (const double gap : {-1.0, 0.0, 1.0, 2.0, 3.5}) {
        const double most = static_cast<double>(m - 1), spread = std::sqrt(b * most * (most + 2.0) / 12.0);
        const double a = 0.5 * b * most - gap * spread;
        const double end = 40.0 * std::sqrt(12.0 / (b * most * (most + 2.0)));
        constexpr int pieces = 40000;
        const auto log_density = [&](double theta) { return -a * theta - b * log_stage_normalizer(theta, m); };
        double total = 0.0, largest = -infinity;
        for (int i = 0; i <= pieces; ++i) largest = std::max(largest, log_density(end * i / pieces));
        for (int i = 0; i <= pieces; ++i)
          total += (i == 0 || i == pieces ? 1.0 : i % 2 == 1 ? 4.0 : 2.0) * std::exp(log_density(end * i / pieces) - largest);
        const double expected = largest + std::log(total * end / pieces / 3.0);
        EXPECT_NEAR(log_stage_integral(m, a, b), expected, 3e-11 * std::max(1.0, std::abs(expected)))
            << m << ' ' << b << ' ' << gap;
      }
}

TEST(BetaIntegral, IsTheLimitOfLargeStages) {
  for (double a : {1.0, 4.0, 30.0})
    for (double b : {1.0, 6.0, 50.0}) {
      EXPECT_NEAR(log_beta_integral(a, b), log_stage_integral(1000000, a, b), 1e-6);
      for (double s : {0.0, 1.0, 17.0})
        EXPECT_NEAR(log_beta_predictive(a, b, s), log_beta_integral(a + s, b + 1.0) - log_beta_integral(a, b), 1e-11);
    }
}

TEST(LogGammaPositive, MatchesTheStandardLibrary) {
  for (double x = 1e-3; x < 1e8; x *= 1.7)
    EXPECT_NEAR(log_gamma_positive(x), std::lgamma(x), 2e-13 * std::max(1.0, std::abs(std::lgamma(x))));
}

// Draws against the integral: E s(theta) and P(theta < median guess). With 40000 draws a deviation of 5.3 standard
// errors has probability 1e-7; 24 comparisons keep the false-alarm rate below 3e-6.
TEST(DrawTheta, MeanMatchesQuadrature) {
  RandomStream rng(7, Purpose::test, 1);
  constexpr int draws = 40000;
  for (std::size_t m : {2, 6, 50})
    for (auto [a, b] : {std::pair{0.7, 1.0}, {40.0, 2.0}, {12.0, 30.0}, {500.0, 900.0}}) {
      StageQuadrature quadrature;
      quadrature.build(m, a, b);
      const double mean = quadrature.mean_theta();
      double sum = 0.0, squares = 0.0;
      for (int i = 0; i < draws; ++i) {
        const double theta = draw_theta(m, a, b, rng);
        sum += theta, squares += theta * theta;
      }
      const double error = std::sqrt((squares / draws - sum * sum / draws / draws) / draws);
      EXPECT_NEAR(sum / draws, mean, 5.3 * error) << m << " " << a << " " << b;
      // Slice steps from exact draws stay exact.
      sum = squares = 0.0;
      for (int i = 0; i < draws; ++i) {
        const double theta = sample_theta_slice(m, a, b, draw_theta(m, a, b, rng), 1, rng);
        sum += theta, squares += theta * theta;
      }
      const double slice_error = std::sqrt((squares / draws - sum * sum / draws / draws) / draws);
      EXPECT_NEAR(sum / draws, mean, 5.3 * slice_error) << m << " " << a << " " << b;
    }
}

TEST(DrawThetaBeta, HasTheMeanOfTheBetaDistribution) {
  RandomStream rng(7, Purpose::test, 2);
  constexpr int draws = 40000;
  for (auto [a, b] : {std::pair{0.2, 1.0}, {3.0, 8.0}, {200.0, 50.0}}) {
    double sum = 0.0;
    for (int i = 0; i < draws; ++i) sum += std::exp(-draw_theta_beta(a, b, rng));
    const double p = a / (a + b + 1.0), variance = p * (1.0 - p) / (a + b + 2.0);
    EXPECT_NEAR(sum / draws, p, 5.3 * std::sqrt(variance / draws));
  }
}

}  // namespace
}  // namespace caucus::dp_mallows
