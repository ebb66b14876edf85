// Can these ballots tell groups of voters from one another?
#pragma once

#include <optional>
#include <string>

#include "caucus/data/dataset.h"

namespace caucus {

// Why not, in words; none where they can. A ballot must say at least two things for groups to show: that those who put a first also
// put b before c. A single choice (one battle, one item listed, two items in all) says one thing. Its probability is the sum over
// groups of weight times probability, and mixtures of different groups have the same sums (Zhao, Piech & Xia 2016; Zhao & Xia
// 2019). Rankings of one voter say so many things together.
std::optional<std::string> why_no_groups(const Dataset& data);

}  // namespace caucus
