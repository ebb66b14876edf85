#include "caucus/infer/pl_mixture/pair_bits.h"

#include <algorithm>
#include <bit>

#include "caucus/base/bit_tables.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/pl_mixture/eigen_index.h"

namespace caucus::pl_mixture {

PairBits::PairBits(const Dataset& data, std::span<const std::uint32_t> rankings, int threads)
    : num_items_(data.num_items()), count_(rankings.size()), threads_(threads) {
  for (std::size_t i = 0; i < num_items_; ++i) {
    row_start_.push_back(columns_);
    columns_ += (num_items_ - i - 1 + 7) / 8 * 8;
  }
  bytes_ = columns_ / 8;
  real_.assign(bytes_, 0);
  for (std::size_t i = 0; i < num_items_; ++i)
    for (std::size_t j = i + 1; j < num_items_; ++j) real_[column(i, j) / 8] |= static_cast<std::uint8_t>(1u << column(i, j) % 8);
  bool complete = true;
  for (std::uint32_t r : rankings)
    complete = complete && data.rankings.length(r) + (data.unranked == Unranked::last ? 1 : 0) >= num_items_;
  above_.assign(bytes_ * count_, 0);
  if (!complete) observed_.assign(bytes_ * count_, 0);

  const Blocks blocks(count_, 64, 256);
  parallel_for(blocks.count(), threads, [&](std::size_t b) {
    // Positions padded so that whole bytes can be compared.
    std::vector<std::uint32_t> position(num_items_ + 8);
    for (std::size_t l = blocks.begin(b); l < blocks.end(b); ++l) {
      const RankingView ranking = data.rankings[rankings[l]];
      const auto unlisted = static_cast<std::uint32_t>(num_items_);
      std::ranges::fill(position, unlisted);
      for (std::size_t p = 0; p < ranking.size(); ++p) position[ranking[p]] = static_cast<std::uint32_t>(p);
      for (std::size_t i = 0; i + 1 < num_items_; ++i) {
        const std::uint32_t own = position[i];
        for (std::size_t j = i + 1, byte = row_start_[i] / 8; j < num_items_; j += 8, ++byte) {
          unsigned bits = 0;
          for (unsigned t = 0; t < 8; ++t) bits |= static_cast<unsigned>(own < position[j + t]) << t;
          unsigned seen = 0xFF;
          if (!complete) {
            // Two listed items are always compared; one of them only where unlisted means last; none never.
            seen = 0;
            for (unsigned t = 0; t < 8; ++t) {
              const bool other = position[j + t] != unlisted, mine = own != unlisted;
              seen |= static_cast<unsigned>(data.unranked == Unranked::last ? mine || other : mine && other) << t;
            }
            observed_[byte * count_ + l] = static_cast<std::uint8_t>(seen & real_[byte]);
          }
          above_[byte * count_ + l] = static_cast<std::uint8_t>(bits & seen & real_[byte]);
        }
      }
    }
  });
}

RowMatrix PairBits::plane_times(const std::vector<std::uint8_t>& plane, const RowMatrix& right) const {
  const std::size_t lanes = static_cast<std::size_t>(right.cols());
  RowMatrix result = RowMatrix::Zero(index(count_), right.cols());
  const Blocks blocks(count_, 2048, 64);
  parallel_for(blocks.count(), threads_, [&](std::size_t b) {
    std::vector<double> table(256 * lanes);
    for (std::size_t byte = 0; byte < bytes_; ++byte) {
      // table[v] = sum of the rows of `right` whose bits are set in v, each from one with a bit less.
      std::fill_n(table.begin(), lanes, 0.0);
      for (unsigned v = 1; v < 256; ++v) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(v));
        const double* row = right.data() + (byte * 8 + bit) * lanes;
        const double* from = &table[(v & (v - 1)) * lanes];
        double* to = &table[v * lanes];
        for (std::size_t t = 0; t < lanes; ++t) to[t] = from[t] + row[t];
      }
      const std::uint8_t* values = plane.data() + byte * count_;
      for (std::size_t l = blocks.begin(b); l < blocks.end(b); ++l) {
        const double* from = &table[values[l] * lanes];
        double* to = result.data() + l * lanes;
        for (std::size_t t = 0; t < lanes; ++t) to[t] += from[t];
      }
    }
  });
  return result;
}

RowMatrix PairBits::plane_transposed_times(const std::vector<std::uint8_t>& plane, const RowMatrix& left) const {
  RowMatrix result = RowMatrix::Zero(index(columns_), left.cols());
  const Blocks blocks(bytes_, 4, 256);
  parallel_for(blocks.count(), threads_, [&](std::size_t b) {
    with_lanes(static_cast<std::size_t>(left.cols()), [&](auto lanes) {
      std::vector<double> table(256 * lanes);
      for (std::size_t byte = blocks.begin(b); byte < blocks.end(b); ++byte) {
        std::ranges::fill(table, 0.0);
        const std::uint8_t* values = plane.data() + byte * count_;
        for (std::size_t l = 0; l < count_; ++l) {
          const double* from = left.data() + l * lanes;
          double* to = &table[values[l] * lanes];
          for (std::size_t t = 0; t < lanes; ++t) to[t] += from[t];
        }
        add_sums_by_bit(table.data(), 8, lanes, result.data() + byte * 8 * lanes);
      }
    });
  });
  return result;
}

RowMatrix PairBits::multiply(const RowMatrix& right) const {
  RowMatrix result = plane_times(above_, right);
  if (fully_observed()) return result;
  // X = above + (1 - observed) / 2.
  Eigen::RowVectorXd all = Eigen::RowVectorXd::Zero(right.cols());
  for (std::size_t c = 0; c < columns_; ++c)
    if ((real_[c / 8] >> c % 8 & 1) != 0) all += right.row(index(c));
  result -= 0.5 * plane_times(observed_, right);
  result.rowwise() += 0.5 * all;
  return result;
}

RowMatrix PairBits::multiply_transposed(const RowMatrix& left, bool only_observed) const {
  RowMatrix result = plane_transposed_times(above_, left);
  if (fully_observed() || only_observed) return result;
  result -= 0.5 * plane_transposed_times(observed_, left);
  result.rowwise() += 0.5 * left.colwise().sum();
  return result;
}

RowMatrix PairBits::observed_transposed(const RowMatrix& left) const {
  if (!fully_observed()) return plane_transposed_times(observed_, left);
  RowMatrix result(index(columns_), left.cols());
  result.rowwise() = left.colwise().sum();
  return result;
}

}  // namespace caucus::pl_mixture
