#include "caucus/model/distances.h"

#include <algorithm>
#include <bit>
#include <boost/math/special_functions/gamma.hpp>  // std::lgamma writes a global: no good on several threads
#include <cmath>
#include <numeric>
#include <optional>

#include "caucus/base/numeric.h"
#include "caucus/model/kendall.h"
#include "caucus/model/mallows.h"
#include "caucus/model/solve_dispersion.h"
#include "caucus/model/stage.h"
#include "caucus/model/young_chain.h"

namespace caucus {

namespace {

constexpr std::size_t ulam_limit = 60, subset_limit = 14;

std::uint64_t cycles(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  const std::size_t n = a.size();
  std::vector<std::uint32_t> at(n);  // item at place r of b
  for (std::size_t item = 0; item < n; ++item) at[b[item]] = static_cast<std::uint32_t>(item);
  std::vector<bool> seen(n, false);
  std::uint64_t count = 0;
  for (std::size_t start = 0; start < n; ++start) {
    if (seen[start]) continue;
    ++count;
    for (std::size_t item = start; !seen[item]; item = at[a[item]]) seen[item] = true;
  }
  return count;
}

// Longest increasing subsequence of a's ranks read in b's order. O(n log n).
std::size_t common_subsequence(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  const std::size_t n = a.size();
  // Called for every proposal of a chain: buffers are kept, and the search has no branch to guess.
  thread_local std::vector<std::uint32_t> in_order, tails;
  in_order.resize(n);
  tails.resize(n);
  for (std::size_t item = 0; item < n; ++item) in_order[b[item]] = a[item];
  std::size_t length = 0;
  for (std::uint32_t value : in_order) {
    if (length == 0 || tails[length - 1] < value) {
      tails[length++] = value;
      continue;
    }
    std::size_t place = 0;  // the first that is not less: there is one
    for (std::size_t left = length; left > 1;) {
      const std::size_t half = left / 2;
      place += tails[place + half - 1] < value ? half : 0;
      left -= half;
    }
    tails[place] = value;
  }
  return length;
}

// log of the number of rankings at each Ulam distance: Schensted (1961) counts rankings with longest increasing subsequence l by
// the squares of the numbers of standard Young tableaux with first row l; those by the hook formula (Frame, Robinson & Thrall
// 1954).
std::vector<double> ulam_log_counts(std::size_t n) {
  std::vector<std::vector<double>> terms(n);
  std::vector<std::size_t> shape;
  const auto add = [&] {
    double log_hooks = 0.0;
    for (std::size_t row = 0; row < shape.size(); ++row)
      for (std::size_t column = 0; column < shape[row]; ++column) {
        std::size_t below = 0;
        for (std::size_t other = row + 1; other < shape.size() && shape[other] > column; ++other) ++below;
        log_hooks += std::log(static_cast<double>(shape[row] - column + below));
      }
    terms[n - shape[0]].push_back(2.0 * (boost::math::lgamma(static_cast<double>(n) + 1.0) - log_hooks));
  };
  // All partitions of n: 966,467 at n = 60.
  const auto extend = [&](auto&& self, std::size_t left, std::size_t most) -> void {
    if (left == 0) return add();
    for (std::size_t part = std::min(left, most); part >= 1; --part) {
      shape.push_back(part);
      self(self, left - part, part);
      shape.pop_back();
    }
  };
  extend(extend, n, n);
  std::vector<double> log_count(n);
  for (std::size_t d = 0; d < n; ++d) log_count[d] = log_sum_exp(terms[d]);
  return log_count;
}

// Number of rankings at each distance sum_i cost(i, place): places are filled one after the other, keyed by the set of items used.
std::vector<double> subset_log_counts(Distance distance, std::size_t n) {
  const std::size_t most = static_cast<std::size_t>(max_distance(distance, n));
  std::vector<std::vector<double>> count(std::size_t{1} << n);
  count[0].assign(most + 1, 0.0);
  count[0][0] = 1.0;
  for (std::size_t set = 0; set < count.size(); ++set) {
    if (count[set].empty()) continue;
    const auto place = static_cast<std::size_t>(std::popcount(set));
    if (place == n) break;
    for (std::size_t item = 0; item < n; ++item) {
      if (set >> item & 1) continue;
      const std::size_t gap = item > place ? item - place : place - item;
      const std::size_t cost = distance == Distance::spearman ? gap * gap : gap;
      std::vector<double>& to = count[set | std::size_t{1} << item];
      if (to.empty()) to.assign(most + 1, 0.0);
      for (std::size_t d = 0; d + cost <= most; ++d) to[d + cost] += count[set][d];
    }
    if (set != 0) std::vector<double>().swap(count[set]);
  }
  std::vector<double> log_count;
  for (double value : count.back()) log_count.push_back(value > 0.0 ? std::log(value) : -infinity);
  return log_count;
}

// Hamming: C(n, d) times the derangements of d.
std::vector<double> hamming_log_counts(std::size_t n) {
  std::vector<double> log_count(n + 1, -infinity);
  // log D_d by D_d = (d - 1)(D_{d-1} + D_{d-2}).
  std::vector<double> log_derangements{0.0, -infinity};
  for (std::size_t d = 2; d <= n; ++d) {
    const double both[] = {log_derangements[d - 1], log_derangements[d - 2]};
    log_derangements.push_back(std::log(static_cast<double>(d - 1)) + log_sum_exp(both));
  }
  const auto log_factorial = [](std::size_t m) { return boost::math::lgamma(static_cast<double>(m) + 1.0); };
  for (std::size_t d = 0; d <= n; ++d)
    log_count[d] = log_factorial(n) - log_factorial(d) - log_factorial(n - d) + log_derangements[d];
  return log_count;
}

struct Moments {
  double log_z, mean, variance;
};
Moments moments(std::span<const DistanceCount> counts, double theta) {
  double largest = -infinity, mode = 0.0;
  for (const auto& [distance, log_count] : counts)
    if (const double value = log_count - theta * distance; value > largest) largest = value, mode = distance;
  // About the mode, so that the variance does not cancel.
  double z = 0.0, first = 0.0, second = 0.0;
  for (const auto& [distance, log_count] : counts) {
    const double value = log_count - theta * distance - largest;
    if (value < -50.0) continue;
    const double mass = std::exp(value), off = distance - mode;
    z += mass;
    first += mass * off;
    second += mass * off * off;
  }
  const double shift = first / z;
  return {largest + std::log(z), mode + shift, std::max(0.0, second / z - shift * shift)};
}

// Every second distance of Spearman's is none.
std::vector<DistanceCount> counts_of(std::span<const double> log_count) {
  std::vector<DistanceCount> counts;
  for (std::size_t d = 0; d < log_count.size(); ++d)
    if (log_count[d] > -infinity) counts.push_back({static_cast<double>(d), log_count[d]});
  return counts;
}

// One Metropolis sweep about the identity: n proposals to swap the ranks of two items.
void metropolis_sweep(Distance distance, double theta, std::vector<std::uint32_t>& rank, const std::vector<std::uint32_t>& identity,
                      std::uint64_t& current, RandomStream& stream) {
  const std::size_t n = rank.size();
  for (std::size_t step = 0; step < n; ++step) {
    const std::size_t a = stream.below(n);
    std::size_t b = stream.below(n - 1);
    b += b >= a;
    double change;
    if (distance == Distance::spearman || distance == Distance::footrule) {
      const auto cost = [&](std::size_t item, std::uint32_t at) {
        const double gap = static_cast<double>(at) - static_cast<double>(item);
        return distance == Distance::spearman ? gap * gap : std::abs(gap);
      };
      change = cost(a, rank[b]) + cost(b, rank[a]) - cost(a, rank[a]) - cost(b, rank[b]);
      if (change > 0.0 && stream.uniform() >= std::exp(-theta * change)) continue;
      std::swap(rank[a], rank[b]);
    } else {
      std::swap(rank[a], rank[b]);
      change = static_cast<double>(rank_distance(distance, rank, identity)) - static_cast<double>(current);
      if (change > 0.0 && stream.uniform() >= std::exp(-theta * change)) {
        std::swap(rank[a], rank[b]);
        continue;
      }
    }
    current = static_cast<std::uint64_t>(static_cast<double>(current) + change);
  }
}

}  // namespace

std::uint64_t rank_distance(Distance distance, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  const std::size_t n = a.size();
  std::uint64_t total = 0;
  switch (distance) {
    case Distance::kendall: {
      std::vector<ItemId> order(n);
      for (std::size_t item = 0; item < n; ++item) order[a[item]] = static_cast<ItemId>(item);
      return strict_discordances(RankingView(order), b);
    }
    case Distance::spearman:
      for (std::size_t i = 0; i < n; ++i) {
        const std::int64_t gap = static_cast<std::int64_t>(a[i]) - static_cast<std::int64_t>(b[i]);
        total += static_cast<std::uint64_t>(gap * gap);
      }
      return total;
    case Distance::footrule:
      for (std::size_t i = 0; i < n; ++i) total += a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
      return total;
    case Distance::hamming:
      for (std::size_t i = 0; i < n; ++i) total += a[i] != b[i];
      return total;
    case Distance::cayley:
      return n - cycles(a, b);
    case Distance::ulam:
      return n - common_subsequence(a, b);
  }
  return total;
}

std::uint64_t max_distance(Distance distance, std::size_t num_items) {
  const std::uint64_t n = num_items;
  switch (distance) {
    case Distance::kendall:
      return n * (n - 1) / 2;
    case Distance::spearman:
      return (n * n * n - n) / 3;
    case Distance::footrule:
      return n * n / 2;
    case Distance::hamming:
      return n;
    case Distance::cayley:
    case Distance::ulam:
      return n > 0 ? n - 1 : 0;
  }
  return 0;
}

DistanceNormalizer::DistanceNormalizer(Distance distance, std::size_t num_items, double largest_theta, std::uint64_t seed,
                                       bool always_estimate, const std::function<bool()>& stop)
    : distance_(distance), num_items_(num_items) {
  if (always_estimate) {
    estimate(largest_theta, seed, stop);
    return;
  }
  switch (distance) {
    case Distance::kendall:
    case Distance::cayley:
      return;
    case Distance::hamming:
      counts_ = counts_of(hamming_log_counts(num_items));
      return;
    case Distance::ulam:
      if (num_items <= ulam_limit) {
        counts_ = counts_of(ulam_log_counts(num_items));
        return;
      }
      break;
    case Distance::spearman:
    case Distance::footrule:
      if (num_items <= subset_limit) {
        counts_ = counts_of(subset_log_counts(distance, num_items));
        return;
      }
      break;
  }
  estimate(largest_theta, seed, stop);
}

double DistanceNormalizer::log_z(double theta) const {
  if (distance_ == Distance::kendall && exact_) return log_q_factorial(theta, num_items_);
  if (distance_ == Distance::cayley && exact_) {
    // Stages of size j add 0 with weight 1 and 1 with weight j - 1 each (Fligner & Verducci 1986).
    double total = 0.0;
    for (std::size_t j = 2; j <= num_items_; ++j) total += std::log1p(static_cast<double>(j - 1) * std::exp(-theta));
    return total;
  }
  if (!counts_.empty()) return moments(counts_, theta).log_z;
  const auto above = std::upper_bound(grid_.begin(), grid_.end(), theta);
  if (above == grid_.end()) {
    // Beyond the grid E d is below half a unit and falls like exp(-theta times the least distance).
    const double least = distance_ == Distance::spearman || distance_ == Distance::footrule ? 2.0 : 1.0;
    return grid_log_z_.back() - grid_mean_.back() / least * -std::expm1(-least * (theta - grid_.back()));
  }
  const auto cell = static_cast<std::size_t>(above - grid_.begin()) - 1;
  const double step = theta - grid_[cell];
  // The mean is taken as linear in between, as in the running integral.
  return grid_log_z_[cell] - step * 0.5 * (grid_mean_[cell] + mean(theta));
}

double DistanceNormalizer::mean(double theta) const {
  if (distance_ == Distance::kendall && exact_) return mean_distance(theta, num_items_);
  if (distance_ == Distance::cayley && exact_) {
    double total = 0.0;
    for (std::size_t j = 2; j <= num_items_; ++j) {
      const double odds = static_cast<double>(j - 1) * std::exp(-theta);
      total += odds / (1.0 + odds);
    }
    return total;
  }
  if (!counts_.empty()) return moments(counts_, theta).mean;
  const auto above = std::upper_bound(grid_.begin(), grid_.end(), theta);
  if (above == grid_.end()) {
    const double least = distance_ == Distance::spearman || distance_ == Distance::footrule ? 2.0 : 1.0;
    return grid_mean_.back() * std::exp(-least * (theta - grid_.back()));
  }
  const auto cell = static_cast<std::size_t>(above - grid_.begin()) - 1;
  const double share = (theta - grid_[cell]) / (grid_[cell + 1] - grid_[cell]);
  return grid_mean_[cell] + share * (grid_mean_[cell + 1] - grid_mean_[cell]);
}

double DistanceNormalizer::variance(double theta) const {
  if (distance_ == Distance::kendall && exact_) return variance_distance(theta, num_items_);
  if (distance_ == Distance::cayley && exact_) {
    double total = 0.0;
    for (std::size_t j = 2; j <= num_items_; ++j) {
      const double odds = static_cast<double>(j - 1) * std::exp(-theta);
      total += odds / ((1.0 + odds) * (1.0 + odds));
    }
    return total;
  }
  if (!counts_.empty()) return moments(counts_, theta).variance;
  const double step = 1e-3 * std::max(theta, 1e-3);
  return std::max(0.0, (mean(std::max(0.0, theta - step)) - mean(theta + step)) / (theta + step - std::max(0.0, theta - step)));
}

double DistanceNormalizer::standard_error(double theta) const {
  if (exact_) return 0.0;
  const auto above = std::upper_bound(grid_.begin(), grid_.end(), theta);
  return grid_log_z_error_[static_cast<std::size_t>(above - grid_.begin()) - 1];
}

double DistanceNormalizer::solve_theta(double mean_distance, double guess) const {
  if (counts_.empty())
    return solve_decreasing(
        mean_distance, guess, [this](double theta) { return mean(theta); }, [this](double theta) { return variance(theta); });
  // The two are asked for at the same theta.
  double known_theta = -1.0;
  Moments known{};
  const auto at = [&](double theta) -> const Moments& {
    if (theta != known_theta) known = moments(counts_, theta), known_theta = theta;
    return known;
  };
  return solve_decreasing(
      mean_distance, guess, [&](double theta) { return at(theta).mean; }, [&](double theta) { return at(theta).variance; });
}

void DistanceNormalizer::estimate(double largest_theta, std::uint64_t seed, const std::function<bool()>& stop) {
  exact_ = false;
  const std::size_t n = num_items_;
  // d log Z / d theta = -E d. A grid dense where the mean changes: steps of a fraction of the standard deviation's inverse.
  const double top = static_cast<double>(max_distance(distance_, n));
  double theta = 0.0, step = 0.5 / std::sqrt(top * static_cast<double>(n));
  RandomStream stream(seed, Purpose::chain, static_cast<std::uint64_t>(distance_));
  // Ulam's distance is the first row of a shape: a step of that chain costs the square root of n, twice, not n log n.
  const bool shapes = distance_ == Distance::ulam && n > 0;
  std::optional<YoungChain> young;
  if (shapes) young.emplace(n, stream);
  std::vector<std::uint32_t> identity(n);
  std::iota(identity.begin(), identity.end(), 0u);
  std::vector<std::uint32_t> rank = identity;
  std::uint64_t current = 0;
  if (!shapes) {
    stream.shuffle(std::span<std::uint32_t>(rank));
    current = rank_distance(distance_, rank, identity);
  }
  const double size = static_cast<double>(n);
  // n moves; the mean distance on the way, or at its end.
  const auto sweep = [&] {
    if (!shapes) {
      metropolis_sweep(distance_, theta, rank, identity, current, stream);
      return static_cast<double>(current);
    }
    double total = 0.0;
    for (std::size_t move = 0; move < n; ++move) total += young->step(theta, stream);
    return size - total / size;
  };
  // With hundreds of items fewer sweeps must do, and the standard error says what that costs.
  const double cost = shapes ? 5.0 * size * size : size;
  constexpr double budget = 3e7;  // operations per point
  constexpr int batches = 20;
  const int per_batch = static_cast<int>(std::clamp(budget / (cost * batches), 2.0, 25.0)), burn = per_batch + 5;
  // Steps grow by 6 %: a few hundred reach largest_theta from any first step; the bound is for numbers gone wrong.
  for (int point = 0; point < 1000; ++point) {
    // The chain moves on from the last theta: a short burn-in is enough.
    for (int i = 0; i < burn; ++i) sweep();
    std::array<double, batches> batch{};
    for (double& value : batch) {
      for (int i = 0; i < per_batch; ++i) value += sweep();
      value /= per_batch;
    }
    const double mean = sum(batch) / batches;
    double spread = 0.0;
    for (double value : batch) spread += (value - mean) * (value - mean);
    grid_.push_back(theta);
    point_mean_.push_back(mean);
    grid_error_.push_back(std::sqrt(spread / (batches * (batches - 1.0))));
    if (ends_grid(point_mean_.size() - 1, largest_theta) || (point > 0 && stop && stop())) break;
    theta += step;
    step *= 1.06;
  }
  integrate();
}

bool DistanceNormalizer::ends_grid(std::size_t point, double largest_theta) const {
  return grid_[point] >= largest_theta || point_mean_[point] < 0.05;
}

DistanceNormalizer DistanceNormalizer::up_to(double largest_theta) const {
  DistanceNormalizer result = *this;
  if (exact_) return result;
  std::size_t points = 0;
  while (points + 1 < grid_.size() && !ends_grid(points, largest_theta)) ++points;
  ++points;
  result.grid_.resize(points);
  result.point_mean_.resize(points);
  result.grid_error_.resize(points);
  result.integrate();
  return result;
}

void DistanceNormalizer::integrate() {
  grid_mean_ = point_mean_;
  // The mean falls with theta: pool neighbours that do not (isotonic regression), which only takes noise away.
  std::vector<std::pair<double, std::size_t>> pools;
  for (double value : grid_mean_) {
    pools.emplace_back(value, 1);
    while (pools.size() > 1 && pools[pools.size() - 2].first < pools.back().first) {
      const auto [last, count] = pools.back();
      pools.pop_back();
      auto& [value_before, count_before] = pools.back();
      value_before = (value_before * static_cast<double>(count_before) + last * static_cast<double>(count)) /
                     static_cast<double>(count_before + count);
      count_before += count;
    }
  }
  std::size_t at = 0;
  for (const auto& [value, count] : pools)
    for (std::size_t i = 0; i < count; ++i) grid_mean_[at++] = value;
  grid_log_z_.assign(1, boost::math::lgamma(static_cast<double>(num_items_) + 1.0));
  grid_log_z_error_.assign(1, 0.0);
  double variance = 0.0;
  for (std::size_t i = 1; i < grid_.size(); ++i) {
    const double width = grid_[i] - grid_[i - 1];
    grid_log_z_.push_back(grid_log_z_.back() - width * 0.5 * (grid_mean_[i - 1] + grid_mean_[i]));
    variance += width * width * 0.25 * (grid_error_[i - 1] * grid_error_[i - 1] + grid_error_[i] * grid_error_[i]);
    grid_log_z_error_.push_back(std::sqrt(variance));
  }
}

namespace {
constexpr std::size_t most_enumerated = 5;  // 120 rankings
}

void draw_distance_model(Distance distance, std::span<const ItemId> center, double theta, RandomStream& stream,
                         std::span<ItemId> out, int sweeps) {
  const std::size_t n = center.size();
  if (distance == Distance::kendall) {
    draw_mallows(center, theta, stream, out);
    return;
  }
  std::vector<std::uint32_t> rank(n), identity(n);
  std::iota(identity.begin(), identity.end(), 0u);
  rank = identity;
  if (distance == Distance::cayley) {
    // In stage j, place j keeps its item with weight 1 or swaps with one of the j - 1 before it with weight exp(-theta) each.
    for (std::size_t j = 2; j <= n; ++j) {
      const double odds = static_cast<double>(j - 1) * std::exp(-theta);
      if (stream.uniform() * (1.0 + odds) >= 1.0) std::swap(rank[j - 1], rank[stream.below(j - 1)]);
    }
  } else if (distance == Distance::hamming) {
    // The number of moved places, then which, then a derangement of them by rejection (accepted with probability about 1/e).
    std::vector<double> log_mass = hamming_log_counts(n);
    for (std::size_t d = 0; d <= n; ++d) log_mass[d] -= theta * static_cast<double>(d);
    const std::size_t moved = stream.categorical_log(log_mass);
    std::vector<std::uint32_t> places = identity;
    stream.shuffle(std::span<std::uint32_t>(places));
    places.resize(moved);
    std::vector<std::uint32_t> target = places;
    const auto fixes = [&] {
      for (std::size_t i = 0; i < moved; ++i)
        if (target[i] == places[i]) return true;
      return false;
    };
    // A shuffle fixes nothing with chance 1/e or more (moved > 1): a thousand in a row that do have chance 1e-199, and then, or
    // where one place alone should move, places go round.
    bool fixing = moved > 0;
    for (int attempt = 0; attempt < 1000 && fixing; ++attempt) {
      stream.shuffle(std::span<std::uint32_t>(target));
      fixing = fixes();
    }
    if (fixing) {
      target = places;
      std::ranges::rotate(target, target.begin() + 1);
    }
    for (std::size_t i = 0; i < moved; ++i) rank[places[i]] = target[i];
  } else if (n <= most_enumerated) {
    // All rankings, by inversion: exact, and quicker than a chain.
    thread_local std::vector<double> mass;
    mass.clear();
    do mass.push_back(std::exp(-theta * static_cast<double>(rank_distance(distance, rank, identity))));
    while (std::ranges::next_permutation(rank).found);
    const std::size_t drawn = stream.categorical(mass);  // rank is the identity again
    for (std::size_t step = 0; step < drawn; ++step) std::ranges::next_permutation(rank);
  } else {
    std::uint64_t current = 0;
    for (int sweep = 0; sweep < sweeps && n > 1; ++sweep) metropolis_sweep(distance, theta, rank, identity, current, stream);
  }
  std::vector<ItemId> order(n);
  for (std::size_t i = 0; i < n; ++i) order[rank[i]] = center[i];
  std::copy_n(order.begin(), out.size(), out.begin());
}

}  // namespace caucus
