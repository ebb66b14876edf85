// The center of a Mallows model for weighted ballots of subsets: moves of single items while the exact likelihood gains.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "caucus/data/ranking.h"
#include "caucus/model/mallows_subset.h"

namespace caucus::mallows_mixture {

class SubsetSearch {
 public:
  // ballots[item]: the rankings that list it.
  SubsetSearch(const RankingSet& rankings, std::span<const std::vector<std::uint32_t>> ballots, std::span<const double> weight,
               const SubsetProbabilities& at, std::span<const ItemId> center);

  // Moves items by up to `reach` places until no move gains, or `stop` says so.
  void run(std::size_t reach, const std::function<bool()>& stop = {});
  const std::vector<ItemId>& center() const { return center_; }

 private:
  // Only ballots that list one of two neighbours see that they change places.
  void swap_neighbours(std::size_t place);
  // Tries the item at all places within reach and leaves it at the best one; did it move?
  bool move_best(ItemId item, std::size_t reach);

  const RankingSet& rankings_;
  std::span<const std::vector<std::uint32_t>> ballots_;
  std::span<const double> weight_;
  const SubsetProbabilities& at_;
  std::vector<ItemId> center_;
  std::vector<std::uint32_t> position_;
  std::vector<double> value_;  // log P of each ballot
  double gain_ = 0.0;          // since undo_ was empty
  double size_ = 0.0;          // of the log-likelihood: what counts as a gain
  std::vector<std::pair<std::uint32_t, double>> undo_;
  std::vector<std::uint64_t> seen_;  // by ballot: number of the last swap that touched it
  std::uint64_t swaps_ = 0;
  ListedItems listed_;
};

}  // namespace caucus::mallows_mixture
