// TENSOR-DECOMP, the conditioning test and INFER-TOP-K of Awasthi et al. (2014), Algorithm 1.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/infer/mallows_tensor/counts.h"

namespace caucus::mallows_tensor {

using Partition = std::array<std::vector<ItemId>, 3>;

// Items 0..n-1 shuffled and cut into three parts as even as can be; each has at least two items when n >= 6, without which a rank-2
// tensor has no unique decomposition.
Partition random_partition(std::size_t num_items, RandomStream& random);

// T(i,j,k) = P({i,j,k} are the first three), i in S_a, j in S_b, k in S_c: |S_a| rows, |S_b| |S_c| columns, column j + |S_b| k.
Eigen::MatrixXd partition_tensor(const TopCounts& counts, const Partition& partition);

// T = u_a o u_b o u_c + v_a o v_b o v_c.
struct Decomposition {
  std::array<Eigen::MatrixX2d, 3> factors;           // unit columns (u, v) of each mode, entries summing to >= 0
  std::array<double, 2> scale{};                     // of the two rank-1 terms
  std::array<double, 3> second_singular_value{};     // sigma_2 of each normalised pair (u; v): 0 parallel, 1 orthogonal
  std::array<std::array<double, 2>, 3> unfolding{};  // two largest singular values of each unfolding of T
  double residual = 0.0;                             // Frobenius norm of what is not explained
  bool real = false;                                 // false: no real rank-2 decomposition (complex eigenvalues)

  double conditioning() const;  // min of second_singular_value; 0 unless real
};

// Jennrich's algorithm on the rank-2 subspaces of the first two modes, least squares for the third. Lemma 3.2.
Decomposition tensor_decomp(const Eigen::MatrixXd& tensor, std::size_t size_b, std::size_t size_c);

// Estimates from the decomposition and the first-position frequencies.
struct TopK {
  std::array<double, 2> weight{};
  std::array<double, 2> theta{};
  std::array<std::vector<double>, 2> first;   // x and y: P(item first), by item; not negative
  std::array<std::vector<ItemId>, 2> prefix;  // items above the noise, by descending first-position probability
  std::array<std::vector<ItemId>, 2> order;   // all items in that order
  bool usable = false;                        // both weights positive
};

// `noise`: entries of w x below it are not trusted for a prefix. Section 8 of the paper's supplement in the form of README.md.
TopK infer_top_k(const TopCounts& counts, const Partition& partition, const Decomposition& decomposition, double noise);

// Slope of log x over rank, minus, for a descending sequence of first-position probabilities; each weighs as it is large.
double theta_from_first(const std::vector<double>& descending, double floor);

}  // namespace caucus::mallows_tensor
