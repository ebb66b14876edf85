#include "caucus/infer/pl_regression/fitted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/io/source.h"
#include "caucus/result/record_json.h"

namespace caucus::pl_regression {

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* regression_schema = "caucus.regression/1";

OrderedJson matrix_json(const RowMatrix& matrix) {
  OrderedJson json = OrderedJson::array();
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
    json.push_back(std::vector<double>(matrix.data() + i * matrix.cols(), matrix.data() + (i + 1) * matrix.cols()));
  return json;
}

// As in models of rankings: sums and products stay finite.
constexpr double largest_parameter = 1e15;

[[noreturn]] void fail(std::string_view key, std::string_view expected) {
  throw DataError(fmt::format("model file: {}: expected {}", key, expected));
}

RowMatrix matrix_from(const Json& json, const std::string& key, Eigen::Index rows, Eigen::Index columns, double min) {
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
const Json& member(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) fail(key, "this key");
  if (!found->is_array()) fail(key, "a list");
  return *found;
}

std::string text_of(const Json& json, const char* key, const std::string& fallback) {
  const auto found = json.find(key);
  if (found == json.end()) return fallback;
  if (!found->is_string()) fail(key, "a text");
  return found->get<std::string>();
}

double number_of(const Json& json, const char* key, double fallback) {
  const auto found = json.find(key);
  if (found == json.end()) return fallback;
  if (!found->is_number() || !(std::abs(found->get<double>()) <= largest_parameter)) fail(key, "a number of at most 1e15");
  return found->get<double>();
}

template <class E>
E enum_of(const Json& json, const char* key, E fallback) {
  const std::string text = text_of(json, key, std::string(name_of(fallback)));
  if (const auto value = enum_from_name<E>(text)) return *value;
  fail(key, detail::join_choices(enum_names<E>.data(), enum_names<E>.size()));
}

std::uint64_t whole_of(const Json& json, const char* key, std::uint64_t fallback) {
  const auto found = json.find(key);
  if (found == json.end()) return fallback;
  if (!found->is_number_unsigned()) fail(key, "a whole number");
  return found->get<std::uint64_t>();
}

int int_of(const Json& json, const char* key, int fallback) {
  const std::uint64_t value = whole_of(json, key, static_cast<std::uint64_t>(fallback));
  if (value > std::numeric_limits<int>::max()) fail(key, "a smaller number");
  return static_cast<int>(value);
}

// None where the key is missing or its number was not finite, which files write as null.
std::optional<double> maybe_number(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  if (!found->is_number()) fail(key, "a number");
  return found->get<double>();
}

std::vector<std::string> texts_of(const Json& json, const char* key) {
  std::vector<std::string> texts;
  for (const auto& one : json) {
    if (!one.is_string()) fail(key, "texts only");
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

void set(OrderedJson& json, const char* key, const std::optional<double>& value) {
  if (value) json[key] = *value;
}

OrderedJson summary_json(const Result& fit) {
  const Summary& summary = fit.summary;
  OrderedJson json{{"log_posterior", summary.log_posterior},
                   {"loglik", summary.loglik},
                   {"num_nonzero", summary.num_nonzero},
                   {"stop_reason", name_of(summary.stop_reason)},
                   {"iterations", summary.iterations}};
  if (summary.sampling) {
    const Sampling& sampling = *summary.sampling;
    set(json, "ess_min", sampling.ess_min);
    set(json, "rhat_max", sampling.rhat_max);
    set(json, "ess_loglik", sampling.ess_loglik);
    set(json, "posterior_mean_loglik", sampling.mean_loglik);
    set(json, "rhat_loglik", sampling.rhat_loglik);
    json["chains"] = sampling.chains;
    json["burnin"] = sampling.burnin;
    json["thin"] = sampling.thin;
    json["num_draws"] = sampling.num_draws;
  }
  set(json, "theta", summary.theta);
  for (const ShapeTrial& trial : summary.cross_validation)
    json["cross_validation"].push_back(
        {{"a", trial.a}, {"log_loss", trial.log_loss}, {"misclassification", trial.misclassification}});
  set(json, "residual", summary.residual);
  set(json, "bound", summary.bound);
  if (!fit.model.is_logit()) {
    json["a"] = fit.model.a;
    json["b"] = fit.model.b;
    json["a_learned"] = summary.shape_learned;
  }
  json["num_rows"] = summary.num_rows;
  json["num_features"] = summary.num_features;
  json["seconds"] = summary.seconds;
  json["seed"] = summary.seed;
  json["threads"] = summary.threads;
  json["options"] = summary.options;
  if (!summary.warnings.empty()) json["warnings"] = summary.warnings;
  return json;
}

Summary summary_of(const Json& json, Method method) {
  Summary summary;
  summary.loglik = maybe_number(json, "loglik").value_or(-infinity);
  summary.log_posterior = maybe_number(json, "log_posterior").value_or(-infinity);
  summary.num_nonzero = whole_of(json, "num_nonzero", 0);
  summary.stop_reason = enum_of(json, "stop_reason", StopReason::converged);
  summary.iterations = int_of(json, "iterations", 0);
  if (is_sampler(method)) {
    Sampling& sampling = summary.sampling.emplace();
    sampling.ess_min = maybe_number(json, "ess_min");
    sampling.rhat_max = maybe_number(json, "rhat_max");
    sampling.ess_loglik = maybe_number(json, "ess_loglik");
    sampling.mean_loglik = maybe_number(json, "posterior_mean_loglik");
    sampling.rhat_loglik = maybe_number(json, "rhat_loglik");
    sampling.chains = whole_of(json, "chains", 0);
    sampling.burnin = int_of(json, "burnin", 0);
    sampling.thin = int_of(json, "thin", 1);
    sampling.num_draws = whole_of(json, "num_draws", 0);
  }
  summary.theta = maybe_number(json, "theta");
  summary.residual = maybe_number(json, "residual");
  summary.bound = maybe_number(json, "bound");
  if (json.contains("cross_validation"))
    for (const auto& one : json["cross_validation"])
      summary.cross_validation.push_back(
          {number_of(one, "a", 1.0), number_of(one, "log_loss", 0.0), number_of(one, "misclassification", 0.0)});
  if (const auto found = json.find("a_learned"); found != json.end() && found->is_boolean())
    summary.shape_learned = found->get<bool>();
  summary.num_rows = whole_of(json, "num_rows", 0);
  summary.num_features = whole_of(json, "num_features", 0);
  summary.seconds = number_of(json, "seconds", 0.0);
  summary.seed = whole_of(json, "seed", 1);
  summary.threads = int_of(json, "threads", 1);
  if (const auto found = json.find("options"); found != json.end() && found->is_object())
    for (const auto& [name, value] : found->items())
      if (value.is_string()) summary.options[name] = value.get<std::string>();
  if (json.contains("warnings")) summary.warnings = texts_of(json["warnings"], "fit.warnings");
  return summary;
}

FeatureMap features_of(const Json& json, bool logit) {
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
  if (!logit)
    for (const auto& one : member(json, "features")) {
      if (!one.is_object()) fail("features", "objects with name and kind");
      const std::string own = text_of(one, "name", "");
      if (text_of(one, "kind", "") == name_of(FeatureKind::formula)) formulas.push_back(own);
    }
  FeatureMap map = FeatureMap::from_parts(std::move(covariates), std::move(most_common), formulas,
                                          enum_of(json, "missing", MissingValues::error));
  if (!logit && map.num_features() != member(json, "features").size())
    fail("features",
         fmt::format("{} of them: exp and exp-minus of every number, every level, formulas, offset", map.num_features()));
  return map;
}

void read_weights(const Json& json, Fitted& model) {
  const auto k = static_cast<Eigen::Index>(model.classes.size());
  const bool logit = model.is_logit();
  const Eigen::Index rows = logit ? k - 1 : k;
  const auto columns = static_cast<Eigen::Index>(logit ? model.features.num_covariates() + 1 : model.features.num_features());
  const double min = logit ? -infinity : 0.0;
  const char* key = logit ? "beta" : "lambda";
  model.lambda = matrix_from(member(json, key), key, rows, columns, min);
  if (json.contains("median")) model.median = matrix_from(json["median"], "median", rows, columns, min);
  if (json.contains("draws"))
    for (const auto& one : member(json, "draws")) model.draws.push_back(matrix_from(one, "draws", rows, columns, min));
  if (!json.contains("shape")) return;
  model.shape = matrix_from(json["shape"], "shape", rows, columns, 0.0);
  model.rate = matrix_from(member(json, "rate"), "rate", rows, columns, 0.0);
  if (!(model.shape.minCoeff() > 0.0 && model.rate.minCoeff() > 0.0)) fail("shape, rate", "numbers above 0");
}

Fitted model_of(const Json& json) {
  const std::string family = text_of(json, "family", "");
  if (family != "pl-regression" && family != "logit-lasso")
    fail("family", fmt::format("pl-regression or logit-lasso, made by 'caucus regress', but it is '{}'", family));
  Fitted model;
  model.method = enum_of(json, "method", family == "logit-lasso" ? Method::logit_lasso : Method::em);
  if (model.is_logit() != (family == "logit-lasso")) fail("method", "one of the family");
  model.classes = texts_of(member(json, "classes"), "classes");
  if (model.classes.size() < 2) fail("classes", "at least two");
  model.target = text_of(json, "target", "");
  model.ranking = text_of(json, "outcome", "class") == "ranking";
  model.unranked = enum_of(json, "unranked", Unranked::last);
  model.features = features_of(json, model.is_logit());
  model.a = number_of(json, "a", 1.0);
  model.b = number_of(json, "b", 0.0);
  model.seed = whole_of(json, "seed", 1);
  read_weights(json, model);
  return model;
}

}  // namespace

std::string Fitted::family() const { return is_logit() ? "logit-lasso" : "pl-regression"; }

std::vector<std::string> Fitted::column_names() const {
  std::vector<std::string> names;
  if (is_logit()) {
    for (const Covariate& one : features.covariates()) names.push_back(one.name);
    names.emplace_back("intercept");
  } else {
    for (const Feature& one : features.list()) names.push_back(one.name);
  }
  return names;
}

std::string model_text(const Result& fit, const DataFacts& data, const Provenance& provenance) {
  const Fitted& model = fit.model;
  OrderedJson json{
      {"schema", regression_schema}, {"family", model.family()}, {"method", name_of(model.method)}, {"classes", model.classes}};
  if (!model.target.empty()) json["target"] = model.target;
  if (model.ranking) json["outcome"] = "ranking", json["unranked"] = name_of(model.unranked);
  json["missing"] = name_of(model.features.missing());
  OrderedJson covariates = OrderedJson::array();
  for (std::size_t j = 0; j < model.features.num_covariates(); ++j) {
    const Covariate& one = model.features.covariates()[j];
    OrderedJson entry{{"name", one.name}, {"column", one.column}, {"mean", one.mean}, {"scale", one.scale}};
    if (one.categorical) entry["level"] = one.level, entry["most_common"] = model.features.most_common_levels()[j];
    covariates.push_back(std::move(entry));
  }
  json["covariates"] = std::move(covariates);
  if (model.is_logit()) {
    json["baseline"] = model.classes.back();
    json["beta"] = matrix_json(model.lambda);
  } else {
    for (const Feature& feature : model.features.list())
      json["features"].push_back(
          {{"name", feature.name}, {"kind", name_of(feature.kind)}, {"mean", feature.mean}, {"scale", feature.scale}});
    json["a"] = model.a;
    json["b"] = model.b;
    json["lambda"] = matrix_json(model.lambda);
  }
  if (model.median.size() > 0) json["median"] = matrix_json(model.median);
  if (model.shape.size() > 0) json["shape"] = matrix_json(model.shape), json["rate"] = matrix_json(model.rate);
  json["seed"] = model.seed;
  json["fit"] = summary_json(fit);
  for (const RowMatrix& draw : model.draws) json["draws"].push_back(matrix_json(draw));
  if (!provenance.version.empty()) json["version"] = provenance.version, json["command"] = provenance.command;
  if (!data.digest.empty()) json["data"] = {{"source", data.source}, {"digest", data.digest}};
  // One key a line: a person can read it, and matrices do not take a line per number.
  std::string text = "{";
  for (const auto& [key, value] : json.items())
    text += fmt::format("{}\n {}: {}", text.size() > 1 ? "," : "", OrderedJson(key).dump(),
                        value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
  return text + "\n}\n";
}

bool is_regression(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  return json.is_object() && json.value("schema", Json()) == regression_schema;
}

Loaded parse_regression(std::string_view text, const std::string& name) {
  try {
    const Json json = parse_model_json(text, name, "caucus regress --out");
    if (!json.is_object() || text_of(json, "schema", "") != regression_schema)
      fail("schema", fmt::format("\"{}\", made by 'caucus regress'", regression_schema));
    Loaded loaded;
    loaded.model = model_of(json);
    if (json.contains("fit")) loaded.summary = summary_of(json["fit"], loaded.model.method);
    loaded.provenance = {text_of(json, "version", ""), text_of(json, "command", "")};
    if (json.contains("data")) loaded.data = {text_of(json["data"], "digest", ""), text_of(json["data"], "source", "")};
    return loaded;
  } catch (const Json::exception&) {
    throw DataError(fmt::format("{}: this is not a model file; expected one written by 'caucus regress --out'", name));
  } catch (const Error& error) {
    throw DataError(fmt::format("{}: {}", name, error.what()));
  }
}

Loaded load_regression(const std::string& path) {
  const Source source = Source::open(path);
  return parse_regression(source.text(), source.name());
}

}  // namespace caucus::pl_regression
