// Maximisers of the mixture's log-likelihood from a given start.
#pragma once

#include <vector>

#include "caucus/base/bytes.h"
#include "caucus/infer/pl_mixture/objective.h"
#include "caucus/infer/run.h"

namespace caucus::pl_mixture {

struct SolveOptions {
  int max_iterations = 10000;
  double tolerance = 1e-8;  // distance from the local maximum that counts as converged, relative to the log-likelihood
  bool fixed_weights = false;
  std::string_view phase = "em";
};

struct Solution {
  Parameters parameters;
  double loglik = 0.0;
  double objective = 0.0;
  int iterations = 0;  // passes over the data
  int passes = 0;      // those of the task that ended here
  StopReason stop_reason = StopReason::iteration_limit;
  std::vector<double> trace;  // the objective, one per accepted step
};
auto parts(IsA<Solution> auto& solution) {
  return std::tie(solution.parameters, solution.loglik, solution.objective, solution.iterations, solution.passes,
                  solution.stop_reason, solution.trace);
}

// One EM step with one MM step inside (Hunter 2004, eq. (30) in the M-step of Gormley & Murphy 2008):
// a_i <- a_i wins_i / expected_i, weights <- responsibility / total. `ties` moves the tie strengths instead of the worths, because
// the two together do not minorise. Never lowers the objective.
void mm_step(const Objective& objective, const Evaluation& at, Parameters& parameters, bool fixed_weights, bool ties);

// The default: a few EM steps, then limited-memory BFGS on the observed log-likelihood in the metric of the EM step, each
// accepted step raising the objective; where it cannot, an EM step.
Solution maximise(const Objective& objective, Parameters start, const SolveOptions& options, const Run& run);

}  // namespace caucus::pl_mixture
