#include "caucus/model/race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/random.h"
#include "caucus/base/word_stream.h"
#include "caucus/model/mallows.h"
#include "caucus/model/plackett_luce.h"

namespace caucus {
namespace {

// A network that sorts all sequences of zeros and ones sorts everything (Knuth, 5.3.4).
TEST(Race, NetworkSorts) {
  for (std::size_t n = 0; n <= 13; ++n) {
    const auto network = Race::network(n);
    for (std::size_t mask = 0; mask < (std::size_t{1} << n); ++mask) {
      std::size_t bits = mask;
      for (const auto& [first, second] : network)
        if ((bits >> first & 1) > (bits >> second & 1)) bits ^= std::size_t{1} << first | std::size_t{1} << second;
      ASSERT_EQ(bits, (std::size_t{1} << n) - (std::size_t{1} << (n - static_cast<std::size_t>(std::popcount(mask)))))
          << n << " " << mask;
    }
  }
  std::vector<int> values(100);
  std::iota(values.rbegin(), values.rend(), 0);
  for (const auto& [first, second] : Race::network(100))
    if (values[first] > values[second]) std::swap(values[first], values[second]);
  EXPECT_TRUE(std::ranges::is_sorted(values));
}

std::vector<double> worths_of(std::size_t n) {
  RandomStream random(3);
  std::vector<double> worths(n);
  for (double& worth : worths) worth = std::exp(random.normal());
  const double largest = *std::ranges::max_element(worths);
  for (double& worth : worths) worth /= largest;
  return worths;
}

// Against the definition, word by word: few items, a network, short tops, more items than a network is made for.
TEST(Race, IsTheRaceOfItsStreams) {
  for (const auto& [n, wanted] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {2, 2}, {3, 2}, {20, 20}, {21, 1}, {33, 33}, {200, 5}, {1200, 1200}}) {
    const std::vector<double> worths = worths_of(n);
    const std::vector<std::uint64_t> streams{7, 3, 1ull << 40, 8, 9, 10, 11, 12, 13, 14, 2};
    std::vector<ItemId> drawn(streams.size() * wanted);
    std::vector<ItemId*> out;
    for (std::size_t j = 0; j < streams.size(); ++j) out.push_back(drawn.data() + j * wanted);
    Race(worths).run(5, streams, wanted, out);
    for (std::size_t j = 0; j < streams.size(); ++j) {
      RandomStream random(5, Purpose::sample, streams[j]);
      random();
      std::vector<std::pair<double, ItemId>> times;
      for (std::size_t i = 0; i < n; ++i) times.push_back({-std::log(random.uniform_open()) / worths[i], static_cast<ItemId>(i)});
      std::ranges::sort(times);
      for (std::size_t i = 0; i < wanted; ++i) ASSERT_EQ(out[j][i], times[i].second) << n << " " << j << " " << i;
    }
  }
}

// Chi-square of all outcomes; a false alarm has a chance of 1e-9, and the seed is fixed.
template <class Draw, class Probability>
void expect_distribution(std::size_t n, std::size_t length, Draw&& draw, Probability&& log_prob) {
  constexpr std::size_t count = 100'000;
  std::map<std::vector<ItemId>, double> counts;
  for (const std::vector<ItemId>& order : draw(count, length)) ++counts[order];
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::map<std::vector<ItemId>, double> chances;
  do {
    chances[{order.begin(), order.begin() + static_cast<std::ptrdiff_t>(length)}] += std::exp(log_prob(RankingView(order)));
  } while (std::ranges::next_permutation(order).found);
  double chi_square = 0.0, total = 0.0;
  for (const auto& [outcome, chance] : chances) {
    const double expected = chance * static_cast<double>(count);
    ASSERT_GT(expected, 20.0);
    chi_square += (counts[outcome] - expected) * (counts[outcome] - expected) / expected;
    total += counts[outcome];
  }
  EXPECT_EQ(total, static_cast<double>(count));
  const boost::math::chi_squared law(static_cast<double>(chances.size() - 1));
  EXPECT_LT(chi_square, quantile(complement(law, 1e-9))) << n << " " << length;
}

TEST(Race, OrdersFollowPlackettLuce) {
  for (const auto& [utilities, length] :
       {std::pair<std::vector<double>, std::size_t>{{0.3, -0.5, 0.9, 0.0}, 4}, {{0.0, 1.0, -1.0, 0.5, 0.2}, 2}}) {
    const PlackettLuce model(utilities);
    expect_distribution(
        utilities.size(), length,
        [&](std::size_t count, std::size_t wanted) {
          std::vector<std::vector<ItemId>> orders(count, std::vector<ItemId>(wanted));
          std::vector<std::uint64_t> streams(count);
          std::iota(streams.begin(), streams.end(), 0);
          std::vector<ItemId*> out;
          for (auto& order : orders) out.push_back(order.data());
          model.sample_many(11, streams, wanted, out);
          return orders;
        },
        [&](RankingView order) { return model.log_prob(order, Unranked::absent); });
  }
}

TEST(Race, WordsMadeTogetherDrawTheMallowsModel) {
  const std::vector<ItemId> center{2, 0, 3, 1};
  const Mallows model(center, 0.4);
  const MallowsSampler sampler(center, 0.4);
  for (const std::size_t length : {std::size_t{4}, std::size_t{2}})
    expect_distribution(
        4, length,
        [&](std::size_t count, std::size_t wanted) {
          WordStream stream(13, Purpose::sample, 0);
          std::vector<std::vector<ItemId>> orders(count, std::vector<ItemId>(wanted));
          for (auto& order : orders) sampler.draw(stream, order);
          return orders;
        },
        [&](RankingView order) { return model.log_prob(order); });
}

// The same words, however they are made: tables, inversion (more than 256 values) and places of different width.
TEST(Race, MallowsDrawsAreThoseOfTheRandomStream) {
  for (const std::size_t n : {1u, 2u, 5u, 20u, 64u, 100u, 300u, 700u}) {
    std::vector<ItemId> center(n);
    std::iota(center.rbegin(), center.rend(), 0);
    const MallowsSampler sampler(center, 0.05);
    RandomStream slow(17, Purpose::sample, 4);
    WordStream fast(17, Purpose::sample, 4);
    std::vector<ItemId> one(n), other(n);
    for (int i = 0; i < 300; ++i) {
      sampler.draw(slow, one);
      sampler.draw(fast, other);
      ASSERT_EQ(one, other) << n;
    }
  }
}

}  // namespace
}  // namespace caucus
