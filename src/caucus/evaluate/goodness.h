// Does the model fit? Parametric-bootstrap checks of what a reader would count first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "caucus/infer/run.h"
#include "caucus/result/fitted_model.h"

namespace caucus {

// One number that the data and the model may disagree on.
struct Discrepancy {
  std::string what;  // "first places of Park", "Park above Cinema", "length of ballots that begin with Park"
  double observed = 0.0;
  double expected = 0.0;
  double z = 0.0;  // (observed - expected) / standard deviation over the replicates
};

struct GoodnessCheck {
  std::string name;                // "first places", "pairs", "ballot lengths"
  double statistic = 0.0;          // sum of z^2
  double p_value = 1.0;            // (1 + replicates at least as far out) / (1 + replicates)
  std::vector<Discrepancy> worst;  // by |z|, at most max_worst
};

struct Goodness {
  std::size_t num_ballots = 0;  // compared; a sample where there are more than max_ballots
  int replicates = 0;           // done: fewer than asked for where the run was stopped
  bool refitted = false;        // the model was fitted anew to each of them
  StopReason stop_reason = StopReason::converged;
  std::vector<GoodnessCheck> checks;
};

struct GoodnessOptions {
  int replicates = 99;
  std::size_t max_ballots = 20000;
  std::size_t max_items = 40;  // pairs are counted among the items listed most often
  std::size_t max_worst = 5;
  std::uint64_t seed = 1;
  int threads = 0;
  const Run* run = nullptr;  // asked before each replicate whether to go on
};

// With fewer replicates no p-value can be as small as 0.05.
inline constexpr int fewest_replicates = 19;

// Each replicate draws one complete ranking per observed ballot and observes it as that ballot was observed: the same number of
// places listed, the same tie pattern, or the same participants. The checks condition on these, so "ballot lengths" tests
// whether length goes with preference, which every family here assumes it does not. Parameters are not refitted to the replicates,
// which makes the p-values conservative (Robins, van der Vaart & Ventura 2000). Throws DataError where a tie is an outcome of its
// own (Davidson-Luce) and so cannot be observed through a draw without ties. Where the run is stopped before
// fewest_replicates, there are no checks.
Goodness goodness_of_fit(const FittedModel& model, const Dataset& data, const GoodnessOptions& options);

// Fits a model of the kind in question to other ballots. labels: a group for each distinct ranking, to begin one start from. No
// model: it was told to stop. Called from several threads at once.
using Refit = std::function<std::unique_ptr<FittedModel>(const Dataset&, std::span<const std::uint32_t> labels)>;

// The same checks with nothing that has adapted to the data on one side only: the model is fitted to the ballots compared, drawn
// from, and fitted anew to each replicate; counts are held against what the model fitted to them expects, on both sides, so that
// the p-values are uniform if the ballots come from a model of this kind, whatever its parameters (the parametric bootstrap of a
// goodness-of-fit statistic: Stute, Gonzales Manteiga & Presedo Quindimil 1993). What a model expects is the mean of
// `expectation_draws` simulated data sets; as many on both sides, so that their noise costs power and no level. `model` tells the
// kind of data and the groups of the first fit.
inline constexpr int expectation_draws = 20;
Goodness goodness_of_fit_refitted(const FittedModel& model, const Refit& refit, const Dataset& data,
                                  const GoodnessOptions& options);

}  // namespace caucus
