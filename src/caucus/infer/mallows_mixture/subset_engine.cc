#include "caucus/infer/mallows_mixture/subset_engine.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/parallel.h"
#include "caucus/infer/mallows_mixture/subset_search.h"
#include "caucus/model/consensus.h"
#include "caucus/model/kendall.h"
#include "caucus/model/stage.h"

namespace caucus::mallows_mixture {

namespace {

// Arithmetic of one probability, roughly.
double cost_of(std::size_t length, std::size_t num_items) {
  const double size = static_cast<double>(length);
  return length <= 3 ? 30.0 : 30.0 + 3.0 * size * most_subset_states(length, num_items);
}

constexpr double affordable_cost = 2e8, search_cost = 4e8;

}  // namespace

bool SubsetEngine::affordable(const RankingSet& rankings, std::size_t num_items) {
  double cost = 0.0;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    cost += cost_of(rankings.length(i), num_items);
    std::size_t largest = 1;
    if (rankings.has_ties())
      rankings[i].for_each_group([&](std::span<const ItemId> group) { largest = std::max(largest, group.size()); });
    if (largest > 1)
      cost += cost_of(rankings.length(i), num_items) * std::exp2(static_cast<double>(std::min<std::size_t>(largest, 60)));
  }
  return cost <= affordable_cost;
}

SubsetEngine::SubsetEngine(const RankingSet& rankings, std::size_t num_items, ConsensusLimits limits)
    : rankings_(rankings), num_items_(num_items), limits_(std::move(limits)), ballots_(num_items) {
  double cost = 0.0;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const std::size_t length = rankings.length(i);
    if (std::find(lengths_.begin(), lengths_.end(), length) == lengths_.end()) lengths_.push_back(length);
    for (ItemId item : rankings[i].items()) ballots_[item].push_back(static_cast<std::uint32_t>(i));
    cost += 4.0 * static_cast<double>(length) * cost_of(length, num_items);
  }
  reach_ = static_cast<std::size_t>(std::clamp(search_cost / cost, 1.0, static_cast<double>(num_items)));
}

SubsetProbabilities SubsetEngine::at(double theta) const {
  SubsetProbabilities result(theta, num_items_);
  for (std::size_t length : lengths_) result.prepare(length);
  return result;
}

std::vector<LogProbability> SubsetEngine::evaluate(std::span<const ItemId> center, double theta, int threads) const {
  const SubsetProbabilities probability = at(theta);
  const auto position = inverse_order(center);
  std::vector<LogProbability> out(num_rankings());
  const Blocks blocks(num_rankings(), 64);
  parallel_for(blocks.count(), threads, [&](std::size_t b) {
    ListedItems listed;
    for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i) {
      listed.assign(rankings_[i], position);
      out[i] = probability(listed);
    }
  });
  return out;
}

// Secant steps on the slope of the log-likelihood, kept inside a bracket.
double SubsetEngine::best_theta(std::span<const ItemId> center, std::span<const double> mass, double guess, int threads) const {
  const auto slope = [&](double theta) {
    const std::vector<LogProbability> all = evaluate(center, theta, threads);
    double total = 0.0;
    for (std::size_t i = 0; i < all.size(); ++i) total += mass[i] * all[i].slope;
    return total;
  };
  double low = 0.0, high = max_theta, before = std::clamp(guess, 1e-3, max_theta), slope_before = slope(before);
  (slope_before > 0.0 ? low : high) = before;
  double now = before * (slope_before > 0.0 ? 1.01 : 0.99);
  for (int step = 0; step < 100; ++step) {
    if (now >= max_theta && slope(max_theta) >= 0.0) return max_theta;
    if (now < 1e-6 && slope(0.0) <= 0.0) return 0.0;
    const double slope_now = slope(now);
    (slope_now > 0.0 ? low : high) = now;
    const double bend = (slope_now - slope_before) / (now - before);
    double next = bend < 0.0 ? now - slope_now / bend : (slope_now > 0.0 ? infinity : 0.0);
    // Far from the root at most twice or half; where the bracket is crossed, its middle.
    next = std::clamp(next, 0.5 * now, 2.0 * now);
    if (!(next > low && next < high)) next = high >= max_theta ? std::min(2.0 * now, max_theta) : 0.5 * (low + high);
    if (slope_now == 0.0 || std::abs(next - now) <= 1e-13 * now || high - low <= 1e-14 * high) return slope_now == 0.0 ? now : next;
    before = now, slope_before = slope_now, now = next;
  }
  return now;
}

double SubsetEngine::step(const Parameters& now, bool move_centers, int threads, Parameters& next) const {
  const std::size_t num_components = now.weight.size(), count = num_rankings();
  std::vector<double> joint(count * num_components);
  log_joint(now, threads, joint);
  std::vector<std::vector<double>> mass(num_components, std::vector<double>(count));
  double loglik = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = std::span(joint).subspan(i * num_components, num_components);
    const double total = log_sum_exp(row), weight = rankings_.weights()[i];
    loglik += weight * total;
    for (std::size_t k = 0; k < num_components; ++k) mass[k][i] = weight * std::exp(row[k] - total);
  }
  next = now;
  for (std::size_t k = 0; k < num_components; ++k) {
    const double total = sum(mass[k]);
    next.weight[k] = total / total_weight();
    if (!(total > 1e-9 * total_weight())) continue;  // an empty group keeps its center and dispersion
    if (move_centers) {
      const SubsetProbabilities probability = at(now.theta[k][0]);
      SubsetSearch search(rankings_, ballots_, mass[k], probability, now.center[k]);
      search.run(reach_, limits_.stop);
      next.center[k] = search.center();
    }
    next.theta[k] = {best_theta(next.center[k], mass[k], now.theta[k][0], threads)};
  }
  return loglik;
}

Parameters SubsetEngine::from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const {
  return parameters_from_pairs(rankings_, num_items_, labels, num_components, limits_);
}

void SubsetEngine::log_joint(const Parameters& now, int threads, std::span<double> out) const {
  const std::size_t num_components = now.weight.size();
  for (std::size_t k = 0; k < num_components; ++k) {
    const std::vector<LogProbability> all = evaluate(now.center[k], now.theta[k][0], threads);
    const double log_weight = now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity;
    for (std::size_t i = 0; i < all.size(); ++i) out[i * num_components + k] = log_weight + all[i].value;
  }
}

void SubsetEngine::derivatives(const Parameters& now, std::size_t k, std::span<double> score, std::span<double> information) const {
  const double theta = now.theta[k][0], h = 1e-4 * std::max(theta, 1e-2);
  const auto here = evaluate(now.center[k], theta, 1), above = evaluate(now.center[k], theta + h, 1);
  const double down = std::max(0.0, theta - h);
  const auto below = evaluate(now.center[k], down, 1);
  for (std::size_t i = 0; i < here.size(); ++i) {
    score[i] = here[i].slope;
    information[i] = (below[i].slope - above[i].slope) / (theta + h - down);
  }
}

Parameters parameters_from_pairs(const RankingSet& rankings, std::size_t num_items, std::span<const std::uint32_t> labels,
                                 std::size_t num_components, const ConsensusLimits& limits) {
  Parameters result;
  const double total = rankings.total_weight();
  double weight_sum = 0.0;
  for (std::size_t k = 0; k < num_components; ++k) {
    PairMatrix pairs(num_items);
    double mass = 0.0;
    const bool empty = std::find(labels.begin(), labels.end(), k) == labels.end();  // then all ballots
    for (std::size_t i = 0; i < rankings.size(); ++i)
      if (labels[i] == k || empty) {
        mass += rankings.weights()[i];
        pairs.add(rankings[i], rankings.weights()[i], Unranked::absent);
      }
    result.center.push_back(find_consensus(pairs, ConsensusMethod::local, limits).order);
    weight_sum += mass += 0.01 * total;
    result.weight.push_back(mass);
    result.theta.push_back({0.3});
  }
  for (double& weight : result.weight) weight /= weight_sum;
  return result;
}

}  // namespace caucus::mallows_mixture
