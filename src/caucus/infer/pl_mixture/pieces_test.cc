// Groups that come apart: which items can be compared, and what is said of the others.
#include "caucus/infer/pl_mixture/pieces.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/testing.h"

namespace caucus::pl_mixture {
namespace {

using Items = std::vector<std::size_t>;

// Ballots over a contiguous part of the items, drawn with utilities spread evenly over [-1, 1].
void add_ballots(RankingSetBuilder& builder, std::size_t first, std::size_t last, int count, std::uint64_t seed,
                 bool reversed = false) {
  std::vector<double> utilities;
  for (std::size_t i = first; i < last; ++i)
    utilities.push_back((reversed ? -1.0 : 1.0) *
                        (1.0 - 2.0 * static_cast<double>(i - first) / static_cast<double>(last - first - 1)));
  const PlackettLuce model(utilities);
  std::vector<ItemId> items;
  std::vector<std::uint8_t> ends;
  for (int l = 0; l < count; ++l) {
    RandomStream random(seed, Purpose::generate, static_cast<std::uint64_t>(l));
    model.sample(random, 0, items, ends);
    for (ItemId& item : items) item += static_cast<ItemId>(first);
    builder.add(items);
  }
}

Dataset races(std::size_t n, RankingSetBuilder& builder) {
  Dataset data;
  data.items = testing::names(n);
  data.unranked = Unranked::absent;
  data.source = "races";
  data.rankings = builder.build();
  return data;
}

void expect_told(const Result& result, std::size_t n) {
  for (std::size_t k = 0; k < result.unbounded.size(); ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      const bool unbounded = std::ranges::find(result.unbounded[k], i) != result.unbounded[k].end();
      EXPECT_TRUE(std::isfinite(result.parameters.component(k)[i]));
      if (result.errors) {
        EXPECT_EQ(std::isnan(result.errors->utilities[k * n + i]), unbounded) << "group " << k << " item " << i;
      }
      if (unbounded) continue;
      EXPECT_LT(std::abs(result.parameters.component(k)[i]), 10.0) << "group " << k << " item " << i;
      if (result.errors) {
        EXPECT_LT(result.errors->utilities[k * n + i], 3.0);
      }
    }
  }
}

// Two leagues that never meet: the larger is the reference, and its errors are those of a fit to it alone.
TEST(Pieces, LeaguesThatNeverMeet) {
  RankingSetBuilder smaller, alone;
  add_ballots(smaller, 0, 3, 60, 1);
  add_ballots(alone, 0, 5, 60, 2);
  for (const char* strength : {"0", "auto"}) {
    RankingSetBuilder both = [] {
      RankingSetBuilder b;
      add_ballots(b, 0, 3, 60, 1);
      add_ballots(b, 3, 8, 60, 2);
      return b;
    }();
    const Result result =
        fit(races(8, both), parse_options<Options>({{"components", "1"}, {"regularization", strength}}), caucus::Run{});
    EXPECT_EQ(result.unbounded[0], (Items{0, 1, 2}));
    ASSERT_TRUE(result.errors);
    expect_told(result, 8);
    if (strength[0] != '0') continue;
    const Result part = fit(races(5, alone), parse_options<Options>({{"components", "1"}}), caucus::Run{});
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_NEAR(result.parameters.utilities[i + 3], part.parameters.utilities[i], 1e-6);
      EXPECT_NEAR(result.errors->utilities[i + 3], part.errors->utilities[i], 1e-6);
      EXPECT_NEAR(result.errors->quasi[i + 3], part.errors->quasi[i], 1e-5);
    }
    // Of the smaller league the differences are known as well.
    ASSERT_EQ(result.blocks[0], (std::vector<Items>{{0, 1, 2}}));
    const Result small = fit(races(3, smaller), parse_options<Options>({{"components", "1"}}), caucus::Run{});
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(result.parameters.utilities[i] - result.parameters.utilities[0],
                  small.parameters.utilities[i] - small.parameters.utilities[0], 1e-6);
      EXPECT_NEAR(result.errors->block_utilities[i], small.errors->utilities[i], 1e-6);
      EXPECT_NEAR(result.errors->block_quasi[i], small.errors->quasi[i], 1e-5);
    }
  }
}

// Three favourites that all ballots rank above the rest, and only a few of them go on: what the ballots choose between is the
// reference, not the larger part of the items.
TEST(Pieces, TheReferenceIsWhereBallotsChooseMost) {
  RankingSetBuilder builder, favourites;
  add_ballots(builder, 0, 3, 200, 7);
  add_ballots(favourites, 0, 3, 200, 7);
  RankingSetBuilder rest;
  add_ballots(rest, 3, 7, 30, 8);
  const RankingSet followed = rest.build();
  for (std::size_t i = 0; i < followed.size(); ++i) {
    std::vector<ItemId> ballot{0, 1, 2};
    ballot.insert(ballot.end(), followed[i].items().begin(), followed[i].items().end());
    builder.add(ballot, followed.weight(i));
    favourites.add(std::vector<ItemId>{0, 1, 2}, followed.weight(i));
  }
  Dataset data = races(7, builder);
  data.unranked = Unranked::last;
  const Result result = fit(data, parse_options<Options>({{"components", "1"}, {"regularization", "0"}}), caucus::Run{});
  EXPECT_EQ(result.unbounded[0], (Items{3, 4, 5, 6}));
  EXPECT_EQ(result.blocks[0], (std::vector<Items>{{3, 4, 5, 6}}));
  const Result alone = fit(races(3, favourites), parse_options<Options>({{"components", "1"}}), caucus::Run{});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(result.parameters.utilities[i], alone.parameters.utilities[i], 1e-6);
    EXPECT_NEAR(result.errors->utilities[i], alone.errors->utilities[i], 1e-6);
  }
  for (std::size_t i = 3; i < 7; ++i) EXPECT_LT(result.errors->block_utilities[i], 1.0);
}

// A block that never loses to the rest: the block is flagged as a whole, the rest keep their errors.
TEST(Pieces, ABlockAboveTheRest) {
  RankingSetBuilder builder;
  add_ballots(builder, 2, 7, 100, 3);
  add_ballots(builder, 0, 2, 40, 4);
  for (ItemId item = 2; item < 7; ++item) builder.add(std::vector<ItemId>{static_cast<ItemId>(item % 2), item});
  const Result result =
      fit(races(7, builder), parse_options<Options>({{"components", "1"}, {"regularization", "0"}}), caucus::Run{});
  EXPECT_EQ(result.unbounded[0], (Items{0, 1}));
  ASSERT_TRUE(result.errors);
  expect_told(result, 7);
}

// Each group ranks items of its own and one shared pair of ballots connects the data: within a group the items of the other are
// bounded by nothing.
TEST(Pieces, AGroupThatNeverSawSomeItems) {
  RankingSetBuilder builder;
  add_ballots(builder, 0, 6, 300, 5);
  add_ballots(builder, 0, 4, 300, 6, true);
  const Dataset data = races(6, builder);
  ASSERT_TRUE(connectivity(data).strongly_connected);
  const Result result = fit(data, parse_options<Options>({{"components", "2"}}), caucus::Run{});
  ASSERT_TRUE(result.errors);
  expect_told(result, 6);
}

TEST(Pieces, NoTwoItemsCanBeCompared) {
  RankingSetBuilder builder;
  builder.add(std::vector<ItemId>{0, 1, 2}, 50.0);
  const Result result =
      fit(races(3, builder), parse_options<Options>({{"components", "1"}, {"regularization", "0"}}), caucus::Run{});
  EXPECT_EQ(result.unbounded[0], (Items{0, 1, 2}));
  expect_told(result, 3);
}

// Small groups of sparse ballots, the case met most in real data: whatever has no useful error is flagged, and what is not has one.
TEST(Pieces, EveryUselessErrorIsFlagged) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    for (auto kind : {testing::Kind::top, testing::Kind::subset, testing::Kind::ties}) {
      const Dataset data = testing::draw(testing::random_parameters(3, 9, seed, 2.0), 60, kind, seed);
      const Result result = fit(data, parse_options<Options>({{"components", "3"}}), caucus::Run{});
      expect_told(result, 9);
    }
}

// Shares that add up to one, or to a million: the same groups, errors and flags, and nobody is called empty.
TEST(Weights, TheirScaleDoesNotMatter) {
  const Dataset counted = testing::draw(testing::random_parameters(2, 5, 4), 150, testing::Kind::top, 4);
  std::vector<Result> results;
  for (double scale : {1e-4, 1.0, 1e6}) {
    Dataset data = counted;
    RankingSetBuilder builder;
    for (std::size_t i = 0; i < counted.rankings.size(); ++i)
      builder.add(counted.rankings[i].items(), scale * (0.5 + 0.001 * std::sqrt(static_cast<double>(i) + 2.0)));
    data.rankings = builder.build();
    results.push_back(fit(data, parse_options<Options>({{"components", "2"}}), caucus::Run{}));
    const Result& one = results.back();
    ASSERT_TRUE(one.errors);
    for (const std::string& text : one.warnings) EXPECT_EQ(text.find("empty"), std::string::npos) << text;
    EXPECT_EQ(one.unbounded, results.front().unbounded);
    for (std::size_t j = 0; j < one.parameters.utilities.size(); ++j) {
      const double error = one.errors->utilities[j], first = results.front().errors->utilities[j];
      if (std::isnan(error)) continue;  // unbounded: how far such a utility ran says nothing
      EXPECT_NEAR(one.parameters.utilities[j], results.front().parameters.utilities[j], 1e-3);
      EXPECT_NEAR(error, first, 1e-3 * first);
      EXPECT_LT(error, 3.0);
    }
  }
}

// As many groups as races, as in a season of four: each group holds one race, and the maximum of one race lies at infinity. All its
// items are flagged, rightly: no choice contradicts its order. With one group the same races bound most of them.
TEST(Pieces, AGroupOfOneRaceBoundsNothing) {
  constexpr std::size_t n = 12;
  const std::vector<std::vector<ItemId>> orders{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                                                {11, 9, 7, 5, 3, 1, 10, 8, 6, 4, 2, 0},
                                                {6, 0, 7, 1, 8, 2, 9, 3, 10, 4, 11, 5},
                                                {5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6}};
  RankingSetBuilder builder;
  for (const auto& order : orders) builder.add(order);
  const Dataset data = races(n, builder);
  Items all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = i;
  const Result four = fit(data, parse_options<Options>({{"components", "4"}}), caucus::Run{});
  for (const Items& unbounded : four.unbounded) EXPECT_EQ(unbounded, all);
  expect_told(four, n);
  // What was flagged is so: a step along the order of its race raises the likelihood of a group's race, with no end.
  for (std::size_t k = 0; k < 4; ++k) {
    const auto own = four.parameters.component(k);
    std::vector<double> stretched(own.begin(), own.end());
    for (double& utility : stretched) utility *= 1.5;
    double best = -infinity, further = -infinity;
    for (std::size_t i = 0; i < 4; ++i) {
      best = std::max(best, PlackettLuce(std::vector<double>(own.begin(), own.end())).log_prob(data.rankings[i], Unranked::absent));
      further = std::max(further, PlackettLuce(stretched).log_prob(data.rankings[i], Unranked::absent));
    }
    EXPECT_GT(further, best);
  }
  const Result one = fit(data, parse_options<Options>({{"components", "1"}}), caucus::Run{});
  EXPECT_TRUE(one.unbounded[0].empty());
  expect_told(one, n);
}

// Approval of two: one item is in every top tie, so it and the strength of ties of two run off together, though ties link all items
// both ways.
TEST(Pieces, AnItemInEveryTopTieRunsOff) {
  const auto fit_of = [](bool always) {
    Dataset data;
    data.items = {"always", "b", "c", "d"};
    RankingSetBuilder builder;
    const std::vector<std::uint8_t> ends{0, 1};
    for (ItemId other : {1, 2, 3})
      for (int copies = 0; copies < 5 + 3 * static_cast<int>(other); ++copies)
        builder.add(std::vector<ItemId>{0, other}, 1.0, ends);
    if (!always) builder.add(std::vector<ItemId>{1, 2}, 1.0, ends);
    data.rankings = builder.build();
    Options options;
    options.components = 1;
    return fit(data, options, caucus::Run{});
  };
  EXPECT_EQ(fit_of(true).unbounded[0], (Items{0}));
  EXPECT_TRUE(fit_of(false).unbounded[0].empty());
}

// Strict choices further down hold the strength of ties, and with it the item.
TEST(Pieces, StrictChoicesBelowHoldAnItemInEveryTopTie) {
  Dataset data;
  data.items = {"always", "b", "c", "d", "e"};
  RankingSetBuilder builder;
  const std::vector<std::uint8_t> ends{0, 1, 1};
  for (ItemId other : {1, 2, 3, 4})
    for (ItemId next : {1, 2, 3, 4})
      if (next != other) builder.add(std::vector<ItemId>{0, other, next}, 1.0, ends);
  data.rankings = builder.build();
  Options options;
  options.components = 1;
  EXPECT_TRUE(fit(data, options, caucus::Run{}).unbounded[0].empty());
}

}  // namespace
}  // namespace caucus::pl_mixture
