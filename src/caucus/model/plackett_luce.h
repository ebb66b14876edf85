// The Plackett-Luce model of one group, with ties by Davidson-Luce (Turner, van Etten, Firth & Kosmidis 2020).
//
// Item i has worth a_i = exp(utility_i). At each stage a set T of the items still there is chosen with
// probability f(T) / sum over T' of f(T'), f(T) = delta_|T| (prod_{i in T} a_i)^(1/|T|), delta_1 = 1, and T'
// runs over the non-empty subsets of the sizes that the model knows. Without ties this is eq. (1) of
// Nguyen & Zhang (2023).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/data/ranking.h"

namespace caucus {

// Strengths of ties: order t >= 2, ascending, and log delta_t of each.
struct TieStrengths {
  std::vector<int> orders;
  std::vector<double> log_delta;
  bool empty() const { return orders.empty(); }
  bool knows(std::size_t order) const;
};

class PlackettLuce {
 public:
  explicit PlackettLuce(std::vector<double> utilities, TieStrengths ties = {});

  std::size_t num_items() const { return utilities_.size(); }
  std::span<const double> utilities() const { return utilities_; }
  const TieStrengths& ties() const { return ties_; }

  // log P(ranking): a ballot that stops early is the event "these, in this order, on top" under
  // Unranked::last, and an order of the listed items alone under Unranked::absent. Every tie order of the
  // ranking must be known. O(length), or O(n) where the unlisted items hold little of the worth.
  double log_prob(RankingView ranking, Unranked unranked) const;

  // The first `length` places of a random ranking (0: all; a tie may make it longer by what the group holds). Without
  // ties, one exponential race: O(n + length log length). With ties, O(n D^2) per stage, D the largest order.
  // group_ends is filled only where the model has ties.
  void sample(RandomStream& random, std::size_t length, std::vector<ItemId>& items, std::vector<std::uint8_t>& group_ends) const;
  // The first `stages` choices of a random ranking, each of one item or of a tie; fewer where the items run out.
  void sample_stages(RandomStream& random, std::size_t stages, std::vector<ItemId>& items,
                     std::vector<std::uint8_t>& group_ends) const;
  // Many draws of a model without ties: out[j] receives the first `length` items (at most n) of the draw that the stream (seed,
  // Purpose::sample, streams[j]) makes from its second word on. Ten times as fast as one by one (race.h).
  void sample_many(std::uint64_t seed, std::span<const std::uint64_t> streams, std::size_t length,
                   std::span<ItemId* const> out) const;

 private:
  // Choices, at most so many, until at least so many items are listed.
  void sample_choices(RandomStream& random, std::size_t most_stages, std::size_t wanted, std::vector<ItemId>& items,
                      std::vector<std::uint8_t>& group_ends) const;
  double log_prob_strict(RankingView ranking, Unranked unranked) const;
  double log_prob_ties(RankingView ranking, Unranked unranked) const;
  double log_prob_wide(RankingView ranking, Unranked unranked) const;

  std::vector<double> utilities_;
  TieStrengths ties_;
  std::vector<double> worths_;  // exp(utility - largest utility)
  double largest_ = 0.0;
  double total_worth_ = 0.0;
  bool wide_ = false;                                // utilities too far apart for products and sums of worths: work in logs
  std::vector<double> log_worths_, powers_, delta_;  // with ties only: see TieSweep
};

}  // namespace caucus
