// What a fitted model says about places: who comes first, mean places, who stands above whom, by group and for all ballots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/data/ranking.h"
#include "caucus/model/kendall.h"
#include "caucus/model/mallows.h"

namespace caucus {

struct MarginalsRequest {
  std::uint64_t seed = 1;  // of simulations
  int threads = 0;
  std::size_t max_pair_items = 40;       // pairs are told for the best-placed items only,
  std::size_t max_pair_numbers = 60000;  // as far as so many numbers go
};

struct GroupMarginals {
  std::vector<ItemId> order;       // best first: the group's own, else by mean place
  std::vector<double> first;       // probability of the first place, by item
  std::vector<double> mean_place;  // from 1, by item
  std::vector<double> pairs;       // P(row above column), row-major over Marginals::pair_items
};

struct Marginals {
  std::vector<GroupMarginals> groups;
  GroupMarginals everyone;
  std::vector<ItemId> pair_items;  // best placed first
  std::size_t num_draws = 0;       // rankings drawn for what has no formula; 0: all by formula

  bool simulated() const { return num_draws > 0; }
};

// One group's distribution on complete rankings, as far as a family can give it: formulas, or a way to draw from the group alone.
// What is missing is simulated from the whole model.
struct GroupLaw {
  std::vector<double> first, mean_place;                       // by item; empty: no formula
  std::function<double(ItemId, ItemId)> above;                 // P(a above b), a != b; null: no formula
  std::function<void(RandomStream&, std::span<ItemId>)> draw;  // a complete ranking; null: only with the whole model

  bool closed() const { return !first.empty() && !mean_place.empty() && above; }
};

// First places are softmax, pairs are logistic, mean places are sums of pairs. O(n^2). Ties are left out.
GroupLaw plackett_luce_law(std::vector<double> utilities);
// Kendall's Mallows model: a pair depends on how far apart the two stand in the center alone. O(n^2).
GroupLaw mallows_law(const Mallows& model);
// First places by formula, the rest by draws. theta may have fewer than n - 1 numbers: the other stages are free.
GroupLaw generalized_mallows_law(std::vector<ItemId> center, std::vector<double> theta, Code code);

class FittedModel;
// What FittedModel::marginals() does.
Marginals compute_marginals(const FittedModel& model, const MarginalsRequest& request);

}  // namespace caucus
