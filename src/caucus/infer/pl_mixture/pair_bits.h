// The pairwise embedding of rankings (Nguyen & Zhang 2023, eq. (7)), one bit per pair, and products with it.
//
// Entry (l, i < j) is 1 if ranking l puts i above j, 0 if below, 1/2 if it does not say. Stored as one or two bit planes; a product
// reads whole bytes and looks their sums up in tables of 256 (the "four Russians" method), so it costs an eighth of the plain O(m
// n^2).
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus::pl_mixture {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

class PairBits {
 public:
  // The given distinct rankings of the data set, strict ones.
  PairBits(const Dataset& data, std::span<const std::uint32_t> rankings, int threads);

  std::size_t num_rankings() const { return count_; }
  std::size_t num_items() const { return num_items_; }
  std::size_t num_columns() const { return columns_; }  // pairs, each row i padded to whole bytes
  bool fully_observed() const { return observed_.empty(); }
  // Column of the pair i < j.
  std::size_t column(std::size_t i, std::size_t j) const { return row_start_[i] + j - i - 1; }
  std::size_t memory_bytes() const { return above_.size() + observed_.size(); }

  // X times right (columns x L): rankings x L. X has entries 0, 1/2, 1.
  RowMatrix multiply(const RowMatrix& right) const;
  // X transposed times left (rankings x L): columns x L. With only_observed the halves of unobserved pairs count as 0.
  RowMatrix multiply_transposed(const RowMatrix& left, bool only_observed = false) const;
  // Observed (0/1) transposed times left.
  RowMatrix observed_transposed(const RowMatrix& left) const;

 private:
  RowMatrix plane_times(const std::vector<std::uint8_t>& plane, const RowMatrix& right) const;
  RowMatrix plane_transposed_times(const std::vector<std::uint8_t>& plane, const RowMatrix& left) const;

  std::size_t num_items_, count_, columns_ = 0, bytes_ = 0;
  int threads_;
  std::vector<std::size_t> row_start_;
  std::vector<std::uint8_t> above_;     // [byte column][ranking]: neighbours in memory are rankings
  std::vector<std::uint8_t> observed_;  // empty: all pairs of all rankings are observed
  std::vector<std::uint8_t> real_;      // which bits of each byte column are pairs, not padding
};

}  // namespace caucus::pl_mixture
