#include "caucus/infer/pl_mixture/start.h"

#include <cmath>

#include "caucus/base/random.h"

namespace caucus::pl_mixture {

TieStrengths initial_ties(const Objective& objective) {
  TieStrengths ties;
  double choices = 0.0;
  const RankingSet& rankings = objective.data().rankings;
  for (std::size_t i = 0; i < rankings.size(); ++i)
    rankings[i].for_each_group([&](std::span<const ItemId>) { choices += rankings.weight(i); });
  const double n = static_cast<double>(objective.num_items());
  for (std::size_t o = 0; o < objective.tie_orders().size(); ++o) {
    const double order = objective.tie_orders()[o];
    // With equal worths, sets of this size have weight delta C(n, t) against n for single items.
    const double log_sets = std::lgamma(n + 1.0) - std::lgamma(order + 1.0) - std::lgamma(n - order + 1.0);
    ties.orders.push_back(objective.tie_orders()[o]);
    ties.log_delta.push_back(std::log(objective.tie_counts()[o] / std::max(choices, 1.0)) + std::log(n) - log_sets);
  }
  return ties;
}

Parameters random_start(const Objective& objective, std::uint64_t seed, std::uint64_t index) {
  Parameters start(objective.num_components(), objective.num_items());
  start.ties = initial_ties(objective);
  if (objective.num_components() == 1) return start;
  RandomStream random(seed, Purpose::initialise, index);
  for (double& utility : start.utilities) utility = 0.5 * random.normal();
  start.centre_all();
  return start;
}

}  // namespace caucus::pl_mixture
