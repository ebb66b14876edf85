#include "caucus/infer/mallows_mixture/family.h"

#include <fmt/format.h>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/infer/mallows_mixture/fit.h"
#include "caucus/infer/mallows_mixture/fitted.h"
#include "caucus/infer/mallows_mixture/tensor_fit.h"

namespace caucus {

namespace {

using namespace mallows_mixture;

// Standard errors of weights and dispersions, what a bootstrap says, and how far each center may be from the best.
std::vector<GroupErrors> errors_of(const FitResult& result) {
  std::vector<GroupErrors> groups(result.parameters.weight.size());
  for (std::size_t k = 0; k < groups.size(); ++k) {
    GroupErrors& errors = groups[k];
    if (result.errors && result.errors->available) {
      errors.weight_error = result.errors->weight[k];
      errors.theta_errors = result.errors->theta[k];
    }
    if (k < result.center_gaps.size() && result.center_gaps[k] < infinity) errors.order_gap = result.center_gaps[k];
    if (!result.stability) continue;
    const Stability& found = *result.stability;
    errors.stability = OrderStability{found.resamples, found.unchanged[k], found.pairs[k]};
    const auto interval = [](const std::pair<double, double>& ends) { return Interval{ends.first, ends.second, 0.95}; };
    if (k < found.weight_interval.size()) errors.weight_interval = interval(found.weight_interval[k]);
    if (k < found.theta_interval.size()) errors.theta_intervals = {interval(found.theta_interval[k])};
  }
  return groups;
}

FitSummary summarize(const FitResult& result, std::size_t num_distinct, OptionMap options) {
  FitSummary summary;
  summary.method = result.method;
  summary.loglik = result.loglik;
  const std::size_t num_components = result.parameters.weight.size();
  // Weights and dispersions; the centers are discrete and not counted.
  summary.num_parameters = static_cast<std::int64_t>(num_components - 1 + num_components * result.parameters.theta[0].size());
  summary.entropy = result.entropy;
  summary.iterations = result.iterations;
  summary.stop_reason = result.stop_reason;
  summary.trace.values = result.trace;
  summary.warnings = result.warnings;
  summary.options = std::move(options);
  summary.details = result.details;
  summary.starts = starts_of(result.starts);
  if (result.screened_on > 0 && result.screened_on < num_distinct) summary.starts->screened_on = result.screened_on;
  return summary;
}

void require_items(const Dataset& data, std::string_view who) {
  if (data.num_items() < 2) throw DataError(fmt::format("{}: {} needs at least two items", data.source, who));
}

class MallowsFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {.name = "mallows",
            .title = "Mallows mixture",
            .summary = "mixture of Mallows models: a consensus ranking and a dispersion per group",
            .words =
                "In a Mallows model every group has one order it agrees on. The more pairs of items a ranking turns around, the "
                "rarer it is; theta says how much rarer.",
            .methods = {{"em", "EM with exact or local consensus from many starts", {true, true, true, true, true}, true},
                        {"tensor",
                         "two groups from counts of top-3 sets and positions, with EM from there (--polish)",
                         {true, false, false, false},
                         true}},
            .options = describe_options<MallowsOptions>(),
            .starts_from_labels = true,
            .compared_by_default = true};
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
  std::unique_ptr<FittedModel> load(const ModelRecord& file) const override {
    Parameters parameters;
    parameters.weight = file.weights();
    for (const RecordView& component : file.components) {
      parameters.center.push_back(component.permutation("consensus", file.items.size()));
      parameters.theta.push_back({component.non_negative("theta")});
    }
    Distance distance = Distance::kendall;
    if (file.model.has("distance")) {
      const auto named = enum_from_name<Distance>(file.model.text("distance"));
      if (!named) file.model.fail("distance", "one of kendall, spearman, footrule, hamming, cayley, ulam");
      distance = *named;
    }
    return std::make_unique<MallowsMixture>(file.items, file.unranked, std::move(parameters), distance);
  }

 protected:
  FitOutcome do_fit_stream(RankingStream& rankings, const OptionMap& options, const Run& run) const override {
    const MallowsOptions parsed = parse(options);
    validate_options(parsed);
    if (!takes_stream(options)) return Family::do_fit_stream(rankings, options, run);
    FitResult result = fit_by_tensor(rankings, parsed, run);
    FitOutcome outcome;
    const Dataset& head = rankings.head();
    outcome.summary = summarize(result, 0, show_options(parsed));
    std::vector<GroupErrors> errors = errors_of(result);
    outcome.model = std::make_unique<MallowsMixture>(head.items, head.unranked, std::move(result.parameters), parsed.distance);
    outcome.model->set_errors(std::move(errors));
    return outcome;
  }
  FitOutcome do_fit(const Dataset& data, const OptionMap& options, const Run& run) const override {
    const MallowsOptions parsed = parse(options);
    if (data.rankings.empty()) throw DataError(fmt::format("{}: there are no rankings", data.source));
    require_items(data, "family mallows");
    FitResult result = fit_mallows(data, parsed, run);
    FitOutcome outcome;
    outcome.summary = summarize(result, data.rankings.size(), show_options(parsed));
    std::vector<GroupErrors> errors = errors_of(result);
    auto model = std::make_unique<MallowsMixture>(data.items, data.unranked, std::move(result.parameters), parsed.distance,
                                                  result.normalizer.get());
    model->set_errors(std::move(errors));
    if (model->normalizer() != nullptr) {
      outcome.summary.loglik_is_estimated = !model->normalizer()->exact();
      outcome.summary.details.set("normalizer", model->normalizer()->exact() ? "exact" : "estimated");
      // The model's own normaliser, so that the likelihood is what score gives.
      if (!model->normalizer()->exact()) {
        outcome.summary.loglik = log_likelihood(*model, data, run.threads);
        outcome.summary.trace.values.push_back(outcome.summary.loglik);
      }
    }
    outcome.model = std::move(model);
    return outcome;
  }
};

class GeneralizedMallowsFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {.name = "gmallows",
            .title = "Generalized Mallows mixture",
            .summary = "mixture of generalized Mallows models: a dispersion for every stage of the ranking",
            .words =
                "In a generalized Mallows model every group has one order it agrees on, and each place has its own strictness: "
                "voters may agree on the top and not care about the bottom.",
            .methods = {{"em",
                         "EM with exact or local consensus from many starts; code s takes top-t ballots",
                         {true, true, false, false, true},
                         true}},
            .options = describe_options<GeneralizedMallowsOptions>(),
            .starts_from_labels = true,
            .compared_by_default = true};
  }
  std::unique_ptr<FittedModel> load(const ModelRecord& file) const override {
    if (file.items.size() < 2) file.model.fail("items", "at least two items");
    Parameters parameters;
    parameters.weight = file.weights();
    // The code stands beside the components or in each of them; the same in all.
    std::optional<Code> code;
    const auto read_code = [&](const RecordView& object) {
      if (!object.has("code")) return;
      const auto named = enum_from_name<Code>(object.text("code"));
      if (!named) object.fail("code", "\"s\" or \"v\"");
      if (code && *code != *named) object.fail("code", "the same code in all components");
      code = named;
    };
    read_code(file.model);
    for (const RecordView& component : file.components) {
      read_code(component);
      parameters.center.push_back(component.permutation("consensus", file.items.size()));
      parameters.theta.push_back(component.non_negatives("theta", file.items.size() - 1, file.items.size() - 1));
    }
    return std::make_unique<GeneralizedMallowsMixture>(file.items, file.unranked, std::move(parameters), code.value_or(Code::s));
  }

 protected:
  FitOutcome do_fit(const Dataset& data, const OptionMap& options, const Run& run) const override {
    const auto parsed = parse_options<GeneralizedMallowsOptions>(options);
    if (data.rankings.empty()) throw DataError(fmt::format("{}: there are no rankings", data.source));
    require_items(data, "family gmallows");
    FitResult result = fit_generalized_mallows(data, parsed, run);
    FitOutcome outcome;
    outcome.summary = summarize(result, data.rankings.size(), show_options(parsed));
    std::vector<GroupErrors> errors = errors_of(result);
    outcome.model =
        std::make_unique<GeneralizedMallowsMixture>(data.items, data.unranked, std::move(result.parameters), parsed.code);
    outcome.model->set_errors(std::move(errors));
    return outcome;
  }
};

}  // namespace

std::unique_ptr<Family> make_mallows_family() { return std::make_unique<MallowsFamily>(); }
std::unique_ptr<Family> make_generalized_mallows_family() { return std::make_unique<GeneralizedMallowsFamily>(); }

}  // namespace caucus
