// Any number of components from the same top-3 sets: a start for EM (`--init tensor`), beyond Awasthi et al. (2014).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "caucus/data/ranking.h"

namespace caucus::mallows_tensor {

struct TensorStart {
  std::vector<double> weight;              // K, sums to one
  std::vector<std::vector<double>> first;  // K x n: probability of each item to be first; positive, sums to one
  double residual = 0.0;                   // relative Frobenius norm of what the K terms leave of the top-3 tensor
};

// T(i,j,k) = P({i,j,k} are the first three) for i < j < k is a sum of K symmetric rank-1 terms off the diagonal: exactly for
// Mallows (Lemma 2.5), nearly for Plackett-Luce. Alternating non-negative least squares over items (given the others, T is linear
// in one item's row) from several random starts; first-position frequencies then fix the scales. Uses rankings with at least three
// places whose first three items are known as a set; at most the 60 items most often among them. Throws DataError if there are
// none.
TensorStart tensor_start(const RankingSet& rankings, std::size_t num_items, std::size_t components, std::uint64_t seed);

// Memberships (distinct rankings x K) under Plackett-Luce models with the start's first-position probabilities as worths.
std::vector<double> tensor_memberships(const RankingSet& rankings, Unranked unranked, const TensorStart& start, int threads);
// The most probable component of each distinct ranking.
std::vector<std::uint32_t> tensor_labels(const RankingSet& rankings, Unranked unranked, const TensorStart& start, int threads);

}  // namespace caucus::mallows_tensor
