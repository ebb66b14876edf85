// What is counted in the rankings a report shows: everyone, and the members of each group by their label.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "caucus/evaluate/election.h"
#include "caucus/evaluate/tally.h"

namespace caucus::report {

struct Counted {
  Unranked unranked = Unranked::last;
  bool battles = false;  // every ranking compares two items
  Tally everyone;
  std::vector<Tally> groups;  // of the rankings that carry the group's label; empty where there are no labels
  std::vector<ItemId> order;  // of everyone, best first: by mean place, where items took part by choice by the share of pairs won

  bool holds_pairs() const { return !everyone.above.empty(); }
};

// `labels`: the group of each distinct ranking, empty where there is one group or none. Pairs are counted up to 400 items.
Counted count_rankings(const Dataset& data, std::span<const std::uint32_t> labels, std::size_t num_groups);

// "counted" of a model: first places, listings, mean places, pairs among `pair_items`, second choices by first choice.
nlohmann::json counted_json(const Counted& counted, std::span<const ItemId> pair_items);

// "election" of a model: winners by every rule, of everyone and of each group, and the count of everyone stage by stage. Null where
// unlisted items took no part: then rankings are no ballots.
nlohmann::json election_json(const Dataset& data, std::span<const std::uint32_t> labels, std::size_t num_groups,
                             const ElectionOptions& options);

}  // namespace caucus::report
