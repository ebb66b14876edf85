// Do two fits, each to its own half of the ballots, find the same groups?
#pragma once

#include <vector>

#include "caucus/result/fitted_model.h"

namespace caucus {

struct Replication {
  // For each group of the first fit: the correlation, over all ballots, of its memberships with those of its partner in the second.
  // Groups that overlap have memberships of a half here and there, yet a correlation of 1 where both fits say the same half.
  std::vector<double> groups;
  double weakest = 1.0;              // the least of `groups`
  double prediction_strength = 1.0;  // Tibshirani & Walther (2005), the lesser of the two directions
  double adjusted_rand = 1.0;        // of the most probable groups
};

// Models of the items of `data`. Different numbers of groups do not agree at all. O(N K^2).
Replication replication(const FittedModel& first, const FittedModel& second, const Dataset& data, int threads);

}  // namespace caucus
