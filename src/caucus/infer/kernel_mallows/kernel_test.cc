#include "caucus/infer/kernel_mallows/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/infer/kernel_mallows/fit.h"
#include "caucus/infer/kernel_mallows/fitted.h"
#include "caucus/model/clustering.h"

namespace caucus::kernel_mallows {
namespace {

using Groups = std::vector<std::vector<ItemId>>;

// Random ordered groups of the first items of a random order; the rest unlisted.
Groups random_groups(std::size_t n, RandomStream& rng) {
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  rng.shuffle(std::span(order));
  order.resize(1 + rng.below(n));
  Groups groups(1);
  for (ItemId item : order) {
    if (!groups.back().empty() && rng.uniform() < 0.6) groups.emplace_back();
    groups.back().push_back(item);
  }
  return groups;
}

// All complete rankings that agree with the groups.
std::vector<std::vector<ItemId>> completions(const Groups& groups, std::size_t n) {
  std::vector<std::size_t> level(n, groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (ItemId item : groups[g]) level[item] = g;
  std::vector<std::vector<ItemId>> result;
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  do
    if (std::is_sorted(order.begin(), order.end(), [&](ItemId a, ItemId b) { return level[a] < level[b]; }))
      result.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  return result;
}

std::size_t distance(const std::vector<ItemId>& a, const std::vector<ItemId>& b) {
  std::vector<std::size_t> position(b.size());
  for (std::size_t k = 0; k < b.size(); ++k) position[b[k]] = k;
  std::size_t total = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = i + 1; j < a.size(); ++j) total += position[a[i]] > position[a[j]] ? 1 : 0;
  return total;
}

TEST(Kernel, ClosedFormIsTheSumOverCosets) {
  constexpr std::size_t n = 5;
  RandomStream rng(5, Purpose::test, 1);
  for (double theta : {0.05, 0.7, 2.0}) {
    double normalizer = 0.0;
    const auto all = completions({{0, 1, 2, 3, 4}}, n);
    for (const auto& order : all) normalizer += std::exp(-theta * static_cast<double>(distance(order, all[0])));
    const Kernel kernel(theta, n);
    for (int i = 0; i < 40; ++i) {
      RankingSetBuilder builder;
      const Groups a = random_groups(n, rng), b = random_groups(n, rng);
      builder.add_groups(a);
      builder.add_groups(b, 2.0);
      const RankingSet set = builder.build();
      const auto in_a = completions(a, n), in_b = completions(b, n);
      double sum = 0.0;
      for (const auto& s : in_a)
        for (const auto& t : in_b) sum += std::exp(-theta * static_cast<double>(distance(s, t)));
      GroupIndex index(n);
      index.set(set[set.size() - 1]);
      const double size_a = static_cast<double>(in_a.size()), size_b = static_cast<double>(in_b.size());
      EXPECT_NEAR(kernel.log_density(set[0], index), std::log(sum / size_a / normalizer), 1e-11);
      EXPECT_NEAR(kernel.log_weight(set[0], index), std::log(sum / size_a / size_b), 1e-11);
    }
  }
}

Dataset three_groups(std::size_t n, std::size_t length, std::size_t count, std::uint64_t seed, std::vector<std::uint32_t>& truth) {
  Dataset data;
  for (std::size_t i = 0; i < n; ++i) data.items.push_back(std::to_string(i));
  RandomStream rng(seed, Purpose::generate, 1);
  std::vector<std::vector<ItemId>> centers(3, std::vector<ItemId>(n));
  for (auto& center : centers) std::iota(center.begin(), center.end(), ItemId{0}), rng.shuffle(std::span(center));
  RankingSetBuilder builder;
  std::vector<ItemId> ranking(length);
  for (std::size_t i = 0; i < count; ++i) {
    truth.push_back(static_cast<std::uint32_t>(i % 3));
    draw_mallows(centers[i % 3], 1.2, rng, ranking);
    builder.add(ranking);
  }
  data.rankings = builder.build();
  return data;
}

TEST(Kde, SumsToOneOverTheRankingsOfAType) {
  std::vector<std::uint32_t> truth;
  const Dataset data = three_groups(5, 2, 30, 1, truth);
  const FittedKde model(data.items, data.unranked, data.rankings, 0.8);
  for (std::size_t length : {1, 2, 3, 5}) {
    RankingSetBuilder builder;
    std::vector<ItemId> order{0, 1, 2, 3, 4};
    do builder.add(std::span(order).first(length));
    while (std::next_permutation(order.begin(), order.end()));
    Dataset every = data;
    every.rankings = builder.build();
    std::vector<double> log_prob = log_probs(model, every, 1);
    EXPECT_NEAR(log_sum_exp(log_prob), 0.0, 1e-11) << length;
  }
}

TEST(Kde, LeaveOneOutMatchesRefittingWithoutTheBallot) {
  std::vector<std::uint32_t> truth;
  const Dataset data = three_groups(5, 3, 12, 2, truth);
  double expected = 0.0;
  std::vector<std::size_t> all(data.rankings.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (std::size_t row = 0; row < data.rankings.num_rows(); ++row) {
    std::vector<std::size_t> others;
    for (std::size_t other = 0; other < data.rankings.num_rows(); ++other)
      if (other != row) others.push_back(other);
    const FittedKde model(data.items, data.unranked, data.rankings.select_rows(others), 0.9);
    Dataset one = data;
    one.rankings = data.rankings.select_rows(std::vector<std::size_t>{row});
    expected += log_probs(model, one, 1)[0];
  }
  EXPECT_NEAR(leave_one_out(data.rankings, 5, 0.9, all, 1), expected, 1e-9);
  EXPECT_EQ(leave_one_out(data.rankings, 5, 0.9, all, 1), leave_one_out(data.rankings, 5, 0.9, all, 2));
}

TEST(Kde, BandwidthIsAMaximum) {
  std::vector<std::uint32_t> truth;
  const Dataset data = three_groups(8, 4, 200, 3, truth);
  const Bandwidth chosen = choose_bandwidth(data.rankings, 8, {}, caucus::Run());
  std::vector<std::size_t> all(data.rankings.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const double best = leave_one_out(data.rankings, 8, chosen.theta, all, 1);
  for (double factor : {0.7, 0.9, 1.1, 1.4}) EXPECT_GT(best, leave_one_out(data.rankings, 8, chosen.theta * factor, all, 1));
  EXPECT_GT(chosen.theta, 0.3);
  EXPECT_LT(chosen.theta, 5.0);
}

TEST(Ebms, FindsWellSeparatedGroups) {
  std::vector<std::uint32_t> truth;
  const Dataset data = three_groups(12, 5, 300, 4, truth);
  caucus::Run one, two;
  one.threads = 1, two.threads = 2;
  const EbmsResult result = ebms(data, {}, one);
  EXPECT_EQ(result.stop_reason, StopReason::converged);
  EXPECT_TRUE(std::is_sorted(result.trace.rbegin(), result.trace.rend()));  // merging never undoes
  std::vector<std::uint32_t> found;
  for (std::size_t row = 0; row < data.rankings.num_rows(); ++row) found.push_back(result.cluster[data.rankings.row_ranking(row)]);
  EXPECT_GT(adjusted_rand_index(found, truth), 0.7);
  const EbmsResult again = ebms(data, {}, two);
  EXPECT_EQ(again.cluster, result.cluster);
  EXPECT_EQ(again.theta, result.theta);
}

}  // namespace
}  // namespace caucus::kernel_mallows
