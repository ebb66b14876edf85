// How good are the predictions of a regression?
#pragma once

#include <optional>
#include <vector>

#include "caucus/evaluate/classification.h"
#include "caucus/infer/pl_regression/predict.h"

namespace caucus {

// Of rows whose class is known. A row of a class that training did not see is an error, and the log loss, then infinite, is left
// out; the other scores are of the rows of known classes.
struct PredictionScores {
  std::size_t num_scored = 0, num_unseen = 0;
  double misclassification = 1.0;
  std::optional<double> log_loss;
  std::optional<double> brier, auc, calibration_error;  // none: no row of a known class
  std::vector<CalibrationBin> calibration;
  std::vector<RocPoint> roc;  // of two classes, for the second
};
// None without labels.
std::optional<PredictionScores> score_predictions(const pl_regression::Predictions& predictions);

// Of whole ballots.
struct BallotScores {
  double num_scored = 0.0;         // sum of weights
  double misclassification = 0.0;  // of first places
  std::optional<double> log_loss;  // mean of -log P(whole ballot); none: infinite
  double num_impossible = 0.0;     // ballots of probability zero: they make it infinite, which is said and not hidden
};
// None where there is nothing to score.
std::optional<BallotScores> score_ballots(const pl_regression::BallotPredictions& predictions);

}  // namespace caucus
