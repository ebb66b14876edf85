#include "caucus/evaluate/classification.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caucus/base/random.h"

namespace caucus {
namespace {

TEST(Classification, ScoresByHand) {
  const std::vector<double> p{0.7, 0.2, 0.1, 0.3, 0.4, 0.3, 0.1, 0.1, 0.8};
  const std::vector<std::uint32_t> y{0, 2, 2};
  EXPECT_DOUBLE_EQ(misclassification(p, 3, y), 1.0 / 3.0);
  EXPECT_NEAR(log_loss(p, 3, y), -(std::log(0.7) + std::log(0.3) + std::log(0.8)) / 3.0, 1e-15);
  EXPECT_NEAR(brier_score(p, 3, y), (0.09 + 0.04 + 0.01 + 0.09 + 0.16 + 0.49 + 0.01 + 0.01 + 0.04) / 3.0, 1e-15);
}

TEST(Classification, LogLossOfAnImpossibleLabelIsFinite) {
  EXPECT_NEAR(log_loss(std::vector<double>{1.0, 0.0}, 2, std::vector<std::uint32_t>{1}), -std::log(1e-15), 1e-9);
}

// AUC = P(positive outscores negative) + half the ties, over all pairs.
TEST(Classification, AucIsThePairCount) {
  RandomStream stream(3);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<double> scores;
    std::vector<std::uint8_t> positive;
    for (int i = 0; i < 40; ++i) {
      scores.push_back(static_cast<double>(stream.below(10)));  // many ties
      positive.push_back(stream.uniform() < 0.4 ? 1 : 0);
    }
    double wins = 0.0, pairs = 0.0;
    for (std::size_t i = 0; i < 40; ++i)
      for (std::size_t j = 0; j < 40; ++j)
        if (positive[i] != 0 && positive[j] == 0) {
          pairs += 1.0;
          wins += scores[i] > scores[j] ? 1.0 : scores[i] == scores[j] ? 0.5 : 0.0;
        }
    EXPECT_NEAR(auc(scores, positive), pairs > 0.0 ? wins / pairs : 0.5, 1e-12);
  }
}

TEST(Classification, RocGoesFromCornerToCorner) {
  const auto curve = roc_curve(std::vector<double>{0.9, 0.8, 0.3, 0.1}, std::vector<std::uint8_t>{1, 0, 1, 0});
  ASSERT_EQ(curve.size(), 5u);
  EXPECT_EQ(curve.front().true_positive_rate, 0.0);
  EXPECT_EQ(curve[1].true_positive_rate, 0.5);
  EXPECT_EQ(curve[2].false_positive_rate, 0.5);
  EXPECT_EQ(curve.back().false_positive_rate, 1.0);
  EXPECT_EQ(curve.back().true_positive_rate, 1.0);
  EXPECT_TRUE(roc_curve(std::vector<double>{1.0}, std::vector<std::uint8_t>{1}).empty());
}

TEST(Classification, MulticlassAucOfAPerfectClassifierIsOne) {
  const std::vector<double> p{0.8, 0.1, 0.1, 0.1, 0.8, 0.1, 0.1, 0.1, 0.8};
  EXPECT_EQ(auc(p, 3, std::vector<std::uint32_t>{0, 1, 2}), 1.0);
}

// Labels drawn from the forecasts themselves: each bin of about 2000 forecasts has standard error below 0.0112; six of them bound
// the chance of a false alarm by 10 x 2e-9.
TEST(Classification, TrueForecastsAreCalibrated) {
  RandomStream stream(5);
  std::vector<double> p;
  std::vector<std::uint32_t> y;
  for (int i = 0; i < 10000; ++i) {
    const double one = stream.uniform();
    p.insert(p.end(), {1.0 - one, one});
    y.push_back(stream.uniform() < one ? 1u : 0u);
  }
  const auto curve = calibration_curve(p, 2, y);
  ASSERT_EQ(curve.size(), 10u);
  for (const auto& bin : curve)
    EXPECT_NEAR(bin.observed, bin.mean_predicted, 6.0 * 0.5 / std::sqrt(static_cast<double>(bin.count)));
  EXPECT_LT(calibration_error(curve), 0.03);
}

}  // namespace
}  // namespace caucus
