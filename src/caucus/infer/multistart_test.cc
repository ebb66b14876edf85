#include "caucus/infer/multistart.h"

#include <gtest/gtest.h>

#include <numeric>

#include "caucus/base/random.h"
#include "caucus/infer/regroup.h"

namespace caucus {
namespace {

// Optima 0, 1, 2, ...: start s ends at one drawn with the given chances. A move leads one higher, but not to the last.
struct Toy {
  struct Solution {
    double height = 0.0;
    bool stop = false;
    friend auto parts(IsA<Solution> auto& one) { return std::tie(one.height, one.stop); }
  };
  using Point = double;
  std::vector<double> chances;
  std::uint64_t seed = 1;
  bool helpful_moves = false;
  std::vector<double> refined = {};  // heights after refinement
  int stop_at = -1;

  Solution start(int number) {
    RandomStream random(seed, Purpose::test, static_cast<std::uint64_t>(number));
    return {static_cast<double>(random.categorical(chances)), number == stop_at};
  }
  std::vector<double> moves(const Solution& best, int) const {
    return {best.height, helpful_moves ? std::min(best.height + 1.0, static_cast<double>(chances.size()) - 2.0) : 0.0};
  }
  // The best of both and one more, where crossings help.
  bool helpful_crossings = false;
  std::vector<double> cross(const Solution& one, const Solution& two, int) const {
    return {helpful_crossings ? std::min(std::max(one.height, two.height) + 1.0, static_cast<double>(chances.size()) - 1.0)
                              : two.height};
  }
  Solution attempt(double height) { return {height}; }
  Solution attempt(Solution solution) { return solution; }
  Solution finish(Solution solution) { return solution; }
  Solution refine(Solution solution) { return {refined[static_cast<std::size_t>(solution.height)]}; }
  static double value(const Solution& solution) { return solution.height; }
  static double work(const Solution&) { return 1.0; }
  static bool stopped(const Solution& solution) { return solution.stop; }
};

auto search(Toy toy, std::optional<int> starts, int threads = 1, double budget = 1000.0, int refined = 0) {
  MultistartPlan plan;
  plan.starts = starts;
  plan.workers = threads;
  plan.budget = budget;
  plan.refined = refined;
  return Multistart(toy, plan).run();
}

TEST(Multistart, MoreStartsAreNeverWorse) {
  for (const bool moves : {false, true})
    for (const bool refine : {false, true})
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Toy toy{{0.3, 0.3, 0.2, 0.1, 0.06, 0.03, 0.01}, seed, moves, {3, 6, 1, 9, 2, 5, 4}};
        double before = -1.0;
        for (int starts = 1; starts <= 60; ++starts) {
          const double height = search(toy, starts, 1, 1000.0, refine ? 2 : 0).best.height;
          EXPECT_GE(height, before) << starts << " starts, seed " << seed;
          before = height;
        }
      }
}

TEST(Multistart, StopsSoonWhereStartsAgreeAndSearchesOnWhereTheyDoNot) {
  const auto agree = search({{0.0, 0.0, 1.0}}, std::nullopt);
  EXPECT_EQ(agree.record.agreeing, agree.record.finished);
  EXPECT_LE(agree.record.tried, 16);
  EXPECT_EQ(agree.record.optima, 1);
  const auto rare = search({{0.5, 0.45, 0.05}}, std::nullopt, 1, 5000.0);
  EXPECT_EQ(rare.best.height, 2.0);
  EXPECT_GT(rare.record.tried, 4 * agree.record.tried);
}

TEST(Multistart, SaysHowSureItIs) {
  EXPECT_DOUBLE_EQ(SearchRecord::missed_after(0), 0.5);
  EXPECT_DOUBLE_EQ(SearchRecord::missed_after(1), 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(SearchRecord::missed_after(8), 0.1);
  // An optimum that only moves reach was found once by each search of four starts, however many starts it had.
  Toy toy{{0.9, 0.1, 0.0, 0.0, 0.0}, 3, true};
  const auto found = search(toy, 8);
  EXPECT_EQ(found.best.height, 3.0);
  EXPECT_EQ(found.record.agreeing, 2);
}

TEST(Multistart, CrossingsReachWhatNeitherStartsNorMovesDo) {
  Toy toy{{0.5, 0.5, 0.0, 0.0}, 2};
  EXPECT_EQ(search(toy, 16).best.height, 1.0);
  toy.helpful_crossings = true;
  EXPECT_EQ(search(toy, 16).best.height, 3.0);
}

// An optimum that a hundredth of the starts lead to, where the next best is found by half of them.
TEST(Multistart, RoughLikelihoodsAreSearchedOnThoughMostAgree) {
  EXPECT_DOUBLE_EQ(least_share(10000.0, 20), 0.004);
  EXPECT_DOUBLE_EQ(least_share(1500.0, 25), 0.25);
  EXPECT_DOUBLE_EQ(least_share(143.0, 50), 1.0);
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Toy toy{{0.49, 0.5, 0.01}, seed};
    MultistartPlan plan;
    plan.budget = 8000.0;
    plan.least = 1.0;
    const auto result = Multistart(toy, plan).run();
    found += result.best.height == 2.0 ? 1 : 0;
    // Some hundred finds are enough all the same.
    EXPECT_LE(result.record.agreeing, 400);
  }
  // Moves take most of the work: with some 270 starts one seed in fifteen misses; six of twenty would be a chance of 1e-3.
  EXPECT_GE(found, 15);
}

TEST(Multistart, LessEffortIsLessWork) {
  const Toy toy{{0.3, 0.3, 0.2, 0.1, 0.06, 0.03, 0.01}, 4};
  EXPECT_LT(search(toy, std::nullopt, 1, 100.0).record.tried, search(toy, std::nullopt, 1, 2000.0).record.tried);
}

// The chance (1) is that of the model it is derived from: even odds for nothing better, else a uniform share of starts.
TEST(Multistart, TheChanceOfABetterOptimumIsTheModels) {
  RandomStream random(5);
  std::array<int, 6> better{}, all{};
  for (int trial = 0; trial < 200'000; ++trial) {
    const double share = random.uniform() < 0.5 ? 0.0 : random.uniform();
    for (std::size_t hits = 0; hits < all.size(); ++hits) {
      ++all[hits];
      better[hits] += share > 0.0 ? 1 : 0;
      if (random.uniform() < share) break;  // a better one was seen
    }
  }
  // Five standard errors of at least 100,000 trials: 0.008.
  for (std::size_t hits = 0; hits < all.size(); ++hits)
    EXPECT_NEAR(static_cast<double>(better[hits]) / all[hits], SearchRecord::missed_after(static_cast<int>(hits)), 0.008) << hits;
}

TEST(Multistart, SameOnAnyNumberOfThreadsAndStopsWhenTold) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Toy toy{{0.4, 0.4, 0.15, 0.05}, seed, true};
    const auto one = search(toy, std::nullopt, 1), four = search(toy, std::nullopt, 4);
    EXPECT_EQ(one.best.height, four.best.height);
    EXPECT_EQ(one.record.tried, four.record.tried);
    EXPECT_EQ(one.record.agreeing, four.record.agreeing);
  }
  const auto stopped = search({{0.5, 0.5}, 1, false, {}, 5}, 100);
  EXPECT_LE(stopped.record.tried, 8);
  EXPECT_LT(stopped.record.finished, stopped.record.tried);
}

RankingSet cards(std::size_t n, double votes) {
  RankingSetBuilder builder;
  RandomStream random(7);
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  builder.add(order, votes);
  for (int i = 0; i < 2000; ++i) {
    random.shuffle(std::span<ItemId>(order));
    builder.add(order);
  }
  return builder.build();
}

TEST(Regroup, WhatThousandsCastStaysInThePart) {
  const RankingSet all = cards(8, 3000.0);
  RandomStream random(3);
  const RankingSet part = draw_by_weight(all, 500, random);
  EXPECT_DOUBLE_EQ(part.total_weight(), 500.0);
  double largest = 0.0;
  for (double weight : part.weights()) largest = std::max(largest, weight);
  EXPECT_NEAR(largest, 300.0, 1.0);
}

TEST(Regroup, AMoveSeedsAGroupAtACard) {
  const RankingSet all = cards(8, 60.0);
  const Regrouper regrouper(all, 8, Unranked::last);
  Standing standing;
  const double uniform = -std::lgamma(9.0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    standing.log_probs.push_back(uniform);
    for (std::size_t k = 0; k < 3; ++k) standing.memberships.push_back(i % 3 == k ? 0.8 : 0.1);
  }
  RandomStream random(4);
  const std::vector<Regrouping> moves = regrouper.moves(standing, 3, random);
  EXPECT_EQ(moves.size(), 3u * (2u + 4u));
  EXPECT_EQ(moves.size(), Regrouper::num_moves(3));
  for (const Regrouping& move : moves) {
    ASSERT_EQ(move.labels.size(), all.size());
    for (std::size_t fresh : move.fresh)
      EXPECT_TRUE(std::ranges::any_of(move.labels, [&](std::uint32_t label) { return label == fresh; }));
    for (std::uint32_t label : move.labels) EXPECT_LT(label, 3u);
  }
  // 60 copies against an expectation of 2060 / 8!: hundreds of nats, where single ballots have three each.
  const auto seeds = regrouper.around_ballots(2, standing.log_probs, random);
  EXPECT_EQ(std::ranges::max(seeds), 1u);
}

TEST(Regroup, SatellitesAreOfAnySizeUpToAnEvenShare) {
  const RankingSet all = cards(8, 1.0);
  const Regrouper regrouper(all, 8, Unranked::last);
  const std::vector<double> expected(all.size(), -std::lgamma(9.0));
  RandomStream random(6);
  int alone = 0, many = 0;
  constexpr int trials = 60;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> size(4, 0.0);
    const std::vector<std::uint32_t> labels = regrouper.satellites(4, expected, random);
    ASSERT_EQ(labels.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) size.at(labels[i]) += all.weight(i);
    EXPECT_GE(size[0], 0.24 * all.total_weight());
    for (std::size_t k = 1; k < 4; ++k) {
      EXPECT_LE(size[k], 0.26 * all.total_weight());
      alone += size[k] == 1.0 ? 1 : 0;
      many += size[k] > 50.0 ? 1 : 0;
    }
  }
  EXPECT_GE(alone, trials / 10);
  EXPECT_GE(many, trials / 2);
}

}  // namespace
}  // namespace caucus
