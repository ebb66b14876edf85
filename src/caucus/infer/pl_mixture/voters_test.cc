// Voters with several rankings, against sums over every way to put the voters into groups.
#include "caucus/infer/pl_mixture/voters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caucus/base/random.h"
#include "caucus/infer/pl_mixture/bootstrap.h"
#include "caucus/infer/pl_mixture/family.h"
#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/fitted.h"
#include "caucus/infer/pl_mixture/gibbs.h"
#include "caucus/infer/pl_mixture/information.h"
#include "caucus/infer/pl_mixture/methods.h"
#include "caucus/infer/pl_mixture/testing.h"
#include "caucus/model/assignment.h"

namespace caucus::pl_mixture {
namespace {

using testing::Kind;

// `count` voters with two to `most` rankings each, weights 1 to 2; each voter's rankings come from one group.
Dataset draw_voters(const Parameters& truth, std::size_t count, Kind kind, std::uint64_t seed, std::size_t most = 4) {
  Dataset data;
  data.items = testing::names(truth.num_items);
  data.source = "voters";
  data.unranked = kind == Kind::subset || kind == Kind::pairs ? Unranked::absent : Unranked::last;
  RankingSetBuilder builder;
  std::vector<std::uint32_t> of_row;
  std::vector<double> weights;
  std::vector<std::string> names;
  for (std::size_t v = 0; v < count; ++v) {
    RandomStream random(seed, Purpose::generate, 50'000 + v);
    Parameters one(1, truth.num_items);
    std::ranges::copy(truth.component(random.categorical(truth.weights)), one.component(0).begin());
    const Dataset own = testing::draw(one, 2 + random.below(most - 1), kind, seed * 1000 + v);
    weights.push_back(1.0 + static_cast<double>(random.below(2)));
    names.push_back("v" + std::to_string(v));
    for (std::size_t row = 0; row < own.rankings.num_rows(); ++row) {
      const std::size_t i = own.rankings.row_ranking(row);
      const auto ends = own.rankings.has_ties()
                            ? own.rankings.group_ends().subspan(own.rankings.offsets()[i], own.rankings.length(i))
                            : std::span<const std::uint8_t>{};
      builder.add(own.rankings[i].items(), weights.back(), ends);
      of_row.push_back(static_cast<std::uint32_t>(v));
    }
  }
  data.rankings = builder.build();
  data.voters.column = "judge";
  set_voters(data, std::move(of_row), std::move(names), std::move(weights));
  return data;
}

double log_prob_of(const Dataset& data, std::size_t voter, const Parameters& p, std::size_t k) {
  const auto own = p.component(k);
  const PlackettLuce model(std::vector<double>(own.begin(), own.end()), p.ties);
  double sum = 0.0;
  const Incidence& cast = data.voters.rankings;
  for (std::size_t j = cast.begin[voter]; j < cast.begin[voter + 1]; ++j)
    sum += cast.count(j) * model.log_prob(data.rankings[cast.other[j]], data.unranked);
  return sum;
}

// Every assignment of voters to groups, one by one: P(data) and how often each voter is in each group. Weights are left at one.
struct Enumerated {
  double loglik = 0.0;
  std::vector<double> memberships;
};
Enumerated enumerate(const Dataset& data, const Parameters& p) {
  const std::size_t count = data.voters.size(), num = p.num_components();
  std::size_t ways = 1;
  for (std::size_t v = 0; v < count; ++v) ways *= num;
  Enumerated result;
  result.memberships.assign(count * num, 0.0);
  double total = 0.0;
  for (std::size_t way = 0; way < ways; ++way) {
    double probability = 1.0;
    for (std::size_t v = 0, rest = way; v < count; ++v, rest /= num)
      probability *= p.weights[rest % num] * std::exp(log_prob_of(data, v, p, rest % num));
    total += probability;
    for (std::size_t v = 0, rest = way; v < count; ++v, rest /= num) result.memberships[v * num + rest % num] += probability;
  }
  for (double& value : result.memberships) value /= total;
  result.loglik = std::log(total);
  return result;
}

class VotersOfEveryKind : public ::testing::TestWithParam<Kind> {};

TEST_P(VotersOfEveryKind, LikelihoodAndMembershipsAreThoseOfEnumeration) {
  Parameters truth = testing::random_parameters(2, 5, 3);
  Dataset data = draw_voters(truth, 5, GetParam(), 11);
  data = with_voter_weights(data, std::vector<double>(5, 1.0));
  Parameters at = testing::random_parameters(2, 5, 8);
  Objective objective(data, 2, 0.0, 1);
  ASSERT_TRUE(objective.by_voter());
  if (objective.has_ties()) at.ties = {objective.tie_orders(), std::vector<double>(objective.tie_orders().size(), -0.7)};
  const Enumerated exact = enumerate(data, at);
  std::vector<double> posterior;
  EXPECT_NEAR(objective.evaluate(at, &posterior).loglik, exact.loglik, 1e-9);
  const std::vector<double> memberships = objective.voter_memberships(at);
  for (std::size_t j = 0; j < memberships.size(); ++j) EXPECT_NEAR(memberships[j], exact.memberships[j], 1e-9);
  // The model that is written says the same of the data.
  const FittedMixture model(data.items, data.unranked, at);
  EXPECT_NEAR(log_likelihood(model, data, 1), exact.loglik, 1e-9);
  const std::vector<double> scored = voter_memberships(model, data, 1);
  for (std::size_t j = 0; j < scored.size(); ++j) EXPECT_NEAR(scored[j], exact.memberships[j], 1e-9);
}

TEST_P(VotersOfEveryKind, NeverFallsAndMethodsAgree) {
  const Dataset data = draw_voters(testing::random_parameters(2, 5, 3, 1.5), 60, GetParam(), 13);
  const Objective objective(data, 2, 0.1, 1);
  Parameters start = testing::random_parameters(2, 5, 4);
  if (objective.has_ties()) start.ties = {objective.tie_orders(), std::vector<double>(objective.tie_orders().size(), -0.4)};
  std::vector<double> found;
  for (const Method method : {Method::em, Method::emm, Method::em_lsr}) {
    if (method == Method::em_lsr && objective.has_ties()) continue;
    const Solution solution = run_method(objective, method, Chain::automatic, start, {20000, 1e-10, false, "em"}, caucus::Run{});
    for (std::size_t t = 1; t < solution.trace.size(); ++t)
      EXPECT_GE(solution.trace[t], solution.trace[t - 1] - 1e-10 * std::abs(solution.trace[t]));
    found.push_back(solution.objective);
  }
  for (const double value : found) EXPECT_NEAR(value, found[0], 1e-6 * std::abs(found[0]));
}

INSTANTIATE_TEST_SUITE_P(Kinds, VotersOfEveryKind,
                         ::testing::Values(Kind::complete, Kind::top, Kind::subset, Kind::pairs, Kind::ties));

TEST(Voters, OneRankingEachIsTheSameBitsAsNone) {
  for (const Kind kind : {Kind::complete, Kind::top, Kind::pairs, Kind::ties}) {
    Dataset data = testing::draw(testing::random_parameters(2, 6, 5, 1.5), 300, kind, 6);
    const auto fit_it = [](const Dataset& of) {
      return make_pl_mixture_family()->fit(of, {{"components", "2"}, {"restarts", "3"}}, caucus::Run{});
    };
    const FitOutcome without = fit_it(data);
    std::vector<std::uint32_t> of_row(data.rankings.num_rows());
    std::vector<double> weights;
    std::vector<std::string> names;
    for (std::size_t row = 0; row < of_row.size(); ++row) {
      of_row[row] = static_cast<std::uint32_t>(row);
      weights.push_back(data.rankings.row_weight(row));
      names.push_back(std::to_string(row));
    }
    data.voters.column = "id";
    set_voters(data, of_row, names, weights);
    const FitOutcome with = fit_it(data);
    EXPECT_EQ(with.summary.loglik, without.summary.loglik);
    EXPECT_EQ(with.summary.bic(), without.summary.bic());
    const auto a = with.model->profile(), b = without.model->profile();
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(a[k].utilities, b[k].utilities);
      EXPECT_EQ(a[k].weight, b[k].weight);
      EXPECT_EQ(a[k].errors.utility_errors, b[k].errors.utility_errors);
    }
  }
}

// The two-pass E-step where each voter has one ranking is the fused one.
TEST(Voters, TwoPassesAgreeWithTheFusedOne) {
  for (const Kind kind : {Kind::complete, Kind::top, Kind::subset}) {
    for (const std::size_t num : {2U, 3U, 5U, 9U}) {
      const Dataset data = testing::draw(testing::random_parameters(2, 12, 5, 2.0), 400, kind, 6);
      const Parameters at = testing::random_parameters(num, 12, 7, 3.0);
      const Objective objective(data, num, 0.0, 2);
      std::vector<double> posterior;
      const Evaluation fused = objective.evaluate(at, &posterior);
      Evaluation two;
      std::vector<double> shares = posterior;
      for (std::size_t i = 0; i < data.rankings.size(); ++i)
        for (std::size_t k = 0; k < num; ++k) shares[i * num + k] *= data.rankings.weight(i);
      objective.add_ranking_shares(at, shares, two);
      const std::vector<double> logs = objective.ranking_logs(at), slow = testing::slow_joint(data, at);
      for (std::size_t j = 0; j < logs.size(); ++j) EXPECT_NEAR(logs[j] + std::log(at.weights[j % num]), slow[j], 1e-9);
      for (std::size_t j = 0; j < two.wins.size(); ++j) {
        EXPECT_NEAR(two.wins[j], fused.wins[j], 1e-9 * 400);
        EXPECT_NEAR(two.expected[j], fused.expected[j], 1e-9 * 400);
      }
    }
  }
}

// The fused pass over voters against its steps one after the other: voters who cast the same ranking many times or more rankings
// than are kept at once, components that have come apart, weights of their own.
TEST_P(VotersOfEveryKind, OnePassAgreesWithItsSteps) {
  for (const std::size_t num : {2U, 3U, 5U, 9U}) {
    for (const double scale : {1.0, 4.0, 60.0}) {
      const Dataset data = draw_voters(testing::random_parameters(2, 6, 5, 1.0), 30, GetParam(), 16, 150);
      Parameters at = testing::random_parameters(num, 6, 7, scale);
      const Objective objective(data, num, 0.0, 2);
      if (objective.has_ties()) at.ties = {objective.tie_orders(), std::vector<double>(objective.tie_orders().size(), -0.7)};
      std::vector<double> memberships, in_steps;
      const Evaluation fused = objective.pass_over_voters(at, &memberships), two = objective.steps_over_voters(at, &in_steps);
      EXPECT_NEAR(fused.loglik / two.loglik, 1.0, 1e-12);
      for (std::size_t j = 0; j < memberships.size(); ++j) EXPECT_NEAR(memberships[j], in_steps[j], 1e-9);
      for (std::size_t k = 0; k < num; ++k) EXPECT_NEAR(fused.responsibility[k], two.responsibility[k], 1e-8);
      const double size = data.rankings.total_weight();
      for (std::size_t j = 0; j < two.wins.size(); ++j) {
        EXPECT_NEAR(fused.wins[j], two.wins[j], 1e-10 * size);
        EXPECT_NEAR(fused.expected[j], two.expected[j], 1e-10 * size);
      }
      for (std::size_t o = 0; o < two.tie_expected.size(); ++o)
        EXPECT_NEAR(fused.tie_expected[o], two.tie_expected[o], 1e-10 * size);
    }
  }
}

TEST(Voters, AnyNumberOfThreadsGivesTheSameBits) {
  const Dataset data = draw_voters(testing::random_parameters(2, 8, 3, 1.5), 3000, Kind::pairs, 15);
  const Parameters at = testing::random_parameters(2, 8, 4);
  std::vector<Evaluation> found;
  for (const int threads : {1, 2, 4}) found.push_back(Objective(data, 2, 0.0, threads).evaluate(at));
  for (const Evaluation& one : found) {
    EXPECT_EQ(one.loglik, found[0].loglik);
    EXPECT_EQ(one.expected, found[0].expected);
  }
}

// A voter of weight 3 is three voters with the same rankings.
TEST(Voters, WeightsAreCopies) {
  const Dataset data = draw_voters(testing::random_parameters(2, 5, 3), 8, Kind::top, 16);
  std::vector<double> weights(8, 1.0);
  weights[2] = 3.0;
  const Dataset weighted = with_voter_weights(data, weights);
  Dataset copied = with_voter_weights(data, std::vector<double>(8, 1.0));
  RankingSetBuilder builder;
  std::vector<std::uint32_t> of_row;
  for (int copy = 0; copy < 3; ++copy)
    for (std::size_t row = 0; row < data.voters.of_row.size(); ++row) {
      const std::uint32_t voter = data.voters.of_row[row];
      if (copy > 0 && voter != 2) continue;
      builder.add(data.rankings[data.rankings.row_ranking(row)].items());
      of_row.push_back(copy == 0 ? voter : static_cast<std::uint32_t>(7 + copy));
    }
  copied.rankings = builder.build();
  set_voters(copied, of_row, {}, std::vector<double>(10, 1.0));
  const Parameters at = testing::random_parameters(2, 5, 4);
  EXPECT_NEAR(Objective(weighted, 2, 0.0, 1).evaluate(at).loglik, Objective(copied, 2, 0.0, 1).evaluate(at).loglik, 1e-10);
}

// 200 judges of two kinds with 20 battles each over 8 items. With utilities of standard deviation 1.5 the log odds of the right
// kind have mean about 20 x 0.35 and are wrong for under one judge in a hundred; more than 5 % wrong of 200 would need 11, chance
// 1e-6.
TEST(Voters, KindsOfJudgesAreFound) {
  Parameters truth(2, 8);
  for (std::size_t i = 0; i < 8; ++i) {
    truth.component(0)[i] = 2.0 - 4.0 * static_cast<double>(i) / 7.0;
    truth.component(1)[i] = -truth.component(0)[i];
  }
  Dataset data;
  data.items = testing::names(8);
  data.unranked = Unranked::absent;
  RankingSetBuilder builder;
  std::vector<std::uint32_t> of_row;
  std::vector<std::size_t> kind;
  for (std::size_t v = 0; v < 200; ++v) {
    RandomStream random(5, Purpose::generate, v);
    kind.push_back(random.below(2));
    for (int battle = 0; battle < 20; ++battle) {
      const auto a = static_cast<ItemId>(random.below(8));
      const auto b = static_cast<ItemId>((a + 1 + random.below(7)) % 8);
      const double gap = truth.component(kind[v])[a] - truth.component(kind[v])[b];
      const bool first = random.uniform() < 1.0 / (1.0 + std::exp(-gap));
      const ItemId pair[] = {first ? a : b, first ? b : a};
      builder.add(pair);
      of_row.push_back(static_cast<std::uint32_t>(v));
    }
  }
  data.rankings = builder.build();
  set_voters(data, of_row, {}, std::vector<double>(200, 1.0));
  const FitOutcome fitted = make_pl_mixture_family()->fit(data, {{"components", "2"}}, caucus::Run{});
  const std::vector<double> memberships = voter_memberships(*fitted.model, data, 1);
  std::size_t same = 0;
  for (std::size_t v = 0; v < 200; ++v) same += (memberships[v * 2] > 0.5) == (kind[v] == 0) ? 1 : 0;
  EXPECT_LT(200 - std::max(same, 200 - same), 10U);
  EXPECT_EQ(fitted.summary.num_voters, 200.0);
  EXPECT_TRUE(fitted.model->profile()[0].errors.utility_errors[0].has_value());
}

TEST(Voters, MethodsThatGroupRankingsRefuse) {
  const Dataset data = draw_voters(testing::random_parameters(2, 5, 3), 8, Kind::complete, 17);
  for (const char* method : {"em-cml", "em-gmm", "em-slsr", "spectral"}) {
    try {
      make_pl_mixture_family()->fit(data, {{"components", "2"}, {"method", method}}, caucus::Run{});
      FAIL() << method;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(method), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("several rankings by one voter"), std::string::npos);
    }
  }
}

// Posterior means of a well-separated mixture lie near the maximum: within three of the posterior's own deviations for all of 16
// utilities and a bias of order 1/N.
TEST(Voters, GibbsSeatsVoters) {
  Parameters truth(2, 5);
  for (std::size_t i = 0; i < 5; ++i)
    truth.component(0)[i] = 1.0 - 0.5 * static_cast<double>(i), truth.component(1)[i] = -truth.component(0)[i];
  const Dataset data = with_voter_weights(draw_voters(truth, 300, Kind::top, 18), std::vector<double>(300, 1.0));
  Options options;
  options.components = 2;
  const Result em = fit(data, options, caucus::Run{});
  options.method = Method::gibbs;
  options.sweeps = 1500;
  options.burnin = 300;
  const Result gibbs = fit(data, options, caucus::Run{});
  ASSERT_TRUE(gibbs.posterior.has_value());
  std::vector<Parameters> aligned{gibbs.parameters};
  align_draws(em.parameters, aligned);
  for (std::size_t j = 0; j < 10; ++j) EXPECT_NEAR(aligned[0].utilities[j], em.parameters.utilities[j], 0.25);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(aligned[0].weights[k], em.parameters.weights[k], 0.05);
}

TEST(Voters, BootstrapResamplesVoters) {
  const Dataset data = draw_voters(testing::random_parameters(2, 5, 3), 50, Kind::top, 19);
  const Parameters at = testing::random_parameters(2, 5, 4);
  const BootstrapSource source{data, Simulator(at), true, {}};
  const Dataset again = bootstrap_sample(source, Bootstrap::nonparametric, 1, 1, {}).data;
  EXPECT_EQ(again.voters.total_weight(), data.voters.total_weight());
  const Dataset drawn = bootstrap_sample(source, Bootstrap::parametric, 1, 1, {}).data;
  EXPECT_EQ(drawn.voters.total_weight(), data.voters.total_weight());
  double rankings = 0.0;
  for (std::size_t row = 0; row < data.voters.of_row.size(); ++row) rankings += data.voters.weights[data.voters.of_row[row]];
  EXPECT_EQ(drawn.rankings.total_weight(), rankings);
}

}  // namespace
}  // namespace caucus::pl_mixture
