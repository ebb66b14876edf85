#include "caucus/evaluate/regression_scores.h"

namespace caucus {

std::optional<PredictionScores> score_predictions(const pl_regression::Predictions& predictions) {
  const auto known = static_cast<double>(predictions.labels.size()), unseen = static_cast<double>(predictions.num_unseen);
  if (!(known + unseen > 0.0)) return std::nullopt;
  PredictionScores scores;
  scores.num_scored = predictions.labels.size() + predictions.num_unseen;
  scores.num_unseen = predictions.num_unseen;
  if (predictions.labels.empty()) return scores;
  const auto k = static_cast<std::size_t>(predictions.probabilities.cols());
  std::vector<double> p;
  for (const std::size_t i : predictions.labelled)
    for (Eigen::Index c = 0; c < predictions.probabilities.cols(); ++c)
      p.push_back(predictions.probabilities(static_cast<Eigen::Index>(i), c));
  const double wrong = misclassification(p, k, predictions.labels);
  scores.misclassification = predictions.num_unseen == 0 ? wrong : (wrong * known + unseen) / (known + unseen);
  if (predictions.num_unseen == 0) scores.log_loss = log_loss(p, k, predictions.labels);
  scores.brier = brier_score(p, k, predictions.labels);
  scores.auc = auc(p, k, predictions.labels);
  scores.calibration = calibration_curve(p, k, predictions.labels);
  scores.calibration_error = calibration_error(scores.calibration);
  if (k != 2) return scores;
  std::vector<double> second;
  std::vector<std::uint8_t> positive;
  for (std::size_t i = 0; i < predictions.labels.size(); ++i) {
    second.push_back(p[2 * i + 1]);
    positive.push_back(predictions.labels[i] == 1 ? 1 : 0);
  }
  scores.roc = roc_curve(second, positive);
  return scores;
}

std::optional<BallotScores> score_ballots(const pl_regression::BallotPredictions& predictions) {
  const RegressionData& rows = predictions.ballots;
  BallotScores scores;
  double loss = 0.0, wrong = 0.0;
  for (std::size_t i = 0; i < rows.num_rows(); ++i) {
    if (rows.order(i).empty()) continue;
    const double log_prob = predictions.log_prob[i], weight = rows.weight(i);
    loss -= weight * log_prob;
    scores.num_impossible += log_prob > -infinity ? 0.0 : weight;
    const auto first =
        std::span(predictions.first.data() + static_cast<Eigen::Index>(i) * predictions.first.cols(), rows.num_classes);
    wrong += most_probable(first) == rows.order(i)[0] ? 0.0 : weight;
    scores.num_scored += weight;
  }
  if (!(scores.num_scored > 0.0)) return std::nullopt;
  scores.misclassification = wrong / scores.num_scored;
  if (!(scores.num_impossible > 0.0)) scores.log_loss = loss / scores.num_scored;
  return scores;
}

}  // namespace caucus
