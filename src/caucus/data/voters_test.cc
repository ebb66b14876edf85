// Voters: who cast which rankings.
#include "caucus/data/voters.h"

#include <gtest/gtest.h>

#include "caucus/base/error.h"
#include "caucus/data/dataset.h"

namespace caucus {
namespace {

Dataset battles() {
  Dataset data;
  data.items = {"a", "b", "c"};
  data.source = "battles";
  data.unranked = Unranked::absent;
  RankingSetBuilder builder;
  for (const auto& [winner, loser] : {std::pair<ItemId, ItemId>{0, 1}, {1, 2}, {0, 1}, {2, 0}, {0, 1}}) {
    const ItemId row[] = {winner, loser};
    builder.add(row);
  }
  data.rankings = builder.build();
  data.covariates = {{"judge", {}, {"x", "y", "x", "y", "z"}}, {"age", {31, 40, 31, 40, 50}, {}}, {"day", {1, 2, 3, 4, 5}, {}}};
  return data;
}

TEST(Voters, AreCountedOnceAndTheirRankingsToo) {
  Dataset data = battles();
  EXPECT_FALSE(data.voters.given());
  const std::string before = digest(data);
  collect_voters(data, "judge");
  const Voters& voters = data.voters;
  EXPECT_EQ(voters.names, (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(voters.of_row, (std::vector<std::uint32_t>{0, 1, 0, 1, 2}));
  EXPECT_TRUE(voters.share());
  EXPECT_EQ(voters.rankings.begin, (std::vector<std::uint32_t>{0, 1, 3, 4}));
  EXPECT_EQ(voters.rankings.other, (std::vector<std::uint32_t>{0, 1, 2, 0}));
  EXPECT_EQ(voters.rankings.times, (std::vector<std::uint32_t>{2, 1, 1, 1}));
  EXPECT_EQ(voters.casters.begin, (std::vector<std::uint32_t>{0, 2, 3, 4}));
  EXPECT_EQ(voters.casters.other, (std::vector<std::uint32_t>{0, 2, 1, 1}));
  EXPECT_EQ(voters.casters.times, (std::vector<std::uint32_t>{2, 1, 1, 1}));
  EXPECT_NE(digest(data), before);
  const std::vector<Column> columns = voter_columns(data);  // day differs within a judge
  ASSERT_EQ(columns.size(), 1U);
  EXPECT_EQ(columns[0].name, "age");
  EXPECT_EQ(columns[0].numbers, (std::vector<double>{31, 40, 50}));
}

TEST(Voters, PartsKeepWholeVoters) {
  Dataset data = battles();
  collect_voters(data, "judge");
  const Dataset part = with_voter_weights(data, std::vector<double>{2.0, 0.0, 1.0});
  EXPECT_EQ(part.voters.names, (std::vector<std::string>{"x", "z"}));
  EXPECT_EQ(part.voters.weights, (std::vector<double>{2.0, 1.0}));
  EXPECT_EQ(part.rankings.total_weight(), 5.0);
  ASSERT_EQ(part.voters.table.size(), 1U);
  EXPECT_EQ(part.voters.table[0].numbers, (std::vector<double>{31, 50}));
}

TEST(Voters, EveryRowMayBeOne) {
  Dataset data = battles();
  const std::string before = digest(data);
  make_rows_voters(data);
  EXPECT_TRUE(data.voters.given());
  EXPECT_FALSE(data.voters.share());
  EXPECT_EQ(digest(data), before);
  EXPECT_EQ(voter_columns(data).size(), 3U);
  EXPECT_EQ(data.voters.name(1), "row 2");
}

TEST(Voters, WhatIsWrongIsNamed) {
  Dataset data = battles();
  EXPECT_THROW(collect_voters(data, "juror"), UsageError);
  data.covariates[0].texts[3].clear();
  try {
    collect_voters(data, "judge");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("ranking 4"), std::string::npos) << error.what();
  }
  Dataset weighted = battles();
  RankingSetBuilder builder;
  for (std::size_t row = 0; row < 5; ++row) {
    const ItemId pair[] = {static_cast<ItemId>(row % 3), static_cast<ItemId>((row + 1) % 3)};
    builder.add(pair, row == 2 ? 2.0 : 1.0);
  }
  weighted.rankings = builder.build();
  try {
    collect_voters(weighted, "judge");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("voter 'x' has weight 2 here and 1 before"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace caucus
