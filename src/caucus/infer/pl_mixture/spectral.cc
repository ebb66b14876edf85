#include "caucus/infer/pl_mixture/spectral.h"

#include <Eigen/Core>
#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>
#include <numeric>

#include "caucus/base/random.h"
#include "caucus/infer/kmeans.h"
#include "caucus/infer/pl_mixture/eigen_index.h"
#include "caucus/infer/regroup.h"
#include "caucus/model/decompositions.h"

namespace caucus::pl_mixture {

namespace {

using Eigen::Index;

constexpr std::size_t most_bytes = std::size_t{48} << 20;

// Distinct rankings for the embedding: all that say something, or a part drawn by weight, so that ballots that thousands cast stay.
Embedding::Chosen choose_rankings(const Dataset& data, std::uint64_t seed, std::size_t most_rankings) {
  const RankingSet& rankings = data.rankings;
  const auto weight_of = [&](std::size_t i) {  // 0: it says nothing
    return rankings.length(i) > (data.unranked == Unranked::absent ? 1u : 0u) ? std::max(rankings.weight(i), 0.0) : 0.0;
  };
  std::size_t count = 0;
  double total = 0.0;
  for (std::size_t i = 0; i < rankings.size(); ++i)
    if (const double weight = weight_of(i); weight > 0.0) ++count, total += weight;
  Embedding::Chosen chosen;
  const auto take = [&](std::size_t i, double weight) {
    chosen.rankings.push_back(static_cast<std::uint32_t>(i));
    chosen.weights.push_back(weight);
  };
  const std::size_t limit = Embedding::room(data.num_items(), most_rankings);
  if (count <= limit) {
    for (std::size_t i = 0; i < rankings.size(); ++i)
      if (const double weight = weight_of(i); weight > 0.0) take(i, weight);
    return chosen;
  }
  RandomStream random(seed, Purpose::svd, 1);
  draw_by_weight(rankings.size(), weight_of, total, limit, random, take);
  return chosen;
}

double linked(double share, Link link) {
  if (link == Link::logit) return std::log(share / (1.0 - share));
  // Thurstone: the difference of two normals. sqrt(2) Phi^-1(share) in units of one, brought to the scale of Gumbel noise, whose
  // standard deviation is pi / sqrt(6), because utilities of this family are on that scale.
  const double probit = std::numbers::sqrt2 * boost::math::erf_inv(2.0 * share - 1.0);
  return std::numbers::sqrt2 * probit * std::numbers::pi / std::sqrt(6.0);
}

}  // namespace

std::size_t Embedding::room(std::size_t n, std::size_t most_rankings) {
  const std::size_t bytes = std::max<std::size_t>(n * (n + 7) / 16 * 2, 1);
  return std::clamp<std::size_t>(most_bytes / bytes, std::min<std::size_t>(50, most_rankings), most_rankings);
}

Embedding::Embedding(const Dataset& data, std::uint64_t seed, int threads, std::size_t most_rankings)
    : Embedding(data, choose_rankings(data, seed, most_rankings), threads) {}

Embedding::Embedding(const Dataset& data, Chosen chosen, int threads)
    : data_(&data), threads_(threads), weights_(std::move(chosen.weights)), bits_(data, chosen.rankings, threads) {}

TruncatedSvd truncated_svd(const Embedding& embedding, std::size_t rank, bool center, std::uint64_t seed) {
  const PairBits& bits = embedding.bits();
  const std::size_t m = bits.num_rankings(), n = bits.num_items();
  rank = std::min({rank, m, std::max<std::size_t>(n * (n - 1) / 2, 1)});
  const std::size_t lanes = (rank + 4 + 3) / 4 * 4;
  Eigen::VectorXd weight = Eigen::Map<const Eigen::VectorXd>(embedding.weights().data(), index(m));
  const Eigen::VectorXd root = weight.cwiseSqrt();
  Eigen::RowVectorXd mean = Eigen::RowVectorXd::Zero(index(bits.num_columns()));
  if (center) mean = (bits.multiply_transposed(RowMatrix(weight)) / weight.sum()).transpose();

  // A = diag(root) (X - 1 mean).
  const auto forward = [&](const RowMatrix& right) {
    RowMatrix product = bits.multiply(right);
    if (center) product.rowwise() -= (mean * right).eval();
    return product;
  };
  const auto backward = [&](const RowMatrix& left) {  // A^T left
    const RowMatrix scaled = root.asDiagonal() * left;
    RowMatrix product = bits.multiply_transposed(scaled);
    if (center) product -= mean.transpose() * scaled.colwise().sum();
    return product;
  };
  RandomStream random(seed, Purpose::svd, 0);
  RowMatrix right(index(bits.num_columns()), index(lanes));
  for (Index i = 0; i < right.rows(); ++i)
    for (Index j = 0; j < right.cols(); ++j) right(i, j) = random.normal();
  constexpr int power_iterations = 4;
  RowMatrix left;
  for (int iteration = 0; iteration < power_iterations; ++iteration) {
    left = orthonormal_basis(root.asDiagonal() * forward(right));
    right = orthonormal_basis(backward(left));
  }
  const RowMatrix projected = forward(right);  // X V', rotated below
  const RowMatrix small = root.asDiagonal() * projected;
  const Directions found = left_singular_vectors(small.transpose() * small);
  TruncatedSvd result;
  const Index kept = std::min(index(rank), found.vectors.cols());
  result.values = found.values.head(kept).cwiseMax(0.0).cwiseSqrt();
  result.projected = projected * found.vectors.leftCols(kept);
  return result;
}

std::size_t adaptive_rank(const Eigen::VectorXd& values, std::size_t num_components, std::size_t num_items, double num_rankings) {
  const double n = static_cast<double>(num_items);
  const double threshold = std::sqrt(n) * std::sqrt(num_rankings + n) * std::sqrt(std::log(std::max(n, 2.0)));
  std::size_t rank = 0;
  for (std::size_t a = 1; a <= num_components && a < static_cast<std::size_t>(values.size()); ++a)
    if (values[index(a - 1)] - values[index(a)] >= threshold) rank = a;
  return rank;
}

std::vector<int> spectral_clusters(const Embedding& embedding, std::size_t num_clusters, const SpectralOptions& options,
                                   std::uint64_t seed, std::uint64_t stream, const TruncatedSvd* given) {
  TruncatedSvd own;
  if (given == nullptr) own = truncated_svd(embedding, num_clusters + 1, options.center, seed);
  const TruncatedSvd& svd = given != nullptr ? *given : own;
  // Centered data of K clusters span K - 1 dimensions.
  std::size_t rank = num_clusters;
  if (options.rule == RankRule::paper) {
    const double total = std::accumulate(embedding.weights().begin(), embedding.weights().end(), 0.0);
    rank = adaptive_rank(svd.values, num_clusters, embedding.bits().num_items(), total);
    if (rank == 0) rank = num_clusters;  // no index qualifies: the paper leaves this open
  }
  rank = std::min<std::size_t>(rank, static_cast<std::size_t>(svd.projected.cols()));
  const RowMatrix points = svd.projected.leftCols(index(rank));
  return kmeans(std::span(points.data(), static_cast<std::size_t>(points.size())), rank, embedding.weights(), num_clusters,
                options.kmeans_restarts, seed, stream, embedding.threads())
      .labels;
}

std::vector<int> embedding_kmeans(const Embedding& embedding, std::size_t num_clusters, int restarts, std::uint64_t seed,
                                  std::uint64_t stream) {
  const PairBits& bits = embedding.bits();
  const std::size_t m = bits.num_rankings();
  const Eigen::VectorXd weight = Eigen::Map<const Eigen::VectorXd>(embedding.weights().data(), index(m));
  std::vector<int> best_labels(m, 0), labels(m, 0);
  double best_cost = infinity;
  for (int restart = 0; restart < restarts; ++restart) {
    // k-means++: every next center a ranking far from those chosen. |x - c|^2 up to |x|^2, which is the same for all centers.
    RandomStream random(seed, Purpose::kmeans, stream + static_cast<std::uint64_t>(restart));
    RowMatrix centroids = RowMatrix::Zero(index(bits.num_columns()), index(num_clusters));
    std::vector<double> chance(embedding.weights()), distance(m, infinity);
    Eigen::VectorXd own;  // |x|^2 of complete rankings is a constant; of others nearly
    for (std::size_t c = 0; c < num_clusters; ++c) {
      const std::size_t pick = sum(chance) > 0.0 ? random.categorical(chance) : random.below(m);
      RowMatrix indicator = RowMatrix::Zero(index(m), 1);
      indicator(index(pick), 0) = 1.0;
      const RowMatrix row = bits.multiply_transposed(indicator);
      centroids.col(index(c)) = row.col(0);
      const RowMatrix product = bits.multiply(row);
      const double norm = row.squaredNorm();
      for (std::size_t l = 0; l < m; ++l) {
        distance[l] = std::min(distance[l], std::max(2.0 * (norm - product(index(l), 0)), 0.0));
        chance[l] = embedding.weights()[l] * distance[l];
      }
    }
    double cost = infinity;
    for (int iteration = 0; iteration < 50; ++iteration) {
      const RowMatrix product = bits.multiply(centroids);
      const Eigen::RowVectorXd norms = centroids.colwise().squaredNorm();
      RowMatrix members = RowMatrix::Zero(index(m), index(num_clusters));
      double now = 0.0;
      for (std::size_t l = 0; l < m; ++l) {
        Index nearest = 0;
        now += weight[index(l)] * (norms - 2.0 * product.row(index(l))).minCoeff(&nearest);
        labels[l] = static_cast<int>(nearest);
        members(index(l), nearest) = weight[index(l)];
      }
      const Eigen::RowVectorXd sizes = members.colwise().sum();
      RowMatrix sums = bits.multiply_transposed(members);
      for (Index c = 0; c < sums.cols(); ++c)
        if (sizes[c] > 0.0) centroids.col(c) = sums.col(c) / sizes[c];
      if (iteration > 0 && !(now < cost - 1e-6 * std::abs(cost))) break;
      cost = now;
    }
    if (cost < best_cost) {
      best_cost = cost;
      best_labels = labels;
    }
  }
  return best_labels;
}

std::vector<double> least_squares_utilities(const Eigen::MatrixXd& above, Link link) {
  const Index n = above.rows();
  Eigen::MatrixXd phi = Eigen::MatrixXd::Zero(n, n);
  bool all_seen = true;
  Eigen::MatrixXd laplacian = Eigen::MatrixXd::Zero(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      if (i == j) continue;
      const double total = above(i, j) + above(j, i);
      if (!(total > 0.0)) {
        all_seen = false;
        continue;
      }
      phi(i, j) = linked((above(i, j) + 0.5) / (total + 1.0), link);
      laplacian(i, j) -= 1.0;
      laplacian(i, i) += 1.0;
    }
  }
  Eigen::VectorXd theta = phi.rowwise().sum();
  if (all_seen) {
    theta /= static_cast<double>(n);  // theta_i = mean_j phi_ij
  } else {
    // A whiff of ridge sets items that were never compared to the mean.
    laplacian.diagonal().array() += 1e-6;
    theta = solve_symmetric(laplacian, theta);
  }
  std::vector<double> result(theta.data(), theta.data() + n);
  center(result);
  return result;
}

Parameters cluster_parameters(const Embedding& embedding, const std::vector<int>& clusters, std::size_t num_clusters, Link link) {
  const PairBits& bits = embedding.bits();
  const std::size_t n = bits.num_items(), m = bits.num_rankings();
  RowMatrix members = RowMatrix::Zero(index(m), index(num_clusters));
  for (std::size_t l = 0; l < m; ++l) members(index(l), clusters[l]) = embedding.weights()[l];
  // Eq. (8): pairwise counts of all clusters in one product.
  const RowMatrix above = bits.multiply_transposed(members, true), observed = bits.observed_transposed(members);
  Parameters result(num_clusters, n);
  double total = 0.0;
  for (std::size_t k = 0; k < num_clusters; ++k) {
    Eigen::MatrixXd counts = Eigen::MatrixXd::Zero(index(n), index(n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        const Index c = index(bits.column(i, j));
        counts(index(i), index(j)) = above(c, index(k));
        counts(index(j), index(i)) = observed(c, index(k)) - above(c, index(k));
      }
    }
    std::ranges::copy(least_squares_utilities(counts, link), result.component(k).begin());
    // An empty cluster keeps a little weight, so that EM can still fill it.
    total += result.weights[k] = members.col(index(k)).sum() + 1e-3;
  }
  for (double& weight : result.weights) weight /= total;
  return result;
}

}  // namespace caucus::pl_mixture
