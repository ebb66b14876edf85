#include "caucus/infer/mallows_tensor/start.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/base/random.h"

namespace caucus::mallows_tensor {
namespace {

constexpr std::size_t max_active_items = 60;
constexpr int num_starts = 12;
constexpr int max_sweeps = 300;

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Frequencies of first items and of first-three sets among the active items.
struct TopSets {
  std::vector<ItemId> active;
  VectorXd first;            // by active item
  std::vector<double> cube;  // symmetric, m x m x m, zero where two indices agree
  double total = 0.0;

  double at(std::size_t i, std::size_t j, std::size_t k) const { return cube[(i * active.size() + j) * active.size() + k]; }
};

TopSets count_top_sets(const RankingSet& rankings, std::size_t n) {
  const auto has_top_three = [&](std::size_t i) { return rankings.length(i) >= 3 && rankings[i].ends_group(2); };
  std::vector<double> seen(n, 0.0);
  TopSets sets;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    if (!has_top_three(i)) continue;
    sets.total += rankings.weight(i);
    for (std::size_t p = 0; p < 3; ++p) seen[rankings[i][p]] += rankings.weight(i);
  }
  if (!(sets.total > 0.0)) throw DataError("--init tensor needs rankings of at least three places; use another start");
  sets.active.resize(n);
  std::iota(sets.active.begin(), sets.active.end(), ItemId{0});
  std::stable_sort(sets.active.begin(), sets.active.end(), [&](ItemId a, ItemId b) { return seen[a] > seen[b]; });
  sets.active.resize(std::min(n, max_active_items));
  std::erase_if(sets.active, [&](ItemId item) { return !(seen[item] > 0.0); });
  const std::size_t m = sets.active.size();
  std::vector<std::size_t> index(n, m);
  for (std::size_t a = 0; a < m; ++a) index[sets.active[a]] = a;
  sets.first = VectorXd::Zero(static_cast<Index>(m));
  sets.cube.assign(m * m * m, 0.0);
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    if (!has_top_three(i)) continue;
    const RankingView ranking = rankings[i];
    const double share = rankings.weight(i) / sets.total;
    if (ranking.ends_group(0) && index[ranking[0]] < m) sets.first(static_cast<Index>(index[ranking[0]])) += share;
    std::array<std::size_t, 3> three{index[ranking[0]], index[ranking[1]], index[ranking[2]]};
    std::sort(three.begin(), three.end());
    if (three[2] == m) continue;
    do sets.cube[(three[0] * m + three[1]) * m + three[2]] += share;
    while (std::next_permutation(three.begin(), three.end()));
  }
  return sets;
}

// min |G x / 2 - h|-wise: 0.5 x' G x - h' x over x >= 0, by coordinate descent from x.
void solve_nonnegative(const MatrixXd& gram, const VectorXd& target, Eigen::Ref<VectorXd> x) {
  for (int sweep = 0; sweep < 200; ++sweep) {
    double change = 0.0;
    for (Index r = 0; r < x.size(); ++r) {
      if (!(gram(r, r) > 0.0)) continue;
      const double next = std::max(0.0, x(r) + (target(r) - gram.row(r).dot(x)) / gram(r, r));
      change = std::max(change, std::abs(next - x(r)));
      x(r) = next;
    }
    if (change <= 1e-12 * (x.cwiseAbs().maxCoeff() + 1e-300)) break;
  }
}

// Rows of `a` (items x K) improved one item at a time; returns the squared residual over sets i < j < k.
double alternate(const TopSets& sets, MatrixXd& a) {
  const Index m = a.rows(), num_components = a.cols();
  double norm = 0.0;
  for (double value : sets.cube) norm += value * value;
  norm /= 6.0;
  double previous = infinity, residual = norm;
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    for (Index i = 0; i < m; ++i) {
      // Sums over j < k, both other than i.
      MatrixXd others = a;
      others.row(i).setZero();
      MatrixXd gram(num_components, num_components);
      for (Index r = 0; r < num_components; ++r)
        for (Index s = r; s < num_components; ++s) {
          const VectorXd product = others.col(r).cwiseProduct(others.col(s));
          const double sum = product.sum();
          gram(r, s) = gram(s, r) = 0.5 * (sum * sum - product.squaredNorm());
        }
      const Eigen::Map<const MatrixXd> slice(sets.cube.data() + i * m * m, m, m);
      const MatrixXd folded = slice * others;  // sum_k T_ijk a_k
      VectorXd target(num_components);
      for (Index r = 0; r < num_components; ++r) target(r) = 0.5 * others.col(r).dot(folded.col(r));
      VectorXd row = a.row(i).transpose();
      solve_nonnegative(gram, target, row);
      a.row(i) = row.transpose();
    }
    // |T - model|^2 = |T|^2 - 2 <T, model> + |model|^2, each over sets.
    double cross = 0.0, square = 0.0;
    for (Index i = 0; i < m; ++i) {
      const Eigen::Map<const MatrixXd> slice(sets.cube.data() + i * m * m, m, m);
      const MatrixXd folded = slice * a;
      for (Index r = 0; r < num_components; ++r) cross += a(i, r) * a.col(r).dot(folded.col(r)) / 6.0;
    }
    for (Index r = 0; r < num_components; ++r)
      for (Index s = 0; s < num_components; ++s) {
        const VectorXd product = a.col(r).cwiseProduct(a.col(s));
        const double p1 = product.sum(), p2 = product.squaredNorm(), p3 = product.array().cube().sum();
        square += (p1 * p1 * p1 - 3.0 * p1 * p2 + 2.0 * p3) / 6.0;  // Newton's identity for sums over i < j < k
      }
    residual = std::max(norm - 2.0 * cross + square, 0.0);
    if (previous - residual <= 1e-7 * residual + 1e-14 * norm) break;
    previous = residual;
  }
  return norm > 0.0 ? std::sqrt(residual / norm) : 0.0;
}

}  // namespace

TensorStart tensor_start(const RankingSet& rankings, std::size_t n, std::size_t components, std::uint64_t seed) {
  const TopSets sets = count_top_sets(rankings, n);
  const auto m = static_cast<Index>(sets.active.size());
  const auto num_components = static_cast<Index>(components);
  MatrixXd best;
  double least = infinity;
  for (int start = 0; start < (components == 1 ? 1 : num_starts); ++start) {
    RandomStream random(seed, Purpose::initialise, static_cast<std::uint64_t>(start));
    MatrixXd a(m, num_components);
    for (Index i = 0; i < m; ++i)
      for (Index r = 0; r < num_components; ++r)
        a(i, r) = (sets.first(i) + 0.1 / static_cast<double>(m)) * std::exp(random.normal());
    const double residual = alternate(sets, a);
    if (residual < least) {
      least = residual;
      best = std::move(a);
    }
  }
  // First-position frequencies fix the scales: P = sum_r beta_r a_r, w_r x_r = beta_r a_r.
  for (Index r = 0; r < num_components; ++r) {
    const double sum = best.col(r).sum();
    if (sum > 0.0)
      best.col(r) /= sum;
    else
      best.col(r) = sets.first;  // a term that vanished: start it from the whole
  }
  const double noise = 1.0 / std::sqrt(sets.total);
  MatrixXd design = best;
  VectorXd target = sets.first;
  for (Index i = 0; i < m; ++i) {
    const double weight = 1.0 / std::sqrt(std::max(sets.first(i), noise * noise));
    design.row(i) *= weight;
    target(i) *= weight;
  }
  VectorXd weight = VectorXd::Constant(num_components, 1.0 / static_cast<double>(components));
  solve_nonnegative(design.transpose() * design, design.transpose() * target, weight);
  weight = weight.cwiseMax(0.02 / static_cast<double>(components));
  weight /= weight.sum();

  TensorStart result;
  result.residual = least;
  for (Index r = 0; r < num_components; ++r) {
    result.weight.push_back(weight(r));
    // Items below the noise are alike: a share of it each.
    const double floor = std::min(noise, 0.1) / static_cast<double>(n);
    std::vector<double> first(n, floor);
    for (Index i = 0; i < m; ++i) first[sets.active[static_cast<std::size_t>(i)]] = std::max(best(i, r), floor);
    const double sum = std::accumulate(first.begin(), first.end(), 0.0);
    for (double& value : first) value /= sum;
    result.first.push_back(std::move(first));
  }
  return result;
}

std::vector<double> tensor_memberships(const RankingSet& rankings, Unranked unranked, const TensorStart& start, int threads) {
  const std::size_t num_components = start.weight.size();
  std::vector<double> shares(rankings.size() * num_components);
  const Blocks blocks(rankings.size(), 1024);
  parallel_for(blocks.count(), threads, [&](std::size_t block) {
    for (std::size_t i = blocks.begin(block); i < blocks.end(block); ++i) {
      const std::span<double> row(shares.data() + i * num_components, num_components);
      for (std::size_t k = 0; k < num_components; ++k) {
        const std::vector<double>& worth = start.first[k];
        double log_prob = std::log(start.weight[k]);
        // Sum of the worths from each place on; unlisted items are part of it when they are last.
        double listed = 0.0;
        for (ItemId item : rankings[i].items()) listed += worth[item];
        double left = unranked == Unranked::last && rankings.length(i) < worth.size() ? std::max(1.0 - listed, 1e-12) : 0.0;
        for (std::size_t p = rankings.length(i); p-- > 0;) {
          const double own = worth[rankings[i][p]];
          left += own;
          log_prob += std::log(own / left);
        }
        row[k] = log_prob;
      }
      const double total = log_sum_exp(row);
      for (double& value : row) value = std::exp(value - total);
    }
  });
  return shares;
}

std::vector<std::uint32_t> tensor_labels(const RankingSet& rankings, Unranked unranked, const TensorStart& start, int threads) {
  const std::size_t num_components = start.weight.size();
  const std::vector<double> shares = tensor_memberships(rankings, unranked, start, threads);
  std::vector<std::uint32_t> labels(rankings.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double* row = shares.data() + i * num_components;
    labels[i] = static_cast<std::uint32_t>(std::max_element(row, row + num_components) - row);
  }
  return labels;
}

}  // namespace caucus::mallows_tensor
