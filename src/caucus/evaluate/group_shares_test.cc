// Shares by group against a count by hand.
#include "caucus/evaluate/group_shares.h"

#include <gtest/gtest.h>

#include "caucus/base/error.h"
#include "caucus/io/io.h"

namespace caucus {
namespace {

TEST(GroupShares, SumMembershipsAndGiveWilsonsInterval) {
  const Dataset data = parse_dataset("count,town,rank1\n2,X,a\n1,Y,a\n1,X,b\n4,,b\n", "x.csv");
  const std::vector<double> memberships{0.75, 0.25, 0.5, 0.5};  // of a and of b
  const GroupShares shares = group_shares(data, memberships, 2, "Town");
  EXPECT_EQ(shares.values, (std::vector<std::string>{"X", "Y", "(missing)"}));
  EXPECT_EQ(shares.total, 8.0);
  // Group 1: X 2 * 0.75 + 0.5 = 2, Y 0.75, missing 2.
  EXPECT_DOUBLE_EQ(shares.of_group[0].count, 2.0);
  EXPECT_DOUBLE_EQ(shares.of_group[0].share, 2.0 / 4.75);
  EXPECT_DOUBLE_EQ(shares.of_group[1].share, 0.75 / 4.75);
  EXPECT_DOUBLE_EQ(shares.of_value[0].share, 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(shares.overall[2].share, 0.5);
  // Wilson (1927) for 4 of 8.
  EXPECT_NEAR(shares.overall[2].low, 0.2152, 1e-4);
  EXPECT_NEAR(shares.overall[2].high, 0.7848, 1e-4);
  EXPECT_THROW(group_shares(data, memberships, 2, "age"), UsageError);
}

TEST(GroupShares, ManyNumbersFallIntoRanges) {
  std::string text = "age,rank1\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + ",a\n";
  const GroupShares shares = group_shares(parse_dataset(text, "x.csv"), std::vector<double>{1.0}, 1, "age");
  EXPECT_EQ(shares.values.front(), "0 to 19");
  EXPECT_EQ(shares.values.back(), "80 to 99");
  for (const Share& one : shares.of_group) EXPECT_DOUBLE_EQ(one.share, 0.2);
}

}  // namespace
}  // namespace caucus
