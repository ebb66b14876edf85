// RECOVER-REST of Awasthi et al. (2014), Algorithm 2: both central rankings in full, once weights, scales and prefixes are known.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "caucus/infer/mallows_tensor/counts.h"
#include "caucus/infer/mallows_tensor/decompose.h"
#include "caucus/infer/mallows_tensor/pair.h"

namespace caucus::mallows_tensor {

// An item that is often first in one model and hardly ever in the other.
struct Pivot {
  ItemId item = 0;
  std::size_t model = 0;  // the one whose rankings it opens
  double purity = 0.0;    // share of that model among the rankings with the item first
};
// The purest item with at least `least_share` of the rankings first; none if no purity reaches `least_purity`.
std::optional<Pivot> find_pivot(const TopCounts& counts, const TopK& top, double least_purity, double least_share);

// Pivot case (step 2): the rankings with the pivot first belong to its model. Their mean positions sort its ranking; position
// probabilities of that model (dynamic programme, position_table) taken off the position counts leave the other.
MallowsPair recover_by_pivot(const TopCounts& counts, const TopK& top, const Pivot& pivot);

// Linear-system case (steps 3 to 5): position frequencies overall and given an item e* first are two mixtures of the same two
// unknowns, up to the error of Lemma 10.1. Sorted by mean position instead of the most probable one.
MallowsPair recover_by_linear_system(const TopCounts& counts, const TopK& top);

// The exact form of step 4: with the position law of every central rank known, each item's pair of ranks (p1, p2) has a
// log-likelihood given the overall position counts and those given the item e* first; alternating assignment problems choose two
// permutations. Never lowers that likelihood.
MallowsPair assign_ranks(const TopCounts& counts, MallowsPair pair, ItemId conditioning_item);

// The item whose first-position probabilities differ most between the models, in standard errors of its frequency.
ItemId most_telling_item(const TopCounts& counts, const TopK& top);

}  // namespace caucus::mallows_tensor
