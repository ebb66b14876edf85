// HANDLE-DEGENERATE-CASES: what is left when x and y are parallel on every part of every partition.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/infer/mallows_tensor/learn.h"

namespace caucus::mallows_tensor {
namespace {

std::vector<ItemId> by_first(const TopCounts& counts) {
  std::vector<ItemId> order(counts.num_items());
  std::iota(order.begin(), order.end(), ItemId{0});
  std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return counts.first(a) > counts.first(b); });
  return order;
}

// Central ranks of the two moved items in the two rankings; the others fill the rest in one order and all move by the same shift.
struct Pattern {
  std::array<std::size_t, 2> a, b;  // [ranking]
};

std::vector<Pattern> constant_shift_patterns(std::size_t n) {
  std::vector<Pattern> patterns;
  // Shift 0: two items change places.
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t q = 0; q < n; ++q)
      if (p != q) patterns.push_back({{p, q}, {q, p}});
  // Shift 1: the last item b goes to place r + 1, the item a at r goes to the front. (r + 1 = n - 1 would leave b in place.)
  // Where a would follow the others, one cyclic shift of everything.
  for (std::size_t r = 0; r + 1 < n; ++r) {
    patterns.push_back({{r, 0}, {n - 1, r + 1}});
    patterns.push_back({{r, r + 1}, {n - 1, 0}});
  }
  // Shift 2: the last two items go to the front, in either order.
  patterns.push_back({{n - 2, 0}, {n - 1, 1}});
  patterns.push_back({{n - 2, 1}, {n - 1, 0}});
  return patterns;
}

std::vector<ItemId> place(const std::vector<ItemId>& others, ItemId a, std::size_t rank_a, ItemId b, std::size_t rank_b) {
  std::vector<ItemId> order(others.size() + 2);
  std::size_t next = 0;
  for (std::size_t p = 0; p < order.size(); ++p) order[p] = p == rank_a ? a : p == rank_b ? b : others[next++];
  return order;
}

// How far T / (P P P) is from a constant over the sets without a and b, in log, weighted by the counts: 0 when the ratio x / y is
// the same for all the others (then T and P are those of one model up to constants, Lemma 2.5).
double dispersion_without(const TopCounts& counts, ItemId a, ItemId b) {
  double weight = 0.0, mean = 0.0, square = 0.0;
  counts.for_each_triple([&](std::size_t i, std::size_t j, std::size_t k, double count) {
    if (i == a || i == b || j == a || j == b || k == a || k == b || !(count > 0.0)) return;
    const double product = counts.first(i) * counts.first(j) * counts.first(k);
    if (!(product > 0.0)) return;
    const double value = std::log(count / product);
    weight += count;
    mean += count * value;
    square += count * value * value;
  });
  if (!(weight > 0.0)) return 0.0;
  return square / weight - (mean / weight) * (mean / weight);
}

void keep_best(std::vector<Candidate>& candidates, std::size_t limit) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  std::vector<Candidate> kept;
  for (Candidate& candidate : candidates) {
    const bool known =
        std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) { return same_centers(other.pair, candidate.pair); });
    if (!known) kept.push_back(std::move(candidate));
    if (kept.size() == limit) break;
  }
  candidates = std::move(kept);
}

}  // namespace

std::vector<Candidate> explain_by_moved_items(const TopCounts& counts, std::size_t limit, const std::function<bool()>& stop) {
  const std::size_t n = counts.num_items();
  std::vector<Candidate> candidates;
  if (n < 3) return candidates;
  struct Moved {
    double dispersion;
    ItemId a, b;
  };
  std::vector<Moved> moved;
  for (ItemId a = 0; a < n; ++a)
    for (ItemId b = a + 1; b < n && (moved.empty() || !(stop && stop())); ++b)
      moved.push_back({dispersion_without(counts, a, b), a, b});
  std::stable_sort(moved.begin(), moved.end(), [](const Moved& x, const Moved& y) { return x.dispersion < y.dispersion; });
  moved.resize(std::min<std::size_t>(moved.size(), n <= 12 ? 15 : 4));

  const std::vector<ItemId> order = by_first(counts);
  const std::vector<Pattern> patterns = constant_shift_patterns(n);
  const double total = counts.total();
  for (const Moved& two : moved) {
    std::vector<ItemId> others;
    for (ItemId item : order)
      if (item != two.a && item != two.b) others.push_back(item);
    if (stop && stop() && !candidates.empty()) break;
    for (const Pattern& pattern : patterns)
      for (const bool exchanged : {false, true}) {
        const ItemId a = exchanged ? two.b : two.a, b = exchanged ? two.a : two.b;
        Candidate candidate;
        candidate.rest = "moved items";
        for (std::size_t r = 0; r < 2; ++r) candidate.pair.center[r] = place(others, a, pattern.a[r], b, pattern.b[r]);
        // The others keep their ratio, so log P falls by theta per rank of the first ranking.
        const std::array<std::vector<std::uint32_t>, 2> rank{ranks_of(candidate.pair.center[0]),
                                                             ranks_of(candidate.pair.center[1])};
        double sw = 0.0, sp = 0.0, sl = 0.0, spp = 0.0, spl = 0.0;
        for (ItemId item : others) {
          const double w = counts.first(item) / total, p = rank[0][item];
          if (!(w > 0.0)) continue;
          const double l = std::log(w);
          sw += w, sp += w * p, sl += w * l, spp += w * p * p, spl += w * p * l;
        }
        const double spread = sw * spp - sp * sp;
        const double theta = spread > 1e-12 * sw * sw ? std::clamp(-(sw * spl - sp * sl) / spread, 1e-3, max_pair_theta) : 1.0;
        candidate.pair.theta = {theta, theta};
        // The weight that explains the first-position counts best, from a grid.
        const std::vector<double> first = first_places(theta, n);
        double best = -infinity;
        for (int step = 1; step < 40; ++step) {
          const double weight = step / 40.0;
          double fit = 0.0;
          for (ItemId item = 0; item < n; ++item)
            if (counts.first(item) > 0.0)
              fit += counts.first(item) * std::log(weight * first[rank[0][item]] + (1.0 - weight) * first[rank[1][item]]);
          if (fit > best) {
            best = fit;
            candidate.pair.weight = {weight, 1.0 - weight};
          }
        }
        candidate.score = best;
        candidates.push_back(std::move(candidate));
      }
  }
  keep_best(candidates, 4 * limit);
  const MomentScore score(counts);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i > 0 && stop && stop()) {
      candidates.resize(i);
      break;
    }
    candidates[i].pair = score.fit_parameters(candidates[i].pair);
    candidates[i].score = score(candidates[i].pair);
  }
  keep_best(candidates, limit);
  return candidates;
}

std::vector<Candidate> explain_exhaustively(const TopCounts& counts, double theta, std::size_t limit) {
  const std::size_t n = counts.num_items();
  const MomentScore score(counts);
  std::vector<std::vector<ItemId>> orders;
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  do orders.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  const std::array<ModelTable, 2> tables{ModelTable(theta, n), ModelTable(theta, n)};
  std::vector<Candidate> candidates;
  for (std::size_t first = 0; first < orders.size(); ++first)
    for (std::size_t second = first; second < orders.size(); ++second) {
      Candidate best;
      best.score = -infinity;
      for (const double weight : {0.2, 0.5, 0.8}) {
        Candidate candidate;
        candidate.rest = "exhaustive";
        candidate.pair.center = {orders[first], orders[second]};
        candidate.pair.theta = {theta, theta};
        candidate.pair.weight = {weight, 1.0 - weight};
        candidate.score = score(candidate.pair, tables);
        if (candidate.score > best.score) best = std::move(candidate);
      }
      candidates.push_back(std::move(best));
    }
  keep_best(candidates, std::max<std::size_t>(8 * limit, 24));
  for (Candidate& candidate : candidates) {
    candidate.pair = score.fit_parameters(candidate.pair);
    candidate.score = score(candidate.pair);
  }
  keep_best(candidates, limit);
  return candidates;
}

Candidate explain_by_one_ranking(const TopCounts& counts) {
  const std::size_t n = counts.num_items();
  std::vector<double> mean(n, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) mean[i] += static_cast<double>(j) * counts.position(i, j);
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return mean[a] < mean[b]; });
  std::vector<double> descending;
  for (ItemId item : order) descending.push_back(counts.first(item) / counts.total());
  const double theta = theta_from_first(descending, 0.0);
  const MomentScore score(counts);
  Candidate best;
  best.score = -infinity;
  for (const double weight : {0.2, 0.5, 0.8}) {
    Candidate candidate;
    candidate.rest = "one ranking";
    candidate.pair = {{weight, 1.0 - weight}, {1.5 * theta, 0.6 * theta}, {order, order}};
    candidate.pair = score.fit_parameters(candidate.pair);
    candidate.score = score(candidate.pair);
    if (candidate.score > best.score) best = std::move(candidate);
  }
  return best;
}

Degenerate handle_degenerate_cases(const TopCounts& counts, const CountSource& source, const LearnOptions& options,
                                   std::uint64_t seed) {
  const std::size_t n = counts.num_items();
  const MomentScore score(counts);
  Degenerate result;
  std::vector<Candidate> found = explain_by_moved_items(counts, 6, options.stop);
  const Candidate one_ranking = explain_by_one_ranking(counts);

  // Taking off the item that is first most often, and again, while what is left looks degenerate. By the restriction property the
  // rest of a common prefix is a mixture with the same weights and scales.
  std::vector<Candidate> recursive;
  std::vector<ItemId> prefix;
  if (source && n > 2) {
    const std::vector<ItemId> order = by_first(counts);
    std::vector<double> descending;
    for (ItemId item : order) descending.push_back(counts.first(item) / counts.total());
    const double theta = theta_from_first(descending, 10.0 / std::sqrt(counts.total()));
    TopCounts rest = counts;
    while (rest.num_items() > 2 && !options.stopped()) {  // one item fewer each time
      // Names of the items that are left.
      std::vector<ItemId> left;
      for (ItemId item = 0; item < n; ++item)
        if (std::find(prefix.begin(), prefix.end(), item) == prefix.end()) left.push_back(item);
      prefix.push_back(left[by_first(rest)[0]]);
      left.erase(std::find(left.begin(), left.end(), prefix.back()));
      rest = source(prefix);
      std::vector<Candidate> below;
      if (rest.num_items() >= min_partition_items) {
        LearnResult ignored;
        below = learn_by_decomposition(rest, options, seed + prefix.size(), ignored);
      } else {
        below = explain_exhaustively(rest, theta, 4);
      }
      for (Candidate& candidate : below) {
        for (auto& center : candidate.pair.center) {
          std::vector<ItemId> whole(prefix);
          for (ItemId item : center) whole.push_back(left[item]);
          center = std::move(whole);
        }
        candidate.pair = options.climb ? score.climb(candidate.pair, n <= 12, options.stop) : score.fit_parameters(candidate.pair);
        candidate.score = score(candidate.pair);
        candidate.rest = "after a common prefix";
      }
      if (below.empty()) continue;
      recursive = std::move(below);
      break;
    }
  }
  if (options.climb)
    for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 3); ++i) {
      found[i].pair = score.climb(found[i].pair, n <= 12, options.stop);
      found[i].score = score(found[i].pair);
    }
  keep_best(found, 6);
  keep_best(recursive, 6);
  // Both explain the counts: the deeper look decides only what the shallow one cannot see, so it must not lose by more than noise.
  constexpr double noise_units = 3.0;
  bool recurse = !recursive.empty() && (found.empty() || recursive.front().score > found.front().score - noise_units);
  if (recurse && !found.empty() && same_centers(recursive.front().pair, found.front().pair)) recurse = false;
  // One ranking with two scales is the simplest of all: the others must gain more than the number of pairs of rankings like theirs
  // would give by chance.
  std::vector<Candidate>& leader = recurse ? recursive : found;
  const std::vector<double> log_at_distance = log_rankings_at_distance(n);
  if (leader.empty() ||
      one_ranking.score >
          leader.front().score - log_at_distance[kendall(leader.front().pair.center[0], leader.front().pair.center[1])]) {
    result.best = one_ranking;
    result.branch = Branch::one_ranking;
    for (const auto* list : {&found, &recursive}) result.others.insert(result.others.end(), list->begin(), list->end());
    return result;
  }
  found.push_back(one_ranking);
  result.branch = recurse ? Branch::recursion : Branch::moved_items;
  if (recurse) result.common_prefix = prefix;
  std::vector<Candidate>& first = recurse ? recursive : found;
  std::vector<Candidate>& second = recurse ? found : recursive;
  result.best = first.front();
  result.others.assign(first.begin() + 1, first.end());
  result.others.insert(result.others.end(), second.begin(), second.end());
  return result;
}

}  // namespace caucus::mallows_tensor
