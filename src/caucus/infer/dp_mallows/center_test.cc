#include "caucus/infer/dp_mallows/center.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/testing.h"

namespace caucus::dp_mallows {
namespace {

using testing::points_of;

std::vector<Member> all_members(const Points& points) {
  std::vector<Member> members;
  for (std::uint32_t r = 0; r < points.num_rankings(); ++r) members.push_back({r, 1.0});
  return members;
}

// -sum_j theta_j S_j(sigma), from the definition: s_j counts the items before pi_j in sigma that pi has not used.
double log_target(const Points& points, std::span<const Member> members, std::span<const double> theta,
                  const std::vector<Item>& order) {
  double value = 0.0;
  for (const Member& member : members) {
    const auto ranking = points[member.ranking];
    std::vector<Item> left = order;
    for (std::size_t j = 0; j < ranking.size(); ++j) {
      const auto found = std::find(left.begin(), left.end(), ranking[j]);
      value -= member.weight * theta[j] * static_cast<double>(found - left.begin());
      left.erase(found);
    }
  }
  return value;
}

struct Enumerated {
  std::vector<std::vector<Item>> orders;
  std::vector<double> probability;
};
Enumerated enumerate(const Points& points, std::span<const Member> members, std::span<const double> theta) {
  Enumerated result;
  std::vector<Item> order(points.num_items);
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> logs;
  do {
    result.orders.push_back(order);
    logs.push_back(log_target(points, members, theta, order));
  } while (std::next_permutation(order.begin(), order.end()));
  const double total = log_sum_exp(logs);
  for (double value : logs) result.probability.push_back(std::exp(value - total));
  return result;
}

double chi_square(const Enumerated& truth, const std::map<std::vector<Item>, int>& counts, int draws) {
  double value = 0.0;
  for (std::size_t k = 0; k < truth.orders.size(); ++k) {
    const auto found = counts.find(truth.orders[k]);
    const double expected = truth.probability[k] * draws, seen = found == counts.end() ? 0.0 : found->second;
    value += (seen - expected) * (seen - expected) / expected;
  }
  return value;
}

const std::vector<std::vector<Item>> mixed{{2, 0}, {1, 3, 0}, {0}, {3, 2, 1}};

TEST(CenterSampler, WeightTimesDensityIsTheTarget) {
  const Points points = points_of(5, mixed);  // item 4 is never listed
  const auto members = all_members(points);
  const std::vector<double> theta{0.9, 0.4, 1.3};
  CenterSampler sampler;
  sampler.load(points, members);
  std::vector<Item> order(5);
  std::iota(order.begin(), order.end(), 0);
  double total = 0.0;
  do {
    Center center;
    set_order(center, order);
    const double log_q = sampler.log_density(theta, center);
    total += std::exp(log_q);
    EXPECT_NEAR(log_q + sampler.log_stage_normalizers(theta, center), log_target(points, members, theta, order), 1e-11);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_NEAR(total, 1.0, 1e-11);
}

// The stagewise draw follows its own density, not the posterior: Lemma 2 does not hold. 60000 draws; a chi-square on
// 119 degrees of freedom exceeds 215 with probability 1e-7.
TEST(CenterSampler, StagewiseDrawHasItsDensityAndNotTheTarget) {
  const Points points = points_of(5, mixed);
  const auto members = all_members(points);
  const std::vector<double> theta{0.9, 0.4, 1.3};
  CenterSampler sampler;
  sampler.load(points, members);
  RandomStream rng(3, Purpose::test, 4);
  std::map<std::vector<Item>, int> counts;
  constexpr int draws = 60000;
  Center center;
  for (int i = 0; i < draws; ++i) {
    sampler.sample_stagewise(theta, center, rng);
    ++counts[center.order];
  }
  const Enumerated target = enumerate(points, members, theta);
  Enumerated own = target;
  for (std::size_t k = 0; k < own.orders.size(); ++k) {
    set_order(center, own.orders[k]);
    own.probability[k] = std::exp(sampler.log_density(theta, center));
  }
  EXPECT_LT(chi_square(own, counts, draws), 215.0);
  EXPECT_GT(chi_square(target, counts, draws), 1000.0);
}

// From exact draws, one corrected step and one swap pass must give exact draws again.
TEST(CenterSampler, CorrectedStepsKeepTheTarget) {
  const Points points = points_of(5, mixed);
  const auto members = all_members(points);
  const std::vector<double> theta{0.9, 0.4, 1.3};
  CenterSampler sampler;
  sampler.load(points, members);
  const Enumerated target = enumerate(points, members, theta);
  RandomStream rng(3, Purpose::test, 5);
  std::map<std::vector<Item>, int> moved, swapped;
  constexpr int draws = 60000;
  Center center;
  int accepted = 0;
  for (int i = 0; i < draws; ++i) {
    set_order(center, target.orders[rng.categorical(target.probability)]);
    accepted += sampler.metropolis_stagewise(theta, center, rng) ? 1 : 0;
    ++moved[center.order];
    sampler.swap_adjacent(theta, center, rng);
    ++swapped[center.order];
  }
  EXPECT_GT(accepted, draws / 3);
  EXPECT_LT(chi_square(target, moved, draws), 215.0);
  EXPECT_LT(chi_square(target, swapped, draws), 215.0);
}

// Where Lemma 2 does hold: one complete ranking and one theta, so that a stage depends on the number of items only.
TEST(CenterSampler, OneRankingWithOneThetaNeedsNoCorrection) {
  const Points points = points_of(5, {{3, 0, 2, 4}});
  const auto members = all_members(points);
  const std::vector<double> theta(4, 0.8);
  CenterSampler sampler;
  sampler.load(points, members);
  RandomStream rng(3, Purpose::test, 6);
  Center center;
  sample_uniform(5, center, rng);
  const double reference = sampler.log_stage_normalizers(theta, center);
  for (int i = 0; i < 50; ++i) EXPECT_NEAR(sampler.sample_stagewise(theta, center, rng), reference, 1e-11);
}

TEST(CenterSampler, WeightsAreCopiesAndThePriorIsARanking) {
  const Points points = points_of(6, {{2, 0}, {1, 3, 0}, {5, 2, 1, 0}});
  const std::vector<Member> weighted{{0, 2.0}, {1, 1.0}}, copied{{0, 1.0}, {0, 1.0}, {1, 1.0}};
  const std::vector<double> theta{0.9, 0.4, 1.3, 0.2};
  CenterSampler one, other;
  Center center;
  RandomStream rng(3, Purpose::test, 7);
  sample_uniform(6, center, rng);
  one.load(points, weighted);
  other.load(points, copied);
  EXPECT_NEAR(one.log_density(theta, center), other.log_density(theta, center), 1e-12);
  const std::vector<Member> with_prior{{0, 2.0}, {1, 1.0}, {2, 0.7}};
  other.load(points, with_prior);
  one.load(points, weighted, points[2], 0.7);
  EXPECT_NEAR(one.log_density(theta, center), other.log_density(theta, center), 1e-12);
  std::vector<double> sums(4), counts(4);
  one.statistics(center, sums, counts);
  EXPECT_EQ(counts, (std::vector<double>{3, 3, 1, 0}));
}

// Many members are counted, copies of few are not where their weights say so: the same densities, statistics and swaps. Item 6 is
// never listed, and the prior is a ranking beside the counts.
TEST(CenterSampler, CountedMembersAreTheMembers) {
  RandomStream rng(3, Purpose::test, 10);
  std::vector<std::vector<Item>> rankings;
  for (int i = 0; i < 6; ++i) {
    Center random;
    sample_uniform(6, random, rng);
    random.order.resize(1 + static_cast<std::size_t>(i) % 5);
    rankings.push_back(random.order);
  }
  const Points points = points_of(7, rankings);
  std::vector<Member> weighted = all_members(points), copies;
  for (Member& member : weighted) {
    member.weight = static_cast<double>(20 + 10 * member.ranking);
    for (double w = 0.0; w < member.weight; w += 1.0) copies.push_back({member.ranking, 1.0});
  }
  const std::vector<double> theta{0.09, 0.04, 0.13, 0.02, 0.05};
  CenterSampler rows, counted;
  for (const double strength : {0.0, 0.7}) {
    rows.load(points, weighted, points[3], strength);
    counted.load(points, copies, points[3], strength);
    for (int i = 0; i < 20; ++i) {
      Center center, other;
      sample_uniform(7, center, rng);
      EXPECT_NEAR(counted.log_density(theta, center), rows.log_density(theta, center), 1e-10);
      EXPECT_NEAR(counted.log_stage_normalizers(theta, center), rows.log_stage_normalizers(theta, center), 1e-10);
      std::vector<double> sums(5), counts(5), expected_sums(5), expected_counts(5);
      counted.statistics(center, sums, counts);
      rows.statistics(center, expected_sums, expected_counts);
      EXPECT_EQ(sums, expected_sums);
      EXPECT_EQ(counts, expected_counts);
      other = center;
      RandomStream one(4, Purpose::test, static_cast<std::uint64_t>(i)), two(4, Purpose::test, static_cast<std::uint64_t>(i));
      counted.swap_adjacent(theta, center, one);
      rows.swap_adjacent(theta, other, two);
      EXPECT_EQ(center.order, other.order);
    }
  }
}

// Many items: the block arithmetic against the plain formula.
TEST(CenterSampler, BlocksAgreeWithPlainArithmetic) {
  constexpr std::size_t n = 70;
  RandomStream rng(3, Purpose::test, 8);
  std::vector<std::vector<Item>> rankings;
  for (int i = 0; i < 40; ++i) {
    Center random;
    sample_uniform(60, random, rng);
    random.order.resize(1 + static_cast<std::size_t>(i) % 9);
    rankings.push_back(random.order);
  }
  const Points points = points_of(n, rankings);
  const auto members = all_members(points);
  std::vector<double> theta(points.num_stages);
  for (double& value : theta) value = rng.exponential();
  CenterSampler sampler;
  sampler.load(points, members);
  Center center;
  for (int i = 0; i < 5; ++i) {
    const double log_sum = sampler.sample_stagewise(theta, center, rng);
    EXPECT_NEAR(sampler.log_stage_normalizers(theta, center), log_sum, 1e-8);
    EXPECT_NEAR(sampler.log_density(theta, center) + log_sum, log_target(points, members, theta, center.order), 1e-8);
  }
}

// Figure 4 against enumeration: P(sigma) is proportional to the product of the V_j weights.
TEST(SampleSigmaN1, HasTheProductOfItsStages) {
  const std::vector<std::vector<double>> cumulative{{0.5, 0.8, 0.95, 1.0}, {0.6, 0.9, 1.0}};
  const std::vector<Item> ranking{2, 1};
  RandomStream rng(3, Purpose::test, 9);
  std::map<std::vector<Item>, int> counts;
  Center center;
  constexpr int draws = 48000;
  for (int i = 0; i < draws; ++i) {
    sample_sigma_n1(ranking, 4, cumulative, center, rng);
    ++counts[center.order];
  }
  Enumerated truth;
  std::vector<Item> order{0, 1, 2, 3};
  do {
    set_order(center, order);
    std::vector<std::int32_t> s(2);
    codes(
        ranking, [&](Item item) { return center.position[static_cast<std::size_t>(item)]; }, s);
    const auto mass = [&](std::size_t j) {
      const auto v = static_cast<std::size_t>(s[j]);
      return cumulative[j][v] - (v > 0 ? cumulative[j][v - 1] : 0.0);
    };
    truth.orders.push_back(order);
    truth.probability.push_back(mass(0) * mass(1) / 2.0);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_LT(chi_square(truth, counts, draws), 80.0);  // 23 degrees of freedom: probability 3e-8
}

}  // namespace
}  // namespace caucus::dp_mallows
