#include "caucus/model/pair_matrix.h"

namespace caucus {

void PairMatrix::add(RankingView ranking, double weight, Unranked unranked) {
  const auto items = ranking.items();
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
