// The generalized Mallows model: one dispersion per stage, P(pi) = prod_j exp(-theta_j x_j) / Z_{n-j+1}(theta_j), where x is the
// code v or s of the ranking about the center. Fligner & Verducci (1986); Meila & Bao (2008) for code s.
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

class GeneralizedMallows {
 public:
  // theta: n - 1 numbers, one per stage.
  GeneralizedMallows(std::vector<ItemId> center, std::vector<double> theta, Code code);

  std::size_t num_items() const { return center_.size(); }
  const std::vector<ItemId>& center() const { return center_; }
  const std::vector<std::uint32_t>& position() const { return position_; }
  const std::vector<double>& theta() const { return theta_; }
  Code code() const { return code_; }

  // log P of a strict ranking: complete, or in code s the event "these items, in this order, on top" (stages 1..t alone).
  // Code v takes complete rankings (the caller checks). O(n log n) at most.
  double log_prob(std::span<const ItemId> ranking) const;

  // Probability that the item of central rank p stands first. O(n) for code v.
  double first_probability(std::size_t p) const;
  // out[j] = probability that the item of central rank p stands at place j. O(n^2).
  std::vector<double> position_probabilities(std::size_t p) const;

 private:
  std::vector<ItemId> center_;
  std::vector<std::uint32_t> position_;
  std::vector<double> theta_;
  std::vector<double> log_z_;  // running sums of the stage normalisers
  Code code_;
};

class GeneralizedMallowsSampler {
 public:
  GeneralizedMallowsSampler(std::vector<ItemId> center, std::span<const double> theta, Code code);
  // The first out.size() items of a draw. O(n log n).
  void draw(RandomStream& stream, std::span<ItemId> out) const;

 private:
  std::vector<ItemId> center_;
  StageSampler stages_;
  Code code_;
};

}  // namespace caucus
