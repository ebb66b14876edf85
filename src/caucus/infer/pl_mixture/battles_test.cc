// Battles as counts of pairs, against the passes over rankings that everything else goes by.
#include "caucus/infer/pl_mixture/battles.h"

#include <gtest/gtest.h>

#include "caucus/data/connectivity.h"
#include "caucus/infer/pl_mixture/information.h"
#include "caucus/infer/pl_mixture/solver.h"
#include "caucus/infer/pl_mixture/testing.h"

namespace caucus::pl_mixture {
namespace {

Dataset draw_battles(std::size_t n, std::size_t count, bool ties, std::uint64_t seed) {
  const Parameters truth = testing::random_parameters(1, n, seed);
  Dataset data;
  data.items = testing::names(n);
  data.source = "drawn";
  data.unranked = Unranked::absent;
  RankingSetBuilder builder;
  RandomStream random(seed, Purpose::test, 3);
  std::vector<ItemId> items;
  std::vector<std::uint8_t> ends;
  for (std::size_t l = 0; l < count; ++l) {
    const auto a = static_cast<ItemId>(random.below(n));
    const auto b = static_cast<ItemId>((a + 1 + random.below(n - 1)) % n);
    PlackettLuce({truth.utilities[a], truth.utilities[b]}, ties ? TieStrengths{{2}, {-0.5}} : TieStrengths{})
        .sample(random, 0, items, ends);
    for (ItemId& item : items) item = item == 0 ? a : b;
    builder.add(items, static_cast<double>(1 + random.below(3)), ends);
  }
  builder.add(std::vector<ItemId>{1}, 2.0);  // says nothing
  data.rankings = builder.build();
  return data;
}

Parameters somewhere(std::size_t n, bool ties) {
  Parameters parameters = testing::random_parameters(1, n, 77, 0.7);
  if (ties) parameters.ties = {{2}, {0.3}};
  return parameters;
}

std::vector<double> gradient_of(const Objective& objective, const Parameters& parameters) {
  const Evaluation at = objective.evaluate(parameters);
  std::vector<double> gradient;
  for (std::size_t i = 0; i < at.wins.size(); ++i) gradient.push_back(at.wins[i] - at.expected[i]);
  for (std::size_t o = 0; o < objective.tie_counts().size(); ++o)
    gradient.push_back(objective.tie_counts()[o] - at.tie_expected[o]);
  return gradient;
}

TEST(Battles, ValueGradientAndInformationAreTheObjectives) {
  for (const bool ties : {false, true})
    for (const double strength : {0.0, 0.4}) {
      const Dataset data = draw_battles(6, 200, ties, 5);
      const Objective objective(data, 1, strength, 1);
      const Battles battles = *Battles::of(data);
      const Parameters at = somewhere(6, ties);
      const Battles::Value value = battles.evaluate(at, strength);
      EXPECT_NEAR(value.objective, objective.evaluate(at).objective(), 1e-10 * std::abs(value.objective));
      const std::vector<double> expected = gradient_of(objective, at);
      ASSERT_EQ(static_cast<std::size_t>(value.gradient.size()), expected.size());
      for (std::size_t j = 0; j < expected.size(); ++j)
        EXPECT_NEAR(value.gradient[static_cast<Eigen::Index>(j)], expected[j], 1e-9);
      // Central differences of the gradient: an error of step^2 times a third derivative.
      const Eigen::MatrixXd information = battles.information(at, strength);
      const Eigen::MatrixXd told = observed_information(objective, at);
      constexpr double step = 1e-5;
      for (std::size_t j = 0; j < expected.size(); ++j) {
        Parameters up = at, down = at;
        (j < 6 ? up.utilities[j] : up.ties.log_delta[0]) += step;
        (j < 6 ? down.utilities[j] : down.ties.log_delta[0]) -= step;
        const std::vector<double> high = gradient_of(objective, up), low = gradient_of(objective, down);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const auto row = static_cast<Eigen::Index>(i), column = static_cast<Eigen::Index>(j);
          EXPECT_NEAR(information(row, column), (low[i] - high[i]) / (2.0 * step), 1e-5);
          EXPECT_NEAR(told(row, column), information(row, column), 1e-9);
        }
      }
    }
}

// From a start half a utility away, and from a sample's neighbour: other weights of the same battles.
TEST(Battles, RefinementEndsAtTheMaximum) {
  for (const bool ties : {false, true})
    for (const double strength : {0.0, 0.1}) {
      Dataset data = draw_battles(8, 4000, ties, 9);
      const Battles battles = *Battles::of(data);
      Parameters found = somewhere(8, ties);
      ASSERT_TRUE(battles.refine(battles.metric(found, strength), strength, found));
      const Cholesky metric = battles.metric(found, strength);
      RandomStream random(3);
      std::vector<double> weights(data.rankings.weights().begin(), data.rankings.weights().end());
      for (double& weight : weights) weight = std::floor(weight * 2.0 * random.uniform());
      const Battles sample = battles.with_weights(weights);
      ASSERT_TRUE(sample.strongly_connected());
      ASSERT_TRUE(sample.refine(metric, strength, found));
      found.center_all();
      data.rankings = data.rankings.with_weights(weights);
      const Objective objective(data, 1, strength, 1);
      Parameters plain = somewhere(8, ties);
      plain = maximise(objective, plain, {10000, 1e-14, false, "em"}, caucus::Run{}).parameters;
      plain.center_all();
      for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(found.utilities[i], plain.utilities[i], 1e-4);
      for (std::size_t o = 0; o < plain.ties.orders.size(); ++o)
        EXPECT_NEAR(found.ties.log_delta[o], plain.ties.log_delta[o], 1e-4);
    }
}

TEST(Battles, ConnectedAsTheDataAre) {
  int connected = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Dataset data = draw_battles(5, 4 + seed / 4, seed % 3 == 0, seed);
    const bool whole = connectivity(data).strongly_connected;
    EXPECT_EQ(Battles::of(data)->strongly_connected(), whole) << seed;
    connected += whole ? 1 : 0;
  }
  EXPECT_GT(connected, 10);
  EXPECT_LT(connected, 50);
}

TEST(Battles, OtherRankingsAreNone) {
  EXPECT_FALSE(Battles::of(testing::draw(testing::random_parameters(1, 4, 1), 20, testing::Kind::complete, 2)));
  EXPECT_FALSE(Battles::of(testing::draw(testing::random_parameters(1, 4, 1), 20, testing::Kind::subset, 2)));
  Dataset ballots = draw_battles(5, 30, false, 1);
  ballots.unranked = Unranked::last;  // two listed of five: above the rest
  EXPECT_FALSE(Battles::of(ballots));
}

}  // namespace
}  // namespace caucus::pl_mixture
