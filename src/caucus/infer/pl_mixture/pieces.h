// Into which pieces the items of a component fall: differences of utilities are bounded by the data within a piece only.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "caucus/data/connectivity.h"
#include "caucus/infer/pl_mixture/objective.h"

namespace caucus::pl_mixture {

// Comparisons, weighted by membership, below which two sides of a cut count as never compared. A tenth of a choice leaves a
// standard error of about three, a factor of 20 in the odds either way.
inline constexpr double few_comparisons = 0.1;
// A standard error above this bounds nothing.
inline constexpr double useless_error = 3.0;

// The pieces of one component.
struct Pieces {
  std::vector<std::size_t> piece_of_item;
  // Pieces of two items and more, that within which the group's ballots choose most often first: of differences within a block
  // there are errors. A single item is a block only where there is no other.
  std::vector<std::vector<std::size_t>> blocks;

  std::size_t num_pieces() const;
  // The items that all others are measured against: the first block. Empty where no two items can be compared.
  std::span<const std::size_t> reference() const;
  // Items outside the reference, sorted.
  std::vector<std::size_t> unbounded() const;
  // Puts the mean of the reference, or of all items where there is none, at zero.
  void center_on_reference(std::span<double> utilities) const;
};

// Per component: the common refinement of (1) the strong components of all comparisons, (2) cuts of the items sorted by utility
// that fewer than `few_comparisons` choices cross upwards, which is how a block that never loses to the rest shows at the maximum,
// (3) items never compared with each other, directly or by others of the same piece. posterior: K numbers per distinct ranking;
// one_ballot: the weight of a ballot. O(K (total length + n log n)).
std::vector<Pieces> find_pieces(const Objective& objective, const Parameters& parameters, std::span<const double> posterior,
                                const Connectivity& all_comparisons, double one_ballot = 1.0);
void center_on_references(const std::vector<Pieces>& pieces, Parameters& parameters);

}  // namespace caucus::pl_mixture
