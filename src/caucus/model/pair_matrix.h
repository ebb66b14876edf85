// Pairwise weights of a set of rankings: Q(a, b) = weight of the rankings that put a strictly before b.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "caucus/data/ranking.h"

namespace caucus {

class PairMatrix {
 public:
  explicit PairMatrix(std::size_t num_items = 0) : size_(num_items), weight_(num_items * num_items, 0.0) {}

  std::size_t num_items() const { return size_; }
  double operator()(std::size_t a, std::size_t b) const { return weight_[a * size_ + b]; }
  double& operator()(std::size_t a, std::size_t b) { return weight_[a * size_ + b]; }
  std::span<double> values() { return weight_; }
  std::span<const double> values() const { return weight_; }

  // Adds a ranking; unlisted items are below the listed ones (unranked last) or take no part (absent). O(t n).
  void add(RankingView ranking, double weight, Unranked unranked = Unranked::last);

 private:
  std::size_t size_;
  std::vector<double> weight_;
};

// row[b] += weight for every b with place[b] < bound, n of them side by side: faster than one after the other by name where at
// least half of the items are meant.
void add_where_less(const double* place, double bound, double weight, std::size_t n, double* row);

PairMatrix pair_matrix(const RankingSet& rankings, std::size_t num_items, Unranked unranked = Unranked::last);

}  // namespace caucus
