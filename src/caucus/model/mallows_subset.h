// Rankings of a subset of the items under a Mallows model (Kendall): the unlisted items took no part, so the ballot is the event
// that the listed ones stand in this order, wherever the others are. Pairwise comparisons are the case of two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/data/ranking.h"

namespace caucus {

struct SubsetProbability {
  double log_prob = 0.0;
  double standard_error = 0.0;  // of log_prob; 0 when exact
};

// Exact while the states of the dynamic program over insertion (places of the listed items among those inserted so far) number
// at most 50,000; beyond, the mean weight of `completions` draws of draw_completion. `ranking` is strict.
SubsetProbability subset_probability(std::span<const ItemId> ranking, std::span<const std::uint32_t> position, double theta,
                                     RandomStream& stream, std::size_t completions = 2000);

// A complete ranking that agrees with the ballot, by repeated insertion inside the places the ballot allows (AMP, Lu & Boutilier
// 2011); returns the log of its importance weight: E weight = P(ballot), and weighted draws follow P(. | ballot). O(n^2) moves.
double draw_completion(std::span<const ItemId> ranking, std::span<const ItemId> centre, double theta, RandomStream& stream,
                       std::span<ItemId> out);

}  // namespace caucus
