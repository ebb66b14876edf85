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
  bool few_ballots() const;
  std::size_t part_of_many() const;
  const Regrouper& regrouper() const { return regrouper_; }
  // From a group for each distinct ranking of an objective, that of the starts or one of more rankings of the same items:
  // labelled_start, with ties regrouped_start from the fit of one group.
  Parameters in_groups(const Objective& objective, std::span<const std::uint32_t> labels);

 private:
  const Embedding& embedding();
  const TruncatedSvd& svd();
  struct OneGroup {
    Parameters parameters;
    std::vector<double> log_probs;
  };
  const OneGroup& one_group();
  Parameters at_ballots(std::uint64_t index);
  Parameters around_one_group(std::uint64_t index);
  const Objective& objective_;
  const Options& options_;
  std::uint64_t seed_;
  Regrouper regrouper_;
  std::once_flag embed_once_, svd_once_, one_group_once_;
  std::unique_ptr<Embedding> embedding_;
  std::unique_ptr<TruncatedSvd> svd_;
  OneGroup one_group_;
};

// From a group for each distinct ranking of the objective's data: log odds of winning in the pairs of a group's rankings.
Parameters labelled_start(const Objective& objective, std::span<const std::uint32_t> labels);

// The same where rankings have ties. A tie of t items is chosen by the mean of their utilities, so odds say little of how far apart
// utilities are, and where ties are many the strengths of ties and the utilities rest on each other: log delta may be 250. So one
// begins at a fit of these data (memberships: its groups, for each distinct ranking): a new group has the mean of the utilities
// that its rankings had, moved by the change of their log odds times the mean number chosen at once.
Parameters regrouped_start(const Objective& objective, std::span<const std::uint32_t> labels, const Parameters& fit,
                           std::span<const double> memberships);
// Items per choice, where not all that were left were chosen.
double mean_choice(const Objective& objective);

// Tie strengths to begin with: the share of stages that ended in a tie of that order.
TieStrengths initial_ties(const Objective& objective);

}  // namespace caucus::pl_mixture
