// How well do memberships agree with groups that are known, as in simulations?
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/evaluate/classification.h"

namespace caucus {

struct MembershipAgreement {
  double variation_of_information = 0.0;  // between most probable groups and known ones, nats
  double adjusted_rand = 0.0;
  double misclassification = 0.0;           // once groups are matched one to one
  std::vector<std::size_t> group_of;        // known group -> the model's group it was matched with
  std::vector<CalibrationBin> calibration;  // of memberships of .7, is the share of right ones .7?
  double calibration_error = 0.0;
};

// memberships: row-major, num_groups per row. labels: the known group of each row, any numbers from 0. Groups are matched so that
// as many rows as possible agree; known groups beyond the model's number (or the reverse) stay without a partner and count as
// wrong.
MembershipAgreement membership_agreement(std::span<const double> memberships, std::size_t num_groups,
                                         std::span<const std::uint32_t> labels);

}  // namespace caucus
