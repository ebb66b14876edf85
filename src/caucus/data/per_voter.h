// How many rankings a voter casts.
#pragma once

#include <cstddef>

#include "caucus/data/voters.h"

namespace caucus {

struct PerVoter {
  std::size_t least = 0, most = 0;
  double mean = 0.0;  // over voters, by their weight
};
// There is at least one voter.
PerVoter rankings_per_voter(const Voters& voters);

}  // namespace caucus
