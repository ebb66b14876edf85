// Mixtures of Mallows and generalized Mallows models: oracles, known optima, monotone EM, uncertainty.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/infer/mallows_mixture/distance_engine.h"
#include "caucus/infer/mallows_mixture/family.h"
#include "caucus/infer/mallows_mixture/fit.h"
#include "caucus/infer/mallows_mixture/fitted.h"
#include "caucus/infer/mallows_mixture/generalized_engine.h"
#include "caucus/infer/mallows_mixture/starts.h"
#include "caucus/infer/mallows_mixture/subset_engine.h"
#include "support/shared_data.h"
#include "support/strict_orders.h"

namespace caucus::mallows_mixture {
namespace {

std::vector<ItemId> shuffled(std::size_t n, RandomStream& stream) {
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  stream.shuffle(std::span<ItemId>(order));
  return order;
}

// Draws of a mixture; every third ballot cut short and every fifth with a tie when `partial`.
Dataset drawn(std::size_t n, std::size_t count, const Parameters& truth, bool partial, std::uint64_t seed) {
  Dataset data;
  data.source = "drawn";
  for (std::size_t i = 0; i < n; ++i) data.items.push_back(std::to_string(i));
  RandomStream stream(seed, Purpose::generate);
  RankingSetBuilder builder;
  for (std::size_t r = 0; r < count; ++r) {
    std::vector<ItemId> order(n);
    const std::size_t k = stream.categorical(truth.weight);
    draw_mallows(truth.center[k], truth.theta[k][0], stream, order);
    std::vector<std::uint8_t> ends;
    if (partial && r % 3 == 0) order.resize(1 + stream.below(n - 1));
    if (partial && r % 5 == 0 && order.size() > 2) {
      ends.assign(order.size(), 1);
      ends[order.size() / 2 - 1] = 0;
    }
    builder.add(order, 1.0, ends);
  }
  data.rankings = builder.build();
  return data;
}

Parameters random_parameters(std::size_t n, std::size_t num_components, double theta, std::uint64_t seed) {
  RandomStream stream(seed, Purpose::generate, 7);
  Parameters p;
  for (std::size_t k = 0; k < num_components; ++k) {
    p.weight.push_back(static_cast<double>(k + 1));
    p.center.push_back(shuffled(n, stream));
    p.theta.push_back({theta * (1.0 + 0.3 * static_cast<double>(k))});
  }
  const double total = sum(p.weight);
  for (double& weight : p.weight) weight /= total;
  return p;
}

double direct_loglik(const Dataset& data, const Parameters& p) {
  double total = 0.0;
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    std::vector<double> parts;
    for (std::size_t k = 0; k < p.weight.size(); ++k)
      parts.push_back(std::log(p.weight[k]) + Mallows(p.center[k], p.theta[k][0]).log_prob(data.rankings[i]));
    total += data.rankings.weights()[i] * log_sum_exp(parts);
  }
  return total;
}

TEST(MallowsEngine, LikelihoodAndStepHeldToTheModel) {
  // Sizes on both sides of the bit representation; theta 40 underflows and takes the way through logarithms.
  for (std::size_t n : {2, 3, 6, 12, 32, 33, 40})
    for (double theta : {0.02, 0.5, 40.0})
      for (bool partial : {false, true}) {
        const Parameters truth = random_parameters(n, 3, std::min(theta, 1.0), n);
        const Dataset data = drawn(n, 150, truth, partial && n > 2, 5);
        const MallowsEngine engine(data.rankings, n, ConsensusMethod::automatic, {});
        Parameters now = random_parameters(n, 3, theta, n + 1), next;
        const double loglik = engine.step(now, true, 1, next);
        EXPECT_NEAR(loglik, direct_loglik(data, now), 1e-9 * std::abs(loglik)) << n << ' ' << theta << partial;
        // The M-step by hand: memberships, then the consensus of strict pairs and the weights.
        std::vector<double> joint(data.rankings.size() * 3);
        engine.log_joint(now, 1, joint);
        for (std::size_t k = 0; k < 3; ++k) {
          PairMatrix pairs(n);
          double mass = 0.0;
          for (std::size_t i = 0; i < data.rankings.size(); ++i) {
            const double share = std::exp(joint[i * 3 + k] - log_sum_exp(std::span(joint).subspan(i * 3, 3)));
            pairs.add(data.rankings[i], share * data.rankings.weights()[i]);
            mass += share * data.rankings.weights()[i];
          }
          EXPECT_NEAR(next.weight[k], mass / data.rankings.total_weight(), 1e-12);
          if (mass > 1e-6) {
            EXPECT_LE(consensus_cost(next.center[k], pairs), find_consensus(pairs).cost * (1 + 1e-9) + 1e-9) << n << ' ' << theta;
          }
        }
      }
}

// Three voters say a b c and two b c a: Borda's order is b a c, which costs 5; a b c costs 4 and must stay. From c b a Borda's is
// better.
TEST(MallowsEngine, AHeuristicCenterReplacesWorseOnesOnly) {
  RankingSetBuilder builder;
  builder.add(std::vector<ItemId>{0, 1, 2}, 3.0);
  builder.add(std::vector<ItemId>{1, 2, 0}, 2.0);
  const RankingSet rankings = builder.build();
  const MallowsEngine engine(rankings, 3, ConsensusMethod::borda, {});
  Parameters next;
  engine.step({{1.0}, {{0, 1, 2}}, {{0.5}}}, true, 1, next);
  EXPECT_EQ(next.center[0], (std::vector<ItemId>{0, 1, 2}));
  engine.step({{1.0}, {{2, 1, 0}}, {{0.5}}}, true, 1, next);
  EXPECT_EQ(next.center[0], (std::vector<ItemId>{1, 0, 2}));
}

TEST(MallowsEngine, EmNeverFallsWithExactConsensus) {
  for (bool partial : {false, true})
    for (bool accelerate : {false, true}) {
      const Parameters truth = random_parameters(8, 3, 0.5, 2);
      const Dataset data = drawn(8, 800, truth, partial, 3);
      const MallowsEngine engine(data.rankings, 8, ConsensusMethod::exact, {});
      const EmResult result = run_em(engine, random_parameters(8, 3, 0.2, 9), {500, 1e-12, accelerate}, 1,
                                     [](int, double) -> StopReason* { return nullptr; });
      for (std::size_t i = 1; i < result.trace.size(); ++i)
        EXPECT_GE(result.trace[i], result.trace[i - 1] - 1e-9 * std::abs(result.trace[i]));
      EXPECT_EQ(result.stop_reason, StopReason::converged);
      EXPECT_NEAR(result.loglik, direct_loglik(data, result.parameters), 1e-8 * std::abs(result.loglik));
      EXPECT_EQ(result.trace.back(), result.loglik);
    }
}

TEST(MallowsEngine, AccelerationEndsAtTheSameOptimum) {
  const Parameters truth = random_parameters(7, 2, 0.4, 12);
  const Dataset data = drawn(7, 500, truth, false, 4);
  const MallowsEngine engine(data.rankings, 7, ConsensusMethod::exact, {});
  const auto go = [](int, double) -> StopReason* { return nullptr; };
  const EmResult slow = run_em(engine, truth, {20000, 1e-13, false}, 1, go),
                 fast = run_em(engine, truth, {20000, 1e-13, true}, 1, go);
  EXPECT_EQ(slow.parameters.center, fast.parameters.center);
  EXPECT_NEAR(slow.loglik, fast.loglik, 1e-9 * std::abs(slow.loglik));
  EXPECT_LE(fast.iterations, slow.iterations);
}

TEST(GeneralizedEngine, EmNeverFalls) {
  for (Code code : {Code::s, Code::v}) {
    const Parameters truth = random_parameters(7, 2, 0.6, 2);
    Dataset data = drawn(7, 500, truth, false, 3);
    const GeneralizedEngine engine(data.rankings, 7, code, ConsensusMethod::exact, {});
    const MallowsEngine plain(data.rankings, 7, ConsensusMethod::local, {});
    const Starts starts(plain, data.rankings, 2, MallowsStart::random, 3);
    const EmResult result = run_em(engine, engine.from_labels(starts.labels(0), 2), {400, 1e-12, true}, 1,
                                   [](int, double) -> StopReason* { return nullptr; });
    for (std::size_t i = 1; i < result.trace.size(); ++i)
      EXPECT_GE(result.trace[i], result.trace[i - 1] - 1e-9 * std::abs(result.trace[i]));
    double total = 0.0;
    for (std::size_t i = 0; i < data.rankings.size(); ++i) {
      std::vector<double> parts;
      for (std::size_t k = 0; k < 2; ++k)
        parts.push_back(
            std::log(result.parameters.weight[k]) +
            GeneralizedMallows(result.parameters.center[k], result.parameters.theta[k], code).log_prob(data.rankings[i].items()));
      total += data.rankings.weights()[i] * log_sum_exp(parts);
    }
    EXPECT_NEAR(result.loglik, total, 1e-8 * std::abs(total));
  }
}

// One number per swap, held to the likelihood of the swapped parameters.
void expect_likelihoods_of_swaps(const Engine& engine, const Parameters& now, const std::string& what) {
  const std::size_t n = engine.num_items(), num = now.weight.size();
  const std::vector<double> logliks = engine.after_swaps(now, 2);
  ASSERT_EQ(logliks.size(), num * (n - 1)) << what;
  for (std::size_t k = 0; k < num; ++k)
    for (std::size_t p = 0; p + 1 < n; ++p) {
      Parameters swapped = now, ignored;
      std::swap(swapped.center[k][p], swapped.center[k][p + 1]);
      const double loglik = engine.step(swapped, false, 1, ignored);
      EXPECT_NEAR(logliks[k * (n - 1) + p], loglik, 1e-10 * std::abs(loglik)) << what << ' ' << k << ' ' << p;
    }
}

TEST(Engines, LikelihoodsAfterSwaps) {
  constexpr std::size_t n = 6, num = 3;
  for (bool top : {false, true}) {
    RankingSetBuilder strict, tied;
    RandomStream stream(4, Purpose::generate);
    for (int r = 0; r < 300; ++r) {
      std::vector<ItemId> order = shuffled(n, stream);
      if (top) order.resize(2 + stream.below(n - 1));
      std::vector<std::uint8_t> ends(order.size(), 1);
      ends[0] = r % 3 == 0 ? 0 : 1;
      strict.add(order, r % 7 == 0 ? 2.5 : 1.0);
      tied.add(order, r % 7 == 0 ? 2.5 : 1.0, ends);
    }
    const RankingSet rankings = strict.build(), with_ties = tied.build();
    Parameters now = random_parameters(n, num, 0.4, 11);
    expect_likelihoods_of_swaps(MallowsEngine(rankings, n, ConsensusMethod::exact, {}), now, "mallows");
    expect_likelihoods_of_swaps(MallowsEngine(with_ties, n, ConsensusMethod::exact, {}), now, "mallows with ties");
    if (!top)
      for (const Distance distance : {Distance::spearman, Distance::footrule, Distance::hamming}) {
        const DistanceNormalizer normalizer(distance, n);
        expect_likelihoods_of_swaps(DistanceEngine(rankings, normalizer), now, std::string(name_of(distance)));
      }
    for (auto& theta : now.theta) {
      theta.resize(n - 1);
      for (double& value : theta) value = 1.5 * stream.uniform();
    }
    for (const Code code : {Code::s, Code::v})
      if (code == Code::s || !top)
        expect_likelihoods_of_swaps(GeneralizedEngine(rankings, n, code, ConsensusMethod::exact, {}), now, "gmallows");
  }
}

// Louis' formula against second differences of the log-likelihood.
TEST(Uncertainty, StandardErrorsMatchFiniteDifferences) {
  const Parameters truth = random_parameters(6, 2, 0.6, 21);
  const Dataset data = drawn(6, 600, truth, true, 8);
  const MallowsEngine engine(data.rankings, 6, ConsensusMethod::exact, {});
  const Parameters p = run_em(engine, truth, {5000, 1e-14, true}, 1, [](int, double) -> StopReason* { return nullptr; }).parameters;
  const StandardErrors errors = standard_errors(engine, p, data.rankings.weights(), 2);
  ASSERT_TRUE(errors.available);
  const auto value = [&](double w, double a, double b) {
    Parameters moved = p;
    moved.weight = {p.weight[0] + w, p.weight[1] - w};
    moved.theta = {{p.theta[0][0] + a}, {p.theta[1][0] + b}};
    return direct_loglik(data, moved);
  };
  const double h = 1e-3;
  double information[3][3];
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) {
      const auto at = [&](double x, double y) {
        double d[3] = {0, 0, 0};
        d[r] += x;
        d[c] += y;
        return value(d[0], d[1], d[2]);
      };
      information[r][c] = -(at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4 * h * h);
    }
  const auto& m = information;
  const double det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                     m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  EXPECT_NEAR(*errors.weight[0], std::sqrt((m[1][1] * m[2][2] - m[1][2] * m[2][1]) / det), 2e-3 * *errors.weight[0]);
  EXPECT_NEAR(*errors.weight[1], *errors.weight[0], 1e-9);
  EXPECT_NEAR(*errors.theta[0][0], std::sqrt((m[0][0] * m[2][2] - m[0][2] * m[2][0]) / det), 2e-3 * *errors.theta[0][0]);
  EXPECT_NEAR(*errors.theta[1][0], std::sqrt((m[0][0] * m[1][1] - m[0][1] * m[1][0]) / det), 2e-3 * *errors.theta[1][0]);
}

TEST(Uncertainty, BootstrapKnowsWhatIsCertain) {
  Parameters truth = random_parameters(5, 1, 1.5, 3);
  const Dataset data = drawn(5, 400, truth, false, 2);
  MallowsOptions options;
  options.bootstrap = 40;
  const FitResult result = fit_mallows(data, options, caucus::Run{});
  ASSERT_TRUE(result.stability.has_value());
  EXPECT_EQ(result.stability->resamples, 40);
  const auto& center = result.parameters.center[0];
  EXPECT_EQ(center, truth.center[0]);
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = i + 1; j < 5; ++j) {
      const double before = result.stability->pairs[0][center[i] * 5 + center[j]],
                   after = result.stability->pairs[0][center[j] * 5 + center[i]];
      EXPECT_NEAR(before + after, 1.0, 1e-12);
      EXPECT_GT(before, 0.95);
    }
  EXPECT_LE(result.stability->theta_interval[0].first, result.parameters.theta[0][0]);
  EXPECT_GE(result.stability->theta_interval[0].second, result.parameters.theta[0][0]);
}

TEST(MallowsFit, SameBitsForAnyNumberOfThreads) {
  const Dataset data = drawn(9, 6000, random_parameters(9, 2, 0.3, 4), true, 5);
  ASSERT_GT(data.rankings.size(), 4096u);
  MallowsOptions options;
  options.components = 2;
  options.restarts = 3;
  std::vector<FitResult> results;
  for (int threads : {1, 2, 4}) {
    caucus::Run run;
    run.threads = threads;
    results.push_back(fit_mallows(data, options, run));
  }
  for (const FitResult& other : results) {
    EXPECT_EQ(results[0].loglik, other.loglik);
    EXPECT_EQ(results[0].trace, other.trace);
    EXPECT_EQ(results[0].parameters.theta, other.parameters.theta);
    EXPECT_EQ(results[0].parameters.center, other.parameters.center);
  }
}

TEST(MallowsFit, RecoversGroupsFromTopAndTiedBallots) {
  const Parameters truth = random_parameters(8, 2, 0.9, 31);
  const Dataset data = drawn(8, 1500, truth, true, 6);
  MallowsOptions options;
  options.components = 2;
  options.restarts = 12;
  const FitResult result = fit_mallows(data, options, caucus::Run{});
  EXPECT_EQ(result.parameters.center[0], truth.center[1]);  // the heavier group first
  EXPECT_EQ(result.parameters.center[1], truth.center[0]);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_NEAR(result.parameters.theta[k][0], truth.theta[1 - k][0], 6.0 * *result.errors->theta[k][0]);
    EXPECT_NEAR(result.parameters.weight[k], truth.weight[1 - k], 6.0 * *result.errors->weight[k]);
  }
  EXPECT_EQ(result.center_gaps, std::vector<double>(2, 0.0));
  EXPECT_GE(result.loglik, direct_loglik(data, truth));
}

TEST(MallowsFit, WarnsOfEqualCentersAndEmptyGroups) {
  const Dataset data = drawn(4, 300, random_parameters(4, 1, 0.8, 2), false, 2);
  MallowsOptions options;
  options.components = 4;
  const FitResult result = fit_mallows(data, options, caucus::Run{});
  EXPECT_FALSE(result.warnings.empty());
}

// Pure noise: the search cannot end in time, and says how far from the best the answer may be.
TEST(MallowsFit, TimeLimitGivesTheGap) {
  Parameters noise = random_parameters(150, 1, 1e-9, 3);
  const Dataset data = drawn(150, 40, noise, false, 4);
  MallowsOptions options;
  options.consensus = ConsensusMethod::exact;
  caucus::Run run;
  run.time_limit = 0.2;
  const FitResult result = fit_mallows(data, options, run);
  EXPECT_EQ(result.stop_reason, StopReason::time_limit);
  ASSERT_EQ(result.center_gaps.size(), 1u);
  EXPECT_GT(result.center_gaps[0], 0.0);
  const PairMatrix pairs = pair_matrix(data.rankings, 150);
  EXPECT_LT(result.center_gaps[0], consensus_cost(result.parameters.center[0], pairs));
}

TEST(MallowsFit, OtherDistancesRecoverTheirCenter) {
  for (Distance distance : {Distance::spearman, Distance::footrule, Distance::hamming, Distance::cayley, Distance::ulam}) {
    const std::size_t n = 6;
    RandomStream stream(17, Purpose::generate, static_cast<std::uint64_t>(distance));
    const auto center = shuffled(n, stream);
    const DistanceNormalizer normalizer(distance, n);
    const double theta = normalizer.solve_theta(0.45 * normalizer.mean(0.0));
    Dataset data;
    data.source = "drawn";
    for (std::size_t i = 0; i < n; ++i) data.items.push_back(std::to_string(i));
    RankingSetBuilder builder;
    std::vector<ItemId> order(n);
    for (int i = 0; i < 400; ++i) {
      draw_distance_model(distance, center, theta, stream, order, 30);
      builder.add(order);
    }
    data.rankings = builder.build();
    MallowsOptions options;
    options.distance = distance;
    const FitResult result = fit_mallows(data, options, caucus::Run{});
    EXPECT_EQ(result.parameters.center[0], center) << name_of(distance);
    ASSERT_TRUE(result.errors && result.errors->available);
    EXPECT_NEAR(result.parameters.theta[0][0], theta, 6.0 * *result.errors->theta[0][0]) << name_of(distance);
  }
}

TEST(MallowsFit, SubsetBallotsByCompletions) {
  const std::size_t n = 6;
  const Parameters truth = random_parameters(n, 2, 1.0, 41);
  RandomStream stream(5, Purpose::generate);
  Dataset data;
  data.source = "races";
  data.unranked = Unranked::absent;
  for (std::size_t i = 0; i < n; ++i) data.items.push_back(std::to_string(i));
  RankingSetBuilder builder;
  for (int r = 0; r < 500; ++r) {
    std::vector<ItemId> order(n), kept;
    const std::size_t k = stream.categorical(truth.weight);
    draw_mallows(truth.center[k], truth.theta[k][0], stream, order);
    const ItemId absent = static_cast<ItemId>(stream.below(n));
    for (ItemId item : order)
      if (item != absent) kept.push_back(item);
    builder.add(kept);
  }
  data.rankings = builder.build();
  MallowsOptions options;
  options.components = 2;
  options.completions = 15;
  options.restarts = 3;
  const FitResult result = fit_mallows(data, options, caucus::Run{});
  EXPECT_EQ(result.parameters.center[0], truth.center[1]);
  EXPECT_EQ(result.parameters.center[1], truth.center[0]);
  EXPECT_NEAR(result.parameters.theta[0][0], truth.theta[1][0], 0.25);
  EXPECT_NEAR(result.parameters.weight[0], truth.weight[1], 0.12);
}

TEST(MallowsFamily, RefusesByName) {
  const auto family = make_generalized_mallows_family();
  Dataset tied = drawn(5, 50, random_parameters(5, 1, 0.5, 1), true, 1);
  EXPECT_THROW(family->fit(tied, {}, caucus::Run{}), DataError);
  Dataset top = drawn(5, 50, random_parameters(5, 1, 0.5, 1), false, 1);
  EXPECT_THROW(family->fit(top, {{"code", "x"}}, caucus::Run{}), UsageError);
  EXPECT_THROW(make_mallows_family()->fit(tied, {{"distance", "cayley"}}, caucus::Run{}), DataError);
}

// Exact optima and best known mixtures, found by enumeration and by other programs (design notes, peers).
TEST(MallowsGolden, ApaAndSushi) {
  const std::string apa_path = testing::shared_data("classic/apa1980_complete.soc"),
                    sushi_path = testing::shared_data("preflib/00014-00000001.soc");
  CAUCUS_NEEDS(apa_path);
  CAUCUS_NEEDS(sushi_path);
  const Dataset apa = testing::strict_orders(apa_path), sushi = testing::strict_orders(sushi_path);
  const auto loglik = [](const Dataset& data, int components) {
    MallowsOptions options;
    options.components = components;
    caucus::Run run;
    const FitResult result = fit_mallows(data, options, run);
    if (components == 1) {
      EXPECT_EQ(result.center_gaps[0], 0.0);
    }
    return result.loglik;
  };
  EXPECT_NEAR(loglik(apa, 1), -27408.4895, 1e-4);
  EXPECT_NEAR(loglik(sushi, 1), -71353.0350, 1e-4);
  EXPECT_GE(loglik(apa, 2), -26906.1443);
  EXPECT_GE(loglik(apa, 3), -26823.2632);
  EXPECT_GE(loglik(sushi, 2), -69309.3269 - 1e-4);
  EXPECT_GE(loglik(sushi, 3), -68981.8858);
  const auto generalized = [](const Dataset& data, Code code) {
    GeneralizedMallowsOptions options;
    options.code = code;
    return fit_generalized_mallows(data, options, caucus::Run{}).loglik;
  };
  EXPECT_NEAR(generalized(apa, Code::v), -27388.3008, 1e-4);
  EXPECT_NEAR(generalized(apa, Code::s), -27309.4357, 1e-4);
  EXPECT_NEAR(generalized(sushi, Code::v), -69911.4264, 1e-4);
}

}  // namespace
}  // namespace caucus::mallows_mixture
