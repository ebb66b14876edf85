// Fits utilities with structure from where the plain mixture ended: limited-memory BFGS on the observed log-likelihood, which never
// falls.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "caucus/infer/pl_mixture/structured.h"
#include "caucus/infer/run.h"

namespace caucus::pl_mixture {

struct StructuredFit {
  std::vector<double> variables;  // of the StructuredObjective, largest group first
  double objective = 0.0;
  double loglik = 0.0;
  int evaluations = 0;
  StopReason stop_reason = StopReason::converged;
};
StructuredFit maximise_structured(const StructuredObjective& structured, std::vector<double> start, int iterations,
                                  double tolerance, const Run& run);

// In the terms of the model: what the variables say, and how sure.
struct Structured {
  Parameters parameters;          // utilities as they follow, of mean zero
  std::vector<double> exponents;  // [g * stages + s], one list or one per group; empty: no dampening
  std::size_t num_stages = 0;     // of each list
  std::vector<double> exponent_errors;
  std::optional<ItemDesign> items;
  std::vector<double> coefficients;               // [k * q + j], in the columns' own units
  std::vector<double> coefficient_errors;         // NaN where there are none
  std::vector<Eigen::MatrixXd> item_covariances;  // of the coefficients of each group; empty: no errors
  std::vector<double> utility_errors;             // [k * n + i]; NaN where there are none
  std::vector<double> weight_errors;              // [k]; empty: none
  std::vector<double> log_tie_errors;
  Eigen::MatrixXd weight_covariance;  // of the variables of the weights; empty: none
  std::int64_t num_parameters = 0;

  std::span<const double> exponents_of(std::size_t group) const {
    if (exponents.empty()) return {};
    const std::size_t lists = exponents.size() / num_stages;
    return std::span(exponents).subspan(lists > 1 ? group * num_stages : 0, num_stages);
  }
};

// The observed information: central differences of the exact gradient.
Eigen::MatrixXd structured_information(const StructuredObjective& structured, const std::vector<double>& variables);
// one_ballot: what a ballot weighs, for errors that do not depend on the scale of weights.
Structured describe_structured(const StructuredObjective& structured, const Structure& structure,
                               const std::vector<double>& variables, bool standard_errors, double one_ballot);

}  // namespace caucus::pl_mixture
