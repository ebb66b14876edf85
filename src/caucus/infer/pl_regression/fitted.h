// A fitted regression: its weights, how the fit went, and the model file of both (schema caucus.regression/1).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/infer/pl_regression/options.h"
#include "caucus/model/pl_regression.h"
#include "caucus/result/fit_summary.h"
#include "caucus/result/model_record.h"

namespace caucus::pl_regression {

// What the chains of a sampler say of themselves.
struct Sampling {
  std::optional<double> ess_min, rhat_max, ess_loglik;  // none: no draws, or (rhat) chains that stand still
  std::optional<double> mean_loglik, rhat_loglik;
  std::size_t chains = 0;
  int burnin = 0, thin = 1;
  std::size_t num_draws = 0;
};

// One row of the cross-validation of a.
struct ShapeTrial {
  double a = 1.0, log_loss = 0.0, misclassification = 0.0;
};

// What a fit says of itself: the "fit" object of the model file.
struct Summary {
  double loglik = 0.0;         // at the model's weights (samplers: their posterior mean), natural log, no prior
  double log_posterior = 0.0;  // loglik + sum over non-zero weights of (a - 1) log lambda - b lambda
  std::size_t num_nonzero = 0;
  StopReason stop_reason = StopReason::converged;
  int iterations = 0;
  std::optional<Sampling> sampling;          // samplers
  std::optional<double> theta;               // logit-lasso
  std::optional<double> residual;            // em: largest |lambda dF/dlambda|
  std::optional<double> bound;               // variational
  std::vector<ShapeTrial> cross_validation;  // a = cv
  bool shape_learned = false;                // a was not given
  std::size_t num_rows = 0, num_features = 0;
  double seconds = 0.0;
  std::uint64_t seed = 1;
  int threads = 1;
  OptionMap options;
  std::vector<std::string> warnings;
};

struct Fitted {
  Method method = Method::em;
  std::vector<std::string> classes;
  FeatureMap features;
  bool ranking = false;
  Unranked unranked = Unranked::last;
  std::string target;
  double a = 1.0, b = 0.0;
  RowMatrix lambda;              // K x p; logit-lasso: beta, (K - 1) x (covariates + intercept)
  RowMatrix median;              // samplers, of the same size
  std::vector<RowMatrix> draws;  // samplers
  RowMatrix shape, rate;         // variational
  std::uint64_t seed = 1;        // of predictions that average over draws from q

  bool is_logit() const { return method == Method::logit_lasso; }
  std::string family() const;
  // What the columns of lambda are of: features, or covariates and the intercept.
  std::vector<std::string> column_names() const;

  // P(class comes first), n x K, averaged over the posterior: the draws of a sampler, draws from q for variational, the
  // weights themselves for em. O(draws n p K).
  RowMatrix predict(const RowMatrix& x, std::span<const std::size_t> rows = {}) const;
};

struct Result {
  Fitted model;
  Summary summary;
};

// The text of a model file, one key a line. Data and provenance are left out where they are not given.
std::string model_text(const Result& fit, const DataFacts& data = {}, const Provenance& provenance = {});

struct Loaded : Result {
  DataFacts data;
  Provenance provenance;
};
// Throws DataError with file, place and what was expected.
Loaded parse_regression(std::string_view text, const std::string& name);
Loaded load_regression(const std::string& path);
// Does this text say that it is the model file of a regression? It may still be a wrong one.
bool is_regression(std::string_view text);

}  // namespace caucus::pl_regression
