#include "caucus/evaluate/membership_agreement.h"

#include <gtest/gtest.h>

#include "caucus/base/random.h"

namespace caucus {
namespace {

TEST(MembershipAgreement, PerfectUpToNames) {
  const std::vector<double> memberships{0, 1, 1, 0, 0, 1, 1, 0};
  const std::vector<std::uint32_t> labels{0, 1, 0, 1};
  const MembershipAgreement agreement = membership_agreement(memberships, 2, labels);
  EXPECT_EQ(agreement.variation_of_information, 0.0);
  EXPECT_EQ(agreement.adjusted_rand, 1.0);
  EXPECT_EQ(agreement.misclassification, 0.0);
  EXPECT_EQ(agreement.group_of, (std::vector<std::size_t>{1, 0}));
  EXPECT_EQ(agreement.calibration_error, 0.0);
}

TEST(MembershipAgreement, MoreKnownGroupsThanTheModelHas) {
  const std::vector<double> memberships{1, 0, 1, 0, 0, 1, 0, 1, 0, 1};
  const std::vector<std::uint32_t> labels{0, 0, 1, 1, 2};
  const MembershipAgreement agreement = membership_agreement(memberships, 2, labels);
  EXPECT_DOUBLE_EQ(agreement.misclassification, 0.2);
  EXPECT_EQ(agreement.group_of[0], 0u);
  EXPECT_EQ(agreement.group_of[1], 1u);
  EXPECT_GT(agreement.variation_of_information, 0.0);
}

// Labels drawn from the memberships themselves: calibrated. The same memberships sharpened are not.
TEST(MembershipAgreement, CalibrationTellsOverconfidence) {
  constexpr std::size_t count = 20000;
  RandomStream random(3);
  std::vector<double> honest, sharp;
  std::vector<std::uint32_t> labels;
  for (std::size_t i = 0; i < count; ++i) {
    const double p = random.uniform();
    honest.insert(honest.end(), {p, 1.0 - p});
    const double q = p * p * p / (p * p * p + (1.0 - p) * (1.0 - p) * (1.0 - p));
    sharp.insert(sharp.end(), {q, 1.0 - q});
    labels.push_back(random.uniform() < p ? 0 : 1);
  }
  EXPECT_LT(membership_agreement(honest, 2, labels).calibration_error, 0.02);  // ten bins of 4000: standard errors below 0.008
  EXPECT_GT(membership_agreement(sharp, 2, labels).calibration_error, 0.08);
}

}  // namespace
}  // namespace caucus
