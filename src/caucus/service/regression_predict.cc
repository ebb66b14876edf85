// What a fitted regression says about new rows, and how good that is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/evaluate/classification.h"
#include "caucus/infer/family.h"
#include "caucus/infer/pl_regression/logit_lasso.h"
#include "caucus/service/regression.h"

namespace caucus {

using namespace pl_regression;

namespace {

// The weights that predictions average over: the draws of a sampler, draws from q for variational, the weights themselves for em.
template <class Visit>
std::size_t for_each_draw(const RegressionModel& model, Visit&& visit) {
  if (!model.draws.empty()) {
    for (const RowMatrix& draw : model.draws) visit(draw);
    return model.draws.size();
  }
  if (model.method != Method::variational || model.shape.size() == 0) {
    visit(model.lambda);
    return 1;
  }
  constexpr std::size_t num_draws = 500;
  for (std::size_t d = 0; d < num_draws; ++d) {
    RandomStream stream(model.seed, Purpose::augment, d);
    RowMatrix draw(model.shape.rows(), model.shape.cols());
    for (Eigen::Index j = 0; j < draw.size(); ++j)
      draw.data()[j] = stream.log_gamma(model.shape.data()[j]) - std::log(model.rate.data()[j]);
    draw = (draw.array() - draw.maxCoeff()).exp();
    visit(draw);
  }
  return num_draws;
}

// log P of every ballot at these weights.
Eigen::VectorXd ballot_logliks(const RegressionData& data, const RowMatrix& lambda) {
  const RowMatrix strengths = data.w * lambda.transpose();
  Eigen::VectorXd result = Eigen::VectorXd::Zero(data.w.rows());
  std::vector<std::uint8_t> running;
  for (std::size_t i = 0; i < data.num_rows(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    const std::span<const double> strength(strengths.data() + row * strengths.cols(), data.num_classes);
    for_each_stage(data, i, strength, running, [&](std::size_t, std::uint32_t winner, double total) {
      result[row] += total > 0.0 ? std::log(strength[winner] / total)
                                 : -std::log(static_cast<double>(std::count(running.begin(), running.end(), 1)));
    });
  }
  return result;
}

}  // namespace

RowMatrix RegressionModel::predict(const RowMatrix& x, std::span<const std::size_t> rows) const {
  RowMatrix total = RowMatrix::Zero(x.rows(), static_cast<Eigen::Index>(classes.size()));
  std::size_t count = 0;
  if (is_logit()) {
    Eigen::MatrixXd with_intercept(x.rows(), x.cols() + 1);
    with_intercept << x, Eigen::VectorXd::Ones(x.rows());
    count = for_each_draw(*this, [&](const RowMatrix& draw) { total += logit_probabilities(with_intercept, draw); });
  } else {
    const RowMatrix w = features.features(x, rows);
    count = for_each_draw(*this, [&](const RowMatrix& draw) { total += class_probabilities(w, draw); });
  }
  return total / static_cast<double>(count);
}

nlohmann::ordered_json ballot_scores(const RegressionModel& model, const Dataset& ballots, std::optional<MissingValues> missing) {
  require_accepted({true, true, true, false}, ballots, "pl-regression");
  const Dataset data = match_items(ballots, model.classes);
  const EncodedRows encoded = model.features.encode(data.covariates, missing);
  RegressionData rows;
  rows.w = model.features.features(encoded.x, encoded.rows);
  rows.num_classes = model.classes.size();
  rows.ranking = true;
  rows.unranked = data.unranked;
  rows.offsets = {0};
  for (const std::size_t row : encoded.rows) {
    for (const ItemId item : data.rankings[data.rankings.row_ranking(row)].items()) rows.outcome.push_back(item);
    rows.offsets.push_back(rows.outcome.size());
    rows.weights.push_back(data.rankings.row_weight(row));
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (rows.num_rows() == 0) return json;
  const auto n = static_cast<Eigen::Index>(rows.num_rows());
  // The mean over draws, in logs: long ballots have probabilities below the smallest number.
  Eigen::VectorXd largest = Eigen::VectorXd::Constant(n, -infinity), sum = Eigen::VectorXd::Zero(n);
  RowMatrix first = RowMatrix::Zero(n, static_cast<Eigen::Index>(rows.num_classes));
  const std::size_t count = for_each_draw(model, [&](const RowMatrix& draw) {
    const Eigen::VectorXd logliks = ballot_logliks(rows, draw);
    for (Eigen::Index i = 0; i < n; ++i) {
      if (!std::isfinite(logliks[i])) continue;
      if (logliks[i] > largest[i]) sum[i] *= std::exp(largest[i] - logliks[i]), largest[i] = logliks[i];
      sum[i] += std::exp(logliks[i] - largest[i]);
    }
    first += class_probabilities(rows.w, draw);
  });
  double loss = 0.0, wrong = 0.0, total = 0.0, impossible = 0.0;
  for (std::size_t i = 0; i < rows.num_rows(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    if (rows.order(i).empty()) continue;
    const double log_mean = sum[row] > 0.0 ? largest[row] + std::log(sum[row] / static_cast<double>(count)) : -infinity;
    loss -= rows.weight(i) * log_mean;
    impossible += log_mean > -infinity ? 0.0 : rows.weight(i);
    wrong +=
        most_probable(std::span(first.data() + row * first.cols(), rows.num_classes)) == rows.order(i)[0] ? 0.0 : rows.weight(i);
    total += rows.weight(i);
  }
  if (!(total > 0.0)) return json;
  json["num_scored"] = total;
  json["misclassification"] = wrong / total;
  // A ballot of probability zero makes the mean infinite, which is said and not hidden behind a large number.
  json["log_loss"] = impossible > 0.0 ? nlohmann::ordered_json() : nlohmann::ordered_json(loss / total);
  if (impossible > 0.0) json["num_impossible"] = impossible;
  return json;
}

Predictions predict_table(const RegressionModel& model, const Table& table, std::optional<MissingValues> missing) {
  Predictions result;
  EncodedRows encoded;
  try {
    encoded = model.features.encode(table.columns, missing);
    result.probabilities = model.predict(encoded.x, encoded.rows);
  } catch (const DataError& failure) {
    throw DataError(fmt::format("{}: {}", table.source, failure.what()));
  }
  result.rows = std::move(encoded.rows);
  result.warnings = std::move(encoded.warnings);
  const std::size_t k = model.classes.size();
  const std::span<const double> all(result.probabilities.data(), static_cast<std::size_t>(result.probabilities.size()));
  for (std::size_t i = 0; i < result.rows.size(); ++i) result.predicted.push_back(most_probable(all.subspan(i * k, k)));
  const Column* target = model.target.empty() ? nullptr : table.find(model.target);
  if (target == nullptr) return result;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const std::string name = class_in(*target, result.rows[i]);
    if (name.empty()) continue;
    const auto found = std::find(model.classes.begin(), model.classes.end(), name);
    if (found == model.classes.end()) {
      ++result.num_unseen;
      continue;
    }
    result.labelled.push_back(i);
    result.labels.push_back(static_cast<std::uint32_t>(found - model.classes.begin()));
  }
  if (result.num_unseen > 0)
    result.warnings.push_back(fmt::format(
        "{} rows have a class that the model has not seen; they count as errors, and the log loss is infinite", result.num_unseen));
  return result;
}

nlohmann::ordered_json prediction_scores(const Predictions& predictions, bool curves) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  const auto known = static_cast<double>(predictions.labels.size()), unseen = static_cast<double>(predictions.num_unseen);
  if (!(known + unseen > 0.0)) return json;
  json["num_scored"] = predictions.labels.size() + predictions.num_unseen;
  json["num_unseen"] = predictions.num_unseen;
  if (predictions.labels.empty()) {
    json["misclassification"] = 1.0;
    json["log_loss"] = nullptr;
    return json;
  }
  const auto k = static_cast<std::size_t>(predictions.probabilities.cols());
  std::vector<double> p;
  for (const std::size_t i : predictions.labelled)
    for (Eigen::Index c = 0; c < predictions.probabilities.cols(); ++c)
      p.push_back(predictions.probabilities(static_cast<Eigen::Index>(i), c));
  const double wrong = misclassification(p, k, predictions.labels);
  json["misclassification"] = predictions.num_unseen == 0 ? wrong : (wrong * known + unseen) / (known + unseen);
  json["log_loss"] =
      predictions.num_unseen == 0 ? nlohmann::ordered_json(log_loss(p, k, predictions.labels)) : nlohmann::ordered_json(nullptr);
  json["brier"] = brier_score(p, k, predictions.labels);
  json["auc"] = auc(p, k, predictions.labels);
  const auto curve = calibration_curve(p, k, predictions.labels);
  json["calibration_error"] = calibration_error(curve);
  if (!curves) return json;
  for (const CalibrationBin& bin : curve)
    json["calibration"].push_back({{"predicted", bin.mean_predicted}, {"observed", bin.observed}, {"count", bin.count}});
  if (k != 2) return json;
  std::vector<double> scores;
  std::vector<std::uint8_t> positive;
  for (std::size_t i = 0; i < predictions.labels.size(); ++i) {
    scores.push_back(p[2 * i + 1]);
    positive.push_back(predictions.labels[i] == 1 ? 1 : 0);
  }
  json["roc"] = nlohmann::ordered_json::array();
  for (const RocPoint& point : roc_curve(scores, positive))
    json["roc"].push_back({point.false_positive_rate, point.true_positive_rate});
  return json;
}

}  // namespace caucus
