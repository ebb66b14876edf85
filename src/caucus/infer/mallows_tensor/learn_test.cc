#include "caucus/infer/mallows_tensor/learn.h"

#include <gtest/gtest.h>

#include "caucus/infer/mallows_tensor/testing.h"

namespace caucus::mallows_tensor {
namespace {

// What a thousand random mixtures of six items come to, by the full method and by the paper's steps alone.
void expect_exact(const LearnOptions& options) {
  int by_decomposition = 0;
  double worst = 0.0;
  for (int instance = 0; instance < 1000; ++instance) {
    RandomStream random(2014, Purpose::test, static_cast<std::uint64_t>(instance));
    const MallowsPair truth = random_pair(6, random);
    const CountSource source = exact_source(truth);
    const LearnResult result = learn_two_mallows(source({}), source, options, 7);
    const double error = pair_error(result.pair, truth);
    by_decomposition += result.branch == Branch::decomposition;
    worst = std::max(worst, error);
    EXPECT_LT(error, 1e-8) << "instance " << instance << ", " << name_of(result.branch) << ", weight " << truth.weight[0]
                           << ", theta " << truth.theta[0] << " " << truth.theta[1] << ", distance "
                           << kendall(truth.center[0], truth.center[1]) << ", conditioning " << result.conditioning;
  }
  EXPECT_EQ(by_decomposition, 1000);
  testing::Test::RecordProperty("worst_error", std::to_string(worst));
}

TEST(MallowsTensor, ExactMomentsGiveBackAThousandRandomMixtures) { expect_exact({}); }

TEST(MallowsTensor, ExactMomentsGiveThemBackWithoutClimbing) {
  LearnOptions options;
  options.climb = false;
  expect_exact(options);
}

void expect_recovered(const MallowsPair& truth, Branch branch, const LearnOptions& options = {}) {
  const CountSource source = exact_source(truth);
  const LearnResult result = learn_two_mallows(source({}), source, options, 3);
  EXPECT_LT(pair_error(result.pair, truth), 1e-8)
      << "weight " << truth.weight[0] << " theta " << truth.theta[0] << " found weight " << result.pair.weight[0] << " theta "
      << result.pair.theta[0] << " " << result.pair.theta[1] << " conditioning " << result.conditioning << " misfit "
      << result.misfit;
  EXPECT_EQ(name_of(result.branch), name_of(branch)) << result.conditioning;
}

TEST(MallowsTensorDegenerate, EqualScalesOneExchangeApart) {
  for (const double weight : {0.15, 0.5})
    for (const double theta : {0.2, 1.6})
      for (std::size_t p = 0; p < 6; ++p)
        for (std::size_t q = p + 1; q < 6; ++q) {
          std::vector<ItemId> second = identity(6);
          std::swap(second[p], second[q]);
          SCOPED_TRACE(testing::Message() << "places " << p << " and " << q);
          expect_recovered(make_pair(weight, theta, theta, identity(6), second), Branch::moved_items);
        }
}

TEST(MallowsTensorDegenerate, EqualScalesCyclicShift) {
  for (const double weight : {0.15, 0.5, 0.7})
    for (const double theta : {0.2, 0.8, 1.6})
      for (const int shift : {1, 2, 4, 5}) {
        std::vector<ItemId> second = identity(6);
        std::rotate(second.begin(), second.begin() + shift, second.end());
        SCOPED_TRACE(testing::Message() << "shift " << shift);
        expect_recovered(make_pair(weight, theta, theta, identity(6), second), Branch::moved_items);
      }
}

TEST(MallowsTensorDegenerate, TwoBlocksShiftedByOne) {
  for (std::size_t cut = 2; cut <= 4; ++cut) {
    std::vector<ItemId> second = identity(6);
    const auto middle = second.begin() + static_cast<std::ptrdiff_t>(cut);
    std::rotate(second.begin(), middle - 1, middle);
    std::rotate(middle, second.end() - 1, second.end());
    expect_recovered(make_pair(0.35, 0.6, 0.6, identity(6), second), Branch::moved_items);
  }
}

TEST(MallowsTensorDegenerate, EqualRankingsDifferentScalesAreNotDegenerate) {
  for (const double weight : {0.15, 0.5, 0.7})
    for (const double theta : {0.1, 0.5, 1.5})
      expect_recovered(make_pair(weight, theta, theta + 0.7, identity(6), identity(6)), Branch::decomposition);
}

// The lower bound of the paper's introduction: a ranking and its reverse with equal weights leave every pair at one half.
TEST(MallowsTensor, ReverseRankingIsSeenByTopThreeAndNotByPairs) {
  for (const double theta : {0.1, 0.5, 1.5}) {
    std::vector<ItemId> reverse = identity(6);
    std::reverse(reverse.begin(), reverse.end());
    const MallowsPair truth = make_pair(0.5, theta, theta, identity(6), reverse);
    std::vector<double> before(36, 0.0);
    std::vector<ItemId> order = identity(6);
    const double log_z = log_normalizer(theta, 6);
    do {
      double p = 0.0;
      for (std::size_t r = 0; r < 2; ++r)
        p += 0.5 * std::exp(-theta * static_cast<double>(kendall(order, truth.center[r])) - log_z);
      for (std::size_t i = 0; i < 6; ++i)
        for (std::size_t j = i + 1; j < 6; ++j) before[order[i] * 6 + order[j]] += p;
    } while (std::next_permutation(order.begin(), order.end()));
    for (std::size_t a = 0; a < 6; ++a)
      for (std::size_t b = 0; b < 6; ++b)
        if (a != b) {
          EXPECT_NEAR(before[a * 6 + b], 0.5, 1e-14);
        }
    expect_recovered(truth, Branch::decomposition);
  }
}

}  // namespace
}  // namespace caucus::mallows_tensor
