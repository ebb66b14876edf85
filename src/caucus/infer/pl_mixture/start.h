// Starting points.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "caucus/infer/pl_mixture/objective.h"
#include "caucus/infer/pl_mixture/options.h"
#include "caucus/infer/pl_mixture/spectral.h"
#include "caucus/infer/regroup.h"

namespace caucus::pl_mixture {

// Makes the starts of one fit, on any thread; what they share (the embedding and its singular vectors, the fit of one group) is
// computed once, when first asked for.
class Starts {
 public:
  Starts(const Objective& objective, const Options& options, std::uint64_t seed, std::function<bool()> stop = {});
  ~Starts();

  // Start number `index` of the given kind; `automatic` takes spectral, random, k-means and ballots in turn.
  Parameters make(Init kind, std::uint64_t index);
  // Does the data set carry a pairwise embedding? Not with ties, nor with so many items that it takes too long for one start of
  // many.
  bool can_embed() const;
  std::size_t part_of_many() const;
  const Regrouper& regrouper() const { return regrouper_; }

 private:
  const Embedding& embedding();
  const TruncatedSvd& svd();
  Parameters around_ballots(bool surprising, std::uint64_t index);
  const Objective& objective_;
  const Options& options_;
  std::uint64_t seed_;
  Regrouper regrouper_;
  std::once_flag embed_once_, svd_once_, expect_once_;
  std::unique_ptr<Embedding> embedding_;
  std::unique_ptr<TruncatedSvd> svd_;
  std::vector<double> expected_;  // log probabilities under one group
};

// From a group for each distinct ranking of the objective's data: log odds of winning in the pairs of a group's rankings.
Parameters labelled_start(const Objective& objective, std::span<const std::uint32_t> labels);

// Tie strengths to begin with: the share of stages that ended in a tie of that order.
TieStrengths initial_ties(const Objective& objective);

}  // namespace caucus::pl_mixture
