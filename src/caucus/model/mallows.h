// The Mallows model under Kendall's distance: P(pi) = exp(-theta d(pi, center)) / [n]!. Mallows (1957).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/data/ranking.h"
#include "caucus/model/kendall.h"
#include "caucus/model/stage.h"
#include "caucus/model/stage_sampler.h"

namespace caucus {

class Mallows {
 public:
  Mallows(std::vector<ItemId> center, double theta);

  std::size_t num_items() const { return center_.size(); }
  const std::vector<ItemId>& center() const { return center_; }
  const std::vector<std::uint32_t>& position() const { return position_; }
  double theta() const { return theta_; }

  // log P of a ranking as an event: the sum over all complete rankings consistent with its tie-groups, unlisted items last.
  // For ordered groups A_1..A_r it is q^D0 prod_a [|A_a|]! / [n]!, D0 = strict pairs against the center. O(n log n) at most.
  double log_prob(RankingView ranking) const;

  // Probability that the item of central rank p (0-based) stands first: q^p / Z_n.
  double first_probability(std::size_t p) const;
  // out[j] = probability that the item of central rank p stands at place j. O(n^2).
  std::vector<double> position_probabilities(std::size_t p) const;
  // Probability that the item of central rank p stands before that of central rank q. O(1). Mallows (1957).
  double pair_probability(std::size_t p, std::size_t q) const;

 private:
  std::vector<ItemId> center_;
  std::vector<std::uint32_t> position_;
  double theta_;
  std::vector<double> log_q_factorials_;
};

// The same for given theta, by central rank, without a model at hand: all n^2 numbers, out[p * n + j]. O(n^3).
std::vector<double> mallows_position_table(double theta, std::size_t num_items);

// Repeated draws from one model. O(n log n) per ranking; make once, draw often. Thread-safe.
class MallowsSampler {
 public:
  MallowsSampler(std::vector<ItemId> center, double theta);
  // The first out.size() items of a draw, from a RandomStream or a WordStream.
  template <class Stream>
  void draw(Stream& stream, std::span<ItemId> out) const;

 private:
  std::vector<ItemId> center_;
  StageSampler stages_;
};

// One draw without tables: for models that change at every draw.
void draw_mallows(std::span<const ItemId> center, double theta, RandomStream& stream, std::span<ItemId> out);

}  // namespace caucus
