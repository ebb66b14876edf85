#include "caucus/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "caucus/base/word_stream.h"

namespace caucus {
namespace {

// Known answers from Random123's kat_vectors (Salmon et al. 2011).
TEST(Philox, KnownAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32_10({ones, ones, ones, ones}, {ones, ones}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, AddressesGiveDifferentStreams) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed : {1u, 2u})
    for (Purpose purpose : {Purpose::sample, Purpose::chain})
      for (std::uint64_t index : {0u, 1u, 2u}) firsts.insert(RandomStream(seed, purpose, index)());
  EXPECT_EQ(firsts.size(), 12u);
}

TEST(RandomStream, SeekResumesAtTheSameBits) {
  for (int before : {0, 1, 2, 7, 8}) {
    RandomStream stream(5, Purpose::chain, 3);
    for (int i = 0; i < before; ++i) stream();
    RandomStream resumed(5, Purpose::chain, 3);
    resumed.seek(stream.drawn());
    EXPECT_EQ(stream.drawn(), static_cast<std::uint64_t>(before));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(stream(), resumed());
  }
}

TEST(WordStream, GivesTheWordsOfARandomStream) {
  for (const std::uint64_t seed : {1ull, 0xfedcba9876543210ull})
    for (const std::uint64_t index : {5ull, 1ull << 45}) {
      RandomStream slow(seed, Purpose::sample, index);
      WordStream fast(seed, Purpose::sample, index);
      for (int i = 0; i < 1000; ++i) ASSERT_EQ(fast(), slow()) << i;
      const std::vector<double> weights{0.2, 0.0, 0.5, 0.3};
      for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(fast.uniform(), slow.uniform());
        ASSERT_EQ(fast.categorical(weights), slow.categorical(weights));
        ASSERT_EQ(fast.below(3), slow.below(3));
      }
    }
}

// From any block on, any even number of words: what is left over after whole registers too.
TEST(WordStream, BlocksBeginAnywhere) {
  for (const std::size_t size : {2u, 6u, 16u, 30u, 128u})
    for (const std::uint64_t block : {0ull, 3ull, (1ull << 32) - 2}) {
      std::vector<std::uint64_t> words(size);
      random_words(9, Purpose::chain, 2, block, words);
      RandomStream stream(9, Purpose::chain, 2);
      stream.seek(2 * block);
      for (const std::uint64_t word : words) ASSERT_EQ(word, stream()) << size << " " << block;
    }
}

// Moments within 6 standard errors: false-alarm rate below 2e-9 per check.
struct Moments {
  double mean, variance;
};
template <class Draw>
void expect_moments(Draw draw, Moments expected, double fourth_central) {
  constexpr int count = 200000;
  double sum = 0.0, squares = 0.0;
  for (int i = 0; i < count; ++i) {
    const double x = draw() - expected.mean;
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / count, 0.0, 6.0 * std::sqrt(expected.variance / count));
  EXPECT_NEAR(squares / count, expected.variance,
              6.0 * std::sqrt((fourth_central - expected.variance * expected.variance) / count));
}

TEST(RandomStream, DistributionsHaveTheirMoments) {
  RandomStream stream(7);
  expect_moments([&] { return stream.uniform(); }, {0.5, 1.0 / 12}, 1.0 / 80);
  expect_moments([&] { return stream.normal(); }, {0.0, 1.0}, 3.0);
  expect_moments([&] { return stream.exponential(); }, {1.0, 1.0}, 9.0);
  for (double shape : {0.3, 1.0, 4.5})  // fourth central moment of a gamma: 3 a^2 + 6 a
    expect_moments([&] { return stream.gamma(shape); }, {shape, shape}, 3 * shape * shape + 6 * shape);
  for (double shape : {0.3, 2.0})
    expect_moments([&] { return std::exp(stream.log_gamma(shape)); }, {shape, shape}, 3 * shape * shape + 6 * shape);
  const double a = 2.0, b = 3.0, mean = a / (a + b), variance = a * b / ((a + b) * (a + b) * (a + b + 1));
  const double kurtosis = 3.0 + 6.0 * ((a - b) * (a - b) * (a + b + 1) - a * b * (a + b + 2)) / (a * b * (a + b + 2) * (a + b + 3));
  expect_moments([&] { return stream.beta(a, b); }, {mean, variance}, kurtosis * variance * variance);
}

TEST(RandomStream, LogGammaOfATinyShapeIsFinite) {
  RandomStream stream(11);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(std::isfinite(stream.log_gamma(1e-3)));
}

TEST(RandomStream, BelowAndCategoricalFollowTheirProbabilities) {
  RandomStream stream(13);
  constexpr int count = 120000;
  std::array<int, 6> dice{};
  for (int i = 0; i < count; ++i) ++dice[stream.below(6)];
  for (int hits : dice) EXPECT_NEAR(hits, count / 6.0, 6.0 * std::sqrt(count * 5.0 / 36.0));

  const std::vector<double> weights{0.0, 1.0, 3.0, 0.0};
  std::array<int, 4> drawn{}, drawn_log{};
  std::vector<double> logs;
  for (double weight : weights) logs.push_back(std::log(weight) - 1000.0);
  for (int i = 0; i < count; ++i) ++drawn[stream.categorical(weights)], ++drawn_log[stream.categorical_log(logs)];
  for (const auto& hits : {drawn, drawn_log}) {
    EXPECT_EQ(hits[0] + hits[3], 0);
    EXPECT_NEAR(hits[1], count / 4.0, 6.0 * std::sqrt(count * 3.0 / 16.0));
  }
}

}  // namespace
}  // namespace caucus
