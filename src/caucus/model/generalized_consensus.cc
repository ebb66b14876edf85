#include "caucus/model/generalized_consensus.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "caucus/base/numeric.h"
#include "caucus/model/stage.h"

namespace caucus {

void StagePairs::add(std::span<const ItemId> ranking, double weight) {
  std::vector<std::uint8_t> used(size_, 0);
  for (std::size_t j = 0; j < ranking.size(); ++j) {
    const ItemId item = ranking[j];
    used[item] = 1;
    weight_[j] += weight;
    for (std::size_t other = 0; other < size_; ++other)
      if (!used[other]) pairs_[j](item, other) += weight;
  }
}

GeneralizedConsensusSolver::GeneralizedConsensusSolver(std::size_t num_items)
    : size_(num_items), table_((num_items + 1) * (cells + 1), 0.0) {
  for (std::size_t m = 2; m <= size_; ++m)
    for (std::size_t c = 0; c <= cells; ++c)
      table_[m * (cells + 1) + c] = stage_cost(0.5 * static_cast<double>(m - 1) * static_cast<double>(c) / cells, m);
}

double GeneralizedConsensusSolver::cost_from_below(double mean, std::size_t m) const {
  if (m <= 1) return 0.0;
  const double* row = table_.data() + m * (cells + 1);
  const double place = mean / (0.5 * static_cast<double>(m - 1)) * static_cast<double>(cells);
  if (place >= static_cast<double>(cells)) return row[cells];
  const auto cell = static_cast<std::size_t>(std::max(place, 0.0));
  return row[cell] + (place - static_cast<double>(cell)) * (row[cell + 1] - row[cell]);
}

namespace {

std::vector<double> stage_means_v(std::span<const ItemId> order, const PairMatrix& pairs, double total) {
  std::vector<double> mean(order.size(), 0.0);
  for (std::size_t j = 0; j < order.size(); ++j) {
    for (std::size_t k = j + 1; k < order.size(); ++k) mean[j] += pairs(order[k], order[j]);
    mean[j] /= total;
  }
  return mean;
}

// Local searches end when a round gains nothing, within tens of rounds; rounding must not make them go round in circles.
constexpr int most_rounds = 1000;

double cost_of_means(std::span<const double> mean) {
  double cost = 0.0;
  for (std::size_t j = 0; j + 1 < mean.size(); ++j) cost += stage_cost(mean[j], mean.size() - j);
  return cost;
}

// Single items walk up or down the order by adjacent swaps, each of which changes two stages of code v.
void insertion_search_v(std::vector<ItemId>& order, const PairMatrix& pairs, double total, const ConsensusLimits& limits) {
  const std::size_t n = order.size();
  bool improved = true;
  for (int round = 0; round < most_rounds && improved; ++round) {
    improved = false;
    for (std::size_t from = 0; from < n; ++from) {
      if (limits.stop && limits.stop()) return;  // a round takes seconds with hundreds of items
      for (int direction : {-1, 1}) {
        std::vector<ItemId> trial = order, best_order;
        std::vector<double> mean = stage_means_v(trial, pairs, total);
        double change = 0.0, best = -1e-10;
        for (std::size_t at = from; direction < 0 ? at > 0 : at + 1 < n; at = direction < 0 ? at - 1 : at + 1) {
          const std::size_t p = direction < 0 ? at - 1 : at;
          const ItemId x = trial[p], y = trial[p + 1];
          const double first = mean[p + 1] + pairs(x, y) / total, second = mean[p] - pairs(y, x) / total;
          change += stage_cost(first, n - p) - stage_cost(mean[p], n - p);
          if (p + 2 < n) change += stage_cost(second, n - p - 1) - stage_cost(mean[p + 1], n - p - 1);
          mean[p] = first;
          mean[p + 1] = second;
          std::swap(trial[p], trial[p + 1]);
          if (change < best) best = change, best_order = trial;
        }
        if (best_order.empty()) continue;
        order = std::move(best_order);
        improved = true;
      }
    }
  }
}

// Orders built from the best place down, level by level. A state is the set of items still to be placed: of all ways that lead to
// it only the cheapest goes on, and only where it may still beat the incumbent.
//
// cost_from_below(mean, m): never above the cost of a stage of m items.
template <class CostFromBelow>
class LevelSearch {
 public:
  LevelSearch(const PairMatrix& pairs, double total, double best, std::uint64_t max_nodes, const ConsensusLimits& limits,
              CostFromBelow cost_from_below)
      : pairs_(pairs),
        total_(total),
        best_(best),
        slack_(1e-11 * (1.0 + best)),
        max_nodes_(max_nodes),
        limits_(limits),
        cost_from_below_(cost_from_below) {
    const std::size_t n = pairs.num_items();
    by_weight_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k)
        if (k != i) by_weight_[i].push_back(static_cast<ItemId>(k));
      std::sort(by_weight_[i].begin(), by_weight_[i].end(), [&](ItemId a, ItemId b) { return pairs(a, i) < pairs(b, i); });
    }
    least_.resize(n + 1);
  }

  // False where it was cut short; then open_bound() is the least that an order not looked at may cost.
  bool run() {
    const std::size_t n = pairs_.num_items();
    const std::uint64_t all = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
    levels_.push_back({{all, 0.0, to_go(all), 0, 0}});
    open_bound_ = levels_[0][0].bound;
    for (std::size_t level = 0; level + 1 < n; ++level) {
      std::vector<State> next;
      if (!expand(levels_[level], n - level, next)) return false;
      open_bound_ = best_;
      for (const State& state : next) open_bound_ = std::min(open_bound_, state.bound);
      levels_.push_back(std::move(next));
      if (levels_.back().empty()) break;
    }
    return true;
  }

  // The best order of a complete search; empty where it does not beat the incumbent.
  std::vector<ItemId> better_order() const {
    const std::size_t n = pairs_.num_items();
    if (levels_.size() != n || levels_.back().empty()) return {};
    const auto winner = std::ranges::min_element(levels_.back(), {}, &State::cost);
    if (!(winner->cost < best_)) return {};
    std::vector<ItemId> order(n);
    order[n - 1] = static_cast<ItemId>(std::countr_zero(winner->left));  // the last item is forced
    auto at = static_cast<std::size_t>(winner - levels_.back().begin());
    for (std::size_t level = n - 1; level > 0; --level) {
      order[level - 1] = levels_[level][at].item;
      at = levels_[level][at].parent;
    }
    return order;
  }

  std::uint64_t nodes() const { return nodes_; }
  double open_bound() const { return open_bound_; }

 private:
  struct State {
    std::uint64_t left;
    double cost;
    double bound;
    std::uint32_t parent;
    ItemId item;
  };

  // The least that placing these items can cost: each stage at the least mean that any of them may have there.
  double to_go(std::uint64_t left) {
    const auto count = static_cast<std::size_t>(std::popcount(left));
    std::fill(least_.begin(), least_.begin() + static_cast<std::ptrdiff_t>(count) + 1, infinity);
    for (std::uint64_t rest = left; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(rest));
      double sum = 0.0;
      std::size_t m = 1;
      for (ItemId k : by_weight_[i]) {
        if (!(left >> k & 1)) continue;
        sum += pairs_(k, i);
        ++m;
        least_[m] = std::min(least_[m], sum);
      }
    }
    double bound = 0.0;
    for (std::size_t m = 2; m <= count; ++m) bound += cost_from_below_(least_[m] / total_, m);
    return bound;
  }

  // The states of the next level, where m items are left. False: the search ends here.
  bool expand(const std::vector<State>& states, std::size_t m, std::vector<State>& next) {
    std::unordered_map<std::uint64_t, std::uint32_t> index;
    for (std::size_t s = 0; s < states.size(); ++s) {
      if (++nodes_ > max_nodes_ || (nodes_ % 256 == 0 && limits_.stop && limits_.stop())) {
        // Everything still open: the rest of this level and what the next level holds.
        for (std::size_t rest = s; rest < states.size(); ++rest) open_bound_ = std::min(open_bound_, states[rest].bound);
        for (const State& state : next) open_bound_ = std::min(open_bound_, state.bound);
        return false;
      }
      for (std::uint64_t rest = states[s].left; rest != 0; rest &= rest - 1)
        place(states[s], static_cast<std::uint32_t>(s), static_cast<std::size_t>(std::countr_zero(rest)), m, next, index);
    }
    return true;
  }

  // Item i comes next.
  void place(const State& from, std::uint32_t parent, std::size_t i, std::size_t m, std::vector<State>& next,
             std::unordered_map<std::uint64_t, std::uint32_t>& index) {
    const std::uint64_t after = from.left & ~(std::uint64_t{1} << i);
    double mean = 0.0;
    for (std::uint64_t others = after; others != 0; others &= others - 1)
      mean += pairs_(static_cast<std::size_t>(std::countr_zero(others)), i);
    mean /= total_;
    const double rough = from.cost + cost_from_below_(mean, m);
    if (rough >= best_ - slack_) return;
    const auto found = index.find(after);
    if (found != index.end() && rough >= next[found->second].cost) return;
    const double cost = from.cost + stage_cost(mean, m);
    if (found != index.end()) {
      State& state = next[found->second];
      if (cost >= state.cost) return;
      state.bound -= state.cost - cost;
      state.cost = cost;
      state.parent = parent;
      state.item = static_cast<ItemId>(i);
      return;
    }
    const double bound = cost + to_go(after);
    if (bound >= best_ - slack_) return;
    index.emplace(after, static_cast<std::uint32_t>(next.size()));
    next.push_back({after, cost, bound, parent, static_cast<ItemId>(i)});
  }

  const PairMatrix& pairs_;
  double total_;
  double best_, slack_;  // the incumbent's cost
  std::uint64_t max_nodes_;
  const ConsensusLimits& limits_;
  CostFromBelow cost_from_below_;
  std::vector<std::vector<ItemId>> by_weight_;  // for each item, the others by how little they go before it
  std::vector<double> least_;                   // scratch of to_go
  std::vector<std::vector<State>> levels_;
  std::uint64_t nodes_ = 0;
  double open_bound_ = 0.0;
};

}  // namespace

GeneralizedConsensus GeneralizedConsensusSolver::solve_v(const PairMatrix& pairs, double total, ConsensusMethod method,
                                                         const ConsensusLimits& limits, std::span<const ItemId> start) const {
  const std::size_t n = pairs.num_items();
  GeneralizedConsensus result;
  const auto finish = [&](std::vector<ItemId> order) {
    result.order = std::move(order);
    const std::vector<double> mean = stage_means_v(result.order, pairs, total);
    result.theta.clear();
    for (std::size_t j = 0; j + 1 < n; ++j) result.theta.push_back(solve_stage_theta(mean[j], n - j));
    result.cost = total * cost_of_means(mean);
    if (result.optimal) result.lower_bound = result.cost;
  };
  std::vector<ItemId> incumbent = borda_order(pairs);
  if (method == ConsensusMethod::borda || !(total > 0.0)) {
    finish(std::move(incumbent));
    return result;
  }
  if (method != ConsensusMethod::local) incumbent = find_consensus(pairs, ConsensusMethod::automatic, limits).order;
  insertion_search_v(incumbent, pairs, total, limits);
  double best = cost_of_means(stage_means_v(incumbent, pairs, total));
  if (!start.empty()) {
    std::vector<ItemId> other(start.begin(), start.end());
    insertion_search_v(other, pairs, total, limits);
    const double cost = cost_of_means(stage_means_v(other, pairs, total));
    if (cost < best) best = cost, incumbent = std::move(other);
  }
  if (method == ConsensusMethod::local || n > 64) {
    finish(std::move(incumbent));
    return result;
  }
  const std::uint64_t max_nodes =
      method == ConsensusMethod::automatic ? std::min<std::uint64_t>(limits.max_nodes, 20'000) : limits.max_nodes;
  LevelSearch search(pairs, total, best, max_nodes, limits,
                     [this](double mean, std::size_t m) { return cost_from_below(mean, m); });
  result.optimal = search.run();
  result.nodes = search.nodes();
  if (std::vector<ItemId> order = search.better_order(); result.optimal && !order.empty()) incumbent = std::move(order);
  finish(std::move(incumbent));
  if (!result.optimal) result.lower_bound = total * std::min(search.open_bound(), best);
  return result;
}

namespace {

// Sums of the stages of code s under an order.
std::vector<double> stage_sums_s(std::span<const ItemId> order, const StagePairs& pairs) {
  const std::size_t n = order.size();
  std::vector<double> sum(n, 0.0);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = a + 1; b < n; ++b) sum[j] += pairs[j](order[b], order[a]);
  return sum;
}

double cost_of_sums_s(std::span<const double> sum, const StagePairs& pairs) {
  double cost = 0.0;
  for (std::size_t j = 0; j + 1 < sum.size(); ++j)
    if (pairs.weight(j) > 0.0) cost += pairs.weight(j) * stage_cost(sum[j] / pairs.weight(j), sum.size() - j);
  return cost;
}

// Swaps of neighbours until nothing gains, under the full cost.
void swap_search_s(std::vector<ItemId>& order, const StagePairs& pairs, const ConsensusLimits& limits) {
  const std::size_t n = order.size();
  std::vector<double> sum = stage_sums_s(order, pairs);
  double cost = cost_of_sums_s(sum, pairs);
  bool improved = true;
  for (int round = 0; round < most_rounds && improved; ++round) {
    improved = false;
    for (std::size_t from = 0; from < n; ++from) {
      if (limits.stop && limits.stop()) return;
      for (int direction : {-1, 1}) {
        std::vector<ItemId> trial = order, best_order;
        std::vector<double> trial_sum = sum, best_sum;
        double best = cost * (1.0 - 1e-12);
        for (std::size_t at = from; direction < 0 ? at > 0 : at + 1 < n; at = direction < 0 ? at - 1 : at + 1) {
          const std::size_t p = direction < 0 ? at - 1 : at;
          for (std::size_t j = 0; j < n; ++j) trial_sum[j] += pairs[j](trial[p], trial[p + 1]) - pairs[j](trial[p + 1], trial[p]);
          std::swap(trial[p], trial[p + 1]);
          const double trial_cost = cost_of_sums_s(trial_sum, pairs);
          if (trial_cost < best) best = trial_cost, best_order = trial, best_sum = trial_sum;
        }
        if (best_order.empty()) continue;
        order = std::move(best_order);
        sum = stage_sums_s(order, pairs);
        cost = cost_of_sums_s(sum, pairs);
        improved = true;
      }
    }
  }
}

// Steinhaus, Johnson & Trotter: all orders by swaps of neighbours. The chords bound the cost from below, so the exact cost is
// worked out for the few orders that may win. False where it was stopped.
template <class CostFromBelow>
bool enumerate_s(const StagePairs& pairs, CostFromBelow cost_from_below, const ConsensusLimits& limits,
                 std::vector<ItemId>& best_order, double& best, std::uint64_t& nodes) {
  const std::size_t n = pairs.num_items();
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  std::vector<int> direction(n, -1);
  std::vector<double> sum = stage_sums_s(order, pairs), weight(n), inverse(n);
  // changes[(a * n + b) * n + j]: what stage j gains when a, just before b, swaps with it.
  std::vector<double> changes(n * n * n);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      for (std::size_t j = 0; j < n; ++j) changes[(a * n + b) * n + j] = pairs[j](a, b) - pairs[j](b, a);
  for (std::size_t j = 0; j < n; ++j) weight[j] = pairs.weight(j), inverse[j] = weight[j] > 0.0 ? 1.0 / weight[j] : 0.0;
  std::vector<std::size_t> place(n);
  std::iota(place.begin(), place.end(), std::size_t{0});
  while (true) {
    ++nodes;
    double rough = 0.0;
    for (std::size_t j = 0; j + 1 < n; ++j) rough += weight[j] * cost_from_below(sum[j] * inverse[j], n - j);
    if (rough < best) {
      const double cost = cost_of_sums_s(stage_sums_s(order, pairs), pairs);
      if (cost < best) best = cost, best_order = order;
    }
    if (nodes % 4096 == 0 && limits.stop && limits.stop()) return false;
    // The largest element that can move in its direction.
    std::size_t mover = n;
    for (std::size_t value = n; value-- > 0;) {
      const std::size_t at = place[value];
      if (direction[value] < 0 ? at > 0 && order[at - 1] < value : at + 1 < n && order[at + 1] < value) {
        mover = value;
        break;
      }
    }
    if (mover == n) return true;
    const std::size_t at = place[mover], p = direction[mover] < 0 ? at - 1 : at;
    const double* change = changes.data() + (order[p] * n + order[p + 1]) * n;
    for (std::size_t j = 0; j < n; ++j) sum[j] += change[j];
    std::swap(order[p], order[p + 1]);
    place[order[p]] = p;
    place[order[p + 1]] = p + 1;
    for (std::size_t value = mover + 1; value < n; ++value) direction[value] = -direction[value];
  }
}

}  // namespace

GeneralizedConsensus GeneralizedConsensusSolver::solve_s(const StagePairs& pairs, ConsensusMethod method,
                                                         const ConsensusLimits& limits, std::span<const ItemId> start) const {
  const std::size_t n = pairs.num_items();
  GeneralizedConsensus result;
  const auto thetas = [&](std::span<const ItemId> order) {
    const std::vector<double> sum = stage_sums_s(order, pairs);
    std::vector<double> theta;
    for (std::size_t j = 0; j + 1 < n; ++j)
      theta.push_back(pairs.weight(j) > 0.0 ? solve_stage_theta(sum[j] / pairs.weight(j), n - j) : 0.0);
    return theta;
  };
  PairMatrix mixed(n);
  const auto mix = [&](std::span<const double> theta) {
    std::fill(mixed.values().begin(), mixed.values().end(), 0.0);
    for (std::size_t j = 0; j + 1 < n; ++j)
      for (std::size_t i = 0; i < mixed.values().size(); ++i) mixed.values()[i] += theta[j] * pairs[j].values()[i];
  };
  mix(std::vector<double>(n, 1.0));
  const ConsensusMethod inner = method == ConsensusMethod::exact ? ConsensusMethod::automatic : method;
  std::vector<ItemId> best_order =
      start.empty() ? find_consensus(mixed, inner, limits).order : std::vector<ItemId>(start.begin(), start.end());
  double best = cost_of_sums_s(stage_sums_s(best_order, pairs), pairs);
  if (method != ConsensusMethod::borda) {
    for (int round = 0; round < 20; ++round) {
      mix(thetas(best_order));
      std::vector<ItemId> order = find_consensus(mixed, inner, limits).order;
      const double cost = cost_of_sums_s(stage_sums_s(order, pairs), pairs);
      if (!(cost < best * (1.0 - 1e-13))) break;
      best = cost;
      best_order = std::move(order);
    }
    swap_search_s(best_order, pairs, limits);
    best = cost_of_sums_s(stage_sums_s(best_order, pairs), pairs);
  }
  if (method == ConsensusMethod::exact && n <= max_enumerated_items)
    result.optimal = enumerate_s(
        pairs, [this](double mean, std::size_t m) { return cost_from_below(mean, m); }, limits, best_order, best, result.nodes);
  result.order = best_order;
  result.theta = thetas(best_order);
  result.cost = best;
  result.lower_bound = result.optimal ? best : 0.0;
  return result;
}

}  // namespace caucus
