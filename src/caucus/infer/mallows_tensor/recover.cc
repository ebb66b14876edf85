#include "caucus/infer/mallows_tensor/recover.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/model/assignment.h"

namespace caucus::mallows_tensor {
namespace {

std::vector<ItemId> sort_by(const std::vector<double>& key) {
  std::vector<ItemId> order(key.size());
  std::iota(order.begin(), order.end(), ItemId{0});
  std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return key[a] < key[b]; });
  return order;
}

MallowsPair parameters_of(const TopK& top) {
  MallowsPair pair;
  pair.weight = top.weight;
  pair.theta = top.theta;
  pair.center = top.order;
  return pair;
}

double mean_position(const TopCounts& counts, std::size_t i) {
  double mean = 0.0;
  for (std::size_t j = 0; j < counts.num_items(); ++j) mean += static_cast<double>(j) * counts.position(i, j);
  return mean / counts.total();
}

double mean_position_given(const TopCounts& counts, std::size_t first, std::size_t i) {
  double mean = 0.0;
  for (std::size_t j = 0; j < counts.num_items(); ++j) mean += static_cast<double>(j) * counts.joint(first, i, j);
  return mean / counts.first(first);
}

}  // namespace

std::optional<Pivot> find_pivot(const TopCounts& counts, const TopK& top, double least_purity, double least_share) {
  std::optional<Pivot> best;
  for (std::size_t item = 0; item < counts.num_items(); ++item) {
    if (counts.first(item) < least_share * counts.total()) continue;
    const double a = top.weight[0] * top.first[0][item], b = top.weight[1] * top.first[1][item];
    if (!(a + b > 0.0)) continue;
    const std::size_t model = a >= b ? 0 : 1;
    const double purity = std::max(a, b) / (a + b);
    if (purity >= least_purity && (!best || purity > best->purity)) best = Pivot{static_cast<ItemId>(item), model, purity};
  }
  return best;
}

MallowsPair recover_by_pivot(const TopCounts& counts, const TopK& top, const Pivot& pivot) {
  const std::size_t n = counts.num_items();
  MallowsPair pair = parameters_of(top);
  const std::size_t r = pivot.model;
  // Given the pivot first, the others follow a Mallows model of the same scale without it: mean positions rise with central rank.
  std::vector<double> key(n);
  for (std::size_t i = 0; i < n; ++i) key[i] = i == pivot.item ? -1.0 : mean_position_given(counts, pivot.item, i);
  std::vector<ItemId> center = sort_by(key);
  // The pivot's own place: where its first-position probability puts it.
  const double place =
      std::log(std::max(top.first[r][top.order[r][0]], 1e-300) / std::max(top.first[r][pivot.item], 1e-300)) / top.theta[r];
  const auto rank = static_cast<std::ptrdiff_t>(std::clamp(std::round(place), 0.0, static_cast<double>(n - 1)));
  std::rotate(center.begin(), center.begin() + 1, center.begin() + rank + 1);
  pair.center[r] = center;
  // f2 = (f - w1 f1) / w2 (equation 1), in the mean.
  const std::vector<double> table = position_table(pair.theta[r], n);
  const std::vector<std::uint32_t> ranks = ranks_of(center);
  for (std::size_t i = 0; i < n; ++i) {
    double model_mean = 0.0;
    for (std::size_t j = 0; j < n; ++j) model_mean += static_cast<double>(j) * table[ranks[i] * n + j];
    key[i] = (mean_position(counts, i) - pair.weight[r] * model_mean) / pair.weight[1 - r];
  }
  pair.center[1 - r] = sort_by(key);
  return pair;
}

ItemId most_telling_item(const TopCounts& counts, const TopK& top) {
  ItemId best = 0;
  double most = -1.0;
  for (std::size_t item = 0; item < counts.num_items(); ++item) {
    const double p = counts.first(item);
    if (!(p > 0.0)) continue;
    const double share = top.weight[0] * top.first[0][item] /
                         std::max(top.weight[0] * top.first[0][item] + top.weight[1] * top.first[1][item], 1e-300);
    const double telling = std::abs(share - top.weight[0]) * std::sqrt(p);
    if (telling > most) {
      most = telling;
      best = static_cast<ItemId>(item);
    }
  }
  return best;
}

MallowsPair recover_by_linear_system(const TopCounts& counts, const TopK& top) {
  const std::size_t n = counts.num_items();
  MallowsPair pair = parameters_of(top);
  const ItemId star = most_telling_item(counts, top);
  // w1' = (1 + w2 y / (w1 x))^-1 (step 3); the two equations in the mean over positions.
  const double a = top.weight[0] * top.first[0][star], b = top.weight[1] * top.first[1][star];
  const double given = a / std::max(a + b, 1e-300);
  const double determinant = top.weight[0] - given;
  if (std::abs(determinant) < 1e-9 || !(counts.first(star) > 0.0)) return pair;
  std::array<std::vector<double>, 2> key{std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    if (i == star) {
      for (std::size_t r = 0; r < 2; ++r)
        key[r][i] = static_cast<double>(std::find(top.order[r].begin(), top.order[r].end(), star) - top.order[r].begin()) - 0.5;
      continue;
    }
    const double overall = mean_position(counts, i), conditional = mean_position_given(counts, star, i);
    key[0][i] = ((1.0 - given) * overall - top.weight[1] * conditional) / determinant;
    key[1][i] = (top.weight[0] * conditional - given * overall) / determinant;
  }
  for (std::size_t r = 0; r < 2; ++r) {
    pair.center[r] = sort_by(key[r]);
    // Items above the noise keep the order that INFER-TOP-K found for them.
    auto& center = pair.center[r];
    const auto& prefix = top.prefix[r];
    std::vector<ItemId> whole(prefix);
    for (ItemId item : center)
      if (std::find(prefix.begin(), prefix.end(), item) == prefix.end()) whole.push_back(item);
    center = whole;
  }
  return pair;
}

MallowsPair assign_ranks(const TopCounts& counts, MallowsPair pair, ItemId star) {
  const std::size_t n = counts.num_items();
  if (!(counts.first(star) > 0.0)) return pair;
  const std::array<std::vector<double>, 2> whole{position_table(pair.theta[0], n), position_table(pair.theta[1], n)};
  const std::array<ModelTable, 2> table{ModelTable(pair.theta[0], n), ModelTable(pair.theta[1], n)};
  std::array<std::vector<std::uint32_t>, 2> rank{ranks_of(pair.center[0]), ranks_of(pair.center[1])};

  // Log-likelihood of item i at central ranks (p1, p2), e* staying where it is.
  std::vector<double> position(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) position[i * n + j] = counts.position(i, j);
  const auto log_likelihood = [&](std::size_t i, std::size_t p1, std::size_t p2) {
    const std::array<std::size_t, 2> p{p1, p2};
    if (i == star) {
      double sum = 0.0;
      for (std::size_t j = 0; j < n; ++j)
        sum += position[i * n + j] *
               std::log(std::max(pair.weight[0] * whole[0][p1 * n + j] + pair.weight[1] * whole[1][p2 * n + j], 1e-300));
      return sum;
    }
    double sum = 0.0;
    std::array<std::size_t, 2> shifted{};
    std::array<double, 2> opening{};
    for (std::size_t r = 0; r < 2; ++r) {
      if (p[r] == rank[r][star]) return -1e300;  // that place is taken
      shifted[r] = p[r] - (p[r] > rank[r][star] ? 1 : 0);
      opening[r] = pair.weight[r] * table[r].first[rank[r][star]];
    }
    // Rankings that e* opens, and the others, whose law is the difference.
    for (std::size_t j = 0; j < n; ++j) {
      const double given = counts.joint(star, i, j), others = position[i * n + j] - given;
      double opened = 0.0, all = 0.0;
      for (std::size_t r = 0; r < 2; ++r) {
        if (j > 0) opened += opening[r] * table[r].rest[shifted[r] * (n - 1) + j - 1];
        all += pair.weight[r] * whole[r][p[r] * n + j];
      }
      if (given > 0.0) sum += given * std::log(std::max(opened, 1e-300));
      if (others > 0.0) sum += others * std::log(std::max(all - opened, 1e-300));
    }
    return sum;
  };
  for (int round = 0; round < 20; ++round) {
    bool changed = false;
    for (std::size_t r = 0; r < 2; ++r) {
      std::vector<double> cost(n * n);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t p = 0; p < n; ++p) {
          if (i == star) {
            cost[i * n + p] = p == rank[r][star] ? 0.0 : 1e300;
            continue;
          }
          cost[i * n + p] = p == rank[r][star] ? 1e300
                            : r == 0           ? -log_likelihood(i, p, rank[1][i])
                                               : -log_likelihood(i, rank[0][i], p);
        }
      const double scale = std::max(counts.total(), 1.0);
      for (double& c : cost) c = std::min(c / scale, 1e6);
      const std::vector<std::size_t> assigned = solve_assignment(cost, n);
      double before = 0.0, after = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        before += cost[i * n + rank[r][i]];
        after += cost[i * n + assigned[i]];
      }
      if (!(after < before - 1e-13 * std::abs(before))) continue;
      for (std::size_t i = 0; i < n; ++i) {
        rank[r][i] = static_cast<std::uint32_t>(assigned[i]);
        pair.center[r][assigned[i]] = static_cast<ItemId>(i);
      }
      changed = true;
    }
    if (!changed) break;
  }
  return pair;
}

}  // namespace caucus::mallows_tensor
