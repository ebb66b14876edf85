// Bootstrap of a fitted mixture.
#pragma once

#include <functional>
#include <vector>

#include "caucus/data/weights.h"
#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/known_voters.h"
#include "caucus/infer/pl_mixture/simulate.h"
#include "caucus/infer/pl_mixture/structured_fit.h"

namespace caucus::pl_mixture {

// What samples are drawn from: the fitted model, the shapes of the data, and whether the rankings of a voter stay together.
struct BootstrapSource {
  const Dataset& data;
  Simulator simulator;
  bool by_voter = false;
  std::vector<double> voter_weights;                      // P(group), K for each voter; empty: the weights of the groups
  double one_ballot = caucus::one_ballot(data.rankings);  // the weight that counts as one (data/weights.h): a look at every row
};
struct BootstrapSample {
  Dataset data;
  std::vector<std::size_t> origin;  // which voter of the data each voter is; empty where rankings were resampled
};
// One bootstrap data set, drawn from stream (seed, Purpose::bootstrap, index): from the fitted model with the ballots' lengths (or
// the races' entrants) as they were, or by resampling the rankings or voters.
BootstrapSample bootstrap_sample(const BootstrapSource& source, Bootstrap kind, std::uint64_t seed, std::uint64_t index,
                                 const Run& run);

// known: what is known of the voters, where their groups hang on it. Refits such samples, each from the fit itself, and matches
// groups by utilities, centered on the fit's references.
BootstrapResult bootstrap_plain(const Objective& fit, const KnownVoters* known, const Parameters& fitted,
                                const std::vector<Pieces>& pieces, const Options& options, const Run& run, StopReason& stop_reason);
BootstrapResult bootstrap_structured(const StructuredObjective& fit, const KnownVoters* known, const Structure& structure,
                                     const std::vector<double>& variables, const Structured& fitted, const Options& options,
                                     const Run& run, StopReason& stop_reason);

}  // namespace caucus::pl_mixture
