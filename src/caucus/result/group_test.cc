#include "caucus/result/group.h"

#include <gtest/gtest.h>

#include <cmath>

namespace caucus {
namespace {

TEST(ShareInterval, IsNormalInTheLogOdds) {
  const Interval found = share_interval(0.8, 0.1);
  const auto odds = [](double share) { return std::log(share / (1.0 - share)); };
  EXPECT_NEAR(odds(found.low), odds(0.8) - 1.96 * 0.1 / 0.16, 1e-12);
  EXPECT_NEAR(odds(found.high), odds(0.8) + 1.96 * 0.1 / 0.16, 1e-12);
  EXPECT_GT(0.8 - found.low, found.high - 0.8);  // longer towards the middle
  EXPECT_EQ(found.level, 0.95);
}

TEST(ShareInterval, StaysInsideAndTakesTheEnds) {
  for (const double share : {1e-12, 0.001, 0.5, 0.999, 1.0 - 1e-12}) {
    const Interval found = share_interval(share, 0.3);
    EXPECT_GE(found.low, 0.0);
    EXPECT_LE(found.high, 1.0);
    EXPECT_LE(found.low, share);
    EXPECT_GE(found.high, share);
  }
  EXPECT_EQ(share_interval(0.0, 0.01).low, 0.0);
  EXPECT_EQ(share_interval(1.0, 0.01).high, 1.0);
  EXPECT_NEAR(share_interval(1.0, 0.01).low, 1.0 - 0.0196, 1e-12);
}

}  // namespace
}  // namespace caucus
