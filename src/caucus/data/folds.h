// The one dealer of folds: into parts by lot, whatever is dealt.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

// Numbers 0..size-1 shuffled and cut into parts of these shares, which sum to one: every number is in exactly one part.
std::vector<std::vector<std::size_t>> deal(std::size_t size, std::span<const double> shares, std::uint64_t seed);
// The same in `folds` parts of one size, but for one.
std::vector<std::vector<std::size_t>> deal_folds(std::size_t size, int folds, std::uint64_t seed);

// A data set is split by ballot: a row of weight 12 is twelve ballots, which may fall into different parts. Where there are voters,
// by voter: all rankings of one are in one part.
struct Split {
  Dataset train;
  Dataset test;
};

// `folds` splits; every ballot is in exactly one test part. Rows whose weight is not a whole number stay together.
std::vector<Split> make_folds(const Dataset& data, int folds, std::uint64_t seed);

// One split with this share of the ballots in the test part.
Split make_holdout(const Dataset& data, double share, std::uint64_t seed);

}  // namespace caucus
