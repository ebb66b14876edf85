// Names of columns, words that name nobody, edits of items: the rules behind the tables people have.
#include <gtest/gtest.h>

#include "caucus/base/error.h"
#include "caucus/io/csv_header.h"
#include "caucus/io/csv_layout.h"
#include "caucus/io/io.h"
#include "caucus/io/nobody.h"
#include "caucus/io/order_text.h"

namespace caucus {
namespace {

using Strings = std::vector<std::string>;

TEST(RankHeader, ReadsWhatPeopleWrite) {
  const auto rank = [](std::string_view name) { return parse_rank_header(name).rank; };
  EXPECT_EQ(rank("rank1"), 1U);
  EXPECT_EQ(rank("Rank 12"), 12U);
  EXPECT_EQ(rank("First Choice"), 1U);
  EXPECT_EQ(rank("2nd"), 2U);
  EXPECT_EQ(rank("third"), 3U);
  EXPECT_EQ(rank("10th_choice"), 10U);
  EXPECT_EQ(rank("Council District 1 Choice 2"), 2U);
  EXPECT_EQ(rank("First name"), 0U);
  EXPECT_EQ(rank("age"), 0U);
  EXPECT_EQ(rank("rank_Ann"), 0U);
  const RankHeader mayor = parse_rank_header("DEM Mayor Choice 3 of 5 Citywide (026916)");
  EXPECT_EQ(mayor.rank, 3U);
  EXPECT_EQ(mayor.contest, "DEM Mayor Citywide (026916)");
}

TEST(RankHeader, ContestsAreColumnsThatDifferInTheirRankAlone) {
  const std::vector<Contest> found =
      find_contests({"id", "Mayor rank 2", "Mayor rank 1", "Clerk rank 1", "Clerk rank 3", "Vote 2020"});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].name, "Mayor");
  EXPECT_EQ(found[0].columns, (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(found[0].missing, 0U);
  EXPECT_EQ(found[1].missing, 2U);
  EXPECT_EQ(found[2].missing, 1U);
}

TEST(Nobody, WordsInAnyDress) {
  for (const std::string_view word :
       {"", "skipped", "(Over-vote)", "over vote", "[BLANK]", "n/a", "-", "--", "No Vote", "None", "\u2014"})
    EXPECT_TRUE(names_nobody(word)) << word;
  for (const std::string_view word : {"Ann", "Overvote 2", "0", "Nano", "None of the above", "Élan", "é"})
    EXPECT_FALSE(names_nobody(word)) << word;
  EXPECT_TRUE(resembles_nobody("Over-vote 2"));
  EXPECT_FALSE(resembles_nobody("Nano"));
  EXPECT_TRUE(is_demographic("Start Date"));
  EXPECT_TRUE(matches_any("Lee, Ann", Strings{"lee, ann"}));
  EXPECT_TRUE(matches_any("Bo", Strings{"Ann,B*"}));
}

TEST(Matrix, IsFoundAmongIdsAndDemographics) {
  // Age is too large for a rank, 'Finished' repeats the first rank; one row in twelve was filled in wrongly.
  std::string text = "Id,Age,Finished,A,B,C,D,Score\n";
  for (int i = 0; i < 11; ++i) text += i % 2 == 0 ? "x,30,1,2,1,3,4,7\n" : "y,44,1,1,2,,,3\n";
  text += "z,50,1,1,1,2,3,2\n";
  const Dataset data = parse_dataset(text, "x.csv");
  EXPECT_EQ(data.items, (Strings{"A", "B", "C", "D"}));
  EXPECT_EQ(data.covariates.size(), 4U);
  // Two rankings in one table: neither is taken silently.
  const std::string two = "A,B,C,age,X,Y,Z\n1,2,3,40,3,2,1\n2,1,3,41,1,2,3\n";
  EXPECT_THROW(parse_dataset(two, "x.csv"), DataError);
  ReadOptions options;
  options.format = Format::csv_matrix;
  options.columns = {"X,Y,Z"};
  EXPECT_EQ(parse_dataset(two, "x.csv", options).items, (Strings{"X", "Y", "Z"}));
}

TEST(HeaderLines, AFirstBallotIsNoHeader) {
  // A nameless column of row names, and a first ballot that lists little.
  const Dataset data = parse_dataset(",Precinct,rank1,rank2\nB1,P1,Ann,\nB2,P2,Bo,Ann\n", "x.csv");
  EXPECT_EQ(data.rankings.num_rows(), 2U);
  const Dataset survey = parse_dataset("Id,Rank these,,,Age\n,Ann,Bo,Cy,Response\n7,1,2,3,30\n8,,1,,31\n", "x.csv");
  EXPECT_EQ(survey.items, (Strings{"Ann", "Bo", "Cy"}));
  EXPECT_EQ(survey.rankings.num_rows(), 2U);
}

TEST(ItemEdits, BallotsThatBecomeBlankTakeTheirColumnsAlong) {
  ReadOptions options;
  options.exclude = {"a"};
  const Dataset data = parse_dataset("id,rank1,rank2\n1,a,b\n2,a,\n3,,\n4,b,c\n", "x.csv", options);
  EXPECT_EQ(data.items, (Strings{"b", "c"}));
  EXPECT_EQ(data.covariates.at(0).numbers, (std::vector<double>{1, 4}));
  EXPECT_EQ(data.blank_covariates.at(0).numbers, (std::vector<double>{2, 3}));
  ASSERT_EQ(data.blanks.size(), 2U);
  EXPECT_EQ(data.blanks[0].row, 1U);
  EXPECT_EQ(data.blanks[1].row, 2U);
}

TEST(ItemEdits, MergedItemsKeepTheirFirstPlaceAndTies) {
  ReadOptions options;
  options.merge = {"w*=W"};
  const Dataset data = parse_dataset("ranking\nw1 = a > w2 > b\nw2 = w1 > a\n", "x.csv", options);
  EXPECT_EQ(data.items, (Strings{"a", "b", "W"}));
  const RankingView first = data.rankings[0];
  EXPECT_EQ(first.size(), 3U);
  EXPECT_FALSE(first.ends_group(0));
  EXPECT_EQ(data.items[first[2]], "b");
  const RankingView second = data.rankings[1];
  EXPECT_EQ(second.size(), 2U);
  EXPECT_TRUE(second.ends_group(0));
}

TEST(Ballots, AsAPersonTypesThem) {
  const Strings items{"Ann", "Bo", "Lee, C"};
  const Dataset data = ballots_of(Strings{"ann > lee, c", "Lee, C", "Bo, Ann", "3: Ann=B"}, items, Unranked::last);
  ASSERT_EQ(data.rankings.num_rows(), 4U);
  EXPECT_EQ(data.rankings[0][1], 2U);
  EXPECT_EQ(data.rankings[1].size(), 1U);
  EXPECT_EQ(data.rankings[2][0], 1U);
  EXPECT_TRUE(data.rankings[3].has_ties());
  EXPECT_THROW(ballots_of(Strings{"Zoe"}, items, Unranked::last), DataError);
  EXPECT_THROW(ballots_of(Strings{"Ann > Ann"}, items, Unranked::last), DataError);
}

}  // namespace
}  // namespace caucus
