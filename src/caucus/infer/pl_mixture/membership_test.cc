// Group weights that depend on what is known of a voter.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/infer/membership_logit.h"
#include "caucus/infer/pl_mixture/dampening.h"
#include "caucus/infer/pl_mixture/family.h"
#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/fitted.h"
#include "caucus/infer/pl_mixture/methods.h"
#include "caucus/infer/pl_mixture/testing.h"
#include "caucus/io/io.h"
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

// A level of few voters who all belong to one group: one standard deviation of its column changes the odds by little, the level by
// all there is. Without a ridge the error of its coefficient is in the thousands.
TEST(Membership, ARareLevelThatTellsAGroupIsHeldToo) {
  Drawn drawn = draw_poll(600, 17, 0.0, 0.0);
  for (std::size_t v = 0, seen = 0; v < 600; ++v)
    drawn.data.covariates[1].texts[v] = drawn.group[v] == 1 && seen++ % 6 == 0 ? "island" : "mainland";
  make_rows_voters(drawn.data);
  const FitOutcome fitted = make_pl_mixture_family()->fit(drawn.data, {{"components", "2"}, {"membership", "town"}}, caucus::Run{});
  const Membership& membership = *fitted.model->membership();
  EXPECT_GT(membership.ridge, 0.0);
  bool said = false;
  for (const std::string& one : fitted.summary.warnings) said = said || one.find("'town=island'") != std::string::npos;
  EXPECT_TRUE(said);
  EXPECT_LT(membership.standard_error(1, 1).value(), 10.0);
  EXPECT_GT(std::abs(membership.coefficients[3]), 2.0);
  // The test of the term is that of two fits, each at its best.
  const FitOutcome without = make_pl_mixture_family()->fit(drawn.data, {{"components", "2"}}, caucus::Run{});
  EXPECT_NEAR(membership.tests.at(0).statistic, 2.0 * (fitted.summary.loglik - without.summary.loglik), 1.0);
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
  EXPECT_EQ(fit_with("mean").summary.num_voters, 200.0);
  const FitOutcome dropped = fit_with("drop");
  bool said = false;
  for (const std::string& one : dropped.summary.warnings)
    said = said || one.find("1 of 200 voters were left out") != std::string::npos;
  EXPECT_TRUE(said);
  EXPECT_EQ(dropped.summary.num_voters, 199.0);
  EXPECT_EQ(dropped.summary.num_rankings, 199.0);
  EXPECT_THROW(make_pl_mixture_family()->fit(data, {{"components", "2"}, {"membership", "income"}}, caucus::Run{}), UsageError);
  for (const OptionMap& more : {OptionMap{{"membership", "age"}}, OptionMap{{"dampening", "on"}}}) {
    OptionMap options = more;
    options.insert({{"components", "2"}, {"method", "gibbs"}});
    try {
      make_pl_mixture_family()->fit(data, options, caucus::Run{});
      FAIL();
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("method gibbs"), std::string::npos) << error.what();
    }
  }
}

// What puts voters into groups, what makes an item preferred and how later choices are dampened, drawn together: 3000 voters of
// whom each orders six items twice. Every coefficient within five of its standard errors: for twelve numbers a false alarm has
// probability 12 x 6e-7.
class Together : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("caucus_together_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    std::string table = "name,price,origin\n";
    std::vector<std::vector<double>> tastes(2);
    for (std::size_t i = 0; i < 6; ++i) {
      const double price = static_cast<double>((i * 5) % 6);
      const bool local = i % 3 == 0;
      data_.items.push_back("item " + std::to_string(i));
      table += data_.items.back() + "," + std::to_string(price) + (local ? ",local" : ",far") + "\n";
      tastes[0].push_back(-0.5 * price + (local ? 0.8 : 0.0));
      tastes[1].push_back(0.5 * price + (local ? 0.3 : 0.0));
    }
    write_file(items(), table);
    data_.source = "together";
    RankingSetBuilder builder;
    Column age{"age", {}, {}};
    std::vector<std::uint32_t> of_row;
    for (std::size_t v = 0; v < 3000; ++v) {
      RandomStream random(31, Purpose::generate, v);
      const double own = random.normal();
      const std::size_t k = random.uniform() < 1.0 / (1.0 + std::exp(0.4 - 1.1 * own)) ? 1 : 0;
      for (int time = 0; time < 2; ++time) {
        builder.append(dampened_sample(random, tastes[k], exponents_), 1.0, {});
        age.numbers.push_back(own);
        of_row.push_back(static_cast<std::uint32_t>(v));
      }
    }
    data_.rankings = builder.build();
    data_.covariates = {age};
    data_.voters.column = "id";
    std::vector<std::string> names;
    for (std::size_t v = 0; v < 3000; ++v) names.push_back(fmt::format("v{}", v));
    set_voters(data_, of_row, names, std::vector<double>(3000, 1.0));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string items() const { return (folder_ / "items.csv").string(); }

  std::filesystem::path folder_;
  Dataset data_;
  const std::vector<double> exponents_{0.7, 0.6, 0.5, 0.4};
};

TEST_F(Together, AllOfItIsFound) {
  const OptionMap options{{"components", "2"}, {"membership", "age"},           {"dampening", "on"},
                          {"items", items()},  {"utilities", "price + origin"}, {"restarts", "2"}};
  const FitOutcome fitted = make_pl_mixture_family()->fit(data_, options, caucus::Run{});
  EXPECT_EQ(fitted.summary.num_parameters, 2 * 2 + 2 + 4);
  EXPECT_EQ(fitted.summary.num_voters, 3000.0);
  const std::vector<Group> groups = fitted.model->profile();
  const bool swapped = item_utilities_of(*fitted.model)->coefficients[0][0] > 0.0;
  const Membership& membership = *fitted.model->membership();
  const double truth[] = {-0.4, 1.1}, sign = swapped ? -1.0 : 1.0;
  for (std::size_t j = 0; j < 2; ++j)
    EXPECT_NEAR(membership.coefficients[2 + j], sign * truth[j], 5.0 * membership.standard_error(1, j).value()) << j;
  EXPECT_LT(membership.standard_error(1, 1).value(), 0.12);
  EXPECT_LT(membership.tests.at(0).p_value, 1e-6);
  const double values[2][2] = {{-0.5, 0.8}, {0.5, 0.3}};
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t j = 0; j < 2; ++j)
      EXPECT_NEAR(item_utilities_of(*fitted.model)->coefficients[k][j], values[swapped ? 1 - k : k][j],
                  5.0 * item_utilities_of(*fitted.model)->errors[k][j])
          << k << j;
  const auto& model = dynamic_cast<const FittedMixture&>(*fitted.model);
  for (std::size_t s = 0; s < 4; ++s) EXPECT_NEAR(model.exponents[0][s], exponents_[s], 0.12) << s;
  // The model that is written says the same of the data.
  EXPECT_NEAR(log_likelihood(*fitted.model, data_, 1), fitted.summary.loglik, 1e-8 * std::abs(fitted.summary.loglik));
  // Less is worse, by more than chance: one parameter each, chi-squared beyond 30 once in 2e7.
  for (const char* without : {"membership", "dampening"}) {
    OptionMap fewer = options;
    fewer.erase(without);
    EXPECT_GT(2.0 * (fitted.summary.loglik - make_pl_mixture_family()->fit(data_, fewer, caucus::Run{}).summary.loglik), 30.0);
  }
}

// Near separation the standard error of a coefficient says nothing (Hauck & Donner 1977); the words follow the likelihood ratio.
TEST(MembershipWords, AClearDifferenceIsNotCalledNone) {
  Membership membership;
  membership.level_tests = {{"town", 25.0, 1, 6e-7, "west"}, {"town", 0.4, 1, 0.5, "north"}};
  const auto words = [&](const char* level, double low) {
    const std::vector<MembershipEffect> effects{{"town", "east", level, 0, 0.5, 0.1, -0.6, -low},
                                                {"town", "east", level, 1, 0.5, 0.9, low, 0.6}};
    return effect_sentences(effects, membership).at(0);
  };
  EXPECT_NE(words("west", -0.1).find("clear, p < 0.0005, but the data hardly tell by how much"), std::string::npos);
  EXPECT_NE(words("north", -0.1).find("do not tell it from no difference"), std::string::npos);
  EXPECT_NE(words("south", -0.1).find("do not tell it from no difference"), std::string::npos);
  EXPECT_NE(words("north", 0.2).find("by 20 to 60 points"), std::string::npos);
}

TEST(MembershipWords, LevelsWhoseIntervalSaysNothingAreTested) {
  // Nearly all of the west belong to the second group: the likelihood is flat far out, and clear at zero.
  const Drawn drawn = draw_poll(160, 12, 0.0, 4.5);
  const FitOutcome fitted =
      make_pl_mixture_family()->fit(drawn.data, {{"components", "2"}, {"membership", "town"}, {"restarts", "4"}}, caucus::Run{});
  const Membership& membership = *fitted.model->membership();
  ASSERT_LT(membership.tests.at(0).p_value, 1e-3);
  for (const ModelFact& fact : fitted.model->facts()) EXPECT_EQ(fact.words.find("no difference"), std::string::npos) << fact.words;
}

// 24 samples: the ratio of two estimates of a standard error has a relative error of about 0.15, five of them are allowed.
TEST_F(Together, BothKindsOfBootstrapSpreadAsTheInformationSays) {
  const Dataset part = with_voter_weights(data_, [] {
    std::vector<double> weights(3000, 0.0);
    std::fill_n(weights.begin(), 500, 1.0);
    return weights;
  }());
  for (const char* kind : {"parametric", "nonparametric"})
    for (const bool structured : {false, true}) {
      OptionMap options{{"components", "2"}, {"membership", "age"},    {"restarts", "2"},
                        {"bootstrap", "24"}, {"bootstrap-kind", kind}, {"tolerance", "1e-7"}};
      if (structured) options.insert({{"dampening", "on"}, {"items", items()}, {"utilities", "price + origin"}});
      const FitOutcome fitted = make_pl_mixture_family()->fit(part, options, caucus::Run{});
      const Membership& membership = *fitted.model->membership();
      const RecordView drawn = dynamic_cast<const FittedMixture&>(*fitted.model).extras.view().object("membership_bootstrap");
      const auto error = drawn.matrix("standard_errors", 2, 2), low = drawn.matrix("low", 2, 2), high = drawn.matrix("high", 2, 2);
      for (std::size_t j = 0; j < 2; ++j) {
        EXPECT_NEAR(std::log(error[1][j] / membership.standard_error(1, j).value()), 0.0, 0.75) << kind << j;
        EXPECT_LT(low[1][j], membership.coefficients[2 + j]);
        EXPECT_GT(high[1][j], membership.coefficients[2 + j]);
      }
      EXPECT_EQ(error[0][1], 0.0);  // the first group is the reference
      EXPECT_TRUE(fitted.model->profile()[0].errors.weight_interval.has_value());
      if (!structured) continue;
      const ItemUtilities& known = *item_utilities_of(*fitted.model);
      for (std::size_t j = 0; j < 2; ++j)
        EXPECT_NEAR(std::log(known.bootstrap.error[0][j] / known.errors[0][j]), 0.0, 0.75) << kind << j;
    }
}

TEST_F(Together, EqualCovariatesGiveTheModelWithout) {
  Dataset equal = data_;
  equal.covariates[0].numbers.assign(equal.rankings.num_rows(), 3.0);
  const OptionMap options{{"components", "2"}, {"dampening", "on"}, {"restarts", "2"}};
  OptionMap more = options;
  more["membership"] = "age";
  const FitOutcome without = make_pl_mixture_family()->fit(equal, options, caucus::Run{}),
                   with = make_pl_mixture_family()->fit(equal, more, caucus::Run{});
  EXPECT_NEAR(with.summary.loglik, without.summary.loglik, 1e-6 * std::abs(without.summary.loglik));
  EXPECT_EQ(with.summary.num_parameters, without.summary.num_parameters);
}

}  // namespace
}  // namespace caucus::pl_mixture
