#include "caucus/infer/mallows_tensor/polish.h"

#include <gtest/gtest.h>

#include "caucus/base/error.h"
#include "caucus/infer/mallows_tensor/learn.h"
#include "caucus/infer/mallows_tensor/start.h"
#include "caucus/infer/mallows_tensor/testing.h"

namespace caucus::mallows_tensor {
namespace {

double slow_log_likelihood(const RankingSet& rankings, const MallowsPair& pair) {
  const std::size_t n = pair.center[0].size();
  double sum = 0.0;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const std::vector<ItemId> order(rankings[i].items().begin(), rankings[i].items().end());
    double p = 0.0;
    for (std::size_t r = 0; r < 2; ++r)
      p += pair.weight[r] *
           std::exp(-pair.theta[r] * static_cast<double>(kendall(order, pair.center[r])) - log_normalizer(pair.theta[r], n));
    sum += rankings.weight(i) * std::log(p);
  }
  return sum;
}

// A plain EM iteration, ranking by ranking, centers by trying all orders.
MallowsPair slow_step(const RankingSet& rankings, const MallowsPair& now) {
  const std::size_t n = now.center[0].size();
  std::array<std::vector<double>, 2> share;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const std::vector<ItemId> order(rankings[i].items().begin(), rankings[i].items().end());
    std::array<double, 2> p{};
    for (std::size_t r = 0; r < 2; ++r)
      p[r] = now.weight[r] *
             std::exp(-now.theta[r] * static_cast<double>(kendall(order, now.center[r])) - log_normalizer(now.theta[r], n));
    for (std::size_t r = 0; r < 2; ++r) share[r].push_back(rankings.weight(i) * p[r] / (p[0] + p[1]));
  }
  MallowsPair next = now;
  for (std::size_t r = 0; r < 2; ++r) {
    double weight = 0.0, least = infinity;
    for (double value : share[r]) weight += value;
    std::vector<ItemId> center = identity(n);
    do {
      double spent = 0.0;
      for (std::size_t i = 0; i < rankings.size(); ++i)
        spent += share[r][i] * static_cast<double>(kendall({rankings[i].items().begin(), rankings[i].items().end()}, center));
      if (spent < least - 1e-9) {
        least = spent;
        next.center[r] = center;
      }
    } while (std::next_permutation(center.begin(), center.end()));
    next.weight[r] = weight / rankings.total_weight();
    next.theta[r] = solve_mallows_theta(least, weight, n, {});
  }
  return next;
}

TEST(PairPolisher, LikelihoodAgainstRankingByRanking) {
  for (const std::size_t n : {3u, 6u, 12u, 17u}) {
    RandomStream random(n);
    const MallowsPair truth = random_pair(n, random), other = random_pair(n, random);
    const RankingSet rankings = draw_rankings(truth, 500, 2);
    const PairPolisher polisher(rankings, n, 1);
    EXPECT_NEAR(polisher.log_likelihood(other), slow_log_likelihood(rankings, other), 1e-9 * 500 * static_cast<double>(n * n));
  }
}

TEST(PairPolisher, FollowsPlainEmStepByStep) {
  RandomStream random(6);
  const MallowsPair truth = random_pair(4, random);
  const RankingSet rankings = draw_rankings(truth, 300, 7);
  PolishOptions options;
  options.accelerate = false;
  options.exchange = false;
  options.iterations = 8;
  MallowsPair slow = random_pair(4, random);
  const PolishResult fast = PairPolisher(rankings, 4, 1).run(slow, options);
  std::vector<double> trace;
  for (int i = 0; i < 10; ++i) {
    trace.push_back(slow_log_likelihood(rankings, slow));
    slow = slow_step(rankings, slow);
  }
  // The fast trace holds some of the iterates, in order: each must be one of the slow ones.
  for (double value : fast.trace)
    EXPECT_TRUE(std::any_of(trace.begin(), trace.end(), [&](double other) { return std::abs(other - value) < 1e-7; })) << value;
}

TEST(PairPolisher, LikelihoodNeverFallsAndThreadsDoNotMatter) {
  for (std::uint64_t run = 0; run < 10; ++run) {
    RandomStream random(40, Purpose::test, run);
    const MallowsPair truth = random_pair(8, random), start = random_pair(8, random);
    const RankingSet rankings = draw_rankings(truth, 40000, run);
    const PolishResult one = PairPolisher(rankings, 8, 1).run(start), four = PairPolisher(rankings, 8, 4).run(start);
    for (std::size_t i = 1; i < one.trace.size(); ++i)
      EXPECT_GE(one.trace[i], one.trace[i - 1] - 1e-9 * std::abs(one.trace[i - 1]));
    EXPECT_EQ(one.loglik, four.loglik);
    EXPECT_EQ(one.pair.center, four.pair.center);
    EXPECT_EQ(one.pair.theta, four.pair.theta);
    EXPECT_NEAR(one.loglik, slow_log_likelihood(rankings, one.pair), 1e-9 * std::abs(one.loglik));
  }
}

TEST(PairPolisher, WeightThreeIsThreeCopies) {
  RandomStream random(3);
  const MallowsPair truth = random_pair(6, random), start = random_pair(6, random);
  const RankingSet rankings = draw_rankings(truth, 2000, 5);
  std::vector<double> tripled(rankings.weights().begin(), rankings.weights().end());
  for (double& weight : tripled) weight *= 3.0;
  const PolishResult one = PairPolisher(rankings, 6, 1).run(start),
                     three = PairPolisher(rankings.with_weights(tripled), 6, 1).run(start);
  EXPECT_EQ(one.pair.center, three.pair.center);
  EXPECT_NEAR(one.pair.theta[0], three.pair.theta[0], 1e-5);
  EXPECT_NEAR(3.0 * one.loglik, three.loglik, 1e-7 * std::abs(three.loglik));
}

// Two disjoint exchanges between the centers, wrongly paired: every ranking is as far from one as from the other, and EM cannot
// move.
TEST(PairPolisher, ExchangeLeavesAWrongPairing) {
  const MallowsPair truth = make_pair(0.5, 2.5, 2.5, {0, 1, 2, 3, 4, 5}, {1, 0, 2, 3, 5, 4});
  const RankingSet rankings = draw_rankings(truth, 50000, 9);
  const PairPolisher polisher(rankings, 6, 1);
  const MallowsPair wrong = make_pair(0.5, 2.5, 2.5, {0, 1, 2, 3, 5, 4}, {1, 0, 2, 3, 4, 5});
  EXPECT_TRUE(same_centers(polisher.run(wrong).pair, truth));
}

TEST(PairPolisher, PolishedAtLeastAsLikelyAsTheStart) {
  for (std::uint64_t run = 0; run < 5; ++run) {
    RandomStream random(60, Purpose::test, run);
    const MallowsPair truth = random_pair(8, random);
    const RankingSet rankings = draw_rankings(truth, 20000, run);
    const CountSource source = [&](std::span<const ItemId> deleted) { return count_rankings(rankings, 8, 1, deleted); };
    const LearnResult learned = learn_two_mallows(source({}), source, {}, 1);
    const PairPolisher polisher(rankings, 8, 1);
    PolishOptions em;
    em.exchange = false;
    const PolishResult end = polisher.run(learned.pair, em);
    EXPECT_GE(end.loglik, polisher.log_likelihood(learned.pair) - 1e-6);
    EXPECT_GE(end.loglik, polisher.log_likelihood(truth) - 1e-6);
  }
}

TEST(TensorStart, ThreeMallowsModels) {
  // First-position profiles of three separated models from 200,000 rankings: errors are a few standard errors, 3 / sqrt(N w) <
  // 0.015.
  const std::vector<std::vector<ItemId>> center{{0, 1, 2, 3, 4, 5, 6, 7}, {7, 5, 6, 3, 2, 4, 0, 1}, {3, 0, 7, 4, 1, 6, 2, 5}};
  const std::vector<double> theta{0.9, 0.7, 1.1}, weight{0.5, 0.3, 0.2};
  const RankingSet rankings = draw_rankings(center, theta, weight, 200000, 77);
  const TensorStart start = tensor_start(rankings, 8, 3, 1);
  EXPECT_LT(start.residual, 0.05);
  std::array<bool, 3> used{};
  for (std::size_t k = 0; k < 3; ++k) {
    const ModelTable table(theta[k], 8);
    double best = infinity;
    std::size_t which = 0;
    for (std::size_t s = 0; s < 3; ++s) {
      double distance = 0.0;
      for (std::size_t p = 0; p < 8; ++p) distance += std::abs(start.first[s][center[k][p]] - table.first[p]);
      if (distance < best) {
        best = distance;
        which = s;
      }
    }
    EXPECT_LT(best, 0.1) << "component " << k;
    EXPECT_NEAR(start.weight[which], weight[k], 0.05);
    EXPECT_FALSE(used[which]);
    used[which] = true;
  }
  const std::vector<double> one = tensor_memberships(rankings, Unranked::last, start, 1);
  EXPECT_EQ(one, tensor_memberships(rankings, Unranked::last, start, 4));
  for (std::size_t i = 0; i < rankings.size(); i += 100) EXPECT_NEAR(one[3 * i] + one[3 * i + 1] + one[3 * i + 2], 1.0, 1e-12);
}

TEST(TensorStart, TakesBallotsOfThreePlacesAndRefusesShorter) {
  RankingSetBuilder builder;
  RandomStream random(2);
  const MallowsSampler first(identity(7), 1.0);
  std::vector<ItemId> order(3);
  for (int i = 0; i < 500; ++i) {
    first.draw(random, order);
    builder.add(order);
  }
  const RankingSet ballots = builder.build();
  const TensorStart start = tensor_start(ballots, 7, 2, 1);
  for (const auto& profile : start.first) EXPECT_NEAR(std::accumulate(profile.begin(), profile.end(), 0.0), 1.0, 1e-12);
  RankingSetBuilder pairs;
  pairs.add(std::vector<ItemId>{0, 1});
  EXPECT_THROW(tensor_start(pairs.build(), 7, 2, 1), DataError);
}

}  // namespace
}  // namespace caucus::mallows_tensor
