#include "caucus/evaluate/composition.h"

#include <gtest/gtest.h>

#include <cmath>

namespace caucus {
namespace {

// Two distinct rankings, A>B and B>A; rows 0 1 0 1 ... with weights 1, 2, 3, ...
Dataset small(std::size_t rows) {
  Dataset data;
  data.items = {"A", "B"};
  RankingSetBuilder builder;
  const std::vector<ItemId> ab = {0, 1}, ba = {1, 0};
  for (std::size_t row = 0; row < rows; ++row) builder.add(row % 2 == 0 ? ab : ba, static_cast<double>(row + 1));
  data.rankings = builder.build();
  return data;
}
const std::vector<std::uint32_t> labels = {0, 1};

TEST(Composition, CountsWeightsByGroupAndValue) {
  const Dataset data = small(8);
  Column column{"town", {}, {"x", "x", "y", "", "x", "y", "y", "x"}};
  const auto found = composition(data, column, labels, 2);
  ASSERT_TRUE(found);
  // x: weights 1, 2, 5, 8; y: 3, 6, 7. Rows 1, 3, 5, 7 are of group 1, the others of group 2.
  EXPECT_EQ(found->values, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(found->everyone, (std::vector<double>{16, 16}));
  EXPECT_EQ(found->left_out, 4.0);
  EXPECT_EQ(found->groups[0][0].count, 6.0);
  EXPECT_EQ(found->groups[0][1].count, 10.0);
  EXPECT_DOUBLE_EQ(found->groups[1][0].share, 10.0 / 16.0);
}

TEST(Composition, WilsonsIntervalAsPublished) {
  // 8 of 10 at 95 %: 0.490 to 0.943 (Agresti & Coull 1998).
  const Share share = wilson_share(8, 10);
  EXPECT_NEAR(share.low, 0.490, 5e-4);
  EXPECT_NEAR(share.high, 0.943, 5e-4);
  EXPECT_EQ(wilson_share(0, 10).low, 0.0);
  EXPECT_GT(wilson_share(0, 10).high, 0.2);
}

TEST(Composition, NumbersAreCutAtTheirQuartilesAndRareTextsJoined) {
  const Dataset data = small(40);
  Column ages{"age", {}, {}}, towns{"town", {}, {}};
  for (std::size_t row = 0; row < 40; ++row) {
    ages.numbers.push_back(static_cast<double>(20 + row));
    towns.texts.push_back("town " + std::to_string(row % 10));
  }
  const auto by_age = composition(data, ages, labels, 2);
  ASSERT_TRUE(by_age);
  EXPECT_EQ(by_age->values, (std::vector<std::string>{"up to 30", "over 30 to 40", "over 40 to 50", "over 50"}));
  const auto by_town = composition(data, towns, labels, 2, 4);
  ASSERT_TRUE(by_town);
  EXPECT_EQ(by_town->values.size(), 4U);
  EXPECT_EQ(by_town->values.back(), "other");
  double total = 0.0;
  for (double count : by_town->everyone) total += count;
  EXPECT_EQ(total, 820.0);
}

TEST(Composition, ColumnsThatTellNothingAreLeftOut) {
  const Dataset data = small(8);
  EXPECT_FALSE(composition(data, {"id", {}, {"a", "b", "c", "d", "e", "f", "g", "h"}}, labels, 2));
  EXPECT_FALSE(composition(data, {"state", {}, std::vector<std::string>(8, "x")}, labels, 2));
}

}  // namespace
}  // namespace caucus
