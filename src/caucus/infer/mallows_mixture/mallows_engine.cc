#include "caucus/infer/mallows_mixture/mallows_engine.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "caucus/base/log_sum.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/mallows_mixture/swaps.h"
#include "caucus/model/kendall.h"
#include "caucus/model/stage.h"

namespace caucus::mallows_mixture {

namespace {
// Probabilities below this are worked out again in logarithms.
constexpr double tiny = 1e-250;
constexpr std::size_t tile = 256;
}  // namespace

struct MallowsEngine::Stats {
  double loglik = 0.0;
  std::vector<double> mass;        // K
  std::vector<double> distance;    // K
  std::vector<double> shape_mass;  // shapes x K; only with more than one shape
  PairBits::Sums sums;             // up to 32 items
  // Beyond: beats[k * n + a] counts rankings that list a, less[(k * n + a) * n + b] those of them where b is not below a.
  std::vector<double> beats, less;

  friend auto parts(IsA<Stats> auto& stats) {
    return std::tie(stats.loglik, stats.mass, stats.distance, stats.shape_mass, stats.sums, stats.beats, stats.less);
  }
  void fold(const Stats& other, bool pairs) {
    loglik += other.loglik;
    const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    };
    add(mass, other.mass);
    add(distance, other.distance);
    add(shape_mass, other.shape_mass);
    add(beats, other.beats);
    add(less, other.less);
    if (pairs) sums.fold(other.sums);
  }
};

MallowsEngine::MallowsEngine(const RankingSet& rankings, std::size_t num_items, ConsensusMethod consensus, ConsensusLimits limits)
    : MallowsEngine(rankings, num_items, consensus, std::move(limits), {0, rankings.size()}) {}

MallowsEngine::MallowsEngine(const RankingSet& rankings, std::size_t num_items, ConsensusMethod consensus, ConsensusLimits limits,
                             std::pair<std::size_t, std::size_t> kept)
    : rankings_(rankings),
      num_items_(num_items),
      weight_(rankings.weights()),
      consensus_(consensus),
      limits_(std::move(limits)),
      shape_(scratch_array<std::uint32_t>(rankings.scratch(), rankings.size())),
      use_bits_(num_items <= PairBits::max_items) {
  total_ = sum(weight_);
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    std::vector<std::uint32_t> sizes;
    const RankingView ranking = rankings[i];
    if (rankings.has_ties())
      ranking.for_each_group([&](std::span<const ItemId> group) {
        if (group.size() > 1) sizes.push_back(static_cast<std::uint32_t>(group.size()));
      });
    if (ranking.size() + 1 < num_items) sizes.push_back(static_cast<std::uint32_t>(num_items - ranking.size()));
    std::sort(sizes.begin(), sizes.end());
    const auto [found, fresh] = known.try_emplace(sizes, static_cast<std::uint32_t>(shapes_.size()));
    if (fresh) shapes_.push_back(sizes);
    shape_[i] = found->second;
  }
  if (use_bits_) bits_ = PairBits(rankings, num_items, kept.first, kept.second);
}

void MallowsEngine::distances(std::span<const std::uint64_t> bits, std::span<const std::uint32_t> position, std::size_t first,
                              std::span<std::uint32_t> out) const {
  if (use_bits_ && bits_.has(first, out.size())) {
    std::uint16_t buffer[tile];
    for (std::size_t begin = 0; begin < out.size(); begin += tile) {
      const std::size_t count = std::min(tile, out.size() - begin);
      bits_.distances(bits, first + begin, std::span(buffer, count));
      std::copy(buffer, buffer + count, out.begin() + static_cast<std::ptrdiff_t>(begin));
    }
  } else {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::uint32_t>(strict_discordances(rankings_[first + i], position));
  }
}

std::vector<std::uint32_t> MallowsEngine::distances(std::span<const ItemId> center) const {
  std::vector<std::uint32_t> out(num_rankings());
  const auto position = inverse_order(center);
  distances(use_bits_ ? bits_.center_bits(position) : std::vector<std::uint64_t>(), position, 0, out);
  return out;
}

// exp(-theta d) for every d, and per shape the weight over its normaliser, scaled so that the largest is one.
struct MallowsEngine::PassTables {
  std::size_t num_components, row;  // row: distances 0 .. row - 1
  std::vector<double> decay, scale, log_scale, offset, theta;

  PassTables(const Parameters& now, std::size_t n, std::span<const std::vector<std::uint32_t>> shapes)
      : num_components(now.weight.size()),
        row(n * (n - 1) / 2 + 1),
        decay(num_components * row),
        scale(shapes.size() * num_components),
        log_scale(scale.size()),
        offset(shapes.size(), -infinity) {
    for (std::size_t k = 0; k < num_components; ++k) {
      theta.push_back(now.theta[k][0]);
      for (std::size_t d = 0; d < row; ++d) decay[k * row + d] = std::exp(-theta[k] * static_cast<double>(d));
      const std::vector<double> log_factorial = log_q_factorials(theta[k], n);
      for (std::size_t s = 0; s < shapes.size(); ++s) {
        double value = (now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity) - log_factorial[n];
        for (std::uint32_t size : shapes[s]) value += log_factorial[size];
        log_scale[s * num_components + k] = value;
        offset[s] = std::max(offset[s], value);
      }
    }
    for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = std::exp(log_scale[i] - offset[i / num_components]);
  }
};

// Memberships of a tile of rankings, times their weights, into part[i * K + k]; d[k * tile + i] are the distances.
template <std::size_t fixed_components>
void MallowsEngine::share_out(const PassTables& tables, std::size_t first, std::size_t count, std::span<const std::uint32_t> d,
                              std::span<double> part, Stats& stats) const {
  const std::size_t num = fixed_components > 0 ? fixed_components : tables.num_components;
  LogSum loglik;
  double offsets = 0.0;
  std::vector<double> log_part;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t s = shape_[first + i];
    const double* scale = tables.scale.data() + s * num;
    double* p = part.data() + i * num;
    double total = 0.0;
    for (std::size_t k = 0; k < num; ++k) total += p[k] = scale[k] * tables.decay[k * tables.row + d[k * tile + i]];
    const double weight = weight_[first + i];
    if (total > tiny) {
      loglik.add(weight, total);
    } else {
      log_part.resize(num);
      for (std::size_t k = 0; k < num; ++k)
        log_part[k] = tables.log_scale[s * num + k] - tables.offset[s] - tables.theta[k] * static_cast<double>(d[k * tile + i]);
      const double log_total = log_sum_exp(log_part);
      offsets += weight * log_total;
      for (std::size_t k = 0; k < num; ++k) p[k] = std::exp(log_part[k] - log_total);
      total = 1.0;
    }
    offsets += weight * tables.offset[s];
    const double factor = weight / total;
    for (std::size_t k = 0; k < num; ++k) p[k] *= factor;
  }
  stats.loglik += loglik.total() + offsets;
  for (std::size_t k = 0; k < num; ++k) {
    double mass = 0.0, distance = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      mass += part[i * num + k];
      distance += part[i * num + k] * static_cast<double>(d[k * tile + i]);
    }
    stats.mass[k] += mass;
    stats.distance[k] += distance;
  }
  if (!stats.shape_mass.empty())
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < num; ++k) stats.shape_mass[shape_[first + i] * num + k] += part[i * num + k];
}

// Listed items beat everything but what is listed with or above them: O(t^2), not O(t n) (where lists are long O(t n) is quicker),
// and only for groups that a ranking may be of.
void MallowsEngine::add_pairs(std::size_t first, std::size_t count, std::span<const double> part, Stats& stats) const {
  const std::size_t num_components = stats.mass.size(), n = num_items_;
  std::vector<double> place(n);
  for (std::size_t i = 0; i < count; ++i) {
    const RankingView ranking = rankings_[first + i];
    const bool long_list = 2 * ranking.size() > n;
    if (long_list) {
      std::ranges::fill(place, infinity);
      double group = 0.0;
      for (std::size_t j = 0; j < ranking.size(); ++j) {
        place[ranking[j]] = group;
        if (ranking.ends_group(j)) group += 1.0;
      }
    }
    for (std::size_t k = 0; k < num_components; ++k) {
      const double p = part[i * num_components + k];
      if (!(p > 1e-17 * weight_[first + i])) continue;
      if (long_list) {
        for (ItemId item : ranking.items()) {
          stats.beats[k * n + item] += p;
          add_where_less(place.data(), place[item] + 1.0, p, n, stats.less.data() + (k * n + item) * n);
        }
        continue;
      }
      std::size_t group_end = 0;
      for (std::size_t j = 0; j < ranking.size(); ++j) {
        if (j == group_end) {
          while (!ranking.ends_group(group_end)) ++group_end;
          ++group_end;
        }
        stats.beats[k * n + ranking[j]] += p;
        double* less = stats.less.data() + (k * n + ranking[j]) * n;
        for (std::size_t other = 0; other < group_end; ++other) less[ranking[other]] += p;
      }
    }
  }
}

MallowsEngine::Stats MallowsEngine::pass(const Parameters& now, bool want_pairs, const Workers& workers) const {
  const std::size_t num_components = now.weight.size(), n = num_items_, num_shapes = shapes_.size();
  const PassTables tables(now, n, shapes_);
  std::vector<std::vector<std::uint32_t>> position(num_components);
  std::vector<std::vector<std::uint64_t>> bits(num_components);
  for (std::size_t k = 0; k < num_components; ++k) {
    position[k] = inverse_order(now.center[k]);
    if (use_bits_) bits[k] = bits_.center_bits(position[k]);
  }
  const auto make = [&] {
    Stats stats;
    stats.mass.assign(num_components, 0.0);
    stats.distance.assign(num_components, 0.0);
    if (num_shapes > 1) stats.shape_mass.assign(num_shapes * num_components, 0.0);
    if (want_pairs && use_bits_) stats.sums = PairBits::Sums(bits_, num_components);
    if (want_pairs && !use_bits_) {
      stats.beats.assign(n * num_components, 0.0);
      stats.less.assign(n * n * num_components, 0.0);
    }
    return stats;
  };
  const auto body = [&](Stats& stats, std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> d(num_components * tile);
    std::vector<double> part(num_components * tile);
    for (std::size_t first = begin; first < end; first += tile) {
      const std::size_t count = std::min(tile, end - first);
      for (std::size_t k = 0; k < num_components; ++k)
        distances(bits[k], position[k], first, std::span(d).subspan(k * tile, count));
      switch (num_components) {
        case 1:
          share_out<1>(tables, first, count, d, part, stats);
          break;
        case 2:
          share_out<2>(tables, first, count, d, part, stats);
          break;
        case 3:
          share_out<3>(tables, first, count, d, part, stats);
          break;
        case 4:
          share_out<4>(tables, first, count, d, part, stats);
          break;
        default:
          share_out<0>(tables, first, count, d, part, stats);
      }
      if (!want_pairs) continue;
      if (use_bits_ && bits_.has(first, count))
        stats.sums.add(bits_, first, count, part);
      else if (use_bits_)
        stats.sums.add(PairBits(bits_, rankings_, first, first + count), first, count, part);
      else
        add_pairs(first, count, part, stats);
    }
  };
  return parallel_fold(Blocks(num_rankings()), workers, make, body,
                       [&](Stats& total, const Stats& partial) { total.fold(partial, want_pairs && use_bits_); });
}

std::vector<PairMatrix> MallowsEngine::pair_matrices(const Stats& stats) const {
  const std::size_t num_components = stats.mass.size(), n = num_items_;
  std::vector<PairMatrix> result;
  for (std::size_t k = 0; k < num_components; ++k) {
    if (use_bits_) {
      result.push_back(stats.sums.matrix(bits_, k, stats.mass[k]));
      continue;
    }
    PairMatrix pairs(n);
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b)
        if (a != b) pairs(a, b) = std::max(0.0, stats.beats[k * n + a] - stats.less[(k * n + a) * n + b]);
    result.push_back(std::move(pairs));
  }
  return result;
}

// theta given the center's distance: one concave dimension.
void MallowsEngine::update(const Stats& stats, std::size_t k, Parameters& next) const {
  const std::size_t num_components = stats.mass.size();
  std::vector<double> group_weight;
  if (shapes_.size() > 1 || !shapes_[0].empty()) {
    group_weight.assign(num_items_ + 1, 0.0);
    for (std::size_t s = 0; s < shapes_.size(); ++s) {
      const double mass = shapes_.size() > 1 ? stats.shape_mass[s * num_components + k] : stats.mass[k];
      for (std::uint32_t size : shapes_[s]) group_weight[size] += mass;
    }
  }
  next.theta[k] = {solve_mallows_theta(stats.distance[k], stats.mass[k], num_items_, group_weight, next.theta[k][0])};
}

double MallowsEngine::step(const Parameters& now, bool move_centers, const Workers& workers, Parameters& next) const {
  Stats stats = pass(now, move_centers, workers);
  const std::size_t num_components = now.weight.size();
  next = now;
  std::vector<PairMatrix> pairs;
  if (move_centers) pairs = pair_matrices(stats);
  // Steps of a mixture are many, and one of them does no harm that cannot prove its center. A node costs n^2 and more: all 20,000
  // up to 20 items, 25 at 200 items.
  ConsensusLimits limits = limits_;
  if (consensus_ == ConsensusMethod::automatic && num_components > 1)
    limits.max_nodes = std::min(limits.max_nodes, affordable_nodes(8'000'000 / (num_items_ * num_items_ + 1), num_items_, 3));
  for (std::size_t k = 0; k < num_components; ++k) {
    next.weight[k] = stats.mass[k] / total_;
    if (!(stats.mass[k] > 1e-9 * total_)) continue;  // an empty group keeps its center and dispersion
    if (move_centers) {
      const Consensus found =
          num_components == 1 ? remembered_consensus(pairs[k], consensus_, limits) : find_consensus(pairs[k], consensus_, limits);
      // Heuristic consensus must not undo a better center: the likelihood never falls.
      if (found.optimal || found.cost < stats.distance[k]) {
        next.center[k] = found.order;
        stats.distance[k] = consensus_cost(found.order, pairs[k]);
      }
    }
    update(stats, k, next);
  }
  return stats.loglik;
}

// A swap of neighbours makes one pair of items discordant or concordant where the ranking has them apart.
std::vector<double> MallowsEngine::after_swaps(const Parameters& now, const Workers& workers) const {
  const std::size_t num = now.weight.size(), n = num_items_;
  std::vector<double> shrink(num), grow(num);
  for (std::size_t k = 0; k < num; ++k) shrink[k] = std::expm1(-now.theta[k][0]), grow[k] = std::expm1(now.theta[k][0]);
  return logliks_after_swaps(*this, now, weight_, workers, [&](std::size_t i, std::span<double> less_one) {
    const RankingView ranking = rankings_[i];
    thread_local std::vector<std::uint32_t> place;
    place.assign(n, static_cast<std::uint32_t>(n));
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < ranking.size(); ++j) {
      place[ranking[j]] = group;
      if (ranking.ends_group(j)) ++group;
    }
    for (std::size_t k = 0; k < num; ++k)
      for (std::size_t p = 0; p + 1 < n; ++p) {
        const std::uint32_t a = place[now.center[k][p]], b = place[now.center[k][p + 1]];
        less_one[k * (n - 1) + p] = a == b ? 0.0 : a < b ? shrink[k] : grow[k];
      }
  });
}

std::vector<double> MallowsEngine::center_gaps(const Parameters& now, const Workers& workers) const {
  const Stats stats = pass(now, true, workers);
  return consensus_gaps(now, stats.mass, pair_matrices(stats), total_, consensus_, limits_);
}

std::vector<double> consensus_gaps(const Parameters& now, std::span<const double> mass, std::span<const PairMatrix> pairs,
                                   double total, ConsensusMethod method, const ConsensusLimits& limits) {
  std::vector<double> gaps(now.weight.size(), 0.0);
  for (std::size_t k = 0; k < gaps.size(); ++k) {
    if (!(mass[k] > 1e-9 * total)) continue;
    const ConsensusMethod used = method == ConsensusMethod::exact ? method : ConsensusMethod::automatic;
    const Consensus found =
        gaps.size() == 1 ? remembered_consensus(pairs[k], used, limits) : find_consensus(pairs[k], used, limits);
    const double gap = consensus_cost(now.center[k], pairs[k]) - found.lower_bound;
    gaps[k] = found.optimal && gap <= 1e-9 * (1.0 + found.cost) ? 0.0 : std::max(gap, 0.0);
  }
  return gaps;
}

void MallowsEngine::derivatives(const Parameters& now, std::size_t k, std::span<double> score,
                                std::span<double> information) const {
  const double theta = now.theta[k][0];
  const std::vector<double> mean = mean_distances(theta, num_items_), variance = variance_distances(theta, num_items_);
  const std::vector<std::uint32_t> d = distances(now.center[k]);
  for (std::size_t i = 0; i < num_rankings(); ++i) {
    score[i] = mean[num_items_] - static_cast<double>(d[i]);
    information[i] = variance[num_items_];
    for (std::uint32_t size : shapes_[shape_[i]]) score[i] -= mean[size], information[i] -= variance[size];
  }
}

Parameters MallowsEngine::from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const {
  Parameters result;
  const std::size_t n = num_items_;
  Stats stats;
  stats.mass.assign(num_components, 0.0);
  stats.shape_mass.assign(shapes_.size() * num_components, 0.0);
  stats.distance.assign(num_components, 0.0);
  std::vector<PairMatrix> pairs(num_components, PairMatrix(n));
  if (use_bits_) {
    PairBits::Sums sums(bits_, num_components);
    std::vector<double> part(tile * num_components);
    for (std::size_t first = 0; first < num_rankings(); first += tile) {
      const std::size_t count = std::min(tile, num_rankings() - first);
      std::fill(part.begin(), part.end(), 0.0);
      for (std::size_t i = 0; i < count; ++i) part[i * num_components + labels[first + i]] = weight_[first + i];
      if (bits_.has(first, count))
        sums.add(bits_, first, count, part);
      else
        sums.add(PairBits(bits_, rankings_, first, first + count), first, count, part);
    }
    for (std::size_t i = 0; i < num_rankings(); ++i) stats.mass[labels[i]] += weight_[i];
    for (std::size_t k = 0; k < num_components; ++k) pairs[k] = sums.matrix(bits_, k, stats.mass[k]);
  } else {
    for (std::size_t i = 0; i < num_rankings(); ++i) {
      stats.mass[labels[i]] += weight_[i];
      pairs[labels[i]].add(rankings_[i], weight_[i]);
    }
  }
  for (std::size_t i = 0; i < num_rankings(); ++i) stats.shape_mass[shape_[i] * num_components + labels[i]] += weight_[i];
  PairMatrix all(n);
  for (std::size_t k = 0; k < num_components; ++k)
    for (std::size_t i = 0; i < all.values().size(); ++i) all.values()[i] += pairs[k].values()[i];
  for (std::size_t k = 0; k < num_components; ++k) {
    const bool empty = !(stats.mass[k] > 0.0);
    const PairMatrix& own = empty ? all : pairs[k];
    const ConsensusMethod method = consensus_ == ConsensusMethod::borda ? consensus_ : ConsensusMethod::local;
    result.center.push_back(find_consensus(own, method, limits_).order);
    result.theta.push_back({0.5});
    result.weight.push_back((stats.mass[k] + 0.01 * total_) / (total_ * (1.0 + 0.01 * static_cast<double>(num_components))));
    if (empty) continue;
    stats.distance[k] = consensus_cost(result.center[k], own);
    update(stats, k, result);
    // A start should not be certain: a group of few rankings would never let go of them.
    result.theta[k][0] = std::clamp(result.theta[k][0], 0.01, 3.0);
  }
  return result;
}

void MallowsEngine::log_joint(const Parameters& now, int threads, std::span<double> out) const {
  const std::size_t num_components = now.weight.size(), n = num_items_;
  for (std::size_t k = 0; k < num_components; ++k) {
    const double theta = now.theta[k][0], log_weight = now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity;
    const std::vector<double> log_factorial = log_q_factorials(theta, n);
    std::vector<double> log_scale(shapes_.size(), log_weight - log_factorial[n]);
    for (std::size_t s = 0; s < shapes_.size(); ++s)
      for (std::uint32_t size : shapes_[s]) log_scale[s] += log_factorial[size];
    const auto position = inverse_order(now.center[k]);
    const std::vector<std::uint64_t> bits = use_bits_ ? bits_.center_bits(position) : std::vector<std::uint64_t>();
    const Blocks blocks(num_rankings());
    parallel_for(blocks.count(), threads, [&](std::size_t b) {
      std::vector<std::uint32_t> d(blocks.end(b) - blocks.begin(b));
      distances(bits, position, blocks.begin(b), d);
      for (std::size_t i = 0; i < d.size(); ++i) {
        const std::size_t ranking = blocks.begin(b) + i;
        out[ranking * num_components + k] = log_scale[shape_[ranking]] - theta * static_cast<double>(d[i]);
      }
    });
  }
}

}  // namespace caucus::mallows_mixture
