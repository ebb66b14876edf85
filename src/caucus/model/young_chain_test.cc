#include "caucus/model/young_chain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "caucus/model/distances.h"

namespace caucus {
namespace {

// Shapes with six boxes and their numbers of tableaux, from the books; sum of squares 6! = 720.
const std::map<std::vector<std::size_t>, double> tableaux{{{6}, 1.0},
                                                          {{5, 1}, 5.0},
                                                          {{4, 2}, 9.0},
                                                          {{4, 1, 1}, 10.0},
                                                          {{3, 3}, 5.0},
                                                          {{3, 2, 1}, 16.0},
                                                          {{3, 1, 1, 1}, 10.0},
                                                          {{2, 2, 2}, 5.0},
                                                          {{2, 2, 1, 1}, 9.0},
                                                          {{2, 1, 1, 1, 1}, 5.0},
                                                          {{1, 1, 1, 1, 1, 1}, 1.0}};

// Pearson's statistic of 2^15 shapes, ten degrees of freedom: above 60 by chance in one of 10^8; shapes are six steps apart, and
// the bound allows for what they still share.
TEST(YoungChain, DrawsShapesByTheSquareOfTheirTableaux) {
  for (const double theta : {0.0, 0.4, 1.5}) {
    RandomStream stream(61);
    YoungChain chain(6, stream);
    double total = 0.0, mean = 0.0;
    for (const auto& [rows, count] : tableaux) total += count * count * std::exp(theta * static_cast<double>(rows[0]));
    for (const auto& [rows, count] : tableaux)
      mean += static_cast<double>(rows[0]) * count * count * std::exp(theta * static_cast<double>(rows[0])) / total;
    std::map<std::vector<std::size_t>, double> seen;
    constexpr int draws = 1 << 15;
    double told = 0.0;
    for (int draw = 0; draw < draws; ++draw) {
      for (int step = 0; step < 18; ++step) told += chain.step(theta, stream) / (18.0 * draws);
      seen[chain.rows()] += 1.0;
    }
    for (const auto& [rows, count] : seen) EXPECT_EQ(tableaux.count(rows), 1u);
    double chi = 0.0;
    for (const auto& [rows, count] : tableaux) {
      const double expected = draws * count * count * std::exp(theta * static_cast<double>(rows[0])) / total;
      chi += (seen[rows] - expected) * (seen[rows] - expected) / expected;
    }
    EXPECT_LT(chi, 60.0) << theta;
    EXPECT_NEAR(told, mean, 0.01) << theta;
  }
}

TEST(YoungChain, OneAndTwoBoxes) {
  RandomStream stream(62);
  YoungChain one(1, stream), two(2, stream);
  EXPECT_EQ(one.step(3.0, stream), 1.0);
  EXPECT_EQ(one.first_row(), 1u);
  // Two rankings, first rows 2 and 1.
  EXPECT_NEAR(two.step(0.7, stream), 1.0 + std::exp(0.7) / (1.0 + std::exp(0.7)), 1e-15);
}

// Where the counts are known, 60 items: the estimate agrees with them within its own error and the grid's.
TEST(YoungChain, NormaliserOfUlamsDistance) {
  const DistanceNormalizer exact(Distance::ulam, 60), estimate(Distance::ulam, 60, 50.0, 5, true);
  for (const double theta : {0.1, 0.7, 2.0, 5.0, 9.0}) {
    EXPECT_NEAR(estimate.log_z(theta), exact.log_z(theta), 6.0 * estimate.standard_error(theta) + 0.02) << theta;
    EXPECT_LT(estimate.standard_error(theta), 0.2) << theta;
    EXPECT_NEAR(estimate.mean(theta), exact.mean(theta), 0.01 * exact.mean(0.0)) << theta;
  }
}

}  // namespace
}  // namespace caucus
