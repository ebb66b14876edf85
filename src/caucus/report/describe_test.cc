#include "caucus/report/describe.h"

#include <gtest/gtest.h>

#include <set>

#include "caucus/io/io.h"

namespace caucus::report {
namespace {

ModelView view_of(std::vector<std::string> items, std::vector<GroupView> groups) {
  ModelView view;
  view.items = std::move(items);
  view.groups = std::move(groups);
  return view;
}

GroupView group(double weight, std::vector<double> first, std::vector<double> place, std::vector<ItemId> unbounded = {}) {
  GroupView one;
  one.weight = weight;
  one.first = std::move(first);
  one.mean_place = std::move(place);
  one.unbounded = std::move(unbounded);
  return one;
}

const std::vector<GroupFacts> two = {{"Group 1", {}}, {"Group 2", {}}};

TEST(ReportWords, AnItemWithoutAFiniteEstimateIsNeverSpokenOf) {
  const ModelView view = view_of({"endless", "b", "c", "d"}, {group(0.5, {0.9, 0.08, 0.01, 0.01}, {1, 2, 3, 4}, {0}),
                                                              group(0.5, {0.1, 0.1, 0.1, 0.7}, {4, 3, 2, 1})});
  const auto found = describe_groups(view, nullptr, two, {});
  EXPECT_EQ(found[0].words.find("endless"), std::string::npos) << found[0].words;
  for (const std::string& text : model_sentences(view, nullptr, two, 100, {}))
    EXPECT_EQ(text.find("endless"), std::string::npos) << text;
}

TEST(ReportWords, FavouritesWhomAllRankAboveTheRestAreSpokenOf) {
  // No choice bounds the distance of A and B from the others, but that all members put one of them first is counted.
  const Dataset data = parse_dataset("4 1\n30 1 2 3 0\n20 2 1 4 0\n20 3 4 1 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"D\"\n\"t\"\n", "v.blt");
  const Counted counted = count_rankings(data, std::vector<std::uint32_t>{0, 0, 1}, 2);
  const ModelView view = view_of({"A", "B", "C", "D"}, {group(0.7, {0.6, 0.4, 0, 0}, {1.4, 1.6, 3.4, 3.6}, {0, 1}),
                                                        group(0.3, {0, 0, 0.6, 0.4}, {3, 4, 1, 2})});
  const auto found = describe_groups(view, &counted, two, {});
  EXPECT_TRUE(found[0].words.starts_with("60% put A first (0% elsewhere)")) << found[0].words;
}

TEST(ReportWords, AnItemThatHardlyAnyoneListsIsNeverSpokenOf) {
  // The write-in is first on the two ballots that list it; 198 others list three names.
  const Dataset data = parse_dataset("4 1\n2 4 0\n120 1 2 3 0\n78 2 3 1 0\n0\n\"a\"\n\"b\"\n\"c\"\n\"write-in\"\n\"t\"\n", "v.blt");
  const Counted counted = count_rankings(data, {}, 1);
  const ModelView view = view_of({"a", "b", "c", "write-in"}, {group(1.0, {0.1, 0.1, 0.1, 0.7}, {2, 3, 4, 1})});
  const auto found = describe_groups(view, &counted, {{"Group 1", {}}}, {});
  EXPECT_EQ(found[0].words.find("write-in"), std::string::npos) << found[0].words;
}

TEST(ReportWords, NoTwoGroupsAreToldInTheSameWords) {
  const ModelView view = view_of(
      {"a", "b", "c", "d"}, {group(0.6, {0.6, 0.24, 0.1, 0.06}, {1, 2, 3, 4}), group(0.4, {0.6, 0.1, 0.2, 0.1}, {1, 2.2, 2.8, 4})});
  const auto found = describe_groups(view, nullptr, two, {});
  EXPECT_EQ(found[0].likes, found[1].likes);
  EXPECT_NE(found[0].words.find("Unlike Group 2 on b: 24% of first places here, 10% there."), std::string::npos) << found[0].words;
  EXPECT_NE(found[1].words.find("Unlike Group 1 on b: 10% of first places here, 24% there."), std::string::npos) << found[1].words;
}

TEST(ReportWords, NumbersAreCountedAmongTheMembers) {
  // Group 1 holds A>B>C (30) and B>A>C (10); group 2 holds C>B>A (20).
  const Dataset data = parse_dataset("3 1\n30 1 2 3 0\n10 2 1 3 0\n20 3 2 1 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"t\"\n", "v.blt");
  const Counted counted = count_rankings(data, std::vector<std::uint32_t>{0, 0, 1}, 2);
  const ModelView view = view_of({"A", "B", "C"}, {group(0.6, {0.5, 0.3, 0.2}, {1, 2, 3}), group(0.4, {0.2, 0.3, 0.5}, {3, 2, 1})});
  const auto found = describe_groups(view, &counted, {{"Left", 0.5}, {"Right", {}}}, {});
  EXPECT_EQ(found[0].words,
            "75% put A first (0% elsewhere); C is placed low, 3.0 on average (1.0 elsewhere). 50% of its "
            "members "
            "belong to it clearly.");
}

TEST(ReportWords, CaveatsComeGravestFirst) {
  FitSummary summary;
  summary.starts = Starts{10, 10, 1, {}, {}};
  ChainQuantity chains;
  chains.rhat = 1.3;
  summary.posterior.emplace().quantities.push_back(chains);
  const std::vector<std::string> texts = caveats(summary, 3, true, {"pairs"}, 0.9);
  ASSERT_EQ(texts.size(), 4U);
  EXPECT_TRUE(texts[0].starts_with("Runs from different starting points do not agree"));
  EXPECT_TRUE(texts[1].starts_with("Only one of 10 starts"));
  EXPECT_TRUE(texts[2].starts_with("The groups do not explain everything: pairs"));
  EXPECT_TRUE(texts[3].starts_with("The number of groups, 3, was set by hand"));
  for (const std::string& text : texts)
    for (const char* jargon : {"EBIC", "R-hat", "exp(", "singular", "log-likelihood"})
      EXPECT_EQ(text.find(jargon), std::string::npos) << text;
}

TEST(ReportWords, PathsAreCutToFileNames) {
  EXPECT_EQ(without_paths("caucus fit /home/me/votes.soi --out=/data/m.json -k 3"), "caucus fit votes.soi --out=m.json -k 3");
  EXPECT_EQ(without_paths("read '/a b/c.csv', and/or 1/2"), "read 'a b/c.csv', and/or 1/2");
  EXPECT_EQ(without_paths("no paths here / at all"), "no paths here / at all");
}

}  // namespace
}  // namespace caucus::report
