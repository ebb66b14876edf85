#include "caucus/infer/mallows_tensor/counts.h"

#include <algorithm>
#include <utility>

#include "caucus/base/parallel.h"

namespace caucus::mallows_tensor {

TopCounts::TopCounts(std::size_t num_items)
    : num_items_(num_items),
      joint_(num_items * num_items * num_items, 0.0),
      triples_(num_items < 3 ? 0 : num_items * (num_items - 1) * (num_items - 2) / 6, 0.0) {}

std::size_t TopCounts::triple_index(std::size_t i, std::size_t j, std::size_t k) {
  if (i > j) std::swap(i, j);
  if (j > k) std::swap(j, k);
  if (i > j) std::swap(i, j);
  return k * (k - 1) * (k - 2) / 6 + j * (j - 1) / 2 + i;
}

void TopCounts::add(std::span<const ItemId> order, double weight) {
  total_ += weight;
  double* given_first = joint_.data() + order[0] * num_items_ * num_items_;
  for (std::size_t j = 0; j < order.size(); ++j) given_first[order[j] * num_items_ + j] += weight;
  if (order.size() >= 3) triples_[triple_index(order[0], order[1], order[2])] += weight;
}

void TopCounts::add(const TopCounts& other) {
  total_ += other.total_;
  for (std::size_t i = 0; i < joint_.size(); ++i) joint_[i] += other.joint_[i];
  for (std::size_t i = 0; i < triples_.size(); ++i) triples_[i] += other.triples_[i];
}

void TopCounts::scale(double factor) {
  total_ *= factor;
  for (double& count : joint_) count *= factor;
  for (double& count : triples_) count *= factor;
}

double TopCounts::position(std::size_t i, std::size_t j) const {
  double sum = 0.0;
  for (std::size_t e = 0; e < num_items_; ++e) sum += joint(e, i, j);
  return sum;
}

double TopCounts::triple(std::size_t i, std::size_t j, std::size_t k) const { return triples_[triple_index(i, j, k)]; }

TopCounts count_rankings(const RankingSet& rankings, std::size_t num_items, const Workers& workers,
                         std::span<const ItemId> deleted) {
  constexpr ItemId gone = ~ItemId{0};
  std::vector<ItemId> renumbered(num_items, 0);
  for (ItemId item : deleted) renumbered[item] = gone;
  ItemId kept = 0;
  for (ItemId& id : renumbered) id = id == gone ? gone : kept++;

  // At most 16 million partial counts in all: the number of blocks depends on the sizes alone.
  const std::size_t cells = std::max<std::size_t>(num_items * num_items * num_items, 1);
  const Blocks blocks(rankings.size(), 8192, std::clamp<std::size_t>((std::size_t{1} << 24) / cells, 1, 64));
  return parallel_fold(
      blocks, workers, [&] { return TopCounts(kept); },
      [&](TopCounts& counts, std::size_t begin, std::size_t end) {
        std::vector<ItemId> order(kept);
        for (std::size_t i = begin; i < end; ++i) {
          const std::span<const ItemId> items = rankings[i].items();
          if (deleted.empty()) {
            counts.add(items, rankings.weight(i));
            continue;
          }
          std::size_t length = 0;
          for (ItemId item : items)
            if (renumbered[item] != gone) order[length++] = renumbered[item];
          counts.add(order, rankings.weight(i));
        }
      },
      [](TopCounts& total, const TopCounts& part) { total.add(part); });
}

}  // namespace caucus::mallows_tensor
