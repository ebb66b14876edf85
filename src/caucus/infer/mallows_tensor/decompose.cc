#include "caucus/infer/mallows_tensor/decompose.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/infer/mallows_tensor/pair.h"
#include "caucus/model/decompositions.h"

namespace caucus::mallows_tensor {
namespace {

using Eigen::Index;
using Eigen::Matrix2d;
using Eigen::MatrixX2d;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::VectorXd;

// Left singular vectors of the two largest singular values, and these.
MatrixX2d leading_pair(const MatrixXd& unfolding, std::array<double, 2>& values) {
  const Directions found = left_singular_vectors(unfolding);
  MatrixX2d basis = MatrixX2d::Zero(unfolding.rows(), 2);
  for (Index c = 0; c < std::min<Index>(2, found.values.size()); ++c) {
    basis.col(c) = found.vectors.col(c);
    values[static_cast<std::size_t>(c)] = found.values(c);
  }
  return basis;
}

// sigma_2 of two unit columns: sqrt(1 - |cos|), as |u - s v| / sqrt 2 so that nearly parallel ones keep their digits.
double second_value(const MatrixX2d& unit_columns) {
  const double sign = unit_columns.col(0).dot(unit_columns.col(1)) < 0.0 ? -1.0 : 1.0;
  return (unit_columns.col(0) - sign * unit_columns.col(1)).norm() / std::sqrt(2.0);
}

}  // namespace

Partition random_partition(std::size_t num_items, RandomStream& random) {
  std::vector<ItemId> items(num_items);
  std::iota(items.begin(), items.end(), ItemId{0});
  random.shuffle(std::span(items));
  Partition partition;
  for (std::size_t i = 0; i < num_items; ++i) partition[i * 3 / std::max<std::size_t>(num_items, 1)].push_back(items[i]);
  for (auto& part : partition) std::sort(part.begin(), part.end());
  return partition;
}

MatrixXd partition_tensor(const TopCounts& counts, const Partition& partition) {
  const auto& [a, b, c] = partition;
  MatrixXd tensor(static_cast<Index>(a.size()), static_cast<Index>(b.size() * c.size()));
  const double scale = counts.total() > 0.0 ? 1.0 / counts.total() : 0.0;
  for (std::size_t k = 0; k < c.size(); ++k)
    for (std::size_t j = 0; j < b.size(); ++j)
      for (std::size_t i = 0; i < a.size(); ++i)
        tensor(static_cast<Index>(i), static_cast<Index>(j + b.size() * k)) = scale * counts.triple(a[i], b[j], c[k]);
  return tensor;
}

double Decomposition::conditioning() const {
  return real ? *std::min_element(second_singular_value.begin(), second_singular_value.end()) : 0.0;
}

Decomposition tensor_decomp(const MatrixXd& tensor, std::size_t size_b, std::size_t size_c) {
  const Index na = tensor.rows();
  const auto nb = static_cast<Index>(size_b), nc = static_cast<Index>(size_c);
  Decomposition result;
  for (std::size_t mode = 0; mode < 3; ++mode) result.factors[mode] = MatrixX2d::Zero(mode == 0 ? na : mode == 1 ? nb : nc, 2);
  if (na < 2 || nb < 2 || nc < 2) return result;

  MatrixXd unfold_b(nb, na * nc), unfold_c(nc, na * nb);
  for (Index k = 0; k < nc; ++k)
    for (Index j = 0; j < nb; ++j)
      for (Index i = 0; i < na; ++i) {
        const double value = tensor(i, j + nb * k);
        unfold_b(j, i + na * k) = value;
        unfold_c(k, i + na * j) = value;
      }
  const MatrixX2d basis_a = leading_pair(tensor, result.unfolding[0]);
  const MatrixX2d basis_b = leading_pair(unfold_b, result.unfolding[1]);
  const MatrixX2d basis_c = leading_pair(unfold_c, result.unfolding[2]);
  result.residual = tensor.norm();

  // The 2 x 2 x 2 core: slices along the third mode, G_s = basis_a' (sum_k basis_c(k,s) T(:,:,k)) basis_b.
  std::array<Matrix2d, 2> slice{Matrix2d::Zero(), Matrix2d::Zero()};
  for (Index k = 0; k < nc; ++k) {
    const Matrix2d projected = basis_a.transpose() * tensor.middleCols(nb * k, nb) * basis_b;
    for (std::size_t s = 0; s < 2; ++s) slice[s] += basis_c(k, static_cast<Index>(s)) * projected;
  }
  // Contractions of the third mode along g(t) = (cos t, sin t). M_u M_v^-1 needs M_v far from singular: of 16 directions take the
  // best conditioned, and M_u across it. (The paper contracts with two random vectors.)
  double best = -1.0, angle = 0.0;
  for (int step = 0; step < 16; ++step) {
    const double t = 3.14159265358979323846 * step / 16.0;
    const Matrix2d m = std::cos(t) * slice[0] + std::sin(t) * slice[1];
    const double norm = m.squaredNorm();
    const double quality = norm > 0.0 ? std::abs(m.determinant()) / norm : 0.0;
    if (quality > best) {
      best = quality;
      angle = t;
    }
  }
  if (!(best > 1e-14)) return result;
  const Matrix2d mv = std::cos(angle) * slice[0] + std::sin(angle) * slice[1];
  const Matrix2d mu = -std::sin(angle) * slice[0] + std::cos(angle) * slice[1];
  const Matrix2d ratio = mu * mv.inverse();

  // M_u M_v^-1 = A diag A^-1: eigenvectors are the first mode. 2 x 2, so in closed form.
  const double half_trace = 0.5 * ratio.trace();
  const double half_difference = 0.5 * (ratio(0, 0) - ratio(1, 1));
  const double discriminant = half_difference * half_difference + ratio(0, 1) * ratio(1, 0);
  if (!(discriminant > 0.0)) return result;
  const double root = std::sqrt(discriminant);
  Matrix2d eigenvectors;
  for (Index c = 0; c < 2; ++c) {
    const double value = half_trace + (c == 0 ? root : -root);
    const Vector2d one(ratio(0, 1), value - ratio(0, 0)), two(value - ratio(1, 1), ratio(1, 0));
    const Vector2d longer = one.squaredNorm() > two.squaredNorm() ? one : two;
    if (!(longer.norm() > 0.0)) return result;
    eigenvectors.col(c) = longer.normalized();
  }
  if (std::abs(eigenvectors.determinant()) < 1e-14) return result;
  // M_v = A D_v B', so B' = D_v^-1 A^-1 M_v: the columns come out paired with those of A.
  const Matrix2d second = (eigenvectors.inverse() * mv).transpose();
  result.factors[0] = basis_a * eigenvectors;
  result.factors[1] = basis_b * second;
  for (std::size_t mode = 0; mode < 2; ++mode)
    for (Index c = 0; c < 2; ++c) {
      const double norm = result.factors[mode].col(c).norm();
      if (!(norm > 0.0)) return result;
      result.factors[mode].col(c) *= (result.factors[mode].col(c).sum() < 0.0 ? -1.0 : 1.0) / norm;
    }

  // Third mode: least squares of its unfolding on the Khatri-Rao product of the first two.
  MatrixX2d khatri_rao(na * nb, 2);
  for (Index c = 0; c < 2; ++c)
    for (Index j = 0; j < nb; ++j) khatri_rao.col(c).segment(na * j, na) = result.factors[1](j, c) * result.factors[0].col(c);
  const auto [rank, third] = least_squares(khatri_rao, unfold_c.transpose());  // 2 x nc
  if (rank < 2) return result;
  result.residual = (khatri_rao * third - unfold_c.transpose()).norm();
  for (Index c = 0; c < 2; ++c) {
    const double norm = third.row(c).norm();
    if (!(norm > 0.0)) return result;
    const double sign = third.row(c).sum() < 0.0 ? -1.0 : 1.0;
    result.factors[2].col(c) = third.row(c).transpose() * (sign / norm);
    result.scale[static_cast<std::size_t>(c)] = sign * norm;
  }
  for (std::size_t mode = 0; mode < 3; ++mode) result.second_singular_value[mode] = second_value(result.factors[mode]);
  result.real = true;
  return result;
}

double theta_from_first(const std::vector<double>& descending, double floor) {
  // log x_(p) = log x_(1) - theta p. The variance of log x is as 1 / x, so each point weighs x.
  double sw = 0.0, sp = 0.0, sl = 0.0, spp = 0.0, spl = 0.0;
  for (std::size_t p = 0; p < descending.size(); ++p) {
    const double value = descending[p];
    if (!(value > floor) || !(value > 0.0)) break;
    const double rank = static_cast<double>(p), log_value = std::log(value);
    sw += value;
    sp += value * rank;
    sl += value * log_value;
    spp += value * rank * rank;
    spl += value * rank * log_value;
  }
  const double spread = sw * spp - sp * sp;
  if (!(spread > 1e-12 * sw * sw)) return max_pair_theta / 2.0;  // a single item above the noise: sharply peaked
  return std::clamp(-(sw * spl - sp * sl) / spread, 1e-3, max_pair_theta);
}

TopK infer_top_k(const TopCounts& counts, const Partition& partition, const Decomposition& decomposition, double noise) {
  const std::size_t n = counts.num_items();
  TopK top;
  for (auto& x : top.first) x.assign(n, 0.0);
  if (!decomposition.real) return top;

  // P(a) = alpha u(a) + beta v(a) on each part (Lemma 2.5, first moments): alpha u = w1 x there. Each equation weighs by the
  // standard error of its frequency.
  for (std::size_t mode = 0; mode < 3; ++mode) {
    const auto& part = partition[mode];
    MatrixX2d design = decomposition.factors[mode];
    VectorXd target(static_cast<Index>(part.size()));
    for (std::size_t i = 0; i < part.size(); ++i) {
      const double p = counts.first(part[i]) / counts.total();
      const double weight = 1.0 / std::sqrt(std::max(p, noise * noise));
      target(static_cast<Index>(i)) = weight * p;
      design.row(static_cast<Index>(i)) *= weight;
    }
    const MatrixXd solution = least_squares(design, target).solution;
    for (std::size_t r = 0; r < 2; ++r)
      for (std::size_t i = 0; i < part.size(); ++i)
        top.first[r][part[i]] =
            solution(static_cast<Index>(r), 0) * decomposition.factors[mode](static_cast<Index>(i), static_cast<Index>(r));
  }
  // The sum over all items of w1 x is w1.
  for (std::size_t r = 0; r < 2; ++r) {
    for (double& value : top.first[r]) value = std::max(value, 0.0);
    top.weight[r] = std::accumulate(top.first[r].begin(), top.first[r].end(), 0.0);
  }
  const double sum = top.weight[0] + top.weight[1];
  top.usable = top.weight[0] > 0.0 && top.weight[1] > 0.0;
  if (!top.usable) return top;
  for (std::size_t r = 0; r < 2; ++r) {
    const double floor = noise / top.weight[r];
    for (double& value : top.first[r]) value /= top.weight[r];
    top.weight[r] /= sum;
    auto& order = top.order[r];
    order.resize(n);
    std::iota(order.begin(), order.end(), ItemId{0});
    std::stable_sort(order.begin(), order.end(), [&](ItemId i, ItemId j) { return top.first[r][i] > top.first[r][j]; });
    std::vector<double> descending;
    for (ItemId item : order) {
      descending.push_back(top.first[r][item]);
      if (top.first[r][item] > floor) top.prefix[r].push_back(item);
    }
    top.theta[r] = theta_from_first(descending, floor);
  }
  return top;
}

}  // namespace caucus::mallows_tensor
