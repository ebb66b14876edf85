// Starting points.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "caucus/infer/pl_mixture/objective.h"
#include "caucus/infer/pl_mixture/options.h"
#include "caucus/infer/pl_mixture/spectral.h"

namespace caucus::pl_mixture {

// Makes the starts of one fit; what they share (the embedding and its singular vectors) is computed once, when first asked for.
class Starts {
 public:
  Starts(const Objective& objective, const Options& options, std::uint64_t seed);
  ~Starts();

  // Start number `index` of the given kind; `automatic` is spectral for the first few and random after that.
  Parameters make(Init kind, std::uint64_t index);
  // From a group for each distinct ranking: log odds of winning in the pairs of a group's rankings.
  Parameters from_labels(std::span<const std::uint32_t> labels) const;
  // Does the data set carry a pairwise embedding? Not with ties.
  bool can_embed() const;

 private:
  const Embedding& embedding();
  const Objective& objective_;
  const Options& options_;
  std::uint64_t seed_;
  std::unique_ptr<Embedding> embedding_;
  std::unique_ptr<TruncatedSvd> svd_;
};

// Tie strengths to begin with: the share of stages that ended in a tie of that order.
TieStrengths initial_ties(const Objective& objective);

}  // namespace caucus::pl_mixture
