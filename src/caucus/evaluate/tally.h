// What is counted in rankings, with no model: first places, pairs, places, second choices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

// Sums of weights. Items tied on a ranking share its weight, or the places they take, equally. Of two unlisted items nothing is
// known and no pair is counted; an unlisted item is below every listed one where Unranked::last, and not there at all where absent.
struct Tally {
  std::size_t num_items = 0;
  double total = 0.0;          // rankings
  std::vector<double> first;   // rankings that put the item first
  std::vector<double> listed;  // rankings that list it
  std::vector<double> above;   // above[a * num_items + b]: rankings that put a above b
  std::vector<double> tied;    // likewise: rankings that list both and tie them
  // Places from 1. Last: over all rankings, where unlisted items share the places below; absent: over those that list the item.
  std::vector<double> place_sum;
  std::vector<double> place_weight;
  // second[a * (num_items + 1) + b]: rankings that put a first and b next; b = num_items: they list nothing else.
  std::vector<double> second;

  double mean_place(ItemId item) const { return place_sum[item] / place_weight[item]; }  // NaN where nobody ranks it
  // Of the pairs that the item stands in, the share that it wins; a tie is half a win. NaN where it is in none.
  double win_rate(ItemId item) const;
  double num_pairs(ItemId item) const;  // comparisons with another item: battles
  // The item that each other one loses to more often than not (Condorcet 1785), or num_items.
  ItemId condorcet_winner() const;
  // Points of Borda (1784): one for every item below. Last: unlisted items share what is left.
  double borda(ItemId item) const;
};

// One pass over the distinct rankings; weights as given (empty: those of the data). O(total length x items), or without pairs and
// second choices, which need num_items^2 numbers, O(rankings x items).
Tally tally(const Dataset& data, std::span<const double> weights = {}, bool pairs = true);

// The weights of the distinct rankings that carry this label: the members of a group, as `assign` lists them.
std::vector<double> weights_of_label(const Dataset& data, std::span<const std::uint32_t> labels, std::uint32_t label);

}  // namespace caucus
