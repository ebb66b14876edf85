// Plackett-Luce regression from table to model file and from model file to predictions. docs: 'caucus regress', 'caucus predict'.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "caucus/infer/pl_regression/chains.h"
#include "caucus/infer/pl_regression/options.h"
#include "caucus/infer/run.h"
#include "caucus/io/table.h"
#include "caucus/model/pl_regression.h"

namespace caucus {

struct RegressionRequest {
  pl_regression::Method method = pl_regression::Method::em;
  pl_regression::Options options;
  FeatureRequest features;
  std::string target;               // labels: the column of classes
  std::vector<std::string> ignore;  // columns left out
  std::string checkpoint;           // samplers: a file that is written now and then, and resumed where it exists
  double checkpoint_every = 60.0;   // seconds
};

// What a fit says of itself: the "fit" object of the model file.
struct RegressionSummary {
  double loglik = 0.0;         // at the model's weights (samplers: their posterior mean), natural log, no prior
  double log_posterior = 0.0;  // loglik + sum over non-zero weights of (a - 1) log lambda - b lambda
  std::size_t num_nonzero = 0;
  StopReason stop_reason = StopReason::converged;
  int iterations = 0;
  std::optional<double> ess_min, rhat_max, ess_loglik;
  nlohmann::ordered_json details = nlohmann::ordered_json::object();
  std::vector<std::string> warnings;

  nlohmann::ordered_json to_json() const;
};

class RegressionModel {
 public:
  pl_regression::Method method = pl_regression::Method::em;
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
  std::uint64_t seed = 1;
  nlohmann::ordered_json fit = nlohmann::ordered_json::object();
  nlohmann::ordered_json provenance = nlohmann::ordered_json::object();

  bool is_logit() const { return method == pl_regression::Method::logit_lasso; }

  // P(class comes first), n x K, averaged over the posterior: the draws of a sampler, draws from q for variational, the
  // weights themselves for em. O(draws n p K).
  RowMatrix predict(const RowMatrix& x, std::span<const std::size_t> rows = {}) const;

  std::string to_text() const;
  static RegressionModel parse(std::string_view text, const std::string& name);
  static RegressionModel load(const std::string& path);
};

struct RegressionFit {
  RegressionModel model;
  RegressionSummary summary;
};

// The class that a cell of the target column names; empty where it is missing.
std::string class_in(const Column& column, std::size_t row);
// Class labels in a column of the table. Throws UsageError, DataError.
RegressionFit train_classes(const Table& table, const RegressionRequest& request, const Run& run);
// Rankings with covariates. em, gibbs and variational.
RegressionFit train_rankings(const Dataset& data, const RegressionRequest& request, const Run& run);

// The parts of training, for experiments: the features and outcomes of a table.
struct RegressionInput {
  FeatureMap map;
  RegressionData data;
  RowMatrix x;
  std::vector<std::string> classes;
  std::vector<std::string> warnings;
};
RegressionInput class_input(const Table& table, const RegressionRequest& request);
RegressionInput ranking_input(const Dataset& data, const RegressionRequest& request);
RegressionFit train(const RegressionInput& input, const RegressionRequest& request, const Run& run);

struct Predictions {
  std::vector<std::size_t> rows;  // of the table, from 0
  RowMatrix probabilities;        // one row per entry of `rows`
  std::vector<std::uint32_t> predicted;
  std::vector<std::size_t> labelled;  // positions in `rows` whose target is known and a class of the model
  std::vector<std::uint32_t> labels;  // of those
  std::size_t num_unseen = 0;         // rows whose target is a class that training did not see
  std::vector<std::string> warnings;
};
Predictions predict_table(const RegressionModel& model, const Table& table, std::optional<MissingValues> missing);

// misclassification, log_loss, brier, auc, calibration and, for two classes, roc. Empty without labels. A row of a class that
// training did not see is an error, and the log loss, then infinite, is null; the other scores are of the rows of known classes.
nlohmann::ordered_json prediction_scores(const Predictions& predictions, bool curves);
// A model of rankings on ballots with covariates: log_loss is the mean of -log P(whole ballot), misclassification that of first
// places.
nlohmann::ordered_json ballot_scores(const RegressionModel& model, const Dataset& ballots, std::optional<MissingValues> missing);

}  // namespace caucus
