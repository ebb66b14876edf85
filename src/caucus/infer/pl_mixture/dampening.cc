#include "caucus/infer/pl_mixture/dampening.h"

#include <numeric>

namespace caucus::pl_mixture {

std::size_t most_choices(const Dataset& data) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < data.rankings.size(); ++i)
    most = std::max(most, num_choices(data.rankings.length(i), data.num_items(), data.unranked));
  return most;
}

double dampened_log_prob(RankingView ranking, Unranked unranked, std::span<const double> utilities,
                         std::span<const double> exponents) {
  DampenedGroup group(utilities, exponents, num_choices(ranking.size(), utilities.size(), unranked));
  double total = 0.0;
  group.walk(ranking, unranked, [&](std::size_t, double log_prob, double, double, bool) { total += log_prob; });
  return total;
}

std::vector<ItemId> dampened_sample(RandomStream& random, std::span<const double> utilities, std::span<const double> exponents) {
  std::vector<ItemId> left(utilities.size()), order;
  std::iota(left.begin(), left.end(), ItemId{0});
  std::vector<double> logs;
  while (!left.empty()) {
    const double alpha = exponent_at(exponents, order.size());
    logs.clear();
    for (const ItemId item : left) logs.push_back(alpha * utilities[item]);
    const std::size_t chosen = random.categorical_log(logs);
    order.push_back(left[chosen]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return order;
}

}  // namespace caucus::pl_mixture
