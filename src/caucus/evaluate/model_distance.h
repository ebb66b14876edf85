// How far apart two models of the same items are, group by group.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "caucus/result/fitted_model.h"

namespace caucus {

struct GroupPair {
  std::size_t first = 0, second = 0;  // groups of the two models, 0-based
  std::size_t kendall = 0;            // pairs of items that the two groups order the other way round
  std::size_t spearman = 0;           // sum of squared differences of ranks
  std::optional<double> utilities;    // Euclidean distance of the centered utilities, where both have them
};

struct ModelDistance {
  std::vector<GroupPair> pairs;  // as many as the smaller model has groups, in the order of the first model's
  std::optional<double>
      utilities;  // dist(theta, theta*) of Nguyen & Zhang (2023), eq. (4): both have utilities and equally many groups
  std::size_t num_items = 0;
};

// Groups are matched one to one so that the sum of squared distances of utilities is least where both models have utilities,
// otherwise the sum of Kendall distances of their orders. Items are matched by name. Throws DataError where the items differ or a
// model has neither utilities nor consensus rankings.
ModelDistance distance_between(const FittedModel& first, const FittedModel& second);

}  // namespace caucus
