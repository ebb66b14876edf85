#include "caucus/infer/mallows_mixture/family.h"

#include <fmt/format.h>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/infer/mallows_mixture/fit.h"
#include "caucus/infer/mallows_mixture/model.h"
#include "caucus/infer/mallows_mixture/tensor_fit.h"

namespace caucus {

namespace {

using namespace mallows_mixture;

nlohmann::json number_or_null(const std::optional<double>& value) { return value ? nlohmann::json(*value) : nlohmann::json(); }

nlohmann::json errors_json(const StandardErrors& errors, bool one_theta) {
  nlohmann::json weight = nlohmann::json::array(), theta = nlohmann::json::array();
  for (const auto& value : errors.weight) weight.push_back(number_or_null(value));
  for (const auto& row : errors.theta) {
    if (one_theta) {
      theta.push_back(number_or_null(row[0]));
      continue;
    }
    nlohmann::json list = nlohmann::json::array();
    for (const auto& value : row) list.push_back(number_or_null(value));
    theta.push_back(std::move(list));
  }
  return {{"weight", std::move(weight)}, {"theta", std::move(theta)}};
}

nlohmann::json stability_json(const Stability& stability, std::size_t n) {
  nlohmann::json groups = nlohmann::json::array();
  for (std::size_t k = 0; k < stability.unchanged.size(); ++k) {
    nlohmann::json pairs = nlohmann::json::array();
    for (std::size_t a = 0; a < n; ++a)
      pairs.push_back(std::vector<double>(stability.pairs[k].begin() + static_cast<std::ptrdiff_t>(a * n),
                                          stability.pairs[k].begin() + static_cast<std::ptrdiff_t>((a + 1) * n)));
    nlohmann::json group{{"unchanged", stability.unchanged[k]}, {"before", std::move(pairs)}};
    if (k < stability.weight_interval.size())
      group["weight_95"] = {stability.weight_interval[k].first, stability.weight_interval[k].second};
    if (k < stability.theta_interval.size())
      group["theta_95"] = {stability.theta_interval[k].first, stability.theta_interval[k].second};
    groups.push_back(std::move(group));
  }
  return {{"resamples", stability.resamples}, {"components", std::move(groups)}};
}

FitSummary summarize(const FitResult& result, std::size_t num_items, double total_weight, std::size_t num_distinct,
                     OptionMap options, const Run& run) {
  FitSummary summary;
  summary.method = result.method;
  summary.loglik = result.loglik;
  summary.num_rankings = total_weight;
  const std::size_t num_components = result.parameters.weight.size();
  // Weights and dispersions; the centres are discrete and not counted.
  summary.num_parameters = static_cast<std::int64_t>(num_components - 1 + num_components * result.parameters.theta[0].size());
  summary.entropy = result.entropy;
  summary.iterations = result.iterations;
  summary.stop_reason = result.stop_reason;
  summary.seconds = run.seconds();
  summary.seed = run.seed;
  summary.trace = result.trace;
  summary.warnings = result.warnings;
  summary.options = std::move(options);
  summary.details = result.details;
  summary.details["restarts"] = {{"starts", result.starts.tried},
                                 {"finished", result.starts.finished},
                                 {"agreed", result.starts.agreeing},
                                 {"missed", result.starts.missed()}};
  if (result.screened_on > 0 && result.screened_on < num_distinct) summary.details["restarts"]["screened_on"] = result.screened_on;
  nlohmann::json gaps = nlohmann::json::array();
  bool proven = !result.centre_gaps.empty();
  for (double gap : result.centre_gaps) {
    proven = proven && gap == 0.0;
    gaps.push_back(gap < infinity ? nlohmann::json(gap) : nlohmann::json());
  }
  summary.details["consensus_proven"] = proven;
  summary.details["consensus_gap"] = std::move(gaps);
  if (result.errors && result.errors->available)
    summary.details["standard_errors"] = errors_json(*result.errors, result.parameters.theta[0].size() == 1);
  if (result.stability) summary.details["stability"] = stability_json(*result.stability, num_items);
  return summary;
}

FitSummary summarize(const FitResult& result, const Dataset& data, OptionMap options, const Run& run) {
  return summarize(result, data.num_items(), data.rankings.total_weight(), data.rankings.size(), std::move(options), run);
}

void require_items(const Dataset& data, std::string_view who) {
  if (data.num_items() < 2) throw DataError(fmt::format("{}: {} needs at least two items", data.source, who));
}

class MallowsFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {"mallows",
            "mixture of Mallows models: a consensus ranking and a dispersion per group",
            {{"em", "EM with exact or local consensus from many starts", {true, true, true, true}},
             {"tensor",
              "two groups from counts of top-3 sets and positions, with EM from there (--polish)",
              {true, false, false, false}}},
            describe_options<MallowsOptions>(),
            true};
  }
  // Method tensor knows two groups only: no need to say so.
  static MallowsOptions parse(const OptionMap& options) {
    auto parsed = parse_options<MallowsOptions>(options);
    if (parsed.method == MallowsMethod::tensor && !options.contains("components")) parsed.components = 2;
    return parsed;
  }
  bool takes_stream(const OptionMap& options) const override {
    const MallowsOptions parsed = parse(options);
    return parsed.method == MallowsMethod::tensor && !parsed.polish && parsed.bootstrap == 0 &&
           parsed.distance == Distance::kendall;
  }
  FitOutcome fit_stream(RankingStream& rankings, const OptionMap& options, const Run& run) const override {
    const MallowsOptions parsed = parse(options);
    validate_options(parsed);
    if (!takes_stream(options)) return Family::fit_stream(rankings, options, run);
    FitResult result = fit_by_tensor(rankings, parsed, run);
    FitOutcome outcome;
    const Dataset& head = rankings.head();
    outcome.summary = summarize(result, head.num_items(), rankings.total_weight(), 0, show_options(parsed), run);
    outcome.model = std::make_unique<MallowsMixture>(head.items, head.unranked, std::move(result.parameters), parsed.distance);
    return outcome;
  }
  FitOutcome fit(const Dataset& data, const OptionMap& options, const Run& run) const override {
    const MallowsOptions parsed = parse(options);
    if (data.rankings.empty()) throw DataError(fmt::format("{}: there are no rankings", data.source));
    require_items(data, "family mallows");
    FitResult result = fit_mallows(data, parsed, run);
    FitOutcome outcome;
    outcome.summary = summarize(result, data, show_options(parsed), run);
    auto model = std::make_unique<MallowsMixture>(data.items, data.unranked, std::move(result.parameters), parsed.distance);
    if (model->normalizer() != nullptr) {
      outcome.summary.details["normalizer"] = model->normalizer()->exact() ? "exact" : "estimated";
      // The model's own normaliser, so that the likelihood is what score gives.
      if (!model->normalizer()->exact()) {
        const std::vector<double> log_prob = log_probs(*model, data, run.threads);
        outcome.summary.loglik = 0.0;
        for (std::size_t i = 0; i < log_prob.size(); ++i) outcome.summary.loglik += data.rankings.weights()[i] * log_prob[i];
        outcome.summary.trace.push_back(outcome.summary.loglik);
      }
    }
    outcome.model = std::move(model);
    return outcome;
  }
  std::unique_ptr<FittedModel> load(const nlohmann::json& json) const override {
    std::vector<std::string> items = model_json::items(json);
    const nlohmann::json& components = model_json::components(json);
    Parameters parameters;
    parameters.weight = model_json::weights(components);
    for (std::size_t k = 0; k < components.size(); ++k) {
      const std::string where = fmt::format("components[{}]", k);
      parameters.centre.push_back(model_json::permutation(components[k], "consensus", items.size(), where));
      const double theta = model_json::number(components[k], "theta", where);
      if (theta < 0.0) throw DataError(fmt::format("model file: {}.theta: expected a number not below zero", where));
      parameters.theta.push_back({theta});
    }
    Distance distance = Distance::kendall;
    if (const auto found = json.find("distance"); found != json.end()) {
      const auto named = found->is_string() ? enum_from_name<Distance>(found->get<std::string>()) : std::nullopt;
      if (!named) throw DataError("model file: distance: expected one of kendall, spearman, footrule, hamming, cayley, ulam");
      distance = *named;
    }
    return std::make_unique<MallowsMixture>(std::move(items), model_json::unranked(json), std::move(parameters), distance);
  }
};

class GeneralizedMallowsFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {"gmallows",
            "mixture of generalized Mallows models: a dispersion for every stage of the ranking",
            {{"em", "EM with exact or local consensus from many starts; code s takes top-t ballots", {true, true, false, false}}},
            describe_options<GeneralizedMallowsOptions>(),
            true};
  }
  FitOutcome fit(const Dataset& data, const OptionMap& options, const Run& run) const override {
    const auto parsed = parse_options<GeneralizedMallowsOptions>(options);
    if (data.rankings.empty()) throw DataError(fmt::format("{}: there are no rankings", data.source));
    require_items(data, "family gmallows");
    FitResult result = fit_generalized_mallows(data, parsed, run);
    FitOutcome outcome;
    outcome.summary = summarize(result, data, show_options(parsed), run);
    outcome.model =
        std::make_unique<GeneralizedMallowsMixture>(data.items, data.unranked, std::move(result.parameters), parsed.code);
    return outcome;
  }
  std::unique_ptr<FittedModel> load(const nlohmann::json& json) const override {
    std::vector<std::string> items = model_json::items(json);
    if (items.size() < 2) throw DataError("model file: items: expected at least two items");
    const nlohmann::json& components = model_json::components(json);
    Parameters parameters;
    parameters.weight = model_json::weights(components);
    // The code stands beside the components or in each of them; the same in all.
    std::optional<Code> code;
    const auto read_code = [&](const nlohmann::json& object, const std::string& where) {
      const auto found = object.find("code");
      if (found == object.end()) return;
      const auto named = found->is_string() ? enum_from_name<Code>(found->get<std::string>()) : std::nullopt;
      if (!named) throw DataError(fmt::format("model file: {}code: expected \"s\" or \"v\"", where));
      if (code && *code != *named)
        throw DataError(fmt::format("model file: {}code: expected the same code in all components", where));
      code = named;
    };
    read_code(json, "");
    for (std::size_t k = 0; k < components.size(); ++k) {
      const std::string where = fmt::format("components[{}]", k);
      read_code(components[k], where + ".");
      parameters.centre.push_back(model_json::permutation(components[k], "consensus", items.size(), where));
      parameters.theta.push_back(model_json::numbers(components[k], "theta", items.size() - 1, where));
      for (double theta : parameters.theta.back())
        if (theta < 0.0) throw DataError(fmt::format("model file: {}.theta: expected numbers not below zero", where));
    }
    return std::make_unique<GeneralizedMallowsMixture>(std::move(items), model_json::unranked(json), std::move(parameters),
                                                       code.value_or(Code::s));
  }
};

}  // namespace

std::unique_ptr<Family> make_mallows_family() { return std::make_unique<MallowsFamily>(); }
std::unique_ptr<Family> make_generalized_mallows_family() { return std::make_unique<GeneralizedMallowsFamily>(); }

}  // namespace caucus
