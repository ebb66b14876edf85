// The likelihood of Plackett-Luce regression, Archambeau & Caron (2012), eq. (2), for class labels and for rankings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/data/ranking.h"
#include "caucus/model/pl_regression_features.h"

namespace caucus {

// Rows of features with their outcomes. A label is a ranking of length one that all classes take part in.
struct RegressionData {
  RowMatrix w;  // n x p, non-negative, no row all zero
  std::size_t num_classes = 0;
  bool ranking = false;
  Unranked unranked = Unranked::last;  // rankings: do unlisted classes take part?
  std::vector<std::uint32_t> outcome;  // labels: n; rankings: all orders, best first, one after the other
  std::vector<std::size_t> offsets;    // rankings: n + 1
  std::vector<double> weights;         // empty: all 1

  std::size_t num_rows() const { return static_cast<std::size_t>(w.rows()); }
  std::size_t num_features() const { return static_cast<std::size_t>(w.cols()); }
  double weight(std::size_t row) const { return weights.empty() ? 1.0 : weights[row]; }
  double total_weight() const;
  std::span<const std::uint32_t> order(std::size_t row) const {
    if (!ranking) return std::span(outcome).subspan(row, 1);
    return std::span(outcome).subspan(offsets[row], offsets[row + 1] - offsets[row]);
  }
  const double* features(std::size_t row) const { return w.data() + static_cast<Eigen::Index>(row) * w.cols(); }
  RegressionData select(std::span<const std::size_t> rows) const;
};

// Dot product in a fixed order of four partial sums: the same bits on every machine.
double dot(const double* a, const double* b, std::size_t size);

// Stages of one row: calls visit(t, winner, total) where `total` is the rate of all classes still running; `strength` holds
// W'lambda_k for all k. The last stage, with one class left, is sure and not visited. `running` is scratch of size K and holds,
// during a visit, who runs.
template <class Visit>
void for_each_stage(const RegressionData& data, std::size_t row, std::span<const double> strength,
                    std::vector<std::uint8_t>& running, Visit&& visit) {
  const auto order = data.order(row);
  const std::size_t k = data.num_classes;
  const bool all = !data.ranking || data.unranked == Unranked::last;
  running.assign(k, all ? 1 : 0);
  std::size_t left = all ? k : order.size();
  if (!all)
    for (const std::uint32_t item : order) running[item] = 1;
  for (std::size_t t = 0; t < order.size() && left > 1; ++t, --left) {
    double total = 0.0;
    for (std::size_t j = 0; j < k; ++j)
      if (running[j] != 0) total += strength[j];
    visit(t, order[t], total);
    running[order[t]] = 0;
  }
}

// log P of the outcomes at lambda (K x p), weighted. O(n p) for labels, O(n p K) for rankings. -inf where an outcome has
// probability 0.
double regression_loglik(const RegressionData& data, const RowMatrix& lambda, int threads = 1);
// P(class k comes first) for every row of w: n x K. Where all strengths vanish, 1/K.
RowMatrix class_probabilities(const RowMatrix& w, const RowMatrix& lambda);

}  // namespace caucus
