// Consensus rankings held to enumeration, and the speed bars of exact consensus.
#include "caucus/model/consensus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/model/consensus_search.h"
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
    // Processor time: what else the machine does must not count.
    const std::clock_t begin = std::clock();
    const Consensus exact = find_consensus(pairs, ConsensusMethod::exact);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    EXPECT_TRUE(exact.optimal);
    RecordProperty("nodes", static_cast<int>(exact.nodes));
    EXPECT_LT(seconds, 1.0) << bar.n << ' ' << bar.theta;
  }
}

// The linear program alone, without the search over sets before it.
struct ByProgram {
  double cost, lower_bound;
  bool optimal;
};

ByProgram by_program(const PairMatrix& pairs, std::uint64_t max_nodes = 1'000'000) {
  const std::size_t n = pairs.num_items();
  detail::Margins margins{n, std::vector<double>(n * n, 0.0), 0.0};
  double least = 0.0;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      margins(a, b) = std::max(0.0, pairs(a, b) - pairs(b, a));
      if (a < b) least += std::min(pairs(a, b), pairs(b, a));
    }
  margins.find_unit();
  const std::vector<ItemId> start = identity(n);
  detail::Solved solved;
  solved.order.assign(start.begin(), start.end());
  solved.excess = margins.excess_of(start);
  std::uint64_t nodes = 0;
  solved = detail::solve_by_program(margins, pairs, std::move(solved), {}, max_nodes, nodes);
  const std::vector<ItemId> order(solved.order.begin(), solved.order.end());
  EXPECT_NEAR(consensus_cost(order, pairs), least + solved.excess, 1e-9);
  return {least + solved.excess, least + solved.lower_bound, solved.optimal};
}

// A random tournament: its program is far from whole numbers, and much is left to branching.
PairMatrix random_tournament(std::size_t n, RandomStream& stream) {
  PairMatrix pairs(n);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) {
      const bool first = stream.below(2) == 0;
      (first ? pairs(a, b) : pairs(b, a)) = 1.0 + 0.1 * stream.uniform();
    }
  return pairs;
}

TEST(Consensus, LinearProgramByEnumeration) {
  RandomStream stream(25);
  for (int trial = 0; trial < 360; ++trial) {
    const PairMatrix pairs = trial < 300   ? random_pairs(trial % 10 == 0 ? 12 : 9, stream, trial % 3)
                             : trial < 350 ? random_tournament(13, stream)
                                           : random_tournament(16, stream);
    const double best = least_cost(pairs);
    const ByProgram found = by_program(pairs);
    EXPECT_TRUE(found.optimal) << trial;
    EXPECT_NEAR(found.cost, best, 1e-9) << trial;
    EXPECT_NEAR(found.lower_bound, best, 1e-9) << trial;
    for (const std::uint64_t few : {1, 5, 20, 60, 100, 150, 200, 250, 300}) {  // stopped anywhere the bound holds
      const ByProgram early = by_program(pairs, few);
      EXPECT_LE(early.lower_bound, best + 1e-9) << trial << ' ' << few;
      EXPECT_GE(early.cost, best - 1e-9) << trial << ' ' << few;
      if (early.optimal) break;
    }
  }
}

PairMatrix uniform_pairs(std::size_t n, std::size_t count, std::uint64_t seed) {
  RandomStream stream(seed, Purpose::test, n);
  PairMatrix pairs(n);
  std::vector<ItemId> order = identity(n);
  for (std::size_t i = 0; i < count; ++i) {
    stream.shuffle(std::span<ItemId>(order));
    pairs.add(RankingView(order), 1.0);
  }
  return pairs;
}

// Uniform rankings: the search over sets alone takes 10,000 to over a million nodes here. Costs by a mixed-integer solver.
TEST(Consensus, UniformRankingsAreProvenInFewNodes) {
  struct Case {
    std::size_t count;
    std::uint64_t seed;
    double cost;
    std::uint64_t nodes;
  };
  for (const Case& each : {Case{10, 1, 4659.0, 8000}, Case{10, 2, 4777.0, 8000}, Case{100, 1, 56843.0, 8000},
                           Case{11, 5, 5464.0, 16'000}, Case{100, 4, 57260.0, 16'000}}) {
    ConsensusLimits limits;
    limits.max_nodes = each.nodes;
    const Consensus exact = find_consensus(uniform_pairs(50, each.count, each.seed), ConsensusMethod::exact, limits);
    EXPECT_TRUE(exact.optimal) << each.count << ' ' << each.seed;
    EXPECT_EQ(exact.cost, each.cost) << each.count << ' ' << each.seed << ' ' << exact.nodes;
  }
}

// Margins of noise leave a gap in the program too. What is told when the nodes are used up holds, and is closer than a packing of
// cycles comes; weights of any scale.
TEST(Consensus, GapOfTheLinearProgram) {
  RandomStream stream(26);
  PairMatrix noise = random_pairs(28, stream, 0);
  for (double& value : noise.values()) value *= 1e-3;
  const Consensus exact = find_consensus(noise, ConsensusMethod::exact);
  ASSERT_TRUE(exact.optimal);
  ConsensusLimits limits;
  limits.max_nodes = 5200;
  const Consensus early = find_consensus(noise, ConsensusMethod::exact, limits);
  EXPECT_FALSE(early.optimal);
  EXPECT_LE(early.lower_bound, exact.cost * (1.0 + 1e-12));
  EXPECT_GE(early.cost, exact.cost * (1.0 - 1e-12));
  limits.max_nodes = 4900;  // too few for the program
  const Consensus sets = find_consensus(noise, ConsensusMethod::exact, limits);
  EXPECT_LT(early.gap(), 0.7 * sets.gap()) << early.gap() << ' ' << sets.gap();
  // Told to stop within the program.
  int asked = 0;
  limits = {};
  limits.stop = [&] { return ++asked > 1200; };
  const Consensus stopped = find_consensus(noise, ConsensusMethod::exact, limits);
  EXPECT_FALSE(stopped.optimal);
  EXPECT_LT(asked, 1210);
  EXPECT_LE(stopped.lower_bound, exact.cost * (1.0 + 1e-12));
  EXPECT_GE(stopped.lower_bound, sets.lower_bound * 0.99);
}

TEST(Consensus, MemoryAnswersForTheSameWeightsOnly) {
  RandomStream stream(27);
  const PairMatrix one = random_pairs(12, stream, 0), other = random_pairs(12, stream, 0);
  ConsensusMemory memory;
  for (const PairMatrix* pairs : {&one, &one, &other, &other, &one}) {
    const Consensus found = memory.find(*pairs, ConsensusMethod::exact, {});
    EXPECT_TRUE(found.optimal);
    EXPECT_EQ(found.order, find_consensus(*pairs, ConsensusMethod::exact).order);
  }
  ConsensusLimits few;
  few.max_nodes = 2;
  EXPECT_TRUE(memory.find(one, ConsensusMethod::exact, few).optimal);
  const Consensus early = memory.find(other, ConsensusMethod::exact, few);
  EXPECT_FALSE(early.optimal);
  // After a stop: no worse than what was known.
  ConsensusLimits at_once;
  at_once.stop = [] { return true; };
  const Consensus alone = find_consensus(other, ConsensusMethod::exact, at_once);
  const Consensus stopped = memory.find(other, ConsensusMethod::exact, at_once);
  EXPECT_LT(alone.lower_bound, early.lower_bound);
  EXPECT_EQ(stopped.lower_bound, early.lower_bound);
  EXPECT_LE(stopped.cost, early.cost);
  EXPECT_EQ(stopped.cost, consensus_cost(stopped.order, other));
  // A stopped search is taken up again.
  EXPECT_TRUE(memory.find(other, ConsensusMethod::exact, {}).optimal);
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
