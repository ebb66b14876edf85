// The fused pass against the model's definition, for all kinds of data.
#include "caucus/infer/pl_mixture/objective.h"

#include <gtest/gtest.h>

#include "caucus/infer/pl_mixture/information.h"
#include "caucus/infer/pl_mixture/m_steps.h"
#include "caucus/infer/pl_mixture/start.h"
#include "caucus/infer/pl_mixture/testing.h"

namespace caucus::pl_mixture {
namespace {

using testing::Kind;

class Objectives : public ::testing::TestWithParam<std::tuple<Kind, int>> {
 protected:
  Kind kind() const { return std::get<0>(GetParam()); }
  std::size_t num() const { return static_cast<std::size_t>(std::get<1>(GetParam())); }
  Dataset data() const { return testing::draw(testing::random_parameters(2, 6, 3), 60, kind(), 5); }
  Parameters at(const Objective& objective) const {
    Parameters p = testing::random_parameters(num(), 6, 11);
    p.ties = initial_ties(objective);
    return p;
  }
};

TEST_P(Objectives, LogLikelihoodAndMembershipsAreThoseOfTheDefinition) {
  const Dataset rankings = data();
  const Objective objective(rankings, num(), 0.0, 1);
  const Parameters p = at(objective);
  std::vector<double> posterior;
  const Evaluation e = objective.evaluate(p, &posterior);
  EXPECT_NEAR(e.loglik, testing::slow_loglik(rankings, p), 1e-9 * std::abs(e.loglik));
  const auto joint = testing::slow_joint(rankings, p);
  std::vector<double> size(num(), 0.0);
  for (std::size_t i = 0; i < rankings.rankings.size(); ++i) {
    const auto row = std::span(joint).subspan(i * num(), num());
    for (std::size_t k = 0; k < num(); ++k) {
      const double expected = std::exp(row[k] - log_sum_exp(row));
      EXPECT_NEAR(posterior[i * num() + k], expected, 1e-10);
      size[k] += rankings.rankings.weight(i) * expected;
    }
  }
  for (std::size_t k = 0; k < num(); ++k) EXPECT_NEAR(e.responsibility[k], size[k], 1e-9 * size[k] + 1e-12);
  const auto rows = objective.row_logliks(p);
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_NEAR(rows[i], log_sum_exp(std::span(joint).subspan(i * num(), num())), 1e-10);
}

// A component that is all but one order: the same numbers where every worth is far below the one before it.
TEST_P(Objectives, WorthsFarApartAreThoseOfTheDefinition) {
  const Dataset rankings = data();
  const Objective objective(rankings, num(), 0.0, 1);
  Parameters p = at(objective);
  for (std::size_t i = 0; i < 6; ++i) p.utilities[i] = -60.0 * static_cast<double>(i);
  std::vector<double> posterior;
  const Evaluation e = objective.evaluate(p, &posterior);
  EXPECT_NEAR(e.loglik, testing::slow_loglik(rankings, p), 1e-9 * std::abs(e.loglik));
  for (std::size_t j = 0; j < p.utilities.size(); ++j) {
    EXPECT_TRUE(std::isfinite(e.expected[j]));
    EXPECT_GE(e.expected[j], 0.0);
  }
}

TEST_P(Objectives, GradientIsTheFiniteDifference) {
  const Dataset rankings = data();
  const double strength = 0.3;
  const Objective objective(rankings, num(), strength, 1);
  const Parameters p = at(objective);
  const Evaluation e = objective.evaluate(p);
  const double h = 1e-5;
  for (std::size_t j = 0; j < p.utilities.size(); ++j) {
    Parameters up = p, down = p;
    up.utilities[j] += h;
    down.utilities[j] -= h;
    const double slope = (objective.evaluate(up).objective() - objective.evaluate(down).objective()) / (2 * h);
    EXPECT_NEAR(e.wins[j] - e.expected[j], slope, 2e-6);
  }
  for (std::size_t o = 0; o < p.ties.orders.size(); ++o) {
    Parameters up = p, down = p;
    up.ties.log_delta[o] += h;
    down.ties.log_delta[o] -= h;
    const double slope = (objective.evaluate(up).objective() - objective.evaluate(down).objective()) / (2 * h);
    EXPECT_NEAR(objective.tie_counts()[o] - e.tie_expected[o], slope, 2e-6);
  }
}

TEST_P(Objectives, InformationIsMinusTheSlopeOfTheGradient) {
  const Dataset rankings = data();
  const Objective objective(rankings, num(), 0.2, 1);
  const Parameters p = at(objective);
  const Eigen::MatrixXd information = observed_information(objective, p);
  const auto slope = [&](const Parameters& q) {
    const Evaluation e = objective.evaluate(q);
    std::vector<double> g;
    for (std::size_t j = 0; j < e.wins.size(); ++j) g.push_back(e.wins[j] - e.expected[j]);
    if (num() > 1)
      for (std::size_t k = 0; k < num(); ++k) g.push_back(e.responsibility[k] - objective.total_weight() * q.weights[k]);
    return g;
  };
  const double h = 1e-5;
  for (std::size_t j = 0; j < p.utilities.size(); ++j) {
    Parameters up = p, down = p;
    up.utilities[j] += h;
    down.utilities[j] -= h;
    const auto high = slope(up), low = slope(down);
    for (std::size_t i = 0; i < high.size(); ++i)
      EXPECT_NEAR(information(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)), (low[i] - high[i]) / (2 * h), 1e-5)
          << i << ' ' << j;
  }
}

TEST_P(Objectives, WeightThreeIsThreeCopiesAndItemsAreInterchangeable) {
  const Dataset rankings = data();
  const Objective objective(rankings, num(), 0.0, 1);
  const Parameters p = at(objective);
  Dataset tripled = rankings;
  std::vector<double> weights(rankings.rankings.weights().begin(), rankings.rankings.weights().end());
  for (double& weight : weights) weight *= 3.0;
  tripled.rankings = rankings.rankings.with_weights(weights);
  const Evaluation one = objective.evaluate(p), three = Objective(tripled, num(), 0.0, 1).evaluate(p);
  EXPECT_NEAR(three.loglik, 3.0 * one.loglik, 1e-9 * std::abs(three.loglik));
  for (std::size_t j = 0; j < one.wins.size(); ++j)
    EXPECT_NEAR(three.expected[j], 3.0 * one.expected[j], 1e-9 * (1.0 + three.expected[j]));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Objectives,
                         ::testing::Combine(::testing::Values(Kind::complete, Kind::top, Kind::subset, Kind::pairs, Kind::ties),
                                            ::testing::Values(1, 2, 3, 5, 9)));

TEST(Kernel, FarApartUtilitiesNeitherUnderflowNorCancel) {
  // 40 items with utilities over a range of 60: products of ratios far below the smallest double, and listed items that hold nearly
  // all worth.
  const std::size_t n = 40;
  Parameters p(3, n);
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t i = 0; i < n; ++i)
      p.component(k)[i] = k == 1 ? -1.5 * static_cast<double>(i) : 1.5 * static_cast<double>(i) * (k == 0 ? 1.0 : 0.1);
  p.center_all();
  for (const Kind kind : {Kind::complete, Kind::top, Kind::ties}) {
    const Dataset data = testing::draw(testing::random_parameters(2, n, 3), 200, kind, 8);
    const Objective objective(data, 3, 0.0, 1);
    p.ties = initial_ties(objective);
    const double slow = testing::slow_loglik(data, p);
    EXPECT_NEAR(objective.evaluate(p).loglik, slow, 1e-10 * std::abs(slow));
  }
}

TEST(Kernel, SameBitsOnAnyNumberOfThreads) {
  for (const Kind kind : {Kind::top, Kind::ties}) {
    const Dataset data = testing::draw(testing::random_parameters(3, 12, 3), 30000, kind, 8);
    Parameters p = testing::random_parameters(3, 12, 4);
    p.ties = initial_ties(Objective(data, 3, 0.0, 1));
    const Evaluation one = Objective(data, 3, 0.0, 1).evaluate(p), four = Objective(data, 3, 0.0, 4).evaluate(p);
    EXPECT_EQ(one.loglik, four.loglik);
    EXPECT_EQ(one.wins, four.wins);
    EXPECT_EQ(one.expected, four.expected);
    EXPECT_EQ(one.tie_expected, four.tie_expected);
  }
}

TEST(QuasiVariances, ExactWhereContrastsAreSums) {
  // With a diagonal covariance every contrast is a sum of two variances.
  const Eigen::VectorXd q = (Eigen::VectorXd(4) << 0.5, 1.0, 2.0, 0.1).finished();
  const auto found = quasi_variances(Eigen::MatrixXd(q.asDiagonal()));
  ASSERT_EQ(found.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(found[i], q[static_cast<Eigen::Index>(i)], 1e-8);
}

}  // namespace
}  // namespace caucus::pl_mixture
