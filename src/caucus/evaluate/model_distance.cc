#include "caucus/evaluate/model_distance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/model/assignment.h"
#include "caucus/model/distances.h"
#include "caucus/model/kendall.h"

namespace caucus {
namespace {

// A group in the numbering of items that both models share.
struct Side {
  std::vector<ItemId> order;      // best first
  std::vector<double> utilities;  // centered; empty: none
};

// position[i]: where item i of the model stands in the common numbering.
std::vector<Side> sides_of(const FittedModel& model, std::span<const ItemId> position) {
  std::vector<Side> sides;
  for (const Group& group : model.profile()) {
    if (group.order.empty()) continue;
    Side side;
    if (!group.utilities.empty()) {
      side.utilities.resize(group.utilities.size());
      for (std::size_t i = 0; i < group.utilities.size(); ++i) side.utilities[position[i]] = group.utilities[i];
      center(std::span(side.utilities));
      side.order = order_by(side.utilities);
    } else {
      for (const ItemId item : group.order) side.order.push_back(position[item]);
    }
    sides.push_back(std::move(side));
  }
  if (sides.empty())
    throw DataError(
        fmt::format("a model of the family '{}' has no groups with utilities or a consensus ranking to compare", model.family()));
  return sides;
}

double squared_gap(const Side& a, const Side& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.utilities.size(); ++i) sum += (a.utilities[i] - b.utilities[i]) * (a.utilities[i] - b.utilities[i]);
  return sum;
}

}  // namespace

ModelDistance distance_between(const FittedModel& first, const FittedModel& second) {
  const std::size_t n = first.items().size();
  std::unordered_map<std::string, ItemId> number;
  for (std::size_t i = 0; i < n; ++i) number.emplace(first.items()[i], static_cast<ItemId>(i));
  std::vector<ItemId> own(n), other;
  std::iota(own.begin(), own.end(), ItemId{0});
  for (const std::string& item : second.items()) {
    const auto found = number.find(item);
    if (found == number.end()) throw DataError(fmt::format("the second model's item '{}' is not in the first", item));
    other.push_back(found->second);
  }
  if (other.size() != n)
    throw DataError(fmt::format("the first model has {} items, the second {}; expected the same items", n, other.size()));

  const std::vector<Side> a = sides_of(first, own), b = sides_of(second, other);
  const auto has_utilities = [](const Side& side) { return !side.utilities.empty(); };
  const bool both = std::ranges::all_of(a, has_utilities) && std::ranges::all_of(b, has_utilities);
  // Square, with free places where one model has fewer groups.
  const std::size_t size = std::max(a.size(), b.size());
  std::vector<double> cost(size * size, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j)
      cost[i * size + j] = both ? squared_gap(a[i], b[j]) : static_cast<double>(kendall_distance(a[i].order, b[j].order));
  const std::vector<std::size_t> choice = solve_assignment(cost, size);
  ModelDistance result;
  result.num_items = n;
  double total = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::size_t j = choice[i];
    if (j >= b.size()) continue;
    GroupPair pair{i, j, kendall_distance(a[i].order, b[j].order),
                   rank_distance(Distance::spearman, inverse_order(a[i].order), inverse_order(b[j].order)), std::nullopt};
    if (both) {
      pair.utilities = std::sqrt(squared_gap(a[i], b[j]));
      total += squared_gap(a[i], b[j]);
    }
    result.pairs.push_back(pair);
  }
  if (both && a.size() == b.size()) result.utilities = std::sqrt(total);
  return result;
}

}  // namespace caucus
