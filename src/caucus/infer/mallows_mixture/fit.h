// Additive mixtures of Mallows and generalized Mallows models by EM.
#pragma once

#include <memory>

#include "caucus/data/dataset.h"
#include "caucus/infer/mallows_mixture/multistart.h"
#include "caucus/infer/mallows_mixture/options.h"
#include "caucus/infer/mallows_mixture/uncertainty.h"
#include "caucus/infer/run.h"
#include "caucus/model/distances.h"
#include "caucus/result/record.h"

namespace caucus::mallows_mixture {

struct FitResult {
  std::string method = "em";
  Parameters parameters;
  double loglik = 0.0;
  double entropy = 0.0;  // of the memberships
  int iterations = 0;
  StopReason stop_reason = StopReason::converged;
  std::vector<double> trace;
  SearchRecord starts{1, 1, 1, 1};
  std::size_t screened_on = 0;
  std::vector<double> center_gaps;  // K; 0: proven to be the best center for its members; infinity: not known
  std::optional<StandardErrors> errors;
  std::optional<Stability> stability;
  std::vector<std::string> warnings;
  bool monte_carlo = false;                              // the log-likelihood is an estimate
  Record details;                                        // of the method
  std::shared_ptr<const DistanceNormalizer> normalizer;  // distances other than Kendall's
};

// Plain words about groups that are empty, equal, or at a bound.
void warn_about_groups(FitResult& result, std::size_t num_items, double total_weight);
// The exact search for a center stops with the run.
ConsensusLimits limits_of(const Run& run);

FitResult fit_mallows(const Dataset& data, const MallowsOptions& options, const Run& run);
FitResult fit_generalized_mallows(const Dataset& data, const GeneralizedMallowsOptions& options, const Run& run);

}  // namespace caucus::mallows_mixture
