// The sampler against its prior (Geweke 2004) and against the likelihood.
#include "caucus/infer/pl_mixture/gibbs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/fitted.h"
#include "caucus/infer/pl_mixture/testing.h"
#include "caucus/io/io.h"
#include "support/shared_data.h"

namespace caucus::pl_mixture {
namespace {

// Geweke's joint test: alternate a sweep of the sampler with fresh data given the state. If the sampler is right, states have the
// prior's distribution. Means of batches of sweeps are nearly independent; their t-statistics (|t| < 6 with 79 degrees of freedom,
// 5 statistics) alarm falsely with a chance below 1e-6. Equal rankings are one of a larger weight; with three groups its voters are
// shared out one group after the other, and the last weight is the one to look at.
class GibbsGeweke : public ::testing::TestWithParam<std::size_t> {};
TEST_P(GibbsGeweke, LeavesThePriorInvariantWhenDataAreRedrawn) {
  const std::size_t n = 3, num = GetParam();
  GibbsOptions options;
  options.prior_shape = 2.0;
  options.prior_rate = 1.5;
  options.prior_weight = 1.3;
  RandomStream prior(3, Purpose::test);
  GibbsState state{std::vector<double>(num), std::vector<double>(num * n)};
  prior.dirichlet(std::vector<double>(num, options.prior_weight), state.weights);
  for (double& worth : state.worths) worth = prior.gamma(options.prior_shape) / options.prior_rate;

  constexpr int batches = 80, per_batch = 400;
  // w, w^2, log-ratio of two worths, its square, a worth.
  std::vector<std::vector<double>> means(5);
  std::uint64_t sweep = 0;
  for (int batch = 0; batch < batches; ++batch) {
    std::vector<double> total(5, 0.0);
    for (int s = 0; s < per_batch; ++s, ++sweep) {
      Dataset data;
      data.items = testing::names(n);
      RankingSetBuilder builder;
      std::vector<ItemId> items;
      std::vector<std::uint8_t> ends;
      RandomStream random(17, Purpose::generate, sweep);
      std::vector<PlackettLuce> models;
      for (std::size_t k = 0; k < num; ++k) {
        std::vector<double> utilities;
        for (std::size_t i = 0; i < n; ++i) utilities.push_back(std::log(state.worths[k * n + i]));
        models.emplace_back(std::move(utilities));
      }
      for (int voter = 0; voter < 6; ++voter) {
        models[random.categorical(state.weights)].sample(random, voter < 2 ? 1 : 0, items, ends);
        builder.add(items);
      }
      data.rankings = builder.build();
      gibbs_sweep(Objective(data, num, 0.0, 1), options, 5, sweep, state);
      const double ratio = std::log(state.worths[0] / state.worths[1]);
      total[0] += state.weights[num - 1];
      total[1] += state.weights[num - 1] * state.weights[num - 1];
      total[2] += ratio;
      total[3] += ratio * ratio;
      total[4] += state.worths[2];
    }
    for (std::size_t j = 0; j < 5; ++j) means[j].push_back(total[j] / per_batch);
  }
  // Dirichlet(a, .., a): mean 1/K, second moment (a + 1) / (K (K a + 1)); the difference of two log-gammas has variance
  // 2 trigamma(2) = 2 (pi^2 / 6 - 1).
  const double a = options.prior_weight, groups = static_cast<double>(num);
  const std::vector<double> expected{1.0 / groups, (a + 1.0) / (groups * (groups * a + 1.0)), 0.0,
                                     2.0 * (std::numbers::pi * std::numbers::pi / 6.0 - 1.0),
                                     options.prior_shape / options.prior_rate};
  for (std::size_t j = 0; j < 5; ++j) {
    const double mean = sum(means[j]) / batches;
    double squares = 0.0;
    for (double v : means[j]) squares += (v - mean) * (v - mean);
    const double error = std::sqrt(squares / (batches - 1) / batches);
    EXPECT_LT(std::abs(mean - expected[j]) / error, 6.0) << "statistic " << j << ": " << mean << " against " << expected[j];
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, GibbsGeweke, ::testing::Values(2, 3));

TEST(Gibbs, PosteriorMeanIsNearTheMaximumOnSushi) {
  const std::string path = caucus::testing::shared_data("preflib/00014-00000001.soc");
  CAUCUS_NEEDS(path);
  const Dataset data = read_dataset(path);
  const Result best = fit(data, parse_options<Options>({{"components", "2"}}), caucus::Run{});
  const Result draws =
      fit(data, parse_options<Options>({{"components", "2"}, {"method", "gibbs"}, {"sweeps", "400"}, {"burnin", "100"}}),
          caucus::Run{});
  ASSERT_TRUE(draws.posterior);
  EXPECT_EQ(draws.posterior->draws, 300);
  for (std::size_t j = 0; j < 20; ++j) {
    EXPECT_NEAR(draws.parameters.utilities[j], best.parameters.utilities[j], 0.06);
    EXPECT_LT(draws.posterior->low[j], draws.posterior->high[j]);
    EXPECT_LT(draws.posterior->deviation[j], 0.1);
  }
  EXPECT_LE(draws.loglik, best.loglik);
  EXPECT_GT(draws.loglik, best.loglik - 5.0);
}

// Two orders, each cast by many: a group's weight follows its voters, not its distinct rankings.
TEST(Gibbs, WeightsFollowTheVoters) {
  Dataset data;
  data.items = testing::names(4);
  RankingSetBuilder builder;
  builder.add(std::vector<ItemId>{0, 1, 2, 3}, 60.0);
  builder.add(std::vector<ItemId>{3, 2, 1, 0}, 20.0);
  data.rankings = builder.build();
  const Result result =
      fit(data, parse_options<Options>({{"components", "2"}, {"method", "gibbs"}, {"sweeps", "1500"}}), caucus::Run{});
  EXPECT_NEAR(std::ranges::max(result.parameters.weights), 61.0 / 82.0, 0.03);
}

TEST(Gibbs, WholeNumberWeightsOnly) {
  Dataset data = testing::draw(testing::random_parameters(1, 4, 3), 20, testing::Kind::complete, 3);
  std::vector<double> weights(data.rankings.size(), 1.5);
  data.rankings = data.rankings.with_weights(weights);
  EXPECT_THROW(fit(data, parse_options<Options>({{"method", "gibbs"}}), caucus::Run{}), DataError);
}

// Few short ballots: the chain starts at utilities at the edge, where the unlisted items weigh next to nothing and their waiting
// times drowned those of the listed ones, until worths were no numbers and the matching of labels never ended.
TEST(Gibbs, StartsAtTheEdgeAndStaysFinite) {
  Dataset data;
  data.items = testing::names(4);
  RankingSetBuilder builder;
  const std::vector<std::tuple<ItemId, ItemId, double>> ballots{{0, 1, 6}, {0, 2, 6}, {0, 3, 3}, {1, 0, 7}, {1, 2, 6},
                                                                {1, 3, 1}, {2, 0, 3}, {3, 0, 3}, {3, 1, 3}, {3, 2, 2}};
  for (const auto& [first, second, count] : ballots) builder.add(std::vector<ItemId>{first, second}, count);
  data.rankings = builder.build();
  const Options options = parse_options<Options>({{"components", "2"}, {"method", "gibbs"}, {"regularization", "0"}});
  for (std::uint64_t seed : {1, 2, 3, 37}) {
    caucus::Run run;
    run.seed = seed;
    const Result result = fit(data, options, run);
    ASSERT_TRUE(result.posterior);
    for (double value : result.posterior->mean) EXPECT_LT(std::abs(value), 100.0) << "seed " << seed;
    for (double value : result.posterior->loglik) EXPECT_TRUE(std::isfinite(value));
  }
}

// A stop during the search is not followed by sampling.
TEST(Gibbs, DoesNotSampleAfterAStop) {
  const Dataset data = testing::draw(testing::random_parameters(2, 5, 1), 200, testing::Kind::complete, 1);
  struct StopAtOnce : Observer {
    Flow progress(const Progress& at) override {
      sampled = sampled || at.phase == "sweep";
      return Flow::stop;
    }
    bool sampled = false;
  } observer;
  caucus::Run run;
  run.observer = &observer;
  const Result result = fit(data, parse_options<Options>({{"components", "2"}, {"method", "gibbs"}}), run);
  EXPECT_EQ(result.stop_reason, StopReason::interrupted);
  EXPECT_FALSE(result.posterior);
  EXPECT_FALSE(observer.sampled);
}

}  // namespace
}  // namespace caucus::pl_mixture
