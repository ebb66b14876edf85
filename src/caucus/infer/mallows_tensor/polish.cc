#include "caucus/infer/mallows_tensor/polish.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/squarem.h"
#include "caucus/model/consensus.h"
#include "caucus/model/stage.h"

namespace caucus::mallows_tensor {
namespace {

struct LogDensity {
  explicit LogDensity(const MallowsPair& pair, std::size_t n) {
    for (std::size_t r = 0; r < 2; ++r) {
      offset[r] = std::log(std::max(pair.weight[r], 1e-300)) - log_q_factorial(pair.theta[r], n);
      theta[r] = pair.theta[r];
    }
  }
  // log of the mixture's probability, and the share of the first model.
  double operator()(double d1, double d2, double& share) const {
    const double a = offset[0] - theta[0] * d1, b = offset[1] - theta[1] * d2;
    const double e = std::exp(-std::abs(a - b));
    share = a >= b ? 1.0 / (1.0 + e) : e / (1.0 + e);
    return std::max(a, b) + std::log1p(e);
  }
  std::array<double, 2> offset{}, theta{};
};

void update_parameters(MallowsPair& pair, std::size_t r, double weight, double distance, double total, std::size_t n) {
  pair.weight[r] = weight / total;
  if (weight > 0.0) pair.theta[r] = std::min(solve_mallows_theta(distance, weight, n, {}), max_pair_theta);
}

}  // namespace

PairPolisher::PairPolisher(const RankingSet& rankings, std::size_t num_items, int threads)
    : PairPolisher(std::vector<std::uint64_t>(rankings.size() * num_words(num_items), 0),
                   std::vector<double>(rankings.weights().begin(), rankings.weights().end()), num_items, threads) {
  const Blocks blocks(rankings.size(), 8192);
  parallel_for(blocks.count(), threads, [&](std::size_t block) {
    for (std::size_t i = blocks.begin(block); i < blocks.end(block); ++i)
      set_bits(rankings[i].items(), std::span(bits_).subspan(i * words_, words_));
  });
}

PairPolisher::PairPolisher(std::vector<std::uint64_t> bits, std::vector<double> weights, std::size_t num_items, int threads)
    : num_items_(num_items),
      num_pairs_(num_items * (num_items - 1) / 2),
      words_(num_words(num_items)),
      threads_(threads),
      bits_(std::move(bits)),
      weights_(std::move(weights)),
      log_at_distance_(log_rankings_at_distance(num_items)) {
  for (double weight : weights_) total_ += weight;
}

void PairPolisher::set_bits(std::span<const ItemId> order, std::span<std::uint64_t> out) {
  std::fill(out.begin(), out.end(), 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (order[i] > order[j]) continue;
      const std::size_t index = pair_index(order[i], order[j]);
      out[index / 64] |= std::uint64_t{1} << (index % 64);
    }
}

PairPolisher::Tally PairPolisher::tally(const MallowsPair& pair, bool with_pairs) const {
  std::array<std::vector<std::uint64_t>, 2> center;
  for (std::size_t r = 0; r < 2; ++r) {
    center[r].resize(words_);
    set_bits(pair.center[r], center[r]);
  }
  const std::size_t side = num_pairs_ + 1;
  const auto cell_of = [&](std::size_t i) {
    std::size_t d1 = 0, d2 = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      d1 += static_cast<std::size_t>(std::popcount(bits_[i * words_ + w] ^ center[0][w]));
      d2 += static_cast<std::size_t>(std::popcount(bits_[i * words_ + w] ^ center[1][w]));
    }
    return d1 * side + d2;
  };
  const auto add_all = [](std::vector<double>& sum, const std::vector<double>& part) {
    for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += part[c];
  };
  const Blocks blocks(weights_.size(), 16384, 32);
  const std::vector<double> grid = parallel_fold(
      blocks, threads_, [&] { return std::vector<double>(side * side, 0.0); },
      [&](std::vector<double>& counts, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) counts[cell_of(i)] += weights_[i];
      },
      add_all);
  Tally result;
  std::vector<std::uint32_t> index(side * side, 0);
  for (std::size_t c = 0; c < grid.size(); ++c) {
    if (!(grid[c] > 0.0)) continue;
    index[c] = static_cast<std::uint32_t>(result.cells.size());
    result.cells.push_back({static_cast<std::uint32_t>(c / side), static_cast<std::uint32_t>(c % side), grid[c]});
  }
  if (!with_pairs) return result;
  const std::size_t size = result.cells.size() * num_pairs_;
  const Blocks few(weights_.size(), 16384, std::clamp<std::size_t>((std::size_t{1} << 23) / std::max<std::size_t>(size, 1), 1, 32));
  result.forward = parallel_fold(
      few, threads_, [&] { return std::vector<double>(size, 0.0); },
      [&](std::vector<double>& counts, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          double* row = counts.data() + index[cell_of(i)] * num_pairs_;
          const double weight = weights_[i];
          for (std::size_t w = 0; w < words_; ++w, row += 64)
            for (std::uint64_t word = bits_[i * words_ + w]; word != 0; word &= word - 1) row[std::countr_zero(word)] += weight;
        }
      },
      add_all);
  return result;
}

double PairPolisher::step(const Tally& tally, const MallowsPair& now, bool move_centers, MallowsPair& next, double* entropy) const {
  const LogDensity density(now, num_items_);
  double loglik = 0.0, weight1 = 0.0, unsure = 0.0;
  std::array<double, 2> distance{};
  std::vector<double> forward1(move_centers ? num_pairs_ : 0, 0.0), forward(move_centers ? num_pairs_ : 0, 0.0);
  for (std::size_t c = 0; c < tally.cells.size(); ++c) {
    const Cell& cell = tally.cells[c];
    double share = 0.0;
    loglik += cell.count * density(cell.d1, cell.d2, share);
    weight1 += cell.count * share;
    distance[0] += cell.count * share * cell.d1;
    distance[1] += cell.count * (1.0 - share) * cell.d2;
    if (share > 0.0 && share < 1.0) unsure -= cell.count * (share * std::log(share) + (1.0 - share) * std::log1p(-share));
    if (!move_centers) continue;
    const double* row = tally.forward.data() + c * num_pairs_;
    for (std::size_t p = 0; p < num_pairs_; ++p) {
      forward1[p] += share * row[p];
      forward[p] += row[p];
    }
  }
  if (entropy != nullptr) *entropy = unsure;
  next = now;
  const std::array<double, 2> weight{weight1, total_ - weight1};
  for (std::size_t r = 0; r < 2; ++r) {
    double spent = distance[r];
    if (move_centers && weight[r] > 1e-9 * total_) {
      PairMatrix pairs(num_items_);
      for (std::size_t b = 1; b < num_items_; ++b)
        for (std::size_t a = 0; a < b; ++a) {
          const std::size_t p = pair_index(a, b);
          const double ahead = r == 0 ? forward1[p] : forward[p] - forward1[p];
          pairs(a, b) = ahead;
          pairs(b, a) = weight[r] - ahead;
        }
      Consensus best = find_consensus(pairs);
      // A center moves for a real gain only, so that ties and rounding do not make it wander.
      if (best.cost < distance[r] - 1e-9 * weight[r]) {
        next.center[r] = std::move(best.order);
        spent = best.cost;
      }
    }
    update_parameters(next, r, weight[r], spent, total_, num_items_);
  }
  return loglik;
}

double PairPolisher::fit_cells(std::span<const Cell> cells, MallowsPair& pair, std::size_t num_items, int steps) {
  double loglik = -infinity;
  for (int i = 0; i <= steps; ++i) {
    const LogDensity density(pair, num_items);
    double total = 0.0, weight1 = 0.0;
    std::array<double, 2> distance{};
    loglik = 0.0;
    for (const Cell& cell : cells) {
      double share = 0.0;
      loglik += cell.count * density(cell.d1, cell.d2, share);
      total += cell.count;
      weight1 += cell.count * share;
      distance[0] += cell.count * share * cell.d1;
      distance[1] += cell.count * (1.0 - share) * cell.d2;
    }
    if (i == steps) break;
    update_parameters(pair, 0, weight1, distance[0], total, num_items);
    update_parameters(pair, 1, total - weight1, distance[1], total, num_items);
  }
  return loglik;
}

bool PairPolisher::exchange(const Tally& tally, MallowsPair& pair, double loglik) const {
  MallowsPair best;
  double highest = loglik - penalty(pair) + 1e-9 * total_;
  bool found = false;
  std::vector<Cell> cells;
  const auto consider = [&](MallowsPair next, ItemId a, ItemId b, bool first_moves, bool second_moves) {
    // Exchanging neighbours moves a ranking's distance by one: up where it agreed, down where it did not.
    const bool a_small = a < b;
    const std::size_t p = a_small ? pair_index(a, b) : pair_index(b, a);
    const std::array<std::vector<std::uint32_t>, 2> rank{ranks_of(pair.center[0]), ranks_of(pair.center[1])};
    const bool ahead1 = rank[0][a] < rank[0][b], ahead2 = rank[1][a] < rank[1][b];
    cells.clear();
    for (std::size_t c = 0; c < tally.cells.size(); ++c) {
      const Cell& cell = tally.cells[c];
      const double with = tally.forward[c * num_pairs_ + p];
      const double a_first = a_small ? with : cell.count - with;
      for (const bool agrees_ab : {true, false}) {
        const double count = agrees_ab ? a_first : cell.count - a_first;
        if (!(count > 0.0)) continue;
        Cell moved{cell.d1, cell.d2, count};
        if (first_moves) moved.d1 = agrees_ab == ahead1 ? cell.d1 + 1 : cell.d1 - 1;
        if (second_moves) moved.d2 = agrees_ab == ahead2 ? cell.d2 + 1 : cell.d2 - 1;
        cells.push_back(moved);
      }
    }
    const double reached = fit_cells(cells, next, num_items_, 10) - penalty(next);
    if (reached > highest) {
      highest = reached;
      best = std::move(next);
      found = true;
    }
  };
  for (std::size_t r = 0; r < 2; ++r) {
    const std::vector<std::uint32_t> other = ranks_of(pair.center[1 - r]);
    for (std::size_t p = 0; p + 1 < num_items_; ++p) {
      const ItemId a = pair.center[r][p], b = pair.center[r][p + 1];
      MallowsPair next = pair;
      std::swap(next.center[r][p], next.center[r][p + 1]);
      consider(next, a, b, r == 0, r == 1);
      const std::uint32_t pa = other[a], pb = other[b];
      if (pa + 1 != pb && pb + 1 != pa) continue;
      std::swap(next.center[1 - r][pa], next.center[1 - r][pb]);
      consider(next, a, b, true, true);
    }
  }
  if (found) pair = std::move(best);
  return found;
}

MallowsPair PairPolisher::fit_parameters(MallowsPair pair, double& loglik) const {
  const Tally counts = tally(pair, false);
  loglik = fit_cells(counts.cells, pair, num_items_, 300);
  return pair;
}

double PairPolisher::log_likelihood(const MallowsPair& pair) const {
  MallowsPair copy = pair;
  return fit_cells(tally(pair, false).cells, copy, num_items_, 0);
}

namespace {

// Weights that sum to one and scales inside their bounds.
void put_in_bounds(MallowsPair& pair) {
  for (std::size_t r = 0; r < 2; ++r) {
    pair.theta[r] = std::clamp(pair.theta[r], 1e-6, max_pair_theta);
    pair.weight[r] = std::clamp(pair.weight[r], 1e-6, 1.0);
  }
  const double sum = pair.weight[0] + pair.weight[1];
  for (double& weight : pair.weight) weight /= sum;
}

// log weight ratio and log scales: where SQUAREM extrapolates.
std::array<double, 3> coordinates(const MallowsPair& pair) {
  return {std::log(std::max(pair.weight[0], 1e-300) / std::max(pair.weight[1], 1e-300)), std::log(std::max(pair.theta[0], 1e-12)),
          std::log(std::max(pair.theta[1], 1e-12))};
}

void put_coordinates(std::span<const double> x, MallowsPair& pair) {
  pair.weight[0] = 1.0 / (1.0 + std::exp(-std::clamp(x[0], -40.0, 40.0)));
  pair.weight[1] = 1.0 - pair.weight[0];
  for (std::size_t i = 0; i < 2; ++i) pair.theta[i] = std::clamp(std::exp(std::min(x[i + 1], 5.0)), 1e-6, max_pair_theta);
}

void heavier_first(MallowsPair& pair) {
  if (!(pair.weight[0] < pair.weight[1])) return;
  std::swap(pair.weight[0], pair.weight[1]);
  std::swap(pair.theta[0], pair.theta[1]);
  std::swap(pair.center[0], pair.center[1]);
}

}  // namespace

bool PairPolisher::climb(const Tally& counts, const PolishOptions& options, MallowsPair& now, PolishResult& result) const {
  for (bool converged = false; !converged;) {
    MallowsPair one, two;
    const double before = step(counts, now, true, one);
    result.trace.push_back(before);
    ++result.iterations;
    if (!(one.center == now.center)) {
      now = std::move(one);
      return true;
    }
    const double middle = step(counts, one, true, two);
    ++result.iterations;
    if (!(two.center == one.center)) {
      now = std::move(two);
      return true;
    }
    MallowsPair next = two;
    if (const auto x = options.accelerate ? squarem(coordinates(now), coordinates(one), coordinates(two), 1e4) : std::nullopt) {
      MallowsPair far = two, after;
      put_coordinates(*x, far);
      const double reached = step(counts, far, false, after);
      ++result.iterations;
      if (reached >= middle) next = std::move(after);
    }
    now = std::move(next);
    converged = middle - before <= options.tolerance * std::abs(middle);
    if (result.iterations >= options.iterations) {
      result.stop_reason = StopReason::iteration_limit;
      break;
    }
    if (result.iterations % 100 < 3 && options.stop && options.stop()) {
      result.stop_reason = StopReason::interrupted;
      break;
    }
  }
  return false;
}

PolishResult PairPolisher::run(MallowsPair start, const PolishOptions& options) const {
  PolishResult result;
  MallowsPair now = std::move(start);
  put_in_bounds(now);
  double loglik = -infinity;
  for (bool going = true; going;) {
    const Tally counts = tally(now, true);
    ++result.tallies;
    if (options.stop && options.stop()) {
      result.stop_reason = StopReason::interrupted;
      loglik = fit_cells(counts.cells, now, num_items_, 0);
      break;
    }
    const bool moved = climb(counts, options, now, result);
    if (result.stop_reason != StopReason::converged) going = false;
    if (going && !moved) {
      going = options.exchange && result.exchanges < 200 && exchange(counts, now, fit_cells(counts.cells, now, num_items_, 0));
      result.exchanges += going;
    }
    if (result.iterations >= options.iterations && going) {
      result.stop_reason = StopReason::iteration_limit;
      going = false;
    }
    if (!going) {
      MallowsPair ignored;
      // The centers may have moved in the last step: then the cells are those of the new ones.
      loglik = step(moved ? tally(now, false) : counts, now, false, ignored, &result.entropy);
    }
  }
  result.trace.push_back(loglik);
  result.loglik = loglik;
  result.pair = std::move(now);
  heavier_first(result.pair);
  return result;
}

PolishResult PairPolisher::run_best(std::span<const MallowsPair> starts, std::size_t finalists,
                                    const PolishOptions& options) const {
  std::vector<std::pair<double, MallowsPair>> ranked;
  for (const MallowsPair& start : starts) {
    double loglik = 0.0;
    MallowsPair fitted = fit_parameters(start, loglik);
    loglik -= penalty(fitted);
    ranked.emplace_back(loglik, std::move(fitted));
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  PolishResult best;
  double highest = -infinity;
  int iterations = 0, tallies = static_cast<int>(starts.size()), exchanges = 0;
  for (std::size_t i = 0; i < std::min(finalists, ranked.size()); ++i) {
    PolishResult result = run(ranked[i].second, options);
    iterations += result.iterations;
    tallies += result.tallies;
    exchanges += result.exchanges;
    const double value = result.loglik - penalty(result.pair);
    if (value > highest) {
      highest = value;
      best = std::move(result);
    }
    if (options.stop && options.stop()) break;
  }
  best.iterations = iterations;
  best.tallies = tallies;
  best.exchanges = exchanges;
  return best;
}

}  // namespace caucus::mallows_tensor
