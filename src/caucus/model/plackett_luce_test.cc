#include "caucus/model/plackett_luce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/model/plackett_luce_ties.h"

namespace caucus {
namespace {

std::vector<double> random_utilities(std::size_t n, std::uint64_t seed, double scale = 1.0) {
  RandomStream random(seed, Purpose::test);
  std::vector<double> utilities(n);
  for (double& utility : utilities) utility = scale * random.normal();
  return utilities;
}

// Calls visit(groups) for every weak order of the items in `rest` whose groups have an allowed size.
template <class Visit>
void for_each_weak_order(std::vector<ItemId> rest, const std::vector<std::size_t>& sizes, std::vector<std::vector<ItemId>>& groups,
                         Visit&& visit) {
  if (rest.empty()) return visit(groups);
  for (std::size_t mask = 1; mask < (std::size_t{1} << rest.size()); ++mask) {
    std::vector<ItemId> group, others;
    for (std::size_t i = 0; i < rest.size(); ++i) ((mask >> i & 1) != 0 ? group : others).push_back(rest[i]);
    if (std::ranges::find(sizes, group.size()) == sizes.end()) continue;
    groups.push_back(group);
    for_each_weak_order(others, sizes, groups, visit);
    groups.pop_back();
  }
}

RankingSet one(const std::vector<std::vector<ItemId>>& groups) {
  RankingSetBuilder builder;
  builder.add_groups(groups);
  return builder.build();
}

// Eq. (1) of the paper and the definition of Davidson-Luce, subset by subset.
double slow_log_prob(const std::vector<double>& utilities, const TieStrengths& ties, const std::vector<std::vector<ItemId>>& groups,
                     std::vector<ItemId> rest) {
  const auto log_f = [&](const std::vector<ItemId>& set) {
    double mean = 0.0;
    for (ItemId item : set) mean += utilities[item] / static_cast<double>(set.size());
    for (std::size_t o = 0; o < ties.orders.size(); ++o)
      if (static_cast<std::size_t>(ties.orders[o]) == set.size()) return mean + ties.log_delta[o];
    return set.size() == 1 ? mean : -infinity;
  };
  double result = 0.0;
  for (const auto& group : groups) rest.insert(rest.end(), group.begin(), group.end());
  for (const auto& group : groups) {
    std::vector<double> terms;
    for (std::size_t mask = 1; mask < (std::size_t{1} << rest.size()); ++mask) {
      std::vector<ItemId> set;
      for (std::size_t i = 0; i < rest.size(); ++i)
        if ((mask >> i & 1) != 0) set.push_back(rest[i]);
      terms.push_back(log_f(set));
    }
    result += log_f(group) - log_sum_exp(terms);
    for (ItemId item : group) std::erase(rest, item);
  }
  return result;
}

TEST(PlackettLuce, CompleteRankingsSumToOneAndAgreeWithTheDefinition) {
  const std::size_t n = 5;
  const auto utilities = random_utilities(n, 1);
  const PlackettLuce model(utilities);
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), 0);
  double total = 0.0;
  do {
    const double log_prob = model.log_prob(RankingView(order), Unranked::last);
    std::vector<std::vector<ItemId>> groups;
    for (ItemId item : order) groups.push_back({item});
    EXPECT_NEAR(log_prob, slow_log_prob(utilities, {}, groups, {}), 1e-12);
    total += std::exp(log_prob);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_NEAR(total, 1.0, 1e-12);
}

TEST(PlackettLuce, StoppingEarlyIsTheSumOverCompletions) {
  const PlackettLuce model(random_utilities(6, 2));
  const std::vector<ItemId> ballot{4, 1};
  std::vector<ItemId> rest{0, 2, 3, 5};
  double total = 0.0;
  do {
    std::vector<ItemId> full = ballot;
    full.insert(full.end(), rest.begin(), rest.end());
    total += std::exp(model.log_prob(RankingView(full), Unranked::last));
  } while (std::next_permutation(rest.begin(), rest.end()));
  EXPECT_NEAR(model.log_prob(RankingView(ballot), Unranked::last), std::log(total), 1e-12);
  // A race of two is their share alone.
  const auto u = model.utilities();
  EXPECT_NEAR(model.log_prob(RankingView(ballot), Unranked::absent), -std::log1p(std::exp(u[1] - u[4])), 1e-12);
}

TEST(PlackettLuce, UnlistedRestOfTinyWorthDoesNotCancel) {
  std::vector<double> utilities{0.0, 1.0, -35.0, -36.0};
  const PlackettLuce model(utilities);
  const std::vector<ItemId> ballot{1, 0, 2};
  EXPECT_NEAR(model.log_prob(RankingView(ballot), Unranked::last), slow_log_prob(utilities, {}, {{1}, {0}, {2}}, {3}), 1e-12);
  utilities[3] = -1500.0;
  const PlackettLuce wide(utilities);
  const std::vector<ItemId> odd{3, 0};
  EXPECT_NEAR(wide.log_prob(RankingView(odd), Unranked::last), slow_log_prob(utilities, {}, {{3}, {0}}, {1, 2}), 1e-9);
}

TEST(DavidsonLuce, WeakOrdersSumToOneAndAgreeWithTheDefinition) {
  const std::size_t n = 5;
  const auto utilities = random_utilities(n, 3);
  const TieStrengths ties{{2, 4}, {-0.7, 0.4}};
  const PlackettLuce model(utilities, ties);
  double total = 0.0;
  std::vector<std::vector<ItemId>> groups;
  for_each_weak_order({0, 1, 2, 3, 4}, {1, 2, 4}, groups, [&](const auto& weak) {
    const RankingSet set = one(weak);
    const double log_prob = model.log_prob(set[0], Unranked::last);
    EXPECT_NEAR(log_prob, slow_log_prob(utilities, ties, weak, {}), 1e-11);
    total += std::exp(log_prob);
  });
  EXPECT_NEAR(total, 1.0, 1e-11);
  const RankingSet top = one({{3}, {0, 2}});
  EXPECT_NEAR(model.log_prob(top[0], Unranked::last), slow_log_prob(utilities, ties, {{3}, {0, 2}}, {1, 4}), 1e-11);
  EXPECT_NEAR(model.log_prob(top[0], Unranked::absent), slow_log_prob(utilities, ties, {{3}, {0, 2}}, {}), 1e-11);
}

TEST(DavidsonLuce, BackwardSweepIsTheDerivative) {
  const std::vector<double> log_worths{0.0, -0.3, -1.2, -0.1, -2.0};
  const std::vector<int> orders{2, 3};
  const std::vector<double> log_delta{-0.5, 0.3};
  const RankingSet set = one({{3}, {0, 2}});
  const std::vector<ItemId> rest{1, 4};
  const auto log_prob = [&](std::vector<double> worths, std::vector<double> strengths) {
    TieSweep sweep(orders, 5);
    std::vector<double> powers, delta;
    for (double value : strengths) delta.push_back(std::exp(value));
    sweep.fill_powers(worths, powers);
    return sweep.log_prob(set[0], rest, powers, worths, strengths, delta);
  };
  TieSweep sweep(orders, 5);
  std::vector<double> powers, delta;
  for (double value : log_delta) delta.push_back(std::exp(value));
  sweep.fill_powers(log_worths, powers);
  sweep.log_prob(set[0], rest, powers, log_worths, log_delta, delta);
  std::vector<double> expected(5, 0.0), expected_ties(2, 0.0), wins{0.5, 0.0, 0.5, 1.0, 0.0}, tie_wins{1.0, 0.0};
  sweep.accumulate(1.0, powers, delta, expected, expected_ties);
  const double h = 1e-6;
  for (std::size_t i = 0; i < 5; ++i) {
    auto up = log_worths, down = log_worths;
    up[i] += h;
    down[i] -= h;
    EXPECT_NEAR(wins[i] - expected[i], (log_prob(up, log_delta) - log_prob(down, log_delta)) / (2 * h), 1e-8);
  }
  for (std::size_t o = 0; o < 2; ++o) {
    auto up = log_delta, down = log_delta;
    up[o] += h;
    down[o] -= h;
    EXPECT_NEAR(tie_wins[o] - expected_ties[o], (log_prob(log_worths, up) - log_prob(log_worths, down)) / (2 * h), 1e-8);
  }
}

// Every outcome's count is within 6 standard deviations: 24 (or fewer than 100) outcomes, false alarm below 100 * 2e-9.
template <class Model>
void expect_sampler_agrees(const Model& model, std::size_t length) {
  const int draws = 40000;
  std::map<std::pair<std::vector<ItemId>, std::vector<std::uint8_t>>, int> counts;
  std::vector<ItemId> items;
  std::vector<std::uint8_t> ends;
  for (int i = 0; i < draws; ++i) {
    RandomStream random(7, Purpose::sample, static_cast<std::uint64_t>(i));
    model.sample(random, length, items, ends);
    ++counts[{items, ends}];
  }
  double total = 0.0;
  for (const auto& [outcome, count] : counts) {
    const RankingView view(outcome.first, outcome.second.empty() ? nullptr : outcome.second.data());
    const double p = std::exp(model.log_prob(view, Unranked::last));
    total += p;
    EXPECT_NEAR(count, draws * p, 6.0 * std::sqrt(draws * p * (1.0 - p)) + 1.0);
  }
  EXPECT_GT(total, 0.99);
}

TEST(PlackettLuce, SamplerAgreesWithProbabilities) {
  expect_sampler_agrees(PlackettLuce(random_utilities(4, 5)), 0);
  expect_sampler_agrees(PlackettLuce(random_utilities(5, 6)), 2);
  expect_sampler_agrees(PlackettLuce(random_utilities(3, 7), TieStrengths{{2, 3}, {0.2, -0.5}}), 0);
}

}  // namespace
}  // namespace caucus
