// Consensus rankings held to enumeration, and the speed bars of exact consensus.
#include "caucus/model/consensus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/model/generalized_consensus.h"
#include "caucus/model/generalized_mallows.h"
#include "caucus/model/mallows.h"

namespace caucus {
namespace {

PairMatrix random_pairs(std::size_t n, RandomStream& stream, int kind) {
  PairMatrix pairs(n);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) {
      // Continuous, small whole numbers (many ties and cycles), one-sided.
      const double x = kind == 0 ? stream.uniform() : static_cast<double>(stream.below(kind == 1 ? 4 : 2));
      pairs(a, b) = x;
      pairs(b, a) = kind == 0 ? 1.0 - x : kind == 1 ? 3.0 - x : static_cast<double>(stream.below(2));
    }
  return pairs;
}

// min over orders by dynamic programming over sets: independent of the search.
double least_cost(const PairMatrix& pairs) {
  const std::size_t n = pairs.num_items();
  std::vector<double> best(std::size_t{1} << n, infinity);
  best[0] = 0.0;
  for (std::size_t set = 0; set < best.size(); ++set)
    for (std::size_t i = 0; i < n; ++i) {
      if (set >> i & 1) continue;
      double cost = best[set];
      for (std::size_t k = 0; k < n; ++k)
        if (k != i && !(set >> k & 1)) cost += pairs(k, i);
      best[set | std::size_t{1} << i] = std::min(best[set | std::size_t{1} << i], cost);
    }
  return best.back();
}

std::vector<ItemId> identity(std::size_t n) {
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  return order;
}

TEST(Consensus, ExactOnThousandRandomMatrices) {
  RandomStream stream(21);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::size_t n = trial < 990 ? 8 : 12;
    const PairMatrix pairs = random_pairs(n, stream, trial % 3);
    const Consensus exact = find_consensus(pairs, ConsensusMethod::exact);
    EXPECT_TRUE(exact.optimal);
    EXPECT_NEAR(exact.cost, least_cost(pairs), 1e-12);
    EXPECT_NEAR(exact.cost, consensus_cost(exact.order, pairs), 1e-12);
    EXPECT_EQ(exact.gap(), 0.0);
    auto sorted = exact.order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, identity(n));
    const Consensus local = find_consensus(pairs, ConsensusMethod::local), borda = find_consensus(pairs, ConsensusMethod::borda);
    EXPECT_GE(borda.cost, local.cost - 1e-12);
    EXPECT_GE(local.cost, exact.cost - 1e-12);
    EXPECT_LE(local.lower_bound, exact.cost + 1e-12);
    if (local.optimal) {
      EXPECT_NEAR(local.cost, exact.cost, 1e-12);
    }
  }
}

TEST(Consensus, StopsWithAGapThatHolds) {
  RandomStream stream(22);
  for (int trial = 0; trial < 50; ++trial) {
    const PairMatrix pairs = random_pairs(12, stream, 0);
    ConsensusLimits limits;
    limits.max_nodes = 3;
    const Consensus early = find_consensus(pairs, ConsensusMethod::exact, limits);
    const double best = least_cost(pairs);
    EXPECT_GE(early.cost, best - 1e-12);
    EXPECT_LE(early.lower_bound, best + 1e-12);
    EXPECT_NEAR(early.cost - early.gap(), early.lower_bound, 1e-9);
  }
  // Pure noise of 60 items, far beyond any search: best so far with its gap, when told to stop.
  const PairMatrix noise = random_pairs(60, stream, 0);
  int asked = 0;
  ConsensusLimits limits;
  limits.stop = [&] { return ++asked > 3; };
  const Consensus stopped = find_consensus(noise, ConsensusMethod::exact, limits);
  EXPECT_FALSE(stopped.optimal);
  EXPECT_GT(stopped.gap(), 0.0);
}

PairMatrix drawn_pairs(std::size_t n, double theta, std::size_t count, std::uint64_t seed) {
  const MallowsSampler sampler(identity(n), theta);
  RandomStream stream(seed, Purpose::test, n);
  PairMatrix pairs(n);
  std::vector<ItemId> order(n);
  for (std::size_t i = 0; i < count; ++i) {
    sampler.draw(stream, order);
    pairs.add(RankingView(order), 1.0);
  }
  return pairs;
}

TEST(Consensus, SpeedBars) {
  struct Bar {
    std::size_t n;
    double theta;
  };
  for (const Bar bar : {Bar{50, 0.1}, Bar{20, 0.01}, Bar{20, 0.03}}) {
    const PairMatrix pairs = drawn_pairs(bar.n, bar.theta, 1000, 1);
    const auto begin = std::chrono::steady_clock::now();
    const Consensus exact = find_consensus(pairs, ConsensusMethod::exact);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_TRUE(exact.optimal);
    RecordProperty("nodes", static_cast<int>(exact.nodes));
    EXPECT_LT(seconds, 1.0) << bar.n << ' ' << bar.theta;
  }
}

double generalized_least_v(const PairMatrix& pairs, double total) {
  const std::size_t n = pairs.num_items();
  auto order = identity(n);
  double best = infinity;
  do {
    double cost = 0.0;
    for (std::size_t j = 0; j + 1 < n; ++j) {
      double mean = 0.0;
      for (std::size_t k = j + 1; k < n; ++k) mean += pairs(order[k], order[j]) / total;
      cost += total * stage_cost(mean, n - j);
    }
    best = std::min(best, cost);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(GeneralizedConsensus, CodeVExactByEnumeration) {
  RandomStream stream(23);
  const GeneralizedConsensusSolver solver(6);
  for (int trial = 0; trial < 60; ++trial) {
    PairMatrix pairs(6);
    std::vector<ItemId> order = identity(6);
    for (int i = 0; i < 12; ++i) {
      stream.shuffle(std::span<ItemId>(order));
      pairs.add(RankingView(order), 1.0);
    }
    const GeneralizedConsensus exact = solver.solve_v(pairs, 12.0, ConsensusMethod::exact);
    EXPECT_TRUE(exact.optimal);
    EXPECT_NEAR(exact.cost, generalized_least_v(pairs, 12.0), 1e-9);
    EXPECT_GE(solver.solve_v(pairs, 12.0, ConsensusMethod::local).cost, exact.cost - 1e-9);
  }
}

TEST(GeneralizedConsensus, CodeSExactByEnumeration) {
  RandomStream stream(24);
  const std::size_t n = 5;
  const GeneralizedConsensusSolver solver(n);
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<std::vector<ItemId>> rankings;
    StagePairs pairs(n);
    for (int i = 0; i < 10; ++i) {
      std::vector<ItemId> order = identity(n);
      stream.shuffle(std::span<ItemId>(order));
      if (i % 3 == 0) order.resize(2);
      pairs.add(order, 1.0);
      rankings.push_back(order);
    }
    const GeneralizedConsensus exact = solver.solve_s(pairs, ConsensusMethod::exact);
    EXPECT_TRUE(exact.optimal);
    // The log-likelihood at the estimate, and the best over all centers with stage-wise estimates.
    const auto loglik = [&](const std::vector<ItemId>& center, const std::vector<double>& theta) {
      const GeneralizedMallows model(center, theta, Code::s);
      double value = 0.0;
      for (const auto& ranking : rankings) value += model.log_prob(ranking);
      return value;
    };
    EXPECT_NEAR(loglik(exact.order, exact.theta), -exact.cost, 1e-9);
    auto center = identity(n);
    double best = -infinity;
    do {
      std::vector<double> sum(n, 0.0), count(n, 0.0), theta;
      std::vector<std::uint32_t> code(n);
      for (const auto& ranking : rankings) {
        code_s(ranking, inverse_order(center), code);
        for (std::size_t j = 0; j < ranking.size(); ++j) sum[j] += code[j], count[j] += 1.0;
      }
      for (std::size_t j = 0; j + 1 < n; ++j) theta.push_back(count[j] > 0 ? solve_stage_theta(sum[j] / count[j], n - j) : 0.0);
      best = std::max(best, loglik(center, theta));
    } while (std::next_permutation(center.begin(), center.end()));
    EXPECT_NEAR(best, -exact.cost, 1e-9);
  }
}

}  // namespace
}  // namespace caucus
