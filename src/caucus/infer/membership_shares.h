// What a term says of the groups: their shares where all voters have one value of it.
#pragma once

#include <string>
#include <vector>

#include "caucus/result/membership.h"

namespace caucus {

// The rest of the voters is as it is; with 95 % intervals, both the share where there is no covariance.
struct MembershipShare {
  std::string term, value;
  std::size_t group = 0;
  double share = 0.0, low = 0.0, high = 0.0;
};
// Every level of a category; of a number its 5, 25, 50, 75 and 95 % points. The groups of a value are adjacent.
std::vector<MembershipShare> membership_shares(const Membership& membership, const Dataset& data);

}  // namespace caucus
