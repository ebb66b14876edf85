#include "caucus/data/weights.h"

#include <gtest/gtest.h>

#include <vector>

namespace caucus {
namespace {

TEST(EffectiveSize, CountsAddUpAndSharesDoNotDependOnTheirScale) {
  EXPECT_EQ(effective_size(std::vector<double>{3.0, 1.0, 6.0}), 10.0);
  for (double scale : {1e-300, 1e-3, 0.3, 1e200}) {
    const std::vector<double> equal(40, 0.025 * scale);
    EXPECT_NEAR(effective_size(equal), 40.0, 1e-9);
    EXPECT_NEAR(effective_size(std::vector<double>{0.5 * scale, 0.25 * scale, 0.25 * scale}), 1.0 / 0.375, 1e-12);
  }
  EXPECT_EQ(effective_size(std::vector<double>{}), 0.0);
}

// Rows, not merged rankings, are what was sampled.
TEST(EffectiveSize, IsOfTheRows) {
  RankingSetBuilder builder;
  for (int row = 0; row < 10; ++row) builder.add(std::vector<ItemId>{0, 1}, 0.1);
  EXPECT_NEAR(effective_size(builder.build()), 10.0, 1e-12);
}

}  // namespace
}  // namespace caucus
