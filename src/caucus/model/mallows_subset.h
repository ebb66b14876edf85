// Rankings of a subset of the items under a Mallows model (Kendall): the unlisted items took no part, so the ballot is the event
// that the listed ones stand in this order, wherever the others are. Pairwise comparisons are the case of two. Tied items may stand
// either way.
//
// Exact recursion. Only the items between the first and the last listed one in the center matter: an interval of the center is a
// Mallows model of its own. A ranking is built from the top: the next item costs q per remaining item that the center puts before
// it. Unlisted items between two neighbouring listed ones are alike, so a state is which listed items remain (a path for a strict
// ballot) and how many unlisted ones remain in each of the blocks between them: prod_b (m_b + 1) states per remaining set, not n^s.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "caucus/data/ranking.h"

namespace caucus {

struct LogProbability {
  double value = 0.0;
  double slope = 0.0;  // by theta
};

// What a center sees of a ballot: the listed items in central order.
struct ListedItems {
  std::vector<std::uint32_t> group;    // tie-group of the ballot each is in, 0 the best
  std::vector<std::uint32_t> between;  // unlisted items between neighbours, one fewer

  ListedItems() = default;
  ListedItems(RankingView ballot, std::span<const std::uint32_t> position) { assign(ballot, position); }
  void assign(RankingView ballot, std::span<const std::uint32_t> position);

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted_;
};

// States of the recursion for this ballot; infinity where they are beyond counting.
double subset_states(const ListedItems& listed);
// The most over all centers, for a strict ballot of `size` of n items.
double most_subset_states(std::size_t size, std::size_t num_items);

// Probabilities of ballots at one theta. Ballots of two or three items are looked up in tables that `prepare` makes; the others
// take O(s) per state. Const members are safe to call from several threads.
class SubsetProbabilities {
 public:
  SubsetProbabilities(double theta, std::size_t num_items);

  // Tables for strict ballots of this size, where they pay: two items, and three of up to 300.
  void prepare(std::size_t size);
  LogProbability operator()(const ListedItems& listed) const;
  double theta() const { return theta_; }

 private:
  struct Stages;  // powers of q and normalisers of all sizes

  std::size_t num_items_;
  double theta_;
  std::shared_ptr<const Stages> stages_;
  std::array<std::vector<LogProbability>, 11> tables_;  // by group; inside by between, the last fastest
};

}  // namespace caucus
