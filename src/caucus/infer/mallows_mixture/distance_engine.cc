#include "caucus/infer/mallows_mixture/distance_engine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/clones.h"
#include "caucus/base/log_sum.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/mallows_mixture/swaps.h"
#include "caucus/model/assignment.h"
#include "caucus/model/kendall.h"

namespace caucus::mallows_mixture {

namespace {

// Costs of one item of many rankings: its ranks against one place of the center.
CAUCUS_CLONES void add_squares(const std::uint32_t* rank, std::int32_t place, std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const double gap = static_cast<std::int32_t>(rank[i]) - place;
    out[i] += gap * gap;
  }
}
CAUCUS_CLONES void add_gaps(const std::uint32_t* rank, std::int32_t place, std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] += std::abs(static_cast<std::int32_t>(rank[i]) - place);
}
CAUCUS_CLONES void add_differences(const std::uint32_t* rank, std::int32_t place, std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] += static_cast<std::int32_t>(rank[i]) != place;
}

// sum_i mass[i] rank[i] in eight interleaved sums.
CAUCUS_CLONES double weighted_sum(const double* mass, const std::uint32_t* rank, std::size_t count) {
  double part[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (std::size_t l = 0; l < 8; ++l) part[l] += mass[i + l] * static_cast<std::int32_t>(rank[i + l]);
  for (; i < count; ++i) part[0] += mass[i] * static_cast<std::int32_t>(rank[i]);
  return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

bool by_places(Distance distance) {
  return distance == Distance::spearman || distance == Distance::footrule || distance == Distance::hamming;
}

// A running sum waits for itself; eight do not wait for each other.
CAUCUS_CLONES double dot_of(const double* a, const double* b, std::size_t count) {
  double part[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (std::size_t l = 0; l < 8; ++l) part[l] += a[i + l] * b[i + l];
  for (; i < count; ++i) part[0] += a[i] * b[i];
  return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}
CAUCUS_CLONES double sum_of(const double* a, std::size_t count) {
  double part[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (std::size_t l = 0; l < 8; ++l) part[l] += a[i + l];
  for (; i < count; ++i) part[0] += a[i];
  return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}
double dot(std::span<const double> a, std::span<const double> b) { return dot_of(a.data(), b.data(), a.size()); }

}  // namespace

DistanceEngine::DistanceEngine(const RankingSet& rankings, const DistanceNormalizer& normalizer, std::function<bool()> stop)
    : rankings_(rankings),
      normalizer_(normalizer),
      stop_(std::move(stop)),
      num_items_(normalizer.num_items()),
      plain_(rankings, normalizer.num_items(), ConsensusMethod::local, {}),
      ranks_(rankings.size() * normalizer.num_items()) {
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const auto items = rankings[i].items();
    for (std::size_t j = 0; j < items.size(); ++j) ranks_[place_of(items[j], i)] = static_cast<std::uint32_t>(j);
    // A ballot that lists all but one item is complete.
    if (items.size() + 1 == num_items_) {
      const std::size_t left_out = num_items_ * (num_items_ - 1) / 2 - std::accumulate(items.begin(), items.end(), std::size_t{0});
      ranks_[place_of(left_out, i)] = static_cast<std::uint32_t>(num_items_ - 1);
    }
  }
}

// Item by item where the distance is a sum over items, ranking by ranking else.
std::size_t DistanceEngine::place_of(std::size_t item, std::size_t ranking) const {
  return by_places(normalizer_.distance()) ? item * rankings_.size() + ranking : ranking * num_items_ + item;
}

std::vector<double> DistanceEngine::distances(std::span<const ItemId> center, int threads) const {
  std::vector<double> out;
  distances(center, threads, out);
  return out;
}

void DistanceEngine::distances(std::span<const ItemId> center, int threads, std::vector<double>& out) const {
  const std::size_t count = num_rankings();
  out.assign(count, 0.0);
  const auto position = inverse_order(center);
  const Distance distance = normalizer_.distance();
  const auto add = distance == Distance::spearman ? add_squares : distance == Distance::footrule ? add_gaps : add_differences;
  const Blocks blocks(count);
  // Places of a few thousand rankings are compared sooner than a thread wakes up.
  const bool short_work = by_places(distance) && count * num_items_ < 1'000'000;
  parallel_for(blocks.count(), short_work ? 1 : threads, [&](std::size_t b) {
    const std::size_t begin = blocks.begin(b), end = blocks.end(b);
    if (by_places(distance)) {
      for (std::size_t item = 0; item < num_items_; ++item)
        add(ranks_.data() + item * count + begin, static_cast<std::int32_t>(position[item]), end - begin, out.data() + begin);
      return;
    }
    for (std::size_t i = begin; i < end; ++i)
      out[i] = static_cast<double>(rank_distance(distance, std::span(ranks_).subspan(i * num_items_, num_items_), position));
  });
}

// The order by mean rank is best for Spearman's distance.
std::vector<ItemId> DistanceEngine::by_mean_rank(std::span<const double> mass) const {
  std::vector<double> mean(num_items_);
  for (std::size_t item = 0; item < num_items_; ++item)
    mean[item] = weighted_sum(mass.data(), ranks_.data() + item * num_rankings(), num_rankings());
  std::vector<ItemId> order(num_items_);
  std::iota(order.begin(), order.end(), ItemId{0});
  std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return mean[a] < mean[b]; });
  return order;
}

// Best for the footrule, and for Hamming's distance; a start for the others: each item's cost at each place, then an assignment.
std::vector<ItemId> DistanceEngine::by_assignment(std::span<const double> mass) const {
  const std::size_t n = num_items_, count = num_rankings();
  std::vector<double> cost(n * n, 0.0), at(n);
  for (std::size_t item = 0; item < n; ++item) {
    std::fill(at.begin(), at.end(), 0.0);  // weight of the rankings with the item at this place
    for (std::size_t i = 0; i < count; ++i) at[ranks_[place_of(item, i)]] += mass[i];
    const double total = sum(at);
    double* const row = cost.data() + item * n;
    if (normalizer_.distance() == Distance::footrule) {
      for (std::size_t place = 0; place < n; ++place) row[0] += at[place] * static_cast<double>(place);
      // One place further down: nearer to those below, farther from those above.
      double above = 0.0;
      for (std::size_t place = 1; place < n; ++place) above += at[place - 1], row[place] = row[place - 1] + 2.0 * above - total;
    } else {
      for (std::size_t place = 0; place < n; ++place) row[place] = total - at[place];
    }
  }
  const std::vector<std::size_t> place = solve_assignment(cost, n);
  std::vector<ItemId> order(n);
  for (std::size_t item = 0; item < n; ++item) order[place[item]] = static_cast<ItemId>(item);
  return order;
}

// Cayley and Ulam: swaps of two items or moves of one while they gain, from the better of two starts; so many trials that a call
// takes a fraction of a second.
std::vector<ItemId> DistanceEngine::by_moves(std::span<const double> mass, std::span<const ItemId> now, int threads) const {
  const std::size_t n = num_items_;
  const bool swaps = normalizer_.distance() == Distance::cayley;
  const auto total = [&](std::span<const ItemId> center) { return dot(mass, distances(center, threads)); };
  std::vector<ItemId> order = by_assignment(mass);
  double best = total(order);
  if (const double other = total(now); other <= best) best = other, order.assign(now.begin(), now.end());
  const double work = static_cast<double>(num_rankings() * n) * std::log2(static_cast<double>(n) + 1.0);
  auto trials = static_cast<std::int64_t>(1e8 / work) + static_cast<std::int64_t>(4 * n);
  for (bool improved = true; improved;) {
    improved = false;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = swaps ? i + 1 : 0; j < n; ++j) {
        if (i == j) continue;
        if (--trials < 0 || (stop_ && stop_())) return order;
        std::vector<ItemId> trial = order;
        if (swaps) {
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

std::vector<ItemId> DistanceEngine::best_center(std::span<const double> mass, std::span<const ItemId> now, int threads) const {
  const Distance distance = normalizer_.distance();
  if (distance == Distance::spearman) return by_mean_rank(mass);
  return by_places(distance) ? by_assignment(mass) : by_moves(mass, now, threads);
}

void DistanceEngine::log_joint(const Parameters& now, int threads, std::span<double> out) const {
  const std::size_t num_components = now.weight.size();
  for (std::size_t k = 0; k < num_components; ++k) {
    const std::vector<double> d = distances(now.center[k], threads);
    const double constant = (now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity) - normalizer_.log_z(now.theta[k][0]);
    for (std::size_t i = 0; i < d.size(); ++i) out[i * num_components + k] = constant - now.theta[k][0] * d[i];
  }
}

// Memberships times weights, mass[k][i], and the log-likelihood.
double DistanceEngine::share_out(const Parameters& now, std::span<const std::vector<double>> d,
                                 std::span<std::vector<double>> mass) const {
  const std::size_t num_components = now.weight.size(), count = num_rankings();
  std::vector<double> constant(num_components), part(num_components);
  for (std::size_t k = 0; k < num_components; ++k)
    constant[k] = (now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity) - normalizer_.log_z(now.theta[k][0]);
  const double offset = *std::max_element(constant.begin(), constant.end());
  // exp(-theta d) from a table where that is shorter than the data; the distances are whole numbers.
  const std::uint64_t furthest = max_distance(normalizer_.distance(), num_items_);
  const std::size_t row = furthest < count ? furthest + 1 : 0;
  std::vector<double> decay(num_components * row);
  for (std::size_t k = 0; k < num_components; ++k)
    for (std::size_t m = 0; m < row; ++m)
      decay[k * row + m] = std::exp(constant[k] - offset - now.theta[k][0] * static_cast<double>(m));
  // First what each component gives each ranking, then the shares: the lookups do not wait for the sums.
  thread_local std::vector<double> total;
  total.assign(count, 0.0);
  for (std::size_t k = 0; k < num_components; ++k) {
    const double* const from = d[k].data();
    double* const to = mass[k].data();
    if (row > 0) {
      const double* const table = decay.data() + k * row;
      for (std::size_t i = 0; i < count; ++i) total[i] += to[i] = table[static_cast<std::int32_t>(from[i])];
    } else {
      for (std::size_t i = 0; i < count; ++i) total[i] += to[i] = std::exp(constant[k] - offset - now.theta[k][0] * from[i]);
    }
  }
  LogSum loglik;
  double rest = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const double weight = rankings_.weights()[i];
    if (total[i] > 1e-250) {
      loglik.add(weight, total[i]);
      total[i] = weight / total[i];
      continue;
    }
    for (std::size_t k = 0; k < num_components; ++k) part[k] = constant[k] - offset - now.theta[k][0] * d[k][i];  // by logarithms
    const double log_total = log_sum_exp(part);
    rest += weight * log_total;
    for (std::size_t k = 0; k < num_components; ++k) mass[k][i] = std::exp(part[k] - log_total);
    total[i] = weight;
  }
  for (std::size_t k = 0; k < num_components; ++k)
    for (std::size_t i = 0; i < count; ++i) mass[k][i] *= total[i];
  return loglik.total() + rest + offset * total_weight();
}

double DistanceEngine::step(const Parameters& now, bool move_centers, const Workers& workers, Parameters& next) const {
  const std::size_t num_components = now.weight.size(), count = num_rankings();
  // Steps are many and short, and new memory for each would be a tenth of their time.
  thread_local std::vector<std::vector<double>> kept_distances, kept_mass;
  auto &d = kept_distances, &mass = kept_mass;
  d.resize(num_components), mass.resize(num_components);
  for (std::size_t k = 0; k < num_components; ++k) {
    mass[k].resize(count);
    distances(now.center[k], workers.threads, d[k]);
  }
  const double loglik = share_out(now, d, mass);
  next = now;
  for (std::size_t k = 0; k < num_components; ++k) {
    const double total = sum_of(mass[k].data(), count);
    next.weight[k] = total / total_weight();
    if (!(total > 1e-9 * total_weight())) continue;
    if (move_centers) next.center[k] = best_center(mass[k], now.center[k], workers.threads);
    if (next.center[k] != now.center[k]) distances(next.center[k], workers.threads, d[k]);
    next.theta[k] = {normalizer_.solve_theta(dot(mass[k], d[k]) / total, now.theta[k][0])};
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
    result.center[k] = best_center(mass, result.center[k], 1);
    const double distance = dot(mass, distances(result.center[k], 1));
    // A mean one fifth nearer to chance keeps small groups from being certain.
    result.theta[k] = {normalizer_.solve_theta(0.8 * distance / total + 0.2 * normalizer_.mean(0.0))};
  }
  return result;
}

// Distances that are sums over items: two terms change.
std::vector<double> DistanceEngine::after_swaps(const Parameters& now, const Workers& workers) const {
  const Distance distance = normalizer_.distance();
  if (!by_places(distance)) return {};
  const std::size_t num = now.weight.size(), n = num_items_, count = num_rankings();
  const auto cost = [distance](std::int64_t rank, std::int64_t place) -> std::int64_t {
    const std::int64_t gap = std::abs(rank - place);
    return distance == Distance::spearman ? gap * gap : distance == Distance::footrule ? gap : gap != 0;
  };
  // factor[k * width + change + most]: the distance changes by at most 2 (n - 1).
  const std::size_t most = 2 * n, width = 2 * most + 1;
  std::vector<double> factor(num * width);
  for (std::size_t k = 0; k < num; ++k)
    for (std::size_t c = 0; c < width; ++c)
      factor[k * width + c] = std::expm1(-now.theta[k][0] * (static_cast<double>(c) - static_cast<double>(most)));
  return logliks_after_swaps(*this, now, rankings_.weights(), workers, [&](std::size_t i, std::span<double> less_one) {
    for (std::size_t k = 0; k < num; ++k)
      for (std::size_t p = 0; p + 1 < n; ++p) {
        const std::int64_t a = ranks_[now.center[k][p] * count + i], b = ranks_[now.center[k][p + 1] * count + i];
        const auto place = static_cast<std::int64_t>(p);
        const std::int64_t change = cost(a, place + 1) - cost(a, place) + cost(b, place) - cost(b, place + 1);
        less_one[k * (n - 1) + p] = factor[k * width + static_cast<std::size_t>(change + static_cast<std::int64_t>(most))];
      }
  });
}

std::vector<double> DistanceEngine::center_gaps(const Parameters& now, const Workers&) const {
  return std::vector<double>(now.weight.size(), by_places(normalizer_.distance()) ? 0.0 : infinity);
}

void DistanceEngine::derivatives(const Parameters& now, std::size_t k, std::span<double> score,
                                 std::span<double> information) const {
  const std::vector<double> d = distances(now.center[k], 1);
  const double mean = normalizer_.mean(now.theta[k][0]), variance = normalizer_.variance(now.theta[k][0]);
  for (std::size_t i = 0; i < d.size(); ++i) score[i] = mean - d[i], information[i] = variance;
}

}  // namespace caucus::mallows_mixture
