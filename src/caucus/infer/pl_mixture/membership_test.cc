// Group weights that depend on what is known of a voter.
#include <gtest/gtest.h>

#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/infer/membership_logit.h"
#include "caucus/infer/pl_mixture/family.h"
#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/information.h"
#include "caucus/infer/pl_mixture/methods.h"
#include "caucus/infer/pl_mixture/testing.h"
#include "caucus/model/plackett_luce.h"
#include "caucus/result/fitted_model.h"

namespace caucus::pl_mixture {
namespace {

// Two groups of opposite taste; the log odds of the second are -0.3 + 1.2 age (standard normal) + 0.8 where the town is west.
struct Drawn {
  Dataset data;
  std::vector<std::size_t> group;
};
Drawn draw_poll(std::size_t count, std::uint64_t seed, double age_effect = 1.2, double town_effect = 0.8) {
  Drawn drawn;
  Dataset& data = drawn.data;
  data.items = testing::names(5);
  data.source = "poll";
  RankingSetBuilder builder;
  Column age{"age", {}, {}}, town{"town", {}, {}};
  std::vector<std::vector<double>> tastes(2, std::vector<double>(5));
  for (std::size_t i = 0; i < 5; ++i) tastes[0][i] = 1.6 - 0.8 * static_cast<double>(i), tastes[1][i] = -tastes[0][i];
  std::vector<ItemId> items;
  std::vector<std::uint8_t> ends;
  for (std::size_t v = 0; v < count; ++v) {
    RandomStream random(seed, Purpose::generate, v);
    age.numbers.push_back(random.normal());
    const bool west = random.uniform() < 0.4;
    town.texts.push_back(west ? "west" : "east");
    const double odds = -0.3 + age_effect * age.numbers.back() + (west ? town_effect : 0.0);
    const std::size_t k = random.uniform() < 1.0 / (1.0 + std::exp(-odds)) ? 1 : 0;
    PlackettLuce(tastes[k]).sample(random, 3, items, ends);
    builder.add(items);
    drawn.group.push_back(k);
  }
  data.rankings = builder.build();
  data.covariates = {age, town};
  return drawn;
}

RowMatrix design_of(const Dataset& data) {
  RowMatrix x(static_cast<Eigen::Index>(data.voters.size()), 3);
  for (Eigen::Index v = 0; v < x.rows(); ++v) {
    const auto row = static_cast<std::size_t>(v);
    x(v, 0) = 1.0;
    x(v, 1) = data.covariates[0].numbers[row];
    x(v, 2) = data.covariates[1].texts[row] == "west" ? 1.0 : 0.0;
  }
  return x;
}

double slow_loglik(const Dataset& data, const Parameters& p, const MembershipLogit& logit) {
  const std::vector<double> log_weights = logit.log_weights(p.gamma);
  const std::size_t num = p.num_components();
  double total = 0.0;
  for (std::size_t v = 0; v < data.voters.size(); ++v) {
    std::vector<double> joint;
    for (std::size_t k = 0; k < num; ++k) {
      const auto own = p.component(k);
      joint.push_back(log_weights[v * num + k] + PlackettLuce(std::vector<double>(own.begin(), own.end()))
                                                     .log_prob(data.rankings[data.rankings.row_ranking(v)], data.unranked));
    }
    total += data.voters.weights[v] * log_sum_exp(joint);
  }
  return total;
}

template <class F>
double derivative(F&& f) {
  constexpr double h = 1e-2;
  return (45.0 * (f(h) - f(-h)) - 9.0 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60.0 * h);
}

TEST(Membership, GradientAndInformationAreThoseOfTheLikelihood) {
  Dataset data = draw_poll(12, 3).data;
  make_rows_voters(data);
  for (const std::size_t num : {2U, 3U}) {
    const auto logit = std::make_shared<MembershipLogit>(design_of(data), data.voters.weights, num);
    Objective objective(data, num, 0.0, 1);
    objective.use_membership(logit);
    Parameters at = testing::random_parameters(num, 5, 9);
    RandomStream random(4, Purpose::test);
    for (std::size_t j = 0; j < logit->size(); ++j) at.gamma.push_back(random.normal());
    const Evaluation e = objective.evaluate(at);
    EXPECT_NEAR(e.loglik, slow_loglik(data, at, *logit), 1e-9);
    const std::vector<double> slope = objective.weight_gradient(e, at);
    const auto loglik_at = [&](std::size_t j, double h, std::size_t i, double g) {
      Parameters moved = at;
      moved.gamma[j] += h;
      moved.gamma[i] += g;
      return slow_loglik(data, moved, *logit);
    };
    for (std::size_t j = 0; j < logit->size(); ++j)
      EXPECT_NEAR(slope[j], derivative([&](double h) { return loglik_at(j, h, j, 0.0); }), 1e-8);
    for (std::size_t j = 0; j < at.utilities.size(); ++j)
      EXPECT_NEAR(e.wins[j] - e.expected[j], derivative([&](double h) {
                    Parameters moved = at;
                    moved.utilities[j] += h;
                    return slow_loglik(data, moved, *logit);
                  }),
                  1e-8);
    const Eigen::MatrixXd information = observed_information(objective, at);
    const std::size_t first = at.utilities.size();
    for (std::size_t j = 0; j < logit->size(); ++j)
      for (std::size_t i = 0; i <= j; ++i) {
        const double curve = derivative([&](double h) { return derivative([&](double g) { return loglik_at(j, h, i, g); }); });
        EXPECT_NEAR(information(static_cast<Eigen::Index>(first + j), static_cast<Eigen::Index>(first + i)), -curve, 1e-5);
      }
  }
}

TEST(Membership, NewtonNeverFallsAndEndsAtTheMaximum) {
  Dataset data = draw_poll(200, 5).data;
  make_rows_voters(data);
  const MembershipLogit logit(design_of(data), data.voters.weights, 3);
  RandomStream random(7, Purpose::test);
  std::vector<double> memberships(data.voters.size() * 3), gamma(logit.size(), 0.0);
  const std::vector<double> ones(3, 1.0);
  for (std::size_t v = 0; v < data.voters.size(); ++v) random.dirichlet(ones, std::span(memberships).subspan(v * 3, 3));
  logit.maximise(memberships, gamma, 50);
  for (const double slope : logit.gradient(memberships, gamma)) EXPECT_NEAR(slope, 0.0, 1e-4);
}

TEST(Membership, EveryMethodRisesToTheSameMaximum) {
  Dataset data = draw_poll(300, 6).data;
  make_rows_voters(data);
  const auto logit = std::make_shared<MembershipLogit>(design_of(data), data.voters.weights, 2);
  Objective objective(data, 2, 0.0, 1);
  objective.use_membership(logit);
  Parameters start = testing::random_parameters(2, 5, 4);
  std::vector<double> found;
  for (const Method method : {Method::em, Method::emm, Method::em_lsr}) {
    const Solution solution = run_method(objective, method, Chain::automatic, start, {20000, 1e-10, false, "em"}, caucus::Run{});
    for (std::size_t t = 1; t < solution.trace.size(); ++t)
      EXPECT_GE(solution.trace[t], solution.trace[t - 1] - 1e-10 * std::abs(solution.trace[t]));
    found.push_back(solution.objective);
  }
  for (const double value : found) EXPECT_NEAR(value, found[0], 1e-6 * std::abs(found[0]));
}

// Coefficients of 2000 voters within four of their standard errors of the truth: a false alarm in one of 16,000 for each of three.
TEST(Membership, CoefficientsAreFound) {
  const Drawn drawn = draw_poll(2000, 8);
  Dataset data = drawn.data;
  make_rows_voters(data);
  const FitOutcome fitted = make_pl_mixture_family()->fit(data, {{"components", "2"}, {"membership", "age + town"}}, caucus::Run{});
  const Membership* membership = fitted.model->membership();
  ASSERT_NE(membership, nullptr);
  ASSERT_EQ(membership->design.names(), (std::vector<std::string>{"(intercept)", "age", "town=west"}));
  const double truth[] = {-0.3, 1.2, 0.8};
  // The larger group stands first; its members prefer the first item or the last.
  const std::vector<Group> groups = fitted.model->profile();
  const double sign = groups[0].utilities[0] > groups[0].utilities[4] ? 1.0 : -1.0;
  for (std::size_t j = 0; j < 3; ++j) {
    ASSERT_TRUE(membership->standard_error(1, j).has_value());
    EXPECT_NEAR(membership->coefficients[3 + j], sign * truth[j], 4.0 * *membership->standard_error(1, j));
    EXPECT_LT(*membership->standard_error(1, j), 0.3);
  }
  ASSERT_EQ(membership->tests.size(), 2U);
  for (const auto& test : membership->tests) EXPECT_LT(test.p_value, 1e-6) << test.term;
  EXPECT_EQ(fitted.summary.num_parameters, 2 * 4 + 3);
  EXPECT_EQ(fitted.summary.num_voters, 2000.0);
  // What is written is read again and scores the same.
  EXPECT_NEAR(log_likelihood(*fitted.model, data, 1), fitted.summary.loglik, 1e-7 * std::abs(fitted.summary.loglik));
  EXPECT_FALSE(fitted.model->facts().empty());
}

TEST(Membership, WhatDoesNotMatterIsNotFound) {
  Dataset data = draw_poll(600, 9, 0.0, 0.0).data;
  make_rows_voters(data);
  const FitOutcome fitted = make_pl_mixture_family()->fit(data, {{"components", "2"}, {"membership", "age + town"}}, caucus::Run{});
  for (const auto& test : fitted.model->membership()->tests) EXPECT_GT(test.p_value, 1e-5) << test.term;
}

TEST(Membership, EqualCovariatesGiveTheModelWithout) {
  Dataset data = draw_poll(400, 10).data;
  data.covariates[0].numbers.assign(400, 3.0);
  make_rows_voters(data);
  const FitOutcome without = make_pl_mixture_family()->fit(data, {{"components", "2"}}, caucus::Run{});
  const FitOutcome with = make_pl_mixture_family()->fit(data, {{"components", "2"}, {"membership", "age"}}, caucus::Run{});
  EXPECT_NEAR(with.summary.loglik, without.summary.loglik, 1e-6 * std::abs(without.summary.loglik));
  EXPECT_EQ(with.summary.num_parameters, without.summary.num_parameters);
  ASSERT_FALSE(with.summary.warnings.empty());
  EXPECT_NE(with.summary.warnings[0].find("'age' has one value only"), std::string::npos);
}

TEST(Membership, SeparationIsHeldByARidgeAndNamed) {
  Drawn drawn = draw_poll(400, 11);
  for (std::size_t v = 0; v < 400; ++v) drawn.data.covariates[1].texts[v] = drawn.group[v] == 1 ? "west" : "east";
  make_rows_voters(drawn.data);
  const FitOutcome fitted = make_pl_mixture_family()->fit(drawn.data, {{"components", "2"}, {"membership", "town"}}, caucus::Run{});
  EXPECT_GT(fitted.model->membership()->ridge, 0.0);
  bool said = false;
  for (const std::string& one : fitted.summary.warnings) said = said || one.find("'town=") != std::string::npos;
  EXPECT_TRUE(said);
  for (const double value : fitted.model->membership()->coefficients) EXPECT_LT(std::abs(value), 40.0);
}

TEST(Membership, MissingValuesAreRefusedLeftOutOrAveraged) {
  Dataset data = draw_poll(200, 12).data;
  data.covariates[0].numbers[7] = std::nan("");
  make_rows_voters(data);
  const auto fit_with = [&](const char* missing) {
    return make_pl_mixture_family()->fit(data, {{"components", "2"}, {"membership", "age"}, {"missing", missing}}, caucus::Run{});
  };
  try {
    fit_with("error");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("voter row 8"), std::string::npos) << error.what();
  }
  EXPECT_GT(fit_with("mean").summary.num_voters, 199.0);
  bool said = false;
  for (const std::string& one : fit_with("drop").summary.warnings)
    said = said || one.find("1 of 200 voters were left out") != std::string::npos;
  EXPECT_TRUE(said);
  EXPECT_THROW(make_pl_mixture_family()->fit(data, {{"components", "2"}, {"membership", "income"}}, caucus::Run{}), UsageError);
  EXPECT_THROW(
      make_pl_mixture_family()->fit(data, {{"components", "2"}, {"membership", "age"}, {"method", "gibbs"}}, caucus::Run{}),
      UsageError);
}

}  // namespace
}  // namespace caucus::pl_mixture
