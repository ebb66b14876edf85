#include "caucus/model/consensus.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/model/consensus_search.h"

namespace caucus {

double consensus_cost(std::span<const ItemId> order, const PairMatrix& pairs) {
  double cost = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size(); ++j) cost += pairs(order[j], order[i]);
  return cost;
}

std::vector<ItemId> borda_order(const PairMatrix& pairs) {
  const std::size_t n = pairs.num_items();
  std::vector<double> score(n, 0.0);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      if (a != b) score[a] += pairs(a, b) - pairs(b, a);
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return score[a] > score[b]; });
  return order;
}

void insertion_search(std::vector<ItemId>& order, const PairMatrix& pairs, const std::function<bool()>& stop) {
  const std::size_t n = order.size();
  // A gain below this is rounding.
  double scale = 0.0;
  for (double value : pairs.values()) scale = std::max(scale, value);
  const double least_gain = 1e-12 * scale;
  // Every round gains more than rounding, so rounds are few; the bound is for weights so large that sums of them are no numbers.
  constexpr int most_rounds = 10'000;
  bool improved = true;
  for (int round = 0; round < most_rounds && improved; ++round) {
    improved = false;
    for (std::size_t from = 0; from < n; ++from) {
      if (from % 32 == 0 && stop && stop()) return;
      const ItemId item = order[from];
      double change = 0.0, best = -least_gain;
      std::size_t target = from;
      for (std::size_t to = from; to-- > 0;) {  // item passes order[to] upwards
        change += pairs(order[to], item) - pairs(item, order[to]);
        if (change < best) best = change, target = to;
      }
      change = 0.0;
      for (std::size_t to = from + 1; to < n; ++to) {
        change += pairs(item, order[to]) - pairs(order[to], item);
        if (change < best) best = change, target = to;
      }
      if (target == from) continue;
      improved = true;
      const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
      if (target < from)
        std::rotate(at(target), at(from), at(from + 1));
      else
        std::rotate(at(from), at(from + 1), at(target + 1));
    }
  }
}

namespace {

double pair_minimum(const PairMatrix& pairs) {
  double bound = 0.0;
  for (std::size_t a = 0; a < pairs.num_items(); ++a)
    for (std::size_t b = a + 1; b < pairs.num_items(); ++b) bound += std::min(pairs(a, b), pairs(b, a));
  return bound;
}

// The order by number of majorities won, if no majority points against it: then it is optimal.
bool transitive_order(const PairMatrix& pairs, std::vector<ItemId>& order) {
  const std::size_t n = pairs.num_items();
  std::vector<std::uint32_t> lost(n, 0);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) {
      lost[b] += pairs(a, b) > pairs(b, a);
      lost[a] += pairs(b, a) > pairs(a, b);
    }
  order.resize(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return lost[a] < lost[b]; });
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      if (pairs(order[j], order[i]) > pairs(order[i], order[j])) return false;
  return true;
}

}  // namespace

std::uint64_t affordable_nodes(std::uint64_t nodes, std::size_t num_items, int power) {
  if (num_items <= 100) return nodes;
  const double share = std::pow(100.0 / static_cast<double>(num_items), power);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(share * static_cast<double>(nodes)));
}

Consensus find_consensus(const PairMatrix& pairs, ConsensusMethod method, const ConsensusLimits& limits) {
  Consensus result;
  if (method == ConsensusMethod::borda || method == ConsensusMethod::local) {
    result.order = borda_order(pairs);
    if (method == ConsensusMethod::local) insertion_search(result.order, pairs, limits.stop);
    result.lower_bound = pair_minimum(pairs);
    result.cost = consensus_cost(result.order, pairs);
    result.optimal = result.cost <= result.lower_bound * (1.0 + 1e-15);
    return result;
  }
  if (transitive_order(pairs, result.order)) {
    result.cost = result.lower_bound = consensus_cost(result.order, pairs);
    result.optimal = true;
    return result;
  }
  ConsensusLimits used = limits;
  if (method == ConsensusMethod::automatic)
    used.max_nodes = std::min(used.max_nodes, affordable_nodes(20'000, pairs.num_items(), 5));
  return detail::search_consensus(pairs, used);
}

Consensus ConsensusMemory::find(const PairMatrix& pairs, ConsensusMethod method, const ConsensusLimits& limits) {
  Consensus before;
  bool same = false;
  {
    const std::lock_guard lock(mutex_);
    same = !found_.order.empty() && std::ranges::equal(pairs.values(), pairs_.values());
    if (same) before = found_;
    if (same && (before.optimal || (!stopped_ && method == method_ && limits.max_nodes == max_nodes_))) return before;
  }
  Consensus found = find_consensus(pairs, method, limits);
  if (same && !found.optimal) {
    if (before.cost < found.cost) found.order = before.order, found.cost = before.cost;
    found.lower_bound = std::max(found.lower_bound, before.lower_bound);
  }
  const std::lock_guard lock(mutex_);
  pairs_ = pairs;
  method_ = method;
  max_nodes_ = limits.max_nodes;
  stopped_ = limits.stop && limits.stop();
  found_ = found;
  return found;
}

Consensus remembered_consensus(const PairMatrix& pairs, ConsensusMethod method, const ConsensusLimits& limits) {
  return limits.memory ? limits.memory->find(pairs, method, limits) : find_consensus(pairs, method, limits);
}

}  // namespace caucus
