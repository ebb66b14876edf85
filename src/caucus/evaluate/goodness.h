// Does the model fit? Parametric-bootstrap checks of what a reader would count first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
  int replicates = 0;
  std::vector<GoodnessCheck> checks;
};

struct GoodnessOptions {
  int replicates = 99;
  std::size_t max_ballots = 20000;
  std::size_t max_items = 40;  // pairs are counted among the items listed most often
  std::size_t max_worst = 5;
  std::uint64_t seed = 1;
  int threads = 0;
};

// Each replicate draws one complete ranking per observed ballot and observes it as that ballot was observed: the same number of
// places listed, the same tie pattern, or the same participants. The checks condition on these, so "ballot lengths" tests
// whether length goes with preference, which every family here assumes it does not. Parameters are not refitted to the replicates,
// which makes the p-values conservative (Robins, van der Vaart & Ventura 2000). Throws DataError where a tie is an outcome of its
// own (Davidson-Luce) and so cannot be observed through a draw without ties.
Goodness goodness_of_fit(const FittedModel& model, const Dataset& data, const GoodnessOptions& options);

}  // namespace caucus
