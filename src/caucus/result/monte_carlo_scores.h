// What a fitted model adds whose log_prob is an average over draws.
#pragma once

#include "caucus/data/dataset.h"

namespace caucus {

class MonteCarloScores {
 public:
  virtual ~MonteCarloScores() = default;
  // Standard error that the draws leave in the weighted sum of log_prob over the data; 0 where all probabilities are exact.
  virtual double loglik_error(const Dataset& data, int threads) const = 0;
};

}  // namespace caucus
