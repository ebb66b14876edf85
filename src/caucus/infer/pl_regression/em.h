// Maximum likelihood and maximum a posteriori, Archambeau & Caron (2012), section 3.2.
#pragma once

#include <vector>

#include "caucus/infer/run.h"
#include "caucus/model/pl_regression.h"

namespace caucus::pl_regression {

struct EmOptions {
  double a = 1.0;
  double b = 0.0;
  int max_steps = 50000;
  double tolerance = 1e-14;  // estimated gain of the objective still to be had, per row
};

struct EmResult {
  RowMatrix lambda;  // K x p; mass 1, for a > 1 mass K p (a - 1) / b
  double loglik = 0.0;
  double log_posterior = 0.0;  // loglik + sum over non-zero weights of (a - 1) log lambda - b lambda
  std::size_t num_nonzero = 0;
  double residual = 0.0;   // largest |lambda dF/dlambda| over non-zero weights, in counts
  bool unbounded = false;  // rankings: there is no maximum, since some classes never beat the rest; these weights are on the way
  int steps = 0;
  StopReason stop_reason = StopReason::converged;
  std::vector<double> trace;        // log_posterior after each step: rises, but where weights leave the active set (a < 1)
  std::vector<std::size_t> active;  // number of non-zero weights at each entry of the trace
};

// O(n p) per step for labels, O(n p K) for rankings. `start` (K x p, zeros stay zero) is for paths over a. Throws UsageError for a
// > 1, b = 0.
EmResult fit_em(const RegressionData& data, const EmOptions& options, const Run& run, const RowMatrix* start = nullptr);

double log_prior(const RowMatrix& lambda, double a, double b);

}  // namespace caucus::pl_regression
