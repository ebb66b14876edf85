// Variational approximation with type-II maximum likelihood of a, Archambeau & Caron (2012), sections 3.4 and 3.5.
#pragma once

#include <optional>
#include <vector>

#include "caucus/infer/run.h"
#include "caucus/model/pl_regression.h"

namespace caucus::pl_regression {

struct VariationalOptions {
  std::optional<double> a;  // empty: learned
  double b = 1.0;
  double a_min = 1e-4;
  double a_max = 100.0;
  int max_steps = 50000;
  double tolerance = 1e-12;  // gain of the bound in one step, per row
};

struct VariationalResult {
  RowMatrix shape, rate;  // q(lambda_kj) = Gam(shape_kj, rate_kj)
  double a = 1.0;
  double bound = 0.0;  // below log p(Y | a), or log p(Y | a) p(a) with p(a) = 1/a where a is learned
  int steps = 0;
  StopReason stop_reason = StopReason::converged;
  std::vector<double> trace;  // the bound: rises at every step

  RowMatrix mean() const;  // <lambda>, scaled to sum 1
};

// O(n p + K p) per step for labels, O(n p K) for rankings.
VariationalResult fit_variational(const RegressionData& data, const VariationalOptions& options, const Run& run);

}  // namespace caucus::pl_regression
