#include "caucus/model/pair_matrix.h"

#include "caucus/base/clones.h"
#include "caucus/base/numeric.h"

namespace caucus {

CAUCUS_CLONES void add_where_less(const double* __restrict place, double bound, double weight, std::size_t n,
                                  double* __restrict row) {
  for (std::size_t b = 0; b < n; ++b) row[b] += place[b] < bound ? weight : 0.0;
}

void PairMatrix::add(RankingView ranking, double weight, Unranked unranked) {
  const auto items = ranking.items();
  if (2 * items.size() > size_) {
    // Minus the number of its group for each item: what follows an item has less.
    std::vector<double> place(size_, unranked == Unranked::absent ? 1.0 : -infinity);
    double group = 0.0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      place[items[i]] = group;
      if (ranking.ends_group(i)) group -= 1.0;
    }
    for (ItemId item : items) add_where_less(place.data(), place[item], weight, size_, weight_.data() + item * size_);
    return;
  }
  // An item goes before all that follow its own group; group_end is the first position after the group.
  std::size_t group_end = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i == group_end) {
      while (!ranking.ends_group(group_end)) ++group_end;
      ++group_end;
    }
    double* row = weight_.data() + items[i] * size_;
    for (std::size_t j = group_end; j < items.size(); ++j) row[items[j]] += weight;
  }
  if (unranked == Unranked::absent || items.size() == size_) return;
  std::vector<bool> listed(size_, false);
  for (ItemId item : items) listed[item] = true;
  for (std::size_t b = 0; b < size_; ++b)
    if (!listed[b])
      for (ItemId a : items) weight_[a * size_ + b] += weight;
}

PairMatrix pair_matrix(const RankingSet& rankings, std::size_t num_items, Unranked unranked) {
  PairMatrix matrix(num_items);
  for (std::size_t i = 0; i < rankings.size(); ++i) matrix.add(rankings[i], rankings.weights()[i], unranked);
  return matrix;
}

}  // namespace caucus
