// Numbers that the terminal shows and a model file has no need of.
#pragma once

#include <vector>

#include "caucus/result/group.h"

namespace caucus::cli {

// The chance of each item to be first among all; none where the group has no utilities.
std::vector<double> first_chances(const Group& group);

}  // namespace caucus::cli
