// Fits a mixture of Plackett-Luce models.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caucus/data/connectivity.h"
#include "caucus/infer/membership_logit.h"
#include "caucus/infer/pl_mixture/information.h"
#include "caucus/infer/pl_mixture/options.h"
#include "caucus/infer/pl_mixture/parameters.h"
#include "caucus/infer/pl_mixture/solver.h"
#include "caucus/infer/pl_mixture/structured_fit.h"
#include "caucus/infer/run.h"
#include "caucus/infer/search_record.h"

namespace caucus::pl_mixture {

// Spread of estimates over bootstrap samples, components matched to the fit's.
struct Spread {
  std::vector<double> error, low, high;  // standard error and 95 % percentile interval
};
struct BootstrapResult {
  int samples = 0;
  Spread utilities, weights;  // [k * n + i], [k]
  Spread membership;          // coefficients of what is known of a voter, [k * p + j]
  Spread coefficients;        // of what is known of an item, as in Structured
  Spread exponents;           // as in Structured
};

// Posterior summaries of the Gibbs sampler, labels aligned.
struct PosteriorResult {
  int draws = 0;
  std::vector<double> mean, deviation, low, high;  // utilities [k * n + i]; 95 % credible interval
  std::vector<double> weight_mean, weight_deviation, weight_low, weight_high;
  std::vector<double> loglik;  // of each kept draw
};

struct Result {
  Parameters parameters;
  double loglik = 0.0;
  double entropy = 0.0;   // of the memberships
  double strength = 0.0;  // regularization used
  int iterations = 0;
  SearchRecord starts{1, 1, 1, 1};
  StopReason stop_reason = StopReason::converged;
  std::vector<double> trace;
  std::vector<std::vector<std::size_t>> unbounded;  // per component: items that the data do not tie to its reference (pieces.h)
  std::vector<std::vector<std::vector<std::size_t>>> blocks;  // per component: blocks of these that the data tie together
  std::optional<Uncertainty> errors;
  std::optional<BootstrapResult> bootstrap;
  std::optional<PosteriorResult> posterior;
  std::vector<std::string> warnings;
  double num_rankings = 0.0, num_voters = 0.0;  // that took part; 0 voters where every ranking is a voter of its own
  std::int64_t num_parameters = 0;
  std::shared_ptr<const Membership> membership;  // with options.membership
  std::vector<MembershipEffect> effects;
  std::optional<Structured> structured;  // with dampening or item covariates
};

// init: the parameters of an init file, matched to the data's items, for Init::file.
Result fit(const Dataset& data, const Options& options, const Run& run, const std::optional<Parameters>& init = std::nullopt,
           const StructureOptions& structure = {});

}  // namespace caucus::pl_mixture
