#include "caucus/result/model_json.h"

#include <cmath>
#include <string>

#include "caucus/result/record_json.h"

namespace caucus::model_json {

namespace {

using Json = nlohmann::json;

template <class T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// {"level": 0.9, "low": [..], "high": [..]}: all intervals of a list have one level. One number is no list.
Json intervals_json(const std::vector<std::optional<Interval>>& intervals, bool as_number = false) {
  Json low = Json::array(), high = Json::array();
  double level = 0.95;
  for (const auto& one : intervals) {
    low.push_back(one ? Json(one->low) : Json(nullptr));
    high.push_back(one ? Json(one->high) : Json(nullptr));
    if (one) level = one->level;
  }
  return {{"level", level}, {"low", as_number ? low.at(0) : low}, {"high", as_number ? high.at(0) : high}};
}

const Json& child(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::optional<double> number(const Json& object, const char* key) {
  const Json& found = child(object, key);
  return found.is_number() ? std::optional(found.get<double>()) : std::nullopt;
}

// A number is a list of one; null and what is no number are nothing.
std::vector<std::optional<double>> list(const Json& values) {
  std::vector<std::optional<double>> result;
  const auto add = [&](const Json& value) {
    result.push_back(value.is_number() ? std::optional(value.get<double>()) : std::nullopt);
  };
  if (values.is_array())
    for (const Json& value : values) add(value);
  else if (values.is_number())
    add(values);
  return result;
}

std::vector<std::optional<Interval>> intervals(const Json& object) {
  const auto low = list(child(object, "low")), high = list(child(object, "high"));
  const double level = number(object, "level").value_or(0.95);
  std::vector<std::optional<Interval>> result(low.size() == high.size() ? low.size() : 0);
  for (std::size_t i = 0; i < result.size(); ++i)
    if (low[i] && high[i]) result[i] = Interval{*low[i], *high[i], level};
  return result;
}

std::vector<double> finite_numbers(const Json& values) {
  std::vector<double> result;
  for (const auto& value : list(values)) result.push_back(value.value_or(std::nan("")));
  return result;
}

std::size_t whole(const Json& object, const char* key) {
  const Json& found = child(object, key);
  return found.is_number() && found.get<double>() >= 0.0 ? static_cast<std::size_t>(found.get<double>()) : 0;
}

std::string text(const Json& object, const char* key) {
  const Json& found = child(object, key);
  return found.is_string() ? found.get<std::string>() : std::string();
}

Posterior read_posterior(const Json& json) {
  Posterior posterior;
  posterior.num_draws = whole(json, "num_draws");
  if (const Json& counts = child(json, "num_clusters"); counts.is_object())
    for (const auto& [groups, draws] : counts.items())
      if (!groups.empty() && groups.size() < 10 && groups.find_first_not_of("0123456789") == std::string::npos && draws.is_number())
        posterior.num_groups.emplace_back(std::stoul(groups), static_cast<std::size_t>(draws.get<double>()));
  std::ranges::sort(posterior.num_groups);
  posterior.expected_vi = number(child(json, "point_estimate"), "expected_vi");
  if (const Json& quantities = child(json, "diagnostics"); quantities.is_object())
    for (const auto& [name, values] : quantities.items()) {
      ChainQuantity one;
      one.name = name;
      one.mean = number(values, "mean").value_or(std::nan(""));
      one.effective_sample_size = number(values, "effective_sample_size");
      one.rhat = number(values, "rhat");
      if (const Json& chains = child(json, "traces"); chains.is_array())
        for (const Json& chain : chains)
          if (chain.contains(name)) one.traces.push_back(finite_numbers(chain[name]));
      posterior.quantities.push_back(std::move(one));
    }
  const Json& together = child(json, "coclustering");
  const Json &labels = child(together, "labels"), &values = child(together, "values");
  if (labels.is_array() && values.is_array() && labels.size() == values.size()) {
    CoClustering found;
    for (const Json& label : labels)
      found.labels.push_back(label.is_number() ? std::max(label.get<std::size_t>(), std::size_t{1}) - 1 : 0);
    for (const Json& row : values) found.together.push_back(finite_numbers(row));
    posterior.co_clustering = std::move(found);
  }
  return posterior;
}

}  // namespace

void write_group(const Group& group, Json& component) {
  component["weight"] = group.weight;
  if (group.size) component["size"] = *group.size;
  if (group.order_is_parameter) component["consensus"] = group.order;
  if (!group.utilities.empty()) component["utilities"] = group.utilities;
  if (!group.theta.empty() || group.theta_by_stage)
    component["theta"] = group.theta_by_stage ? Json(group.theta) : Json(group.theta[0]);
  const GroupErrors& errors = group.errors;
  const auto errors_json = [](const std::vector<std::optional<double>>& values) {
    Json json = Json::array();
    for (const auto& value : values) json.push_back(value_or_null(value));
    return json;
  };
  if (errors.weight_error) component["weight_standard_error"] = *errors.weight_error;
  if (errors.weight_interval) component["weight_interval"] = intervals_json({errors.weight_interval}, true);
  if (!errors.utility_errors.empty()) component["standard_errors"] = errors_json(errors.utility_errors);
  if (!errors.quasi_errors.empty()) component["quasi_standard_errors"] = errors_json(errors.quasi_errors);
  if (!errors.utility_intervals.empty()) component["utility_intervals"] = intervals_json(errors.utility_intervals);
  if (!errors.unbounded.empty()) component["unbounded"] = errors.unbounded;
  if (!errors.theta_errors.empty())
    component["theta_standard_errors"] =
        group.theta_by_stage ? errors_json(errors.theta_errors) : value_or_null(errors.theta_errors[0]);
  if (!errors.theta_intervals.empty()) component["theta_intervals"] = intervals_json(errors.theta_intervals, !group.theta_by_stage);
  if (!errors.place_intervals.empty()) component["place_intervals"] = intervals_json(errors.place_intervals);
  if (errors.order_gap) component["consensus_gap"] = *errors.order_gap;
  if (errors.stability) {
    const OrderStability& stability = *errors.stability;
    const std::size_t n = group.order.size();
    Json before = Json::array();
    for (std::size_t a = 0; a * n < stability.before.size(); ++a)
      before.push_back(std::vector<double>(stability.before.begin() + static_cast<std::ptrdiff_t>(a * n),
                                           stability.before.begin() + static_cast<std::ptrdiff_t>((a + 1) * n)));
    component["stability"] = {
        {"resamples", stability.resamples}, {"unchanged", stability.unchanged}, {"before", std::move(before)}};
  }
}

GroupErrors read_errors(const Json& component) {
  GroupErrors errors;
  errors.weight_error = number(component, "weight_standard_error");
  if (const auto found = intervals(child(component, "weight_interval")); !found.empty()) errors.weight_interval = found[0];
  errors.utility_errors = list(child(component, "standard_errors"));
  errors.quasi_errors = list(child(component, "quasi_standard_errors"));
  errors.utility_intervals = intervals(child(component, "utility_intervals"));
  for (const auto& item : list(child(component, "unbounded")))
    if (item && *item >= 0.0) errors.unbounded.push_back(static_cast<ItemId>(*item));
  errors.theta_errors = list(child(component, "theta_standard_errors"));
  errors.theta_intervals = intervals(child(component, "theta_intervals"));
  errors.place_intervals = intervals(child(component, "place_intervals"));
  errors.order_gap = number(component, "consensus_gap");
  if (const Json& found = child(component, "stability"); found.is_object()) {
    OrderStability stability;
    stability.resamples = static_cast<int>(whole(found, "resamples"));
    stability.unchanged = number(found, "unchanged").value_or(0.0);
    if (const Json& rows = child(found, "before"); rows.is_array())
      for (const Json& row : rows)
        for (const double value : finite_numbers(row)) stability.before.push_back(value);
    errors.stability = std::move(stability);
  }
  return errors;
}

Json count(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
  return value;
}

Json write_summary(const FitSummary& summary) {
  Json json = summary.details.node().json;
  json["loglik"] = summary.loglik;
  json["num_rankings"] = count(summary.num_rankings);
  if (summary.num_voters > 0.0) json["num_voters"] = count(summary.num_voters);
  json["num_parameters"] = summary.num_parameters;
  json["log_discrete_values"] = summary.log_discrete_values;
  json["aic"] = summary.aic();
  json["bic"] = summary.bic();
  json["ebic"] = summary.ebic();
  json["icl"] = summary.icl();
  json["iterations"] = summary.iterations;
  json["stop_reason"] = name_of(summary.stop_reason);
  json["seconds"] = summary.seconds;
  json["seed"] = summary.seed;
  json["threads"] = summary.threads;
  json["trace"] = summary.trace.values;
  json["trace_measures"] = summary.trace.measures;
  json["options"] = summary.options;
  if (summary.entropy) json["entropy"] = *summary.entropy;
  if (summary.regularization) json["regularization"] = *summary.regularization;
  if (summary.loglik_is_estimated) json["loglik_is_estimated"] = true;
  if (!summary.warnings.empty()) json["warnings"] = summary.warnings;
  if (summary.starts) {
    const Starts& starts = *summary.starts;
    json["starts"] = {{"tried", starts.tried}, {"finished", starts.finished}, {"agreeing", starts.agreeing}};
    if (starts.screened_on) json["starts"]["screened_on"] = *starts.screened_on;
    if (starts.chance_of_a_better) json["starts"]["chance_of_a_better"] = *starts.chance_of_a_better;
  }
  return json;
}

Json write_posterior(const Posterior& posterior) {
  Json json = {{"num_draws", posterior.num_draws}, {"diagnostics", Json::object()}, {"traces", Json::array()}};
  for (const auto& [groups, draws] : posterior.num_groups) json["num_clusters"][std::to_string(groups)] = draws;
  if (posterior.expected_vi)
    json["point_estimate"] = {{"criterion", "minimum expected variation of information over the draws"},
                              {"expected_vi", *posterior.expected_vi}};
  for (const ChainQuantity& one : posterior.quantities) {
    Json& quantity = json["diagnostics"][one.name] = {{"mean", one.mean}};
    if (one.effective_sample_size) {
      quantity["effective_sample_size"] = *one.effective_sample_size;
      quantity["rhat"] = value_or_null(one.rhat);
    }
    for (std::size_t chain = 0; chain < one.traces.size(); ++chain) {
      if (json["traces"].size() <= chain) json["traces"].push_back(Json::object());
      json["traces"][chain][one.name] = one.traces[chain];
    }
  }
  if (posterior.co_clustering) {
    Json labels = Json::array();
    for (const std::size_t label : posterior.co_clustering->labels) labels.push_back(label + 1);  // files count from 1
    json["coclustering"] = {{"labels", std::move(labels)}, {"values", posterior.co_clustering->together}};
  }
  return json;
}

FitSummary read_summary(const Json& model) {
  FitSummary summary;
  summary.method = text(model, "method");
  const Json& fit = child(model, "fit");
  summary.loglik = number(fit, "loglik").value_or(std::nan(""));
  summary.num_rankings = number(fit, "num_rankings").value_or(0.0);
  summary.num_voters = number(fit, "num_voters").value_or(0.0);
  summary.num_parameters = static_cast<std::int64_t>(whole(fit, "num_parameters"));
  summary.log_discrete_values = number(fit, "log_discrete_values").value_or(0.0);
  summary.entropy = number(fit, "entropy");
  summary.iterations = static_cast<int>(whole(fit, "iterations"));
  summary.stop_reason = enum_from_name<StopReason>(text(fit, "stop_reason")).value_or(StopReason::converged);
  summary.seconds = number(fit, "seconds").value_or(0.0);
  if (const Json& seed = child(fit, "seed"); seed.is_number_unsigned()) summary.seed = seed.get<std::uint64_t>();
  summary.threads = static_cast<int>(whole(fit, "threads"));
  summary.trace.values = finite_numbers(child(fit, "trace"));
  if (const std::string measures = text(fit, "trace_measures"); !measures.empty()) summary.trace.measures = measures;
  summary.regularization = number(fit, "regularization");
  summary.loglik_is_estimated = child(fit, "loglik_is_estimated") == true;
  if (const Json& warnings = child(fit, "warnings"); warnings.is_array())
    for (const Json& warning : warnings)
      if (warning.is_string()) summary.warnings.push_back(warning.get<std::string>());
  if (const Json& options = child(fit, "options"); options.is_object())
    for (const auto& [name, value] : options.items())
      if (value.is_string()) summary.options[name] = value.get<std::string>();
  if (const Json& found = child(fit, "starts"); found.is_object()) {
    Starts starts;
    starts.tried = static_cast<int>(whole(found, "tried"));
    starts.finished = static_cast<int>(whole(found, "finished"));
    starts.agreeing = static_cast<int>(whole(found, "agreeing"));
    if (found.contains("screened_on")) starts.screened_on = whole(found, "screened_on");
    starts.chance_of_a_better = number(found, "chance_of_a_better");
    summary.starts = starts;
  }
  if (const Json& posterior = child(model, "posterior"); posterior.is_object()) summary.posterior = read_posterior(posterior);
  return summary;
}

}  // namespace caucus::model_json
