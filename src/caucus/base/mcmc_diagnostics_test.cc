#include "caucus/base/mcmc_diagnostics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"

namespace caucus {
namespace {

std::vector<double> autoregression(double rho, std::size_t size, std::uint64_t seed, double shift = 0.0) {
  RandomStream stream(seed);
  std::vector<double> draws(size);
  double x = stream.normal();
  for (double& draw : draws) {
    draw = x + shift;
    x = rho * x + std::sqrt(1.0 - rho * rho) * stream.normal();
  }
  return draws;
}

// An AR(1) chain has ESS = N (1 - rho) / (1 + rho). Relative error of the estimate over 200000 draws is below 5 % for these.
TEST(McmcDiagnostics, EssOfAutoregressions) {
  for (const double rho : {0.0, 0.5, 0.9}) {
    const auto draws = autoregression(rho, 200000, 1 + static_cast<std::uint64_t>(10 * rho));
    const double expected = 200000.0 * (1.0 - rho) / (1.0 + rho);
    EXPECT_NEAR(effective_sample_size(std::span<const double>(draws)) / expected, 1.0, 0.15) << rho;
  }
}

TEST(McmcDiagnostics, EssOfAnAntitheticChainExceedsItsLength) {
  const auto draws = autoregression(-0.5, 20000, 9);
  EXPECT_GT(effective_sample_size(std::span<const double>(draws)), 30000.0);
}

TEST(McmcDiagnostics, ConstantChains) {
  EXPECT_EQ(effective_sample_size(std::span<const double>(std::vector<double>(50, 3.0))), 50.0);
  EXPECT_EQ(split_rhat({std::vector<double>(50, 3.0), std::vector<double>(50, 3.0)}), 1.0);
  EXPECT_EQ(split_rhat({std::vector<double>(50, 3.0), std::vector<double>(50, 4.0)}), infinity);
}

TEST(McmcDiagnostics, RhatTellsChainsApart) {
  EXPECT_LT(split_rhat({autoregression(0.3, 5000, 1), autoregression(0.3, 5000, 2)}), 1.01);
  EXPECT_GT(split_rhat({autoregression(0.3, 5000, 1), autoregression(0.3, 5000, 2, 1.0)}), 1.1);
  // A drift within one chain shows because it is split.
  std::vector<double> drift = autoregression(0.0, 4000, 3);
  for (std::size_t i = 0; i < drift.size(); ++i) drift[i] += static_cast<double>(i) / 1000.0;
  EXPECT_GT(split_rhat({drift}), 1.2);
}

// By hand: halves (1, 2), (3, 4): means 1.5 and 3.5, W = 0.5, var of means = 2, R = sqrt(1/2 + 2 / 0.5).
TEST(McmcDiagnostics, RhatByHand) { EXPECT_NEAR(split_rhat({{1.0, 2.0, 3.0, 4.0}}), std::sqrt(0.5 + 4.0), 1e-12); }

}  // namespace
}  // namespace caucus
