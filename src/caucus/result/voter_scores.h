// A model whose probability of a voter's rankings is no sum over its groups.
#pragma once

#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

class VoterScores {
 public:
  virtual ~VoterScores() = default;
  // log P of all rankings of every voter together.
  virtual std::vector<double> log_probs_of_voters(const Dataset& data, int threads) const = 0;
};

}  // namespace caucus
