#include "caucus/infer/mallows_mixture/distance_engine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/model/assignment.h"
#include "caucus/model/kendall.h"

namespace caucus::mallows_mixture {

DistanceEngine::DistanceEngine(const RankingSet& rankings, const DistanceNormalizer& normalizer, std::function<bool()> stop)
    : rankings_(rankings),
      normalizer_(normalizer),
      stop_(std::move(stop)),
      num_items_(normalizer.num_items()),
      plain_(rankings, normalizer.num_items(), ConsensusMethod::local, {}),
      ranks_(rankings.size() * normalizer.num_items()) {
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const auto items = rankings[i].items();
    for (std::size_t j = 0; j < items.size(); ++j) ranks_[i * num_items_ + items[j]] = static_cast<std::uint32_t>(j);
    // A ballot that lists all but one item is complete.
    if (items.size() + 1 == num_items_) {
      const auto sum_of_items =
          static_cast<ItemId>(num_items_ * (num_items_ - 1) / 2 - std::accumulate(items.begin(), items.end(), std::size_t{0}));
      ranks_[i * num_items_ + sum_of_items] = static_cast<std::uint32_t>(num_items_ - 1);
    }
  }
}

std::vector<double> DistanceEngine::distances(std::span<const ItemId> centre, int threads) const {
  std::vector<double> out(num_rankings());
  const auto position = inverse_order(centre);
  const Blocks blocks(num_rankings());
  parallel_for(blocks.count(), threads, [&](std::size_t b) {
    for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i)
      out[i] = static_cast<double>(
          rank_distance(normalizer_.distance(), std::span(ranks_).subspan(i * num_items_, num_items_), position));
  });
  return out;
}

std::vector<ItemId> DistanceEngine::best_centre(std::span<const double> mass, std::span<const ItemId> now, int threads) const {
  const std::size_t n = num_items_;
  const Distance distance = normalizer_.distance();
  // table[item * n + place]: weight of the rankings with the item at this place.
  std::vector<double> table(n * n, 0.0);
  for (std::size_t i = 0; i < num_rankings(); ++i)
    for (std::size_t item = 0; item < n; ++item) table[item * n + ranks_[i * n + item]] += mass[i];
  std::vector<ItemId> order(n);
  if (distance == Distance::spearman) {
    std::vector<double> mean(n, 0.0);
    for (std::size_t item = 0; item < n; ++item)
      for (std::size_t place = 0; place < n; ++place) mean[item] += table[item * n + place] * static_cast<double>(place);
    std::iota(order.begin(), order.end(), ItemId{0});
    std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return mean[a] < mean[b]; });
    return order;
  }
  std::vector<double> cost(n * n, 0.0);
  for (std::size_t item = 0; item < n; ++item)
    for (std::size_t place = 0; place < n; ++place)
      for (std::size_t at = 0; at < n; ++at) {
        const double gap = distance == Distance::footrule ? std::abs(static_cast<double>(place) - static_cast<double>(at))
                                                          : (place != at ? 1.0 : 0.0);
        cost[item * n + place] += table[item * n + at] * gap;
      }
  const std::vector<std::size_t> place = solve_assignment(cost, n);
  for (std::size_t item = 0; item < n; ++item) order[place[item]] = static_cast<ItemId>(item);
  if (distance == Distance::footrule || distance == Distance::hamming) return order;

  // Cayley, Ulam, and others: local search from the better of two starts.
  const auto total = [&](std::span<const ItemId> centre) {
    const std::vector<double> d = distances(centre, threads);
    double sum_of = 0.0;
    for (std::size_t i = 0; i < d.size(); ++i) sum_of += mass[i] * d[i];
    return sum_of;
  };
  double best = total(order);
  if (const double other = total(now); other <= best) best = other, order.assign(now.begin(), now.end());
  // Every move gains more than rounding; the bound keeps even a slow descent from being endless.
  constexpr int most_rounds = 1000;
  bool improved = true;
  for (int round = 0; round < most_rounds && improved; ++round) {
    improved = false;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        if (stop_ && stop_()) return order;
        if (i == j || (distance == Distance::cayley && j < i)) continue;
        std::vector<ItemId> trial = order;
        if (distance == Distance::cayley) {
          std::swap(trial[i], trial[j]);
        } else {
          trial.erase(trial.begin() + static_cast<std::ptrdiff_t>(i));
          trial.insert(trial.begin() + static_cast<std::ptrdiff_t>(j), order[i]);
        }
        if (const double value = total(trial); value < best * (1.0 - 1e-12)) best = value, order = trial, improved = true;
      }
  }
  return order;
}

void DistanceEngine::log_joint(const Parameters& now, int threads, std::span<double> out) const {
  const std::size_t num_components = now.weight.size();
  for (std::size_t k = 0; k < num_components; ++k) {
    const std::vector<double> d = distances(now.centre[k], threads);
    const double constant = (now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity) - normalizer_.log_z(now.theta[k][0]);
    for (std::size_t i = 0; i < d.size(); ++i) out[i * num_components + k] = constant - now.theta[k][0] * d[i];
  }
}

double DistanceEngine::step(const Parameters& now, bool move_centres, int threads, Parameters& next) const {
  const std::size_t num_components = now.weight.size(), count = num_rankings();
  std::vector<double> part(count * num_components);
  log_joint(now, threads, part);
  double loglik = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = std::span(part).subspan(i * num_components, num_components);
    const double total = log_sum_exp(row), weight = rankings_.weights()[i];
    loglik += weight * total;
    for (double& value : row) value = weight * std::exp(value - total);
  }
  next = now;
  for (std::size_t k = 0; k < num_components; ++k) {
    std::vector<double> mass(count);
    for (std::size_t i = 0; i < count; ++i) mass[i] = part[i * num_components + k];
    const double total = sum(mass);
    next.weight[k] = total / total_weight();
    if (!(total > 1e-9 * total_weight())) continue;
    if (move_centres) next.centre[k] = best_centre(mass, now.centre[k], threads);
    const std::vector<double> d = distances(next.centre[k], threads);
    double distance = 0.0;
    for (std::size_t i = 0; i < count; ++i) distance += mass[i] * d[i];
    next.theta[k] = {normalizer_.solve_theta(distance / total)};
  }
  return loglik;
}

Parameters DistanceEngine::from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const {
  Parameters result = plain_.from_labels(labels, num_components);
  for (std::size_t k = 0; k < num_components; ++k) {
    std::vector<double> mass(num_rankings(), 0.0);
    double total = 0.0;
    for (std::size_t i = 0; i < num_rankings(); ++i)
      if (labels[i] == k) total += mass[i] = rankings_.weights()[i];
    if (!(total > 0.0)) continue;
    result.centre[k] = best_centre(mass, result.centre[k], 1);
    const std::vector<double> d = distances(result.centre[k], 1);
    double distance = 0.0;
    for (std::size_t i = 0; i < d.size(); ++i) distance += mass[i] * d[i];
    // A mean one fifth nearer to chance keeps small groups from being certain.
    result.theta[k] = {normalizer_.solve_theta(0.8 * distance / total + 0.2 * normalizer_.mean(0.0))};
  }
  return result;
}

std::vector<double> DistanceEngine::centre_gaps(const Parameters& now, int) const {
  const Distance distance = normalizer_.distance();
  const bool exact = distance == Distance::spearman || distance == Distance::footrule || distance == Distance::hamming;
  return std::vector<double>(now.weight.size(), exact ? 0.0 : infinity);
}

void DistanceEngine::derivatives(const Parameters& now, std::size_t k, std::span<double> score,
                                 std::span<double> information) const {
  const std::vector<double> d = distances(now.centre[k], 1);
  const double mean = normalizer_.mean(now.theta[k][0]), variance = normalizer_.variance(now.theta[k][0]);
  for (std::size_t i = 0; i < d.size(); ++i) score[i] = mean - d[i], information[i] = variance;
}

}  // namespace caucus::mallows_mixture
