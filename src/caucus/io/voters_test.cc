// Voters in every layout that can name them, and the table that tells of them.
#include "caucus/io/voters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caucus/base/error.h"

namespace caucus {
namespace {

Dataset read_with(const std::string& text, const std::string& name, const std::string& voter, Format format = Format::automatic) {
  ReadOptions options;
  options.voter = voter;
  options.format = format;
  return parse_dataset(text, name, options);
}

// Two voters of two rankings each, a > b and b > c by one, c > a twice by the other.
void expect_two_voters(const Dataset& data) {
  EXPECT_EQ(data.voters.names, (std::vector<std::string>{"ann", "bob"}));
  EXPECT_EQ(data.voters.of_row, (std::vector<std::uint32_t>{0, 1, 0, 1}));
  EXPECT_TRUE(data.voters.share());
  EXPECT_EQ(data.items, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(VotersInFiles, EveryLayoutTakesThem) {
  expect_two_voters(read_with("judge,model_a,model_b,winner\nann,a,b,model_a\nbob,c,a,model_a\nann,b,c,model_a\nbob,a,c,model_b\n",
                              "p.csv", "judge"));
  expect_two_voters(read_with("who,rank1,rank2\nann,a,b\nbob,c,a\nann,b,c\nbob,c,a\n", "w.csv", "who"));
  expect_two_voters(read_with("who,a,b,c\nann,1,2,\nbob,2,,1\nann,,1,2\nbob,2,,1\n", "m.csv", "who", Format::csv_matrix));
  expect_two_voters(
      read_with("ballot,who,item,rank\n1,ann,a,1\n1,ann,b,2\n2,bob,c,1\n2,bob,a,2\n3,ann,b,1\n3,ann,c,2\n4,bob,c,1\n4,bob,a,2\n",
                "l.csv", "who"));
  expect_two_voters(
      read_with("ballot,who,item,rating\n1,ann,a,5\n1,ann,b,2\n2,bob,c,3\n2,bob,a,2\n3,ann,b,3\n3,ann,c,2\n4,bob,c,5\n4,bob,a,2\n",
                "r.csv", "who", Format::csv_ratings));
  expect_two_voters(read_with("who,ranking\nann,a>b\nbob,c>a\nann,b>c\nbob,c>a\n", "o.csv", "who"));
  expect_two_voters(
      read_with("{\"ranking\":[\"a\",\"b\"],\"judge\":\"ann\"}\n{\"ranking\":[\"c\",\"a\"],\"judge\":\"bob\"}\n"
                "{\"ranking\":[\"b\",\"c\"],\"judge\":\"ann\"}\n{\"ranking\":[\"c\",\"a\"],\"judge\":\"bob\"}\n",
                "x.jsonl", "judge"));
}

TEST(VotersInFiles, ANumericVoterIsNoItem) {
  const Dataset data = read_with("id,a,b,c\n7,1,2,3\n7,2,1,3\n9,3,2,1\n", "m.csv", "id");
  EXPECT_EQ(data.items, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(data.voters.names, (std::vector<std::string>{"7", "9"}));
}

TEST(VotersInFiles, CountsAreSoManyRankingsOfTheVoter) {
  const Dataset data = read_with("judge,a,b,wins_a,wins_b\nann,x,y,3,1\nbob,x,y,0,2\n", "c.csv", "judge", Format::csv_pairwise);
  EXPECT_EQ(data.voters.weights, (std::vector<double>{1.0, 1.0}));
  EXPECT_EQ(data.rankings.total_weight(), 6.0);
  EXPECT_EQ(data.rankings.size(), 2U);
  EXPECT_EQ(data.voters.rankings.times, (std::vector<std::uint32_t>{3, 1, 2}));
}

TEST(VotersInFiles, AWeightIsTheVoters) {
  const Dataset data = read_with("judge,a,b,winner,count\nann,x,y,x,3\nann,x,y,y,3\nbob,x,y,x,1\n", "w.csv", "judge");
  EXPECT_EQ(data.voters.weights, (std::vector<double>{3.0, 1.0}));
  EXPECT_EQ(data.voters.total_weight(), 4.0);
  EXPECT_THROW(read_with("judge,a,b,winner,count\nann,x,y,x,3\nann,x,y,y,2\n", "w.csv", "judge"), DataError);
}

TEST(VotersInFiles, JsonLinesSayWhoThemselves) {
  const std::string text = "{\"ranking\":[\"a\",\"b\"],\"voter\":\"ann\"}\n{\"ranking\":[\"b\",\"a\"],\"voter\":\"ann\"}\n";
  EXPECT_TRUE(parse_dataset(text, "x.jsonl").voters.share());
  ReadOptions none;
  none.voter = "none";
  EXPECT_FALSE(parse_dataset(text, "x.jsonl", none).voters.given());
  // What was written is read again without a flag.
  const Dataset data = read_with("judge,rank1,rank2\nann,a,b\nann,b,a\nbob,a,b\n", "w.csv", "judge");
  const Dataset again = parse_dataset(format_dataset(data, "x.jsonl"), "x.jsonl");
  EXPECT_EQ(again.voters.column, "judge");
  EXPECT_EQ(again.voters.of_row, data.voters.of_row);
  EXPECT_EQ(digest(again), digest(data));
}

// Counts of outcomes with a column that names who compared, written as JSON lines, where the column's name says so: they come back.
TEST(VotersInFiles, CountsOfOutcomesComeBackFromJsonLines) {
  const Dataset counts = parse_dataset("model_a,model_b,win_a,win_b,tie,voter\nx,y,10,3,2,1\n", "c.csv");
  ASSERT_FALSE(counts.voters.given());
  WriteOptions to;
  to.format = Format::jsonl;
  const std::string text = format_dataset(counts, "c.jsonl", to);
  const Dataset back = parse_dataset(text, "c.jsonl");
  EXPECT_FALSE(back.voters.given());
  EXPECT_EQ(back.rankings.total_weight(), 15.0);
  ASSERT_EQ(back.warnings.size(), 1u);
  EXPECT_NE(back.warnings[0].find("differ in weight"), std::string::npos) << back.warnings[0];
  EXPECT_THROW(read_with(text, "c.jsonl", "voter"), DataError);
}

TEST(VotersInFiles, WithoutVotersNothingIsKept) {
  const Dataset data = parse_dataset("judge,rank1,rank2\nann,a,b\nann,b,a\n", "w.csv");
  EXPECT_FALSE(data.voters.given());
  EXPECT_TRUE(data.voters.of_row.empty());
}

TEST(VotersInFiles, ATableTellsOfThem) {
  Dataset data = read_with("judge,rank1,rank2\nann,a,b\n7,b,a\nann,a,b\nzed,a,b\n", "w.csv", "judge");
  join_voter_table(data, parse_table("judge,age,town\n7,20,west\nann,31,east\nnobody,1,x\n", "v.csv"));
  ASSERT_EQ(data.voters.table.size(), 2U);
  EXPECT_EQ(data.voters.table[0].numbers[0], 31.0);
  EXPECT_EQ(data.voters.table[0].numbers[1], 20.0);
  EXPECT_TRUE(std::isnan(data.voters.table[0].numbers[2]));
  EXPECT_EQ(data.voters.table[1].texts, (std::vector<std::string>{"east", "west", ""}));
  ASSERT_FALSE(data.warnings.empty());
  EXPECT_NE(data.warnings.back().find("1 of 3 voters are not in v.csv: 'zed'"), std::string::npos) << data.warnings.back();
}

TEST(VotersInFiles, ABadTableIsRefusedByName) {
  Dataset data = read_with("judge,rank1,rank2\nann,a,b\nbob,b,a\n", "w.csv", "judge");
  const auto message = [&](const std::string& table) {
    try {
      Dataset copy = data;
      join_voter_table(copy, parse_table(table, "v.csv"));
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("who,age\nann,3\n").find("no column 'judge'"), std::string::npos);
  EXPECT_NE(message("judge,age\nann,3\nann,4\n").find("more than one line: 'ann'"), std::string::npos);
  EXPECT_NE(message("judge,age\n,3\nann,4\n").find("row 1 names no voter"), std::string::npos);
  EXPECT_NE(message("judge,age\nAnn,3\nBob,4\n").find("none of the 2 voters"), std::string::npos);
}

}  // namespace
}  // namespace caucus
