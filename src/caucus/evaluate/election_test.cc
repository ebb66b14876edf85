#include "caucus/evaluate/election.h"

#include <gtest/gtest.h>

#include <set>

#include "caucus/base/error.h"
#include "caucus/io/io.h"
#include "support/shared_data.h"

namespace caucus {
namespace {

Dataset ballots(const std::string& lines, std::size_t num_items) {
  std::string text = std::to_string(num_items) + " 1\n" + lines + "0\n";
  for (std::size_t i = 0; i < num_items; ++i) text += std::string("\"") + static_cast<char>('A' + i) + "\"\n";
  return parse_dataset(text + "\"t\"\n", "e.blt");
}

TEST(Election, InstantRunoffByHand) {
  // A 7, B 6, C 4 of 17, quota 9. C goes: 3 to B, 1 exhausted. B has 9.
  const Dataset data = ballots("7 1 0\n6 2 3 0\n3 3 2 0\n1 3 0\n", 3);
  const Count count = single_transferable_vote(data, {});
  EXPECT_EQ(count.quota, 9.0);
  ASSERT_EQ(count.stages.size(), 2U);
  EXPECT_EQ(count.stages[0].votes, (std::vector<double>{7, 6, 4}));
  EXPECT_EQ(count.stages[1].what, Stage::What::exclusion);
  EXPECT_EQ(count.stages[1].from, 2U);
  EXPECT_EQ(count.stages[1].moved, (std::vector<double>{0, 3, -4}));
  EXPECT_EQ(count.stages[1].votes, (std::vector<double>{7, 9, 0}));
  EXPECT_EQ(count.stages[1].exhausted, 1.0);
  EXPECT_EQ(count.elected, (std::vector<ItemId>{1}));
  EXPECT_FALSE(count.lot);
}

TEST(Election, TheLastSeatIsFilledWithoutATransfer) {
  // Quota 6 of 10; two are left after C and neither has it: A, with more votes, is elected as B goes.
  const Count count = single_transferable_vote(ballots("5 1 0\n4 2 0\n1 3 0\n", 3), {});
  EXPECT_EQ(count.stages.size(), 2U);
  EXPECT_EQ(count.elected, (std::vector<ItemId>{0}));
}

TEST(Election, ScottishSurplusByHand) {
  // 100 votes, 2 seats, quota 34. A 60: surplus 26, each paper 26 / 60 = 0.43333. 40 papers to B: 17.3332; 20 not transferable.
  // B 15 + 17.3332, C 25: B 32.3332 and C 25 stand for one seat.
  const Dataset data = ballots("40 1 2 0\n20 1 0\n15 2 0\n25 3 0\n", 3);
  ElectionOptions options;
  options.seats = 2;
  const Count count = single_transferable_vote(data, options);
  EXPECT_EQ(count.quota, 34.0);
  ASSERT_EQ(count.stages.size(), 2U);
  EXPECT_EQ(count.stages[0].elected, (std::vector<ItemId>{0}));
  EXPECT_DOUBLE_EQ(count.stages[1].votes[1], 32.3332);
  EXPECT_DOUBLE_EQ(count.stages[1].exhausted, 26 - 17.3332);
  EXPECT_EQ(count.elected, (std::vector<ItemId>{0, 1}));
}

TEST(Election, IrishSurplusTakesTheLastParcelAlone) {
  // Quota 34 of 100, 2 seats. First A 30, B 25, C 20, D 25: nobody. C goes: 20 papers to A, who has 50, a surplus of 16.
  // Scottish: all 50 papers at 0.32: 30 x 0.32 = 9.6 to B and 20 x 0.32 = 6.4 to D. Irish: the 20 papers of C at 0.8: 16 to D.
  const Dataset data = ballots("30 1 2 0\n25 2 0\n20 3 1 4 0\n25 4 0\n", 4);
  ElectionOptions options;
  options.seats = 2;
  const Count scottish = single_transferable_vote(data, options);
  EXPECT_DOUBLE_EQ(scottish.stages[2].votes[1], 34.6);
  EXPECT_DOUBLE_EQ(scottish.stages[2].votes[3], 31.4);
  EXPECT_EQ(scottish.elected, (std::vector<ItemId>{0, 1}));
  options.surplus = Surplus::last_parcel;
  const Count irish = single_transferable_vote(data, options);
  EXPECT_DOUBLE_EQ(irish.stages[2].votes[1], 25.0);
  EXPECT_DOUBLE_EQ(irish.stages[2].votes[3], 41.0);
  EXPECT_EQ(irish.elected, (std::vector<ItemId>{0, 3}));
}

TEST(Election, TiesAreBrokenByEarlierStagesThenByTheFile) {
  // B and C are even after D's votes arrive (5 each), but C had more at first.
  const Count count = single_transferable_vote(ballots("8 1 0\n4 2 0\n5 3 0\n1 4 2 0\n", 4), {});
  EXPECT_EQ(count.stages[2].from, 1U);
  EXPECT_FALSE(count.lot);
  EXPECT_TRUE(single_transferable_vote(ballots("8 1 0\n5 2 0\n5 3 0\n", 3), {}).lot);
}

TEST(Election, TiedCandidatesShareABallot) {
  const Count count = single_transferable_vote(ballots("4 1=2 3 0\n3 3 0\n1 1 0\n", 3), {});
  EXPECT_EQ(count.stages[0].votes, (std::vector<double>{3, 2, 3}));
  EXPECT_EQ(count.stages[1].votes, (std::vector<double>{5, 0, 3})) << "B's halves go to A, tied with it";
}

TEST(Election, WinnersByEveryRule) {
  // A has most first places; B, everybody's second choice, beats each other one and has most points (11 : 10 : 6), but is the first
  // to go in the runoff, and A wins it.
  const Dataset data = ballots("4 1 2 3 0\n2 2 1 3 0\n3 3 2 1 0\n", 3);
  const Winners found = winners(data, {});
  EXPECT_EQ(found.first_past_the_post, (std::vector<ItemId>{0}));
  EXPECT_EQ(found.borda, (std::vector<ItemId>{1}));
  EXPECT_EQ(found.condorcet, 1U);
  EXPECT_EQ(found.runoff.elected, (std::vector<ItemId>{0}));
  // The same among the ballots of one group alone.
  EXPECT_EQ(winners(data, {}, std::vector<double>{0, 0, 3}).condorcet, 2U);
}

TEST(Election, NoBallotsElectNobody) {
  const Dataset data = ballots("1 1 0\n", 2);
  EXPECT_TRUE(single_transferable_vote(data, {}, std::vector<double>{0.0}).elected.empty());
  ElectionOptions none;
  none.seats = 0;
  EXPECT_THROW(single_transferable_vote(data, none), UsageError);
}

// Who was elected, by the returning officers' declarations.
struct Official {
  const char* file;
  std::size_t seats;
  Surplus surplus;
  std::set<std::string> elected;
};
void PrintTo(const Official& official, std::ostream* out) { *out << official.file; }

class OfficialResult : public ::testing::TestWithParam<Official> {};

TEST_P(OfficialResult, TheSameCandidatesAreElected) {
  const Official& official = GetParam();
  const std::string path = testing::shared_data(official.file);
  CAUCUS_NEEDS(path);
  const Dataset data = read_dataset(path);
  ElectionOptions options;
  options.seats = official.seats;
  options.surplus = official.surplus;
  const Count count = single_transferable_vote(data, options);
  std::set<std::string> elected;
  for (ItemId item : count.elected) elected.insert(data.items[item]);
  EXPECT_EQ(elected, official.elected);
}

INSTANTIATE_TEST_SUITE_P(
    Declared, OfficialResult,
    ::testing::Values(
        Official{"elections/edinburgh_2017_ward12.blt",
                 4,
                 Surplus::weighted_inclusive,
                 {"Susan RAE (Grn)", "Amy MCNEESE-MECHAN (SNP)", "Lewis RITCHIE (SNP)", "Marion DONALDSON (Lab)"}},
        Official{"elections/glasgow_2012_ward12.blt",
                 4,
                 Surplus::weighted_inclusive,
                 {"Aileen COLLERAN (Lab)", "Kenny MCLEAN (SNP)", "Feargal DALTON (SNP)", "Martin BARTOS (Grn)"}},
        Official{"elections/glasgow_2007_baillieston.blt",
                 4,
                 Surplus::weighted_inclusive,
                 {"Jim Coleman (Lab)", "Douglas Hay (Lab)", "John Mason (SNP)", "David Mcdonald (SNP)"}},
        Official{"elections/perth_kinross_2016_by_election_ward9.blt", 1, Surplus::weighted_inclusive, {"Kathleen BAIRD"}},
        Official{"preflib/00008-00000001.soi",
                 4,
                 Surplus::weighted_inclusive,
                 {"Nina Baker", "Philip Braat", "Craig Mackay", "Gordon Matheson"}},
        // Portland counts as Scotland does, but cuts to four decimals.
        Official{"elections/portland_2024_district1_cvr.csv",
                 3,
                 Surplus::weighted_inclusive,
                 {"Candace Avalos", "Loretta Smith", "Jamie Dunphy"}},
        Official{"preflib/00005-00000001.toi", 1, Surplus::weighted_inclusive, {"Bob Kiss"}},  // Burlington 2006
        // Ireland 2002, the three constituencies whose ballots are public: Dublin North, Dublin West, Meath.
        Official{"preflib/00001-00000001.soi",
                 4,
                 Surplus::last_parcel,
                 {"Trevor Sargent G.P.", "Sean Ryan Lab", "Jim Glennon F.F.", "G.V. Wright F.F."}},
        Official{
            "preflib/00001-00000002.soi", 3, Surplus::last_parcel, {"Brian Lenihan F.F.", "Joe Higgins S.P.", "Joan Burton Lab"}},
        Official{"preflib/00001-00000003.soi",
                 5,
                 Surplus::last_parcel,
                 {"Noel Dempsey F.F.", "John Bruton F.G.", "Mary Wallace F.F.", "Johnny Brady F.F.", "Damien English F.G."}}));

// First preferences by party as published by the Dail (Dublin West, 17 May 2002).
TEST(Election, FirstPreferencesOfDublinWestAreThePublishedOnes) {
  const std::string path = testing::shared_data("preflib/00001-00000002.soi");
  CAUCUS_NEEDS(path);
  const Dataset data = read_dataset(path);
  const Count count = single_transferable_vote(data, {});
  EXPECT_EQ(count.total, 29988.0);
  const auto votes_of = [&](const std::string& party) {
    double sum = 0.0;
    for (std::size_t i = 0; i < data.items.size(); ++i)
      if (data.items[i].ends_with(party)) sum += count.stages[0].votes[i];
    return sum;
  };
  EXPECT_EQ(votes_of("F.F."), 10386.0);
  EXPECT_EQ(votes_of("F.G."), 3694.0);
  EXPECT_EQ(votes_of("Lab"), 3810.0);
  EXPECT_EQ(votes_of("P.D."), 2370.0);
  EXPECT_EQ(votes_of("G.P."), 748.0);
  EXPECT_EQ(votes_of("S.F."), 2404.0);
}

}  // namespace
}  // namespace caucus
