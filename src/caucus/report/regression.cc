#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numeric>

#include "caucus/evaluate/classification.h"
#include "caucus/report/data.h"
#include "caucus/report/parts.h"

namespace caucus::report {

namespace {

using Matrix = std::vector<std::vector<double>>;

Matrix matrix_at(const Json& object, const char* key) {
  Matrix rows;
  const Json* found = find(object, {key});
  if (found == nullptr || !found->is_array()) return rows;
  for (const Json& row : *found) {
    std::vector<double> values;
    if (!row.is_array()) return {};
    for (const Json& value : row) values.push_back(value.is_number() ? value.get<double>() : 0.0);
    rows.push_back(std::move(values));
  }
  return rows;
}

// Of a gamma law with rate 1. Wilson & Hilferty (1931) where the shape is so large that the series would not end.
double gamma_quantile(double shape, double q) {
  if (shape < 1e8) return boost::math::gamma_p_inv(shape, q);
  const double z = q < 0.5 ? -1.959963985 : 1.959963985;  // q is 0.025 or 0.975
  return shape * std::pow(1.0 - 1.0 / (9.0 * shape) + z / std::sqrt(9.0 * shape), 3);
}

// 95% intervals: from the draws of a sampler, from the gamma factors of a variational fit, else none.
Json intervals_of(const Json& model, const Matrix& lambda) {
  Json intervals = Json::array();
  const Json* draws = find(model, {"draws"});
  if (draws != nullptr && draws->is_array() && draws->size() >= 20) {
    std::vector<double> values(draws->size());
    for (std::size_t k = 0; k < lambda.size(); ++k) {
      Json row = Json::array();
      for (std::size_t j = 0; j < lambda[k].size(); ++j) {
        for (std::size_t d = 0; d < values.size(); ++d) values[d] = (*draws)[d].at(k).at(j).get<double>();
        std::sort(values.begin(), values.end());
        const auto quantile = [&](double q) {
          return values[static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
        };
        row.push_back({rounded(quantile(0.025), 4), rounded(quantile(0.975), 4)});
      }
      intervals.push_back(std::move(row));
    }
    return intervals;
  }
  const Matrix shape = matrix_at(model, "shape"), rate = matrix_at(model, "rate");
  if (shape.size() != lambda.size() || rate.size() != lambda.size()) return nullptr;
  // Weights are normalised to sum one; the factors are scaled alike.
  double total = 0.0, factors = 0.0;
  for (std::size_t k = 0; k < lambda.size(); ++k)
    for (std::size_t j = 0; j < lambda[k].size(); ++j) {
      total += lambda[k][j];
      factors += shape[k][j] / rate[k][j];
    }
  for (std::size_t k = 0; k < lambda.size(); ++k) {
    Json row = Json::array();
    for (std::size_t j = 0; j < lambda[k].size(); ++j) {
      const auto quantile = [&](double q) { return gamma_quantile(shape[k][j], q) / rate[k][j] * total / factors; };
      row.push_back({rounded(quantile(0.025), 4), rounded(quantile(0.975), 4)});
    }
    intervals.push_back(std::move(row));
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

// {"path": [{"estimate", "a", "lambda"}, ...]}: the strongest weights only.
Json path_of(const Json& model, const std::vector<std::string>& classes, const std::vector<std::string>& features) {
  const Json* points = find(model, {"path"});
  if (points == nullptr || !points->is_array() || points->empty()) return nullptr;
  std::vector<double> grid;
  std::vector<std::string> estimates;
  for (const Json& point : *points) {
    const double a = number_at(point, {"a"}).value_or(0.0);
    if (std::find(grid.begin(), grid.end(), a) == grid.end()) grid.push_back(a);
    const std::string estimate = point.value("estimate", std::string("map"));
    if (std::find(estimates.begin(), estimates.end(), estimate) == estimates.end()) estimates.push_back(estimate);
  }
  std::sort(grid.begin(), grid.end());
  const std::size_t p = features.size();
  Json series = Json::array();
  for (const std::string& estimate : estimates) {
    std::vector<std::vector<double>> values(classes.size() * p, std::vector<double>(grid.size(), 0.0));
    for (const Json& point : *points) {
      if (point.value("estimate", std::string("map")) != estimate) continue;
      const auto at =
          static_cast<std::size_t>(std::find(grid.begin(), grid.end(), number_at(point, {"a"}).value_or(0.0)) - grid.begin());
      const Matrix lambda = matrix_at(point, "lambda");
      for (std::size_t k = 0; k < std::min(lambda.size(), classes.size()); ++k)
        for (std::size_t j = 0; j < std::min(lambda[k].size(), p); ++j) values[k * p + j][at] = lambda[k][j];
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

}  // namespace

Json regression_json(const Json& model, const ClassScores* scores) {
  constexpr std::size_t max_features = 400;
  std::vector<std::string> classes, features;
  if (const Json* found = find(model, {"classes"}); found != nullptr && found->is_array())
    for (const Json& name : *found) classes.push_back(name.is_string() ? name.get<std::string>() : name.dump());
  const bool logit = find(model, {"beta"}) != nullptr;
  Matrix lambda = matrix_at(model, logit ? "beta" : "lambda");
  if (classes.empty() || lambda.empty()) return nullptr;
  if (const Json* found = find(model, {"features"}); found != nullptr && found->is_array())
    for (const Json& feature : *found)
      features.push_back(feature.is_object()   ? feature.value("name", std::string("?"))
                         : feature.is_string() ? feature.get<std::string>()
                                               : "?");
  if (const Json* found = find(model, {"covariates"}); logit && found != nullptr && found->is_array())
    for (const Json& feature : *found) features.push_back(feature.value("name", std::string("?")));
  const std::size_t p = lambda[0].size();
  while (features.size() < p)
    features.push_back(logit && features.size() + 1 == p ? "intercept" : fmt::format("feature {}", features.size() + 1));
  features.resize(p);
  for (std::vector<double>& row : lambda) row.resize(p, 0.0);
  if (logit && lambda.size() + 1 == classes.size()) lambda.emplace_back(p, 0.0);  // the baseline class
  lambda.resize(classes.size(), std::vector<double>(p, 0.0));
  Json intervals = logit ? Json(nullptr) : intervals_of(model, lambda);

  Json json = {{"classes", classes}, {"ranking", model.value("outcome", std::string()) == "ranking"}, {"scores", Json::array()}};
  json["num_nonzero"] =
      std::accumulate(lambda.begin(), lambda.end(), std::int64_t{0}, [](std::int64_t total, const std::vector<double>& row) {
        return total + std::count_if(row.begin(), row.end(), [](double value) { return value != 0.0; });
      });
  json["scale"] = logit ? "Coefficients of the multinomial logit; the last class is the baseline."
                        : fmt::format("Coefficients (lambda), {}.", find(model, {"draws"}) != nullptr   ? "posterior means"
                                                                    : find(model, {"shape"}) != nullptr ? "variational means"
                                                                                                        : "most probable values");
  json["path"] = path_of(model, classes, features);
  if (json["path"].is_null()) json.erase("path");
  // Thousands of features: the largest ones.
  std::vector<std::size_t> kept(p);
  std::iota(kept.begin(), kept.end(), std::size_t{0});
  if (p > max_features) {
    std::vector<double> size(p, 0.0);
    for (const std::vector<double>& row : lambda)
      for (std::size_t j = 0; j < p; ++j) size[j] = std::max(size[j], std::abs(row[j]));
    std::stable_sort(kept.begin(), kept.end(), [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
    kept.resize(max_features);
    std::sort(kept.begin(), kept.end());
    json["left_out"] = p - max_features;
  }
  json["features"] = Json::array();
  for (std::size_t j : kept) json["features"].push_back(features[j]);
  json["lambda"] = Json::array();
  for (const std::vector<double>& row : lambda) {
    Json values = Json::array();
    for (std::size_t j : kept) values.push_back(rounded(row[j], 5));
    json["lambda"].push_back(std::move(values));
  }
  if (intervals.is_array()) {
    json["intervals"] = Json::array();
    for (std::size_t k = 0; k < classes.size(); ++k) {
      Json row = Json::array();
      for (std::size_t j : kept) row.push_back(k < intervals.size() ? intervals[k][j] : Json(nullptr));
      json["intervals"].push_back(std::move(row));
    }
  }
  if (scores != nullptr) add_scores(json, *scores, classes);
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
