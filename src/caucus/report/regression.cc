#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numeric>
#include <optional>

#include "caucus/evaluate/classification.h"
#include "caucus/report/data.h"
#include "caucus/report/parts.h"

namespace caucus::report {

namespace {

using pl_regression::Fitted;
using pl_regression::PathPoint;

// Of a gamma law with rate 1. Wilson & Hilferty (1931) where the shape is so large that the series would not end.
double gamma_quantile(double shape, double q) {
  if (shape < 1e8) return boost::math::gamma_p_inv(shape, q);
  const double z = q < 0.5 ? -1.959963985 : 1.959963985;  // q is 0.025 or 0.975
  return shape * std::pow(1.0 - 1.0 / (9.0 * shape) + z / std::sqrt(9.0 * shape), 3);
}

// Low and high of 95% intervals, of the size of lambda: from the draws of a sampler, from the gamma factors of a variational fit,
// else none.
struct Intervals {
  RowMatrix low, high;
};
std::optional<Intervals> intervals_of(const Fitted& model) {
  const RowMatrix& lambda = model.lambda;
  Intervals intervals{lambda, lambda};
  if (model.draws.size() >= 20) {
    std::vector<double> values(model.draws.size());
    for (Eigen::Index j = 0; j < lambda.size(); ++j) {
      for (std::size_t d = 0; d < values.size(); ++d) values[d] = model.draws[d].data()[j];
      intervals.low.data()[j] = nearest_quantile(values, 0.025);
      intervals.high.data()[j] = nearest_quantile(values, 0.975);
    }
    return intervals;
  }
  if (model.shape.size() == 0) return std::nullopt;
  // Weights are normalised to sum one; the factors are scaled alike.
  const double scale = lambda.sum() / (model.shape.array() / model.rate.array()).sum();
  for (Eigen::Index j = 0; j < lambda.size(); ++j) {
    const double shape = model.shape.data()[j], rate = model.rate.data()[j];
    intervals.low.data()[j] = gamma_quantile(shape, 0.025) / rate * scale;
    intervals.high.data()[j] = gamma_quantile(shape, 0.975) / rate * scale;
  }
  return intervals;
}

// At most 120 points of a curve, its ends kept.
std::vector<RocPoint> thinned(const std::vector<RocPoint>& curve) {
  const std::size_t step = (curve.size() + 119) / 120;
  std::vector<RocPoint> kept;
  for (std::size_t i = 0; i < curve.size(); ++i)
    if (i % std::max<std::size_t>(step, 1) == 0 || i + 1 == curve.size()) kept.push_back(curve[i]);
  return kept;
}

void add_scores(Json& json, const ClassScores& scores, const std::vector<std::string>& classes) {
  const std::size_t k_all = classes.size(), n = scores.labels.size();
  if (n == 0 || scores.probabilities.size() != n * k_all) return;
  json["scores"].push_back({"Wrong predictions", percent(misclassification(scores.probabilities, k_all, scores.labels))});
  json["scores"].push_back({"Log loss", fmt::format("{:.4f}", log_loss(scores.probabilities, k_all, scores.labels))});
  json["scores"].push_back({"Brier score", fmt::format("{:.4f}", brier_score(scores.probabilities, k_all, scores.labels))});
  json["scores"].push_back({"AUC", fmt::format("{:.4f}", auc(scores.probabilities, k_all, scores.labels))});
  json["misclassification"] = rounded(misclassification(scores.probabilities, k_all, scores.labels));
  if (scores.fitted_to_these) json["scored_on_fitted_data"] = true;
  json["roc"] = Json::array();
  for (std::size_t k = k_all == 2 ? 1 : 0; k < std::min<std::size_t>(k_all, 12); ++k) {
    std::vector<double> score(n);
    std::vector<std::uint8_t> positive(n);
    for (std::size_t i = 0; i < n; ++i) {
      score[i] = scores.probabilities[i * k_all + k];
      positive[i] = scores.labels[i] == k ? 1 : 0;
    }
    const std::vector<RocPoint> curve = thinned(roc_curve(score, positive));
    if (curve.empty()) continue;
    Json fpr = Json::array(), tpr = Json::array();
    for (const RocPoint& point : curve) {
      fpr.push_back(rounded(point.false_positive_rate, 4));
      tpr.push_back(rounded(point.true_positive_rate, 4));
    }
    json["roc"].push_back({{"name", classes[k]}, {"auc", rounded(auc(score, positive))}, {"fpr", fpr}, {"tpr", tpr}});
  }
  json["calibration"] = Json::array();
  for (const CalibrationBin& bin : calibration_curve(scores.probabilities, k_all, scores.labels)) {
    // Wilson's interval of a share.
    const double count = static_cast<double>(bin.count), z = 1.96,
                 center = (bin.observed + z * z / (2.0 * count)) / (1.0 + z * z / count);
    const double half =
        z / (1.0 + z * z / count) * std::sqrt(bin.observed * (1.0 - bin.observed) / count + z * z / (4.0 * count * count));
    json["calibration"].push_back({{"predicted", rounded(bin.mean_predicted)},
                                   {"observed", rounded(bin.observed)},
                                   {"count", bin.count},
                                   {"low", rounded(std::max(0.0, center - half))},
                                   {"high", rounded(std::min(1.0, center + half))}});
  }
  if (k_all > 40) return;
  std::vector<std::int64_t> table(k_all * k_all, 0);
  for (std::size_t i = 0; i < n; ++i)
    ++table[scores.labels[i] * k_all + most_probable(std::span(scores.probabilities).subspan(i * k_all, k_all))];
  json["confusion"] = Json::array();
  for (std::size_t k = 0; k < k_all; ++k)
    json["confusion"].push_back(std::vector<std::int64_t>(table.begin() + static_cast<std::ptrdiff_t>(k * k_all),
                                                          table.begin() + static_cast<std::ptrdiff_t>((k + 1) * k_all)));
}

// Grid and series of a regularization path: the strongest weights only. Null without one.
Json path_json(const std::vector<PathPoint>& path, const std::vector<std::string>& classes,
               const std::vector<std::string>& features) {
  if (path.empty()) return nullptr;
  std::vector<double> grid;
  std::vector<std::string> estimates;
  for (const PathPoint& point : path) {
    if (std::ranges::find(grid, point.a) == grid.end()) grid.push_back(point.a);
    if (std::ranges::find(estimates, point.estimate) == estimates.end()) estimates.push_back(point.estimate);
  }
  std::ranges::sort(grid);
  const std::size_t p = features.size();
  Json series = Json::array();
  for (const std::string& estimate : estimates) {
    std::vector<std::vector<double>> values(classes.size() * p, std::vector<double>(grid.size(), 0.0));
    for (const PathPoint& point : path) {
      if (point.estimate != estimate) continue;
      const auto at = static_cast<std::size_t>(std::ranges::find(grid, point.a) - grid.begin());
      for (std::size_t c = 0; c < values.size(); ++c) values[c][at] = point.lambda.data()[c];
    }
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto strength = [&](std::size_t c) { return *std::max_element(values[c].begin(), values[c].end()); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return strength(a) > strength(b); });
    for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 60); ++i)
      series.push_back({{"name", classes[order[i] / p] + ": " + features[order[i] % p]},
                        {"estimator", estimate},
                        {"values", rounded(values[order[i]], 4)}});
  }
  return {{"parameter", "a"}, {"values", rounded(grid)}, {"series", series}};
}

// The columns to show: of thousands the largest ones.
std::vector<Eigen::Index> shown_columns(const RowMatrix& lambda) {
  constexpr std::size_t most = 400;
  std::vector<Eigen::Index> kept(static_cast<std::size_t>(lambda.cols()));
  std::iota(kept.begin(), kept.end(), Eigen::Index{0});
  if (kept.size() <= most) return kept;
  const Eigen::RowVectorXd size = lambda.cwiseAbs().colwise().maxCoeff();
  std::ranges::stable_sort(kept, std::greater<>(), [&](Eigen::Index j) { return size[j]; });
  kept.resize(most);
  std::ranges::sort(kept);
  return kept;
}

}  // namespace

Json regression_json(const Fitted& model, const std::vector<PathPoint>& path, const ClassScores* scores) {
  const std::vector<std::string> features = model.column_names();
  Json json = {{"classes", model.classes}, {"ranking", model.ranking}, {"scores", Json::array()}};
  json["num_nonzero"] = (model.lambda.array() != 0.0).count();
  json["scale"] = model.is_logit() ? "Coefficients of the multinomial logit; the last class is the baseline."
                                   : fmt::format("Coefficients (lambda), {}.", !model.draws.empty()     ? "posterior means"
                                                                               : model.shape.size() > 0 ? "variational means"
                                                                                                        : "most probable values");
  if (Json found = path_json(path, model.classes, features); !found.is_null()) json["path"] = std::move(found);
  const std::vector<Eigen::Index> kept = shown_columns(model.lambda);
  if (kept.size() < features.size()) json["left_out"] = features.size() - kept.size();
  json["features"] = Json::array();
  for (const Eigen::Index j : kept) json["features"].push_back(features[static_cast<std::size_t>(j)]);
  const std::optional<Intervals> intervals = model.is_logit() ? std::nullopt : intervals_of(model);
  json["lambda"] = Json::array();
  if (intervals) json["intervals"] = Json::array();
  for (std::size_t k = 0; k < model.classes.size(); ++k) {
    const auto row = static_cast<Eigen::Index>(k);
    Json values = Json::array(), bounds = Json::array();
    for (const Eigen::Index j : kept) {
      values.push_back(rounded(row < model.lambda.rows() ? model.lambda(row, j) : 0.0, 5));  // the logit's baseline has no row
      if (intervals) bounds.push_back({rounded(intervals->low(row, j), 4), rounded(intervals->high(row, j), 4)});
    }
    json["lambda"].push_back(std::move(values));
    if (intervals) json["intervals"].push_back(std::move(bounds));
  }
  if (scores != nullptr) add_scores(json, *scores, model.classes);
  return json;
}

std::vector<std::string> regression_sentences(const Json& regression) {
  std::vector<std::string> sentences;
  const Json& classes = regression["classes"];
  const std::size_t shown = std::min<std::size_t>(classes.size(), 6);
  for (std::size_t k = 0; k < shown; ++k) {
    std::vector<std::pair<double, std::string>> strongest;
    for (std::size_t j = 0; j < regression["features"].size(); ++j) {
      const std::string name = regression["features"][j].get<std::string>();
      const double value = regression["lambda"][k][j].is_number() ? regression["lambda"][k][j].get<double>() : 0.0;
      if (value > 0.0 && name != "offset" && name != "intercept") strongest.emplace_back(value, name);
    }
    std::stable_sort(strongest.begin(), strongest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> names;
    for (std::size_t j = 0; j < std::min<std::size_t>(2, strongest.size()); ++j) names.push_back(strongest[j].second);
    if (!names.empty())
      sentences.push_back(fmt::format("For {} speak most: {}.", classes[k].get<std::string>(), list_words(names)));
  }
  if (regression.contains("misclassification")) {
    const std::string wrong = percent(regression["misclassification"].get<double>());
    if (regression.contains("scored_on_fitted_data"))
      sentences.push_back(fmt::format(
          "On the data it was fitted to, {} of the predictions are wrong. New data will be predicted less well.", wrong));
    else
      sentences.push_back(fmt::format("On the data given with this report, {} of the predictions are wrong.", wrong));
  }
  return sentences;
}

}  // namespace caucus::report
