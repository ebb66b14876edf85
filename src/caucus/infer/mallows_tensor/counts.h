// The statistics of Awasthi, Blum, Sheffet & Vijayaraghavan (2014), Definition 2.4 and Algorithm 2, gathered in one pass.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "caucus/base/bytes.h"
#include "caucus/base/workers.h"
#include "caucus/data/ranking.h"

namespace caucus::mallows_tensor {

// Weighted counts of complete rankings of n items. Addable, so any split of the data gives the same sums; n^3 + n^3/6 numbers,
// whatever the number of rankings. Whole-number weights are summed without rounding.
//
// joint(e, i, j) counts "item e first and item i at position j" (0-based). First-position counts, position counts and position
// counts given the first item are all read off it.
class TopCounts {
 public:
  explicit TopCounts(std::size_t num_items);

  // `order` lists every item once, best first. O(n).
  void add(std::span<const ItemId> order, double weight = 1.0);
  void add(const TopCounts& other);
  // Every count times a factor: exact moments stand for a sample of any size.
  void scale(double factor);

  std::size_t num_items() const { return num_items_; }
  double total() const { return total_; }
  double first(std::size_t e) const { return joint_[(e * num_items_ + e) * num_items_]; }
  double joint(std::size_t e, std::size_t i, std::size_t j) const { return joint_[(e * num_items_ + i) * num_items_ + j]; }
  double position(std::size_t i, std::size_t j) const;
  // Weight of the rankings whose first three items are {i, j, k}, in any order; the three are distinct.
  double triple(std::size_t i, std::size_t j, std::size_t k) const;

  // Visits every set i < j < k with its count, in a fixed order.
  template <class Visit>
  void for_each_triple(Visit&& visit) const {
    std::size_t index = 0;
    for (std::size_t k = 2; k < num_items_; ++k)
      for (std::size_t j = 1; j < k; ++j)
        for (std::size_t i = 0; i < j; ++i) visit(i, j, k, triples_[index++]);
  }

  std::size_t memory_bytes() const { return (joint_.size() + triples_.size()) * sizeof(double); }

 private:
  friend auto parts(IsA<TopCounts> auto& counts) {
    return std::tie(counts.num_items_, counts.total_, counts.joint_, counts.triples_);
  }
  // Sets in colexicographic order: C(k,3) + C(j,2) + i for i < j < k.
  static std::size_t triple_index(std::size_t i, std::size_t j, std::size_t k);

  std::size_t num_items_;
  double total_ = 0.0;
  std::vector<double> joint_;
  std::vector<double> triples_;
};

// One pass in fixed blocks. `deleted` items are taken out of every ranking first, and the others renumbered in ascending order: for
// a contiguous rest of both centers this leaves a mixture of the same weights and scales (methods of HANDLE-DEGENERATE-CASES).
TopCounts count_rankings(const RankingSet& rankings, std::size_t num_items, const Workers& workers,
                         std::span<const ItemId> deleted = {});

// Where the learner gets its counts: called once with nothing deleted, and again for each prefix that the degenerate branch takes
// off. A stream that has gone by answers only the first; then the degenerate branch stays with the counts it has.
using CountSource = std::function<TopCounts(std::span<const ItemId> deleted)>;

}  // namespace caucus::mallows_tensor
