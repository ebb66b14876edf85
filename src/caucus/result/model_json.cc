#include "caucus/result/model_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
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

// A place in a model file. Keys that are absent and null are nothing; a value of another kind or out of its range is a DataError
// that names the place, so that no wrong number goes on into a report.
class Place {
 public:
  Place(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  [[noreturn]] void fail(std::string_view expected) const {
    throw DataError(fmt::format("model file: {}: expected {}", where_, expected));
  }
  Place operator[](const char* key) const {
    static const Json none;
    const std::string place = where_.empty() ? key : where_ + "." + key;
    if (json_.is_null()) return {none, place};
    if (!json_.is_object()) fail("an object");
    const auto found = json_.find(key);
    return {found == json_.end() ? none : *found, place};
  }
  bool given() const { return !json_.is_null(); }
  std::size_t size() const { return json_.is_array() ? json_.size() : 0; }
  Place at(std::size_t i) const { return {json_[i], fmt::format("{}[{}]", where_, i)}; }

  std::optional<double> number(double least = -infinity, double most = infinity) const {
    if (!given()) return std::nullopt;
    if (!json_.is_number()) fail("a number");
    const double value = json_.get<double>();
    if (!(value >= least && value <= most))
      fail(most == infinity ? fmt::format("a number not below {}", least) : fmt::format("a number from {} to {}", least, most));
    return value;
  }
  std::size_t whole(std::size_t fallback = 0, double most = 1e15) const {
    const std::optional<double> value = number(0.0, most);
    if (value && *value != std::floor(*value)) fail("a whole number");
    return value ? static_cast<std::size_t>(*value) : fallback;
  }
  int count(int fallback = 0) const { return static_cast<int>(whole(static_cast<std::size_t>(fallback), 2e9)); }
  std::string text() const {
    if (!given()) return {};
    if (!json_.is_string()) fail("a text");
    return json_.get<std::string>();
  }
  // A list of numbers, as long as it says or of any length; what is null in it is nothing. A single number is a list of one.
  std::vector<std::optional<double>> list(std::optional<std::size_t> length = std::nullopt, double least = -infinity,
                                          double most = infinity) const {
    std::vector<std::optional<double>> result;
    if (!given()) return result;
    if (json_.is_number()) {
      result.push_back(number(least, most));
    } else {
      if (!json_.is_array()) fail("a list of numbers");
      for (std::size_t i = 0; i < json_.size(); ++i) result.push_back(at(i).number(least, most));
    }
    if (length && result.size() != *length) fail(fmt::format("{} numbers", *length));
    return result;
  }
  // As list(), nothing as not a number.
  std::vector<double> values(std::optional<std::size_t> length = std::nullopt) const {
    std::vector<double> result;
    for (const auto& value : list(length)) result.push_back(value.value_or(std::nan("")));
    return result;
  }
  std::vector<std::optional<Interval>> intervals(std::optional<std::size_t> length = std::nullopt) const {
    if (!given()) return {};
    const Place& self = *this;
    const auto low = self["low"].list(length), high = self["high"].list(length);
    const double level = self["level"].number(0.0, 1.0).value_or(0.95);
    if (low.size() != high.size()) fail("as many low as high ends");
    std::vector<std::optional<Interval>> result(low.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (!low[i] || !high[i]) continue;
      if (*low[i] > *high[i]) fail("low ends not above the high ones");
      result[i] = Interval{*low[i], *high[i], level};
    }
    return result;
  }
  // The keys of an object and their values.
  template <class Visit>
  void for_each(Visit&& visit) const {
    if (!given()) return;
    if (!json_.is_object()) fail("an object");
    for (const auto& [key, value] : json_.items()) visit(key, Place(value, where_ + "." + key));
  }
  void require_list() const {
    if (given() && !json_.is_array()) fail("a list");
  }
  const Json& json() const { return json_; }

 private:
  const Json& json_;
  std::string where_;
};

Posterior read_posterior(const Place& file) {
  Posterior posterior;
  posterior.num_draws = file["num_draws"].whole();
  file["num_clusters"].for_each([&](const std::string& groups, const Place& draws) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(groups.data(), groups.data() + groups.size(), number);
    if (error != std::errc() || end != groups.data() + groups.size()) draws.fail("a number of groups as its key");
    posterior.num_groups.emplace_back(number, draws.whole());
  });
  std::ranges::sort(posterior.num_groups);
  posterior.expected_vi = file["point_estimate"]["expected_vi"].number(0.0);
  const Place chains = file["traces"];
  chains.require_list();
  file["diagnostics"].for_each([&](const std::string& name, const Place& values) {
    ChainQuantity one;
    one.name = name;
    one.mean = values["mean"].number().value_or(std::nan(""));
    one.effective_sample_size = values["effective_sample_size"].number(0.0);
    one.rhat = values["rhat"].number(0.0);
    for (std::size_t c = 0; c < chains.size(); ++c)
      if (const Place trace = chains.at(c)[name.c_str()]; trace.given()) one.traces.push_back(trace.values());
    posterior.quantities.push_back(std::move(one));
  });
  if (const Place together = file["coclustering"]; together.given()) {
    CoClustering found;
    for (const auto& label : together["labels"].list(std::nullopt, 1.0, 1e9))
      found.labels.push_back(static_cast<std::size_t>(label.value_or(1.0)) - 1);
    const Place rows = together["values"];
    if (rows.size() != found.labels.size()) rows.fail(fmt::format("{} lists, one for each label", found.labels.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      found.together.emplace_back();
      for (const auto& share : rows.at(i).list(rows.size(), 0.0, 1.0)) found.together.back().push_back(share.value_or(0.0));
    }
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
  for (const UtilityBlock& block : errors.blocks) {
    Json& written = component["blocks"].emplace_back(Json{{"items", block.items}});
    if (!block.errors.empty()) written["standard_errors"] = errors_json(block.errors);
    if (!block.quasi_errors.empty()) written["quasi_standard_errors"] = errors_json(block.quasi_errors);
  }
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

UtilityBlock read_block(const Place& place, std::size_t num_items) {
  UtilityBlock block;
  for (const auto& item : place["items"].list(std::nullopt, 0.0, static_cast<double>(num_items) - 1.0))
    if (item) block.items.push_back(static_cast<ItemId>(*item));
  if (block.items.empty()) place["items"].fail("positions of items");
  const auto known = [&](const Place& errors) {
    return errors.given() ? errors.list(block.items.size(), 0.0) : std::vector<std::optional<double>>();
  };
  block.errors = known(place["standard_errors"]);
  block.quasi_errors = known(place["quasi_standard_errors"]);
  return block;
}

GroupErrors read_errors(const Json& json, std::size_t index, std::size_t num_items) {
  const Place component(json, fmt::format("components[{}]", index));
  const auto by_item = [&](const Place& place) { return place.size() == 0 ? std::nullopt : std::optional(num_items); };
  GroupErrors errors;
  errors.weight_error = component["weight_standard_error"].number(0.0);
  if (const auto found = component["weight_interval"].intervals(); !found.empty()) errors.weight_interval = found[0];
  const Place plain = component["standard_errors"], quasi = component["quasi_standard_errors"];
  errors.utility_errors = plain.list(by_item(plain), 0.0);
  errors.quasi_errors = quasi.list(by_item(quasi), 0.0);
  if (const Place found = component["utility_intervals"]; found.given()) errors.utility_intervals = found.intervals(num_items);
  for (const auto& item : component["unbounded"].list(std::nullopt, 0.0, static_cast<double>(num_items) - 1.0))
    if (item) errors.unbounded.push_back(static_cast<ItemId>(*item));
  const Place blocks = component["blocks"];
  for (std::size_t b = 0; b < blocks.size(); ++b) errors.blocks.push_back(read_block(blocks.at(b), num_items));
  const Place thetas = component["theta"];
  const auto by_stage = thetas.json().is_array() ? std::optional(thetas.size()) : std::nullopt;
  errors.theta_errors = component["theta_standard_errors"].list(std::nullopt, 0.0);
  errors.theta_intervals = component["theta_intervals"].intervals();
  if (by_stage && (errors.theta_errors.size() > *by_stage || errors.theta_intervals.size() > *by_stage))
    thetas.fail("as many numbers as it has errors");
  errors.place_intervals = component["place_intervals"].intervals();
  if (errors.place_intervals.size() > num_items) component["place_intervals"].fail("at most one for each item");
  errors.order_gap = component["consensus_gap"].number(0.0);
  if (const Place found = component["stability"]; found.given()) {
    OrderStability stability;
    stability.resamples = found["resamples"].count();
    stability.unchanged = found["unchanged"].number(0.0, 1.0).value_or(0.0);
    const Place rows = found["before"];
    if (rows.size() != num_items) rows.fail(fmt::format("{} lists", num_items));
    for (std::size_t a = 0; a < rows.size(); ++a)
      for (const auto& share : rows.at(a).list(num_items, 0.0, 1.0)) stability.before.push_back(share.value_or(0.0));
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
  const Place file(model, "");
  const Place fit = file["fit"];
  FitSummary summary;
  summary.method = file["method"].text();
  summary.loglik = fit["loglik"].number().value_or(std::nan(""));
  summary.num_rankings = fit["num_rankings"].number(0.0).value_or(0.0);
  summary.num_voters = fit["num_voters"].number(0.0).value_or(0.0);
  if (const double size = fit["effective_size"].number(0.0).value_or(0.0); size > 0.0) summary.details.set("effective_size", size);
  summary.num_parameters = static_cast<std::int64_t>(fit["num_parameters"].whole());
  summary.log_discrete_values = fit["log_discrete_values"].number(0.0).value_or(0.0);
  summary.entropy = fit["entropy"].number();
  summary.iterations = fit["iterations"].count();
  if (const Place reason = fit["stop_reason"]; reason.given()) {
    const auto named = enum_from_name<StopReason>(reason.text());
    if (!named) reason.fail("converged, iteration_limit, time_limit, interrupted or closed_form");
    summary.stop_reason = *named;
  }
  summary.seconds = fit["seconds"].number(0.0).value_or(0.0);
  if (const Place seed = fit["seed"]; seed.given()) {
    if (!seed.json().is_number_unsigned()) seed.fail("a whole number not below zero");
    summary.seed = seed.json().get<std::uint64_t>();
  }
  summary.threads = fit["threads"].count(1);
  summary.trace.values = fit["trace"].values();
  if (const std::string measures = fit["trace_measures"].text(); !measures.empty()) summary.trace.measures = measures;
  summary.regularization = fit["regularization"].number(0.0);
  summary.loglik_is_estimated = fit["loglik_is_estimated"].json() == true;
  const Place warnings = fit["warnings"];
  warnings.require_list();
  for (std::size_t i = 0; i < warnings.size(); ++i) summary.warnings.push_back(warnings.at(i).text());
  fit["options"].for_each([&](const std::string& name, const Place& value) { summary.options[name] = value.text(); });
  if (const Place found = fit["starts"]; found.given()) {
    Starts starts;
    starts.tried = found["tried"].count();
    starts.finished = found["finished"].count();
    starts.agreeing = found["agreeing"].count();
    if (const Place screened = found["screened_on"]; screened.given()) starts.screened_on = screened.whole();
    starts.chance_of_a_better = found["chance_of_a_better"].number(0.0, 1.0);
    summary.starts = starts;
  }
  if (const Place posterior = file["posterior"]; posterior.given()) summary.posterior = read_posterior(posterior);
  return summary;
}

}  // namespace caucus::model_json
