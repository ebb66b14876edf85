#include "caucus/infer/mallows_mixture/subset_search.h"

#include <algorithm>
#include <cmath>

#include "caucus/model/kendall.h"

namespace caucus::mallows_mixture {

SubsetSearch::SubsetSearch(const RankingSet& rankings, std::span<const std::vector<std::uint32_t>> ballots,
                           std::span<const double> weight, const SubsetProbabilities& at, std::span<const ItemId> center)
    : rankings_(rankings),
      ballots_(ballots),
      weight_(weight),
      at_(at),
      center_(center.begin(), center.end()),
      position_(inverse_order(center)),
      value_(rankings.size(), 0.0),
      seen_(rankings.size(), 0) {
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    if (!(weight_[i] > 0.0)) continue;
    listed_.assign(rankings_[i], position_);
    value_[i] = at_(listed_).value;
    size_ += weight_[i] * std::abs(value_[i]);
  }
}

void SubsetSearch::swap_neighbours(std::size_t place) {
  std::swap(center_[place], center_[place + 1]);
  std::swap(position_[center_[place]], position_[center_[place + 1]]);
  ++swaps_;
  for (const ItemId item : {center_[place], center_[place + 1]})
    for (const std::uint32_t i : ballots_[item]) {
      if (!(weight_[i] > 0.0) || seen_[i] == swaps_) continue;
      seen_[i] = swaps_;
      listed_.assign(rankings_[i], position_);
      const double value = at_(listed_).value;
      undo_.emplace_back(i, value_[i]);
      gain_ += weight_[i] * (value - value_[i]);
      value_[i] = value;
    }
}

bool SubsetSearch::move_best(ItemId item, std::size_t reach) {
  const std::size_t start = position_[item];
  std::size_t best_place = start;
  double best = 1e-12 * (1.0 + size_);
  const std::size_t last = std::min(center_.size() - 1, start + reach), first = start - std::min(start, reach);
  for (const std::size_t end : {last, first}) {
    undo_.clear();
    gain_ = 0.0;
    for (std::size_t place = start; place != end;) {
      const std::size_t next = end > place ? place + 1 : place - 1;
      swap_neighbours(std::min(place, next));
      place = next;
      if (gain_ > best) best = gain_, best_place = place;
    }
    // Back to where it was.
    for (auto entry = undo_.rbegin(); entry != undo_.rend(); ++entry) value_[entry->first] = entry->second;
    const auto at = [&](std::size_t place) { return center_.begin() + static_cast<std::ptrdiff_t>(place); };
    if (end > start)
      std::rotate(at(start), at(end), at(end + 1));
    else
      std::rotate(at(end), at(end + 1), at(start + 1));
    for (std::size_t place = std::min(start, end); place <= std::max(start, end); ++place)
      position_[center_[place]] = static_cast<std::uint32_t>(place);
  }
  for (std::size_t place = start; place != best_place;) {
    const std::size_t next = best_place > place ? place + 1 : place - 1;
    swap_neighbours(std::min(place, next));
    place = next;
  }
  return best_place != start;
}

void SubsetSearch::run(std::size_t reach, const std::function<bool()>& stop) {
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t item = 0; item < center_.size(); ++item) {
      if (stop && stop()) return;
      moved = move_best(static_cast<ItemId>(item), reach) || moved;
    }
  }
}

}  // namespace caucus::mallows_mixture
