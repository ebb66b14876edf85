// Distances, their normalisers and samplers, and subset probabilities, held to enumeration.
#include "caucus/model/distances.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/model/assignment.h"
#include "caucus/model/kendall.h"
#include "caucus/model/mallows.h"

namespace caucus {
namespace {

constexpr Distance all_distances[] = {Distance::kendall, Distance::spearman, Distance::footrule,
                                      Distance::hamming, Distance::cayley,   Distance::ulam};

std::vector<std::uint32_t> identity(std::size_t n) {
  std::vector<std::uint32_t> rank(n);
  std::iota(rank.begin(), rank.end(), 0u);
  return rank;
}

TEST(Distance, KnownValues) {
  const std::vector<std::uint32_t> a{0, 1, 2, 3, 4}, b{4, 0, 1, 2, 3};
  EXPECT_EQ(rank_distance(Distance::kendall, a, b), 4u);
  EXPECT_EQ(rank_distance(Distance::spearman, a, b), 20u);
  EXPECT_EQ(rank_distance(Distance::footrule, a, b), 8u);
  EXPECT_EQ(rank_distance(Distance::hamming, a, b), 5u);
  EXPECT_EQ(rank_distance(Distance::cayley, a, b), 4u);
  EXPECT_EQ(rank_distance(Distance::ulam, a, b), 1u);
}

TEST(Distance, IsSymmetricAndRightInvariant) {
  RandomStream stream(31);
  for (Distance distance : all_distances)
    for (int trial = 0; trial < 20; ++trial) {
      auto a = identity(9), b = identity(9), names = identity(9);
      stream.shuffle(std::span(a));
      stream.shuffle(std::span(b));
      stream.shuffle(std::span(names));
      std::vector<std::uint32_t> c(9), d(9);
      for (std::size_t i = 0; i < 9; ++i) c[names[i]] = a[i], d[names[i]] = b[i];
      EXPECT_EQ(rank_distance(distance, a, b), rank_distance(distance, b, a));
      EXPECT_EQ(rank_distance(distance, a, b), rank_distance(distance, c, d));
      EXPECT_EQ(rank_distance(distance, a, a), 0u);
      EXPECT_LE(rank_distance(distance, a, b), max_distance(distance, 9));
    }
}

TEST(DistanceNormalizer, ExactByEnumeration) {
  for (Distance distance : all_distances)
    for (std::size_t n : {1, 2, 3, 5, 7}) {
      std::map<std::uint64_t, double> count;
      auto rank = identity(n);
      do count[rank_distance(distance, rank, identity(n))] += 1.0;
      while (std::next_permutation(rank.begin(), rank.end()));
      const DistanceNormalizer normalizer(distance, n);
      EXPECT_TRUE(normalizer.exact());
      for (double theta : {0.0, 1e-12, 0.05, 0.5, 2.0, 50.0}) {
        double z = 0.0, first = 0.0, second = 0.0;
        for (const auto& [d, number] : count) {
          const double mass = number * std::exp(-theta * static_cast<double>(d)), x = static_cast<double>(d);
          z += mass;
          first += mass * x;
          second += mass * x * x;
        }
        const double mean = first / z, variance = second / z - mean * mean;
        EXPECT_NEAR(normalizer.log_z(theta), std::log(z), 1e-12 * (1.0 + std::log(z))) << name_of(distance) << n << ' ' << theta;
        EXPECT_NEAR(normalizer.mean(theta), mean, 1e-11 * (1.0 + mean)) << name_of(distance) << n << ' ' << theta;
        EXPECT_NEAR(normalizer.variance(theta), variance, 1e-10 * (1.0 + second / z)) << name_of(distance) << n << ' ' << theta;
      }
      if (n > 2) {
        EXPECT_NEAR(normalizer.solve_theta(normalizer.mean(0.4)), 0.4, 1e-8);
      }
    }
}

// The estimate used beyond the exact sizes, run where the truth is known: log Z within six of its standard errors, plus the error
// of the trapezoid rule on the grid, at most 0.02 here.
TEST(DistanceNormalizer, EstimateStatesItsError) {
  for (Distance distance : all_distances) {
    const std::size_t n = 12;
    const DistanceNormalizer exact(distance, n), estimate(distance, n, 50.0, 3, true);
    EXPECT_TRUE(exact.exact());
    EXPECT_FALSE(estimate.exact());
    for (double theta : {0.0, 0.01, 0.1, 0.5, 2.0, 6.0}) {
      EXPECT_NEAR(estimate.log_z(theta), exact.log_z(theta), 6.0 * estimate.standard_error(theta) + 0.02)
          << name_of(distance) << theta;
      EXPECT_LT(estimate.standard_error(theta), 0.15) << name_of(distance) << theta;
      EXPECT_NEAR(estimate.mean(theta), exact.mean(theta), 0.05 * exact.mean(0.0)) << name_of(distance) << theta;
    }
  }
}

// A part of the grid is what a smaller largest theta would have given, to the bit.
TEST(DistanceNormalizer, UpToASmallerTheta) {
  for (const Distance distance : {Distance::ulam, Distance::footrule}) {
    const DistanceNormalizer whole(distance, 70, 3.0, 1, true), part(distance, 70, 0.6, 1, true), cut = whole.up_to(0.6);
    for (const double theta : {0.0, 0.01, 0.3, 0.6, 1.0}) {
      EXPECT_EQ(cut.log_z(theta), part.log_z(theta));
      EXPECT_EQ(cut.mean(theta), part.mean(theta));
      EXPECT_EQ(cut.standard_error(theta), part.standard_error(theta));
    }
  }
}

// Chi-square over all rankings of 4 items, 2^15 draws, 23 degrees of freedom: upper 1e-7 point 80.
// With four items all rankings are inverted, with six there is a chain. Pearson's statistic has 23 and 719 degrees of freedom:
// above 80 and 920 by chance in one of 10^7 and 10^6.
TEST(DistanceModel, Draws) {
  for (std::size_t n : {4U, 6U}) {
    std::vector<ItemId> center{2, 0, 3, 1};
    if (n == 6) center = {2, 5, 0, 3, 4, 1};
    const double theta = n == 4 ? 0.3 : 0.05;
    const auto center_rank = inverse_order(center);
    for (Distance distance : all_distances) {
      RandomStream stream(41, Purpose::test, static_cast<std::uint64_t>(distance));
      const DistanceNormalizer normalizer(distance, n);
      std::map<std::vector<ItemId>, double> seen;
      const int draws = 1 << 15;
      std::vector<ItemId> out(n);
      for (int i = 0; i < draws; ++i) {
        draw_distance_model(distance, center, theta, stream, out, 25);
        seen[out] += 1.0;
      }
      double chi = 0.0;
      std::vector<ItemId> order(n);
      std::iota(order.begin(), order.end(), ItemId{0});
      do {
        const double d = static_cast<double>(rank_distance(distance, inverse_order(order), center_rank));
        const double expected = draws * std::exp(-theta * d - normalizer.log_z(theta));
        chi += (seen[order] - expected) * (seen[order] - expected) / expected;
      } while (std::next_permutation(order.begin(), order.end()));
      EXPECT_LT(chi, n == 4 ? 80.0 : 920.0) << name_of(distance);
    }
  }
}

TEST(Assignment, CheapestOfAll) {
  RandomStream stream(51);
  for (int trial = 0; trial < 50; ++trial) {
    const std::size_t n = 1 + stream.below(6);
    std::vector<double> cost(n * n);
    for (double& value : cost) value = stream.normal();
    const auto chosen = solve_assignment(cost, n);
    double total = 0.0, best = infinity;
    for (std::size_t i = 0; i < n; ++i) total += cost[i * n + chosen[i]];
    auto column = identity(n);
    do {
      double sum = 0.0;
      for (std::size_t i = 0; i < n; ++i) sum += cost[i * n + column[i]];
      best = std::min(best, sum);
    } while (std::next_permutation(column.begin(), column.end()));
    EXPECT_NEAR(total, best, 1e-12);
  }
}

}  // namespace
}  // namespace caucus
