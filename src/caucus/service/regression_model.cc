// The model file of a regression.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/io/source.h"
#include "caucus/result/record_json.h"
#include "caucus/result/regression_schema.h"
#include "caucus/service/regression.h"

namespace caucus {

using namespace pl_regression;

namespace {

nlohmann::ordered_json matrix_json(const RowMatrix& matrix) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    json.push_back(std::vector<double>(matrix.data() + i * matrix.cols(), matrix.data() + (i + 1) * matrix.cols()));
  return json;
}

// As in models of rankings: sums and products stay finite.
constexpr double largest_parameter = 1e15;

[[noreturn]] void fail(std::string_view key, std::string_view expected) {
  throw DataError(fmt::format("model file: {}: expected {}", key, expected));
}

RowMatrix matrix_from(const nlohmann::json& json, const std::string& key, Eigen::Index rows, Eigen::Index columns, double min) {
  const std::string expected = fmt::format("{} lists of {} finite numbers{}", rows, columns, min == 0.0 ? " not below 0" : "");
  if (!json.is_array() || static_cast<Eigen::Index>(json.size()) != rows) fail(key, expected);
  RowMatrix matrix(rows, columns);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const auto& row = json[static_cast<std::size_t>(i)];
    if (!row.is_array() || static_cast<Eigen::Index>(row.size()) != columns) fail(key, expected);
    for (Eigen::Index j = 0; j < columns; ++j) {
      const auto& cell = row[static_cast<std::size_t>(j)];
      if (!cell.is_number() || !(std::abs(cell.get<double>()) <= largest_parameter) || cell.get<double>() < min)
        fail(key, expected);
      matrix(i, j) = cell.get<double>();
    }
  }
  return matrix;
}

// A list of the file.
const nlohmann::json& member(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) fail(key, "this key");
  if (!found->is_array()) fail(key, "a list");
  return *found;
}

std::string text_of(const nlohmann::json& json, const char* key, const std::string& fallback) {
  const auto found = json.find(key);
  if (found == json.end()) return fallback;
  if (!found->is_string()) fail(key, "a text");
  return found->get<std::string>();
}

double number_of(const nlohmann::json& json, const char* key, double fallback) {
  const auto found = json.find(key);
  if (found == json.end()) return fallback;
  if (!found->is_number() || !(std::abs(found->get<double>()) <= largest_parameter)) fail(key, "a number of at most 1e15");
  return found->get<double>();
}

template <class E>
E enum_of(const nlohmann::json& json, const char* key, E fallback) {
  const std::string text = text_of(json, key, std::string(name_of(fallback)));
  if (const auto value = enum_from_name<E>(text)) return *value;
  fail(key, detail::join_choices(enum_names<E>.data(), enum_names<E>.size()));
}

}  // namespace

std::string RegressionModel::to_text() const {
  nlohmann::ordered_json json{{"schema", regression_schema},
                              {"family", is_logit() ? "logit-lasso" : "pl-regression"},
                              {"method", name_of(method)},
                              {"classes", classes}};
  if (!target.empty()) json["target"] = target;
  if (ranking) json["outcome"] = "ranking", json["unranked"] = name_of(unranked);
  json["missing"] = name_of(features.missing());
  nlohmann::ordered_json covariates = nlohmann::ordered_json::array();
  for (std::size_t j = 0; j < features.num_covariates(); ++j) {
    const Covariate& one = features.covariates()[j];
    nlohmann::ordered_json entry{{"name", one.name}, {"column", one.column}, {"mean", one.mean}, {"scale", one.scale}};
    if (one.categorical) entry["level"] = one.level, entry["most_common"] = features.most_common_levels()[j];
    covariates.push_back(std::move(entry));
  }
  json["covariates"] = std::move(covariates);
  if (is_logit()) {
    json["baseline"] = classes.back();
    json["beta"] = matrix_json(lambda);
  } else {
    for (const Feature& feature : features.list())
      json["features"].push_back(
          {{"name", feature.name}, {"kind", name_of(feature.kind)}, {"mean", feature.mean}, {"scale", feature.scale}});
    json["a"] = a;
    json["b"] = b;
    json["lambda"] = matrix_json(lambda);
  }
  if (median.size() > 0) json["median"] = matrix_json(median);
  if (shape.size() > 0) json["shape"] = matrix_json(shape), json["rate"] = matrix_json(rate);
  json["seed"] = seed;
  json["fit"] = fit;
  for (const RowMatrix& draw : draws) json["draws"].push_back(matrix_json(draw));
  json.update(provenance);
  // One key a line: a person can read it, and matrices do not take a line per number.
  std::string text = "{";
  for (const auto& [key, value] : json.items())
    text += fmt::format("{}\n {}: {}", text.size() > 1 ? "," : "", nlohmann::ordered_json(key).dump(),
                        value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return text + "\n}\n";
}

RegressionModel RegressionModel::parse(std::string_view text, const std::string& name) {
  try {
    const nlohmann::json json = parse_model_json(text, name, "caucus regress --out");
    if (!json.is_object() || text_of(json, "schema", "") != regression_schema)
      fail("schema", fmt::format("\"{}\", made by 'caucus regress'", regression_schema));
    const std::string family = text_of(json, "family", "");
    if (family != "pl-regression" && family != "logit-lasso")
      fail("family", fmt::format("pl-regression or logit-lasso, made by 'caucus regress', but it is '{}'", family));
    RegressionModel model;
    model.method = enum_of(json, "method", family == "logit-lasso" ? Method::logit_lasso : Method::em);
    if (model.is_logit() != (family == "logit-lasso")) fail("method", "one of the family");
    for (const auto& one : member(json, "classes")) {
      if (!one.is_string()) fail("classes", "texts only");
      model.classes.push_back(one.get<std::string>());
    }
    if (model.classes.size() < 2) fail("classes", "at least two");
    model.target = text_of(json, "target", "");
    model.ranking = text_of(json, "outcome", "class") == "ranking";
    model.unranked = enum_of(json, "unranked", Unranked::last);
    std::vector<Covariate> covariates;
    std::vector<std::string> most_common, formulas;
    for (const auto& one : member(json, "covariates")) {
      Covariate covariate;
      covariate.name = text_of(one, "name", "");
      covariate.column = text_of(one, "column", covariate.name);
      covariate.categorical = one.contains("level");
      covariate.level = text_of(one, "level", "");
      covariate.mean = number_of(one, "mean", 0.0);
      covariate.scale = number_of(one, "scale", 1.0);
      if (!(covariate.scale > 0.0)) fail("covariates.scale", "a number above 0");
      most_common.push_back(text_of(one, "most_common", ""));
      covariates.push_back(std::move(covariate));
    }
    if (!model.is_logit())
      for (const auto& one : member(json, "features")) {
        if (!one.is_object()) fail("features", "objects with name and kind");
        const std::string own = text_of(one, "name", "");
        if (text_of(one, "kind", "") == name_of(FeatureKind::formula)) formulas.push_back(own);
      }
    model.features = FeatureMap::from_parts(std::move(covariates), std::move(most_common), formulas,
                                            enum_of(json, "missing", MissingValues::error));
    if (!model.is_logit() && model.features.num_features() != member(json, "features").size())
      fail("features", fmt::format("{} of them: exp and exp-minus of every number, every level, formulas, offset",
                                   model.features.num_features()));
    const auto k = static_cast<Eigen::Index>(model.classes.size());
    const Eigen::Index rows = model.is_logit() ? k - 1 : k;
    const Eigen::Index columns =
        static_cast<Eigen::Index>(model.is_logit() ? model.features.num_covariates() + 1 : model.features.num_features());
    const double min = model.is_logit() ? -infinity : 0.0;
    const char* key = model.is_logit() ? "beta" : "lambda";
    model.lambda = matrix_from(member(json, key), key, rows, columns, min);
    model.a = number_of(json, "a", 1.0);
    model.b = number_of(json, "b", 0.0);
    model.seed = json.value("seed", std::uint64_t{1});
    if (json.contains("median")) model.median = matrix_from(json["median"], "median", rows, columns, min);
    if (json.contains("draws"))
      for (const auto& one : member(json, "draws")) model.draws.push_back(matrix_from(one, "draws", rows, columns, min));
    if (json.contains("shape")) {
      model.shape = matrix_from(json["shape"], "shape", rows, columns, 0.0);
      model.rate = matrix_from(member(json, "rate"), "rate", rows, columns, 0.0);
      if (!(model.shape.minCoeff() > 0.0 && model.rate.minCoeff() > 0.0)) fail("shape, rate", "numbers above 0");
    }
    if (json.contains("fit")) model.fit = nlohmann::ordered_json::parse(json["fit"].dump());
    return model;
  } catch (const nlohmann::json::exception&) {
    throw DataError(fmt::format("{}: this is not a model file; expected one written by 'caucus regress --out'", name));
  } catch (const Error& error) {
    throw DataError(fmt::format("{}: {}", name, error.what()));
  }
}

RegressionModel RegressionModel::load(const std::string& path) {
  const Source source = Source::open(path);
  return parse(source.text(), source.name());
}

}  // namespace caucus
