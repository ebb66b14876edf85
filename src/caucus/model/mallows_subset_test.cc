#include "caucus/model/mallows_subset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/model/kendall.h"
#include "caucus/model/mallows.h"
#include "caucus/model/mallows_completion.h"

namespace caucus {
namespace {

std::vector<ItemId> shuffled(std::size_t n, RandomStream& stream) {
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  stream.shuffle(std::span<ItemId>(order));
  return order;
}

// group[item]: 0 for an unlisted item, else its tie-group. Sums over all complete rankings.
double enumerated(const Mallows& model, const std::vector<std::uint32_t>& group) {
  const std::size_t n = group.size();
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  double total = 0.0;
  do {
    std::uint32_t seen = 0;
    bool agrees = true;
    for (ItemId item : order)
      if (group[item] > 0) agrees = agrees && group[item] >= seen, seen = group[item];
    if (agrees) total += std::exp(model.log_prob(RankingView(order)));
  } while (std::next_permutation(order.begin(), order.end()));
  return total;
}

struct Ballot {
  std::vector<ItemId> items;
  std::vector<std::uint8_t> ends;
  std::vector<std::uint32_t> group;
  RankingView view() const { return RankingView(items, ends.data()); }
};

// `length` items in random order; ties with the chance given.
Ballot random_ballot(std::size_t n, std::size_t length, double tie, RandomStream& stream) {
  Ballot ballot{shuffled(n, stream), {}, std::vector<std::uint32_t>(n, 0)};
  ballot.items.resize(length);
  std::uint32_t number = 1;
  for (std::size_t j = 0; j < length; ++j) {
    ballot.group[ballot.items[j]] = number;
    const bool end = j + 1 == length || stream.uniform() >= tie;
    ballot.ends.push_back(end);
    number += end;
  }
  return ballot;
}

TEST(MallowsSubset, EverySubsetByEnumeration) {
  RandomStream stream(61);
  for (std::size_t n = 2; n <= 7; ++n)
    for (double theta : {0.0, 1e-12, 0.3, 1.5}) {
      const std::vector<ItemId> center = shuffled(n, stream);
      const Mallows model(center, theta);
      SubsetProbabilities plain(theta, n), tables(theta, n);
      tables.prepare(2), tables.prepare(3);
      for (std::size_t length = 1; length <= n; ++length)
        for (double tie : {0.0, 0.0, 0.5}) {
          const Ballot ballot = random_ballot(n, length, tie, stream);
          const ListedItems listed(ballot.view(), model.position());
          const double expected = std::log(enumerated(model, ballot.group));
          EXPECT_NEAR(plain(listed).value, expected, 1e-12) << n << ' ' << theta << ' ' << length;
          EXPECT_NEAR(tables(listed).value, expected, 1e-12) << n << ' ' << theta << ' ' << length;
          EXPECT_GE(most_subset_states(length, n) * 64.0, subset_states(listed));
        }
    }
}

TEST(MallowsSubset, AllBallotsOfASubsetSumToOne) {
  RandomStream stream(5);
  for (std::size_t length : {2, 4, 5}) {
    const std::size_t n = 17;
    const auto position = inverse_order(shuffled(n, stream));
    const SubsetProbabilities at(0.2, n);
    std::vector<ItemId> items = shuffled(n, stream);
    items.resize(length);
    std::sort(items.begin(), items.end());
    double total = 0.0;
    do total += std::exp(at(ListedItems(RankingView(items), position)).value);
    while (std::next_permutation(items.begin(), items.end()));
    EXPECT_NEAR(total, 1.0, 1e-12);
  }
}

TEST(MallowsSubset, SlopesByDifferences) {
  RandomStream stream(7);
  for (double theta : {0.05, 0.6, 2.0}) {
    const std::size_t n = 12;
    const auto position = inverse_order(shuffled(n, stream));
    const double h = 1e-5;
    SubsetProbabilities at(theta, n), above(theta + h, n), below(theta - h, n);
    at.prepare(2), at.prepare(3);
    for (std::size_t length = 2; length <= 6; ++length) {
      const Ballot ballot = random_ballot(n, length, 0.3, stream);
      const ListedItems listed(ballot.view(), position);
      EXPECT_NEAR(at(listed).slope, (above(listed).value - below(listed).value) / (2.0 * h), 1e-7);
    }
  }
}

// P(first before last of k) = sum_{j<k} j q^(j-1) / (Z_(k-1) Z_k): all terms positive, so good for any theta.
TEST(MallowsSubset, PairsInClosedForm) {
  for (double theta : {0.0, 0.4, 3.0, 40.0}) {
    const std::size_t n = 60;
    SubsetProbabilities at(theta, n);
    at.prepare(2);
    for (std::size_t k = 2; k <= n; ++k) {
      double with = 0.0, against = 0.0;
      for (std::size_t j = 1; j < k; ++j) {
        with += static_cast<double>(j) * std::exp(-theta * static_cast<double>(j - 1));
        against += static_cast<double>(j) * std::exp(-theta * static_cast<double>(k - 1 - j));
      }
      const double log_z = log_stage_normalizer(theta, k - 1) + log_stage_normalizer(theta, k);
      ListedItems listed;
      listed.between = {static_cast<std::uint32_t>(k - 2)};
      listed.group = {0, 1};
      EXPECT_NEAR(at(listed).value, std::log(with) - log_z, 1e-12);
      listed.group = {1, 0};
      const double expected = std::log(against) - theta * static_cast<double>(k - 1) - log_z;
      EXPECT_NEAR(at(listed).value, expected, 1e-12 * (1.0 + std::abs(expected)));
    }
  }
}

// Far below what a double holds.
TEST(MallowsSubset, UnlikelyBallotsKeepTheirLogarithm) {
  const std::size_t n = 14;
  std::vector<ItemId> center(n), reversed;
  std::iota(center.begin(), center.end(), ItemId{0});
  for (std::size_t i = 0; i < n; i += 2) reversed.insert(reversed.begin(), static_cast<ItemId>(i));
  const double theta = 40.0;
  const LogProbability found = SubsetProbabilities(theta, n)(ListedItems(RankingView(reversed), center));
  // The nearest agreeing ranking: each unlisted item between the first and the last stands where it disagrees with as few as can
  // be.
  double distance = 21.0;
  for (double above = 1.0; above < 7.0; above += 1.0) distance += std::min(above, 7.0 - above);
  EXPECT_NEAR(found.value, -theta * distance, 10.0);
  EXPECT_NEAR(found.slope, -distance, 1e-6);
}

// Completions agree with the ballot; the mean of the estimates is the probability, the mean distance that under P(. | ballot),
// which the slope gives: d log P / d theta = E d - E(d | ballot). Six standard errors of 400 estimates.
TEST(MallowsSubset, CompletionsAreWeightedRight) {
  RandomStream stream(62);
  const std::size_t n = 9;
  for (double theta : {0.0, 0.3, 1.5})
    for (std::size_t length : {2, 3, 5, 8}) {
      const std::vector<ItemId> center = shuffled(n, stream);
      const Ballot ballot = random_ballot(n, length, 0.4, stream);
      const LogProbability exact = SubsetProbabilities(theta, n)(ListedItems(ballot.view(), inverse_order(center)));
      const CompletionSampler sampler(center, theta);
      const int repeats = 400;
      double sum = 0.0, squares = 0.0, distance = 0.0, error = 0.0;
      for (int r = 0; r < repeats; ++r) {
        const Completions found = sampler.draw(ballot.view(), 64, stream);
        const double ratio = std::exp(found.probability.log_prob - exact.value);
        sum += ratio;
        squares += ratio * ratio;
        distance += found.distance / repeats;
        error += found.distance_error / repeats;
        EXPECT_NEAR(std::accumulate(found.share.begin(), found.share.end(), 0.0), 1.0, 1e-12);
        for (std::size_t c = 0; c < found.share.size(); ++c) {
          std::uint32_t seen = 0;
          for (std::size_t j = 0; j < n; ++j) {
            const std::uint32_t group = ballot.group[found.order[c * n + j]];
            if (group == 0) continue;
            ASSERT_GE(group, seen);
            seen = group;
          }
        }
      }
      const double mean = sum / repeats, se = std::sqrt(std::max(0.0, squares / repeats - mean * mean) / repeats);
      EXPECT_NEAR(mean, 1.0, 6.0 * se + 1e-12);
      // Ratios of estimates are biased by about the square of their error.
      EXPECT_NEAR(distance, mean_distance(theta, n) - exact.slope, 6.0 * error / std::sqrt(double(repeats)) + error * error + 1e-9);
    }
}

// A ballot of many items: far beyond the recursion by its states, yet near enough to be counted by brute force in logarithms of
// intervals.
TEST(MallowsSubset, EstimateStatesItsError) {
  const std::size_t n = 40;
  RandomStream stream(3);
  std::vector<ItemId> center(n), ballot;
  std::iota(center.begin(), center.end(), ItemId{0});
  for (ItemId item = 0; item < n; item += 3) ballot.push_back(item);
  stream.shuffle(std::span<ItemId>(ballot));
  ballot.resize(6);
  const double theta = 0.08;
  const SubsetProbabilities exact(theta, n);
  const double truth = exact(ListedItems(RankingView(ballot), center)).value;
  const CompletionSampler sampler(center, theta);
  for (std::size_t count : {64, 1024}) {
    const SubsetEstimate found = sampler.draw(RankingView(ballot), count, stream).probability;
    EXPECT_GT(found.standard_error, 0.0);
    EXPECT_NEAR(found.log_prob, truth, 6.0 * found.standard_error);
  }
}

}  // namespace
}  // namespace caucus
