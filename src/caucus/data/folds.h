// The one dealer of folds: into parts by lot, whatever is dealt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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
  double unscored = 0.0;  // ballots, or voters, that are in neither: they hold a tie of a size that `train` does not know
};

// `folds` splits; every ballot is in exactly one test part, but for those of `unscored`. Rows whose weight is not a whole number
// stay together.
std::vector<Split> make_folds(const Dataset& data, int folds, std::uint64_t seed);

// One split with this share of the ballots in the test part.
Split make_holdout(const Dataset& data, double share, std::uint64_t seed);

// The data without ballots, or voters, that hold a tie of a size that does not occur in `known`: where a tie is an outcome of its
// own, nobody learns from `known` how probable it is.
Dataset with_ties_of(const Dataset& known, const Dataset& data);

// In plain words, how many ballots are not scored and why; empty where all are.
std::string unscored_note(std::span<const Split> splits);

}  // namespace caucus
