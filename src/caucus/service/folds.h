// Splits of a data set by ballot: a row of weight 12 is twelve ballots, which may fall into different parts.
#pragma once

#include <cstdint>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

struct Split {
  Dataset train;
  Dataset test;
};

// `folds` splits; every ballot is in exactly one test part. Rows whose weight is not a whole number stay together.
std::vector<Split> make_folds(const Dataset& data, int folds, std::uint64_t seed);

// One split with this share of the ballots in the test part.
Split make_holdout(const Dataset& data, double share, std::uint64_t seed);

}  // namespace caucus
