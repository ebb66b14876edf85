#include "caucus/infer/pl_regression/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/infer/family.h"
#include "caucus/infer/pl_regression/input.h"
#include "caucus/infer/pl_regression/logit_lasso.h"

namespace caucus::pl_regression {

namespace {

// The weights that predictions average over: the draws of a sampler, draws from q for variational, the weights themselves for em.
template <class Visit>
std::size_t for_each_draw(const Fitted& model, Visit&& visit) {
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

RowMatrix Fitted::predict(const RowMatrix& x, std::span<const std::size_t> rows) const {
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

BallotPredictions predict_ballots(const Fitted& model, const Dataset& ballots, std::optional<MissingValues> missing) {
  require_accepted({true, true, true, false}, ballots, "pl-regression");
  const Dataset data = match_items(ballots, model.classes);
  const EncodedRows encoded = model.features.encode(data.covariates, missing);
  BallotPredictions result;
  RegressionData& rows = result.ballots;
  rows = ballots_of(data, encoded.rows);
  rows.w = model.features.features(encoded.x, encoded.rows);
  const auto n = static_cast<Eigen::Index>(rows.num_rows());
  result.first = RowMatrix::Zero(n, static_cast<Eigen::Index>(rows.num_classes));
  if (n == 0) return result;
  // The mean over draws, in logs: long ballots have probabilities below the smallest number.
  Eigen::VectorXd largest = Eigen::VectorXd::Constant(n, -infinity), sum = Eigen::VectorXd::Zero(n);
  const std::size_t count = for_each_draw(model, [&](const RowMatrix& draw) {
    const Eigen::VectorXd logliks = ballot_logliks(rows, draw);
    for (Eigen::Index i = 0; i < n; ++i) {
      if (!std::isfinite(logliks[i])) continue;
      if (logliks[i] > largest[i]) sum[i] *= std::exp(largest[i] - logliks[i]), largest[i] = logliks[i];
      sum[i] += std::exp(logliks[i] - largest[i]);
    }
    result.first += class_probabilities(rows.w, draw);
  });
  for (Eigen::Index i = 0; i < n; ++i)
    result.log_prob.push_back(sum[i] > 0.0 ? largest[i] + std::log(sum[i] / static_cast<double>(count)) : -infinity);
  result.first /= static_cast<double>(count);
  return result;
}

Predictions predict_table(const Fitted& model, const Table& table, std::optional<MissingValues> missing) {
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

}  // namespace caucus::pl_regression
