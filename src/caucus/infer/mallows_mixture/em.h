// The EM driver of both families: one start with SQUAREM acceleration, and many starts.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "caucus/base/bytes.h"
#include "caucus/infer/mallows_mixture/engine.h"
#include "caucus/infer/run.h"

namespace caucus::mallows_mixture {

struct EmOptions {
  int iterations = 2000;
  double tolerance = 1e-10;
  bool accelerate = true;
  const Parameters* known = nullptr;  // an optimum: a run whose centers come to rest at its centers ends there, unfinished
};

struct EmResult {
  Parameters parameters;
  double loglik = 0.0;  // of the parameters returned
  int iterations = 0;   // passes over the data
  StopReason stop_reason = StopReason::converged;
  std::vector<double> trace;
};
auto parts(IsA<Parameters> auto& parameters) { return std::tie(parameters.weight, parameters.center, parameters.theta); }
auto parts(IsA<EmResult> auto& result) {
  return std::tie(result.parameters, result.loglik, result.iterations, result.stop_reason, result.trace);
}

// Keeps going while proceed(iteration, loglik) says so. The likelihood never falls (but for rounding, where consensus is exact).
// SQUAREM (Varadhan & Roland 2008, steplength S3) extrapolates log weights and log dispersions while the centers rest; every
// cycle begins with a step that may move them and ends in one that does not, and a jump that loses likelihood is taken back.
// Converged when the gain still to be had, by the rate of the last two steps, is below tolerance times the log-likelihood.
EmResult run_em(const Engine& engine, Parameters start, const EmOptions& options, const Workers& workers,
                const std::function<StopReason*(int, double)>& stopped);

}  // namespace caucus::mallows_mixture
