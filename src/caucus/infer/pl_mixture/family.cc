#include "caucus/infer/pl_mixture/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/mcmc_diagnostics.h"
#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/fitted.h"
#include "caucus/io/source.h"

namespace caucus {

namespace pl_mixture {
namespace {

constexpr Accepts everything{.complete = true, .top_t = true, .subset = true, .ties = true};
constexpr Accepts strict{.complete = true, .top_t = true, .subset = true, .ties = false};

const std::vector<MethodInfo>& methods() {
  static const std::vector<MethodInfo> list{
      {"em", "maximum likelihood by accelerated EM: the fastest way to the true maximum", everything},
      {"em-lsr", "maximum likelihood by EM with weighted Luce spectral ranking (Nguyen & Zhang 2023)", strict},
      {"emm", "maximum likelihood by EM with one minorise-maximise step per pass (Gormley & Murphy 2008)", everything},
      {"em-cml", "EM with the composite marginal likelihood of pairs in the M-step (Zhao, Liu & Xia 2020)", strict},
      {"em-gmm", "EM with a generalized method of moments on pairs in the M-step (Zhao, Villamil & Xia 2018)", strict},
      {"em-slsr", "stochastic EM with unweighted Luce spectral ranking (Liu et al. 2019)", strict},
      {"spectral", "spectral clustering and least squares alone, no EM (Nguyen & Zhang 2023, Algorithm 3)", strict},
      {"gibbs", "Bayesian mixture by Gibbs sampling with gamma priors (Mollica & Tardella 2017)", strict}};
  return list;
}

Parameters read_init(const std::string& path, const Dataset& data, int num_components) {
  if (path.empty()) throw UsageError("init = file needs init-file, a model file to start from");
  const Source source = Source::open(path);
  const ModelDocument document = ModelDocument::parse(source.text(), source.name());
  const auto model = load_mixture(document.record());
  if (static_cast<int>(model->num_components()) != num_components)
    throw UsageError(fmt::format("{} has {} components, but {} are asked for", path, model->num_components(), num_components));
  Parameters result(model->num_components(), data.num_items());
  result.weights = model->parameters().weights;
  result.ties = model->parameters().ties;
  for (std::size_t i = 0; i < data.num_items(); ++i) {
    const auto found = std::ranges::find(model->items(), data.items[i]);
    if (found == model->items().end()) throw DataError(fmt::format("{}: has no item '{}'", path, data.items[i]));
    const auto from = static_cast<std::size_t>(found - model->items().begin());
    for (std::size_t k = 0; k < result.num_components(); ++k) result.component(k)[i] = model->parameters().component(k)[from];
  }
  return result;
}

// The errors of group k: intervals from draws or resamples where there are any, else standard errors alone.
GroupErrors errors_of(const Result& result, std::size_t k) {
  const std::size_t n = result.parameters.num_items;
  const auto part = [&](const std::vector<double>& values) {
    std::vector<std::optional<double>> own;
    for (std::size_t i = k * n; i < (k + 1) * n; ++i)
      own.push_back(std::isfinite(values[i]) ? std::optional(values[i]) : std::nullopt);
    if (std::ranges::none_of(own, [](const auto& value) { return value.has_value(); })) own.clear();
    return own;
  };
  const auto intervals = [&](const std::vector<double>& low, const std::vector<double>& high) {
    std::vector<std::optional<Interval>> own;
    for (std::size_t i = k * n; i < (k + 1) * n; ++i)
      own.push_back(std::isfinite(low[i]) ? std::optional(Interval{low[i], high[i], 0.95}) : std::nullopt);
    return own;
  };
  GroupErrors errors;
  if (result.errors) {
    errors.utility_errors = part(result.errors->utilities);
    if (!result.errors->quasi.empty()) errors.quasi_errors = part(result.errors->quasi);
    if (!result.errors->weights.empty()) errors.weight_error = result.errors->weights[k];
  }
  if (result.bootstrap) {
    if (!result.errors) {
      errors.utility_errors = part(result.bootstrap->utilities);
      errors.weight_error = result.bootstrap->weights[k];
    }
    errors.utility_intervals = intervals(result.bootstrap->utilities_low, result.bootstrap->utilities_high);
    errors.weight_interval = Interval{result.bootstrap->weights_low[k], result.bootstrap->weights_high[k], 0.95};
  }
  if (result.posterior) {
    errors.utility_errors = part(result.posterior->deviation);
    errors.weight_error = result.posterior->weight_deviation[k];
    errors.utility_intervals = intervals(result.posterior->low, result.posterior->high);
    errors.weight_interval = Interval{result.posterior->weight_low[k], result.posterior->weight_high[k], 0.95};
  }
  errors.unbounded.assign(result.unbounded[k].begin(), result.unbounded[k].end());
  return errors;
}

// What else the file keeps of a bootstrap: its standard errors, which need not be those of the information matrix.
Record bootstrap_record(const BootstrapResult& bootstrap, std::size_t num_items, std::size_t k) {
  const auto begin = bootstrap.utilities.begin() + static_cast<std::ptrdiff_t>(k * num_items);
  Record errors;
  errors.set("standard_errors", std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(num_items)))
      .set("weight_standard_error", bootstrap.weights[k]);
  return Record().set("bootstrap", errors);
}

Posterior posterior_of(const PosteriorResult& draws) {
  Posterior posterior;
  posterior.num_draws = static_cast<std::size_t>(draws.draws);
  ChainQuantity loglik;
  loglik.name = "loglik";
  loglik.mean = sum(draws.loglik) / static_cast<double>(draws.loglik.size());
  loglik.traces = {draws.loglik};
  if (draws.loglik.size() >= 4) {
    loglik.effective_sample_size = effective_sample_size(loglik.traces);
    if (const double rhat = split_rhat(loglik.traces); std::isfinite(rhat)) loglik.rhat = rhat;
  }
  posterior.quantities.push_back(std::move(loglik));
  return posterior;
}

class PlMixtureFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {.name = "pl",
            .title = "Plackett-Luce mixture",
            .summary = "mixtures of Plackett-Luce models; one group is the Plackett-Luce model itself",
            .words =
                "In a Plackett-Luce model every item has a strength. A voter picks the favourite with odds given by the strengths, "
                "then the next among the rest, and so on. Each group has strengths of its own.",
            .methods = methods(),
            .options = describe_options<Options>(),
            .ties = TieMeaning::outcome,
            .starts_from_labels = true,
            .compared_by_default = true};
  }

  std::unique_ptr<FittedModel> load(const ModelRecord& file) const override { return load_mixture(file); }

 protected:
  FitOutcome do_fit(const Dataset& data, const OptionMap& values, const Run& run) const override {
    const Options options = parse_options<Options>(values);
    const MethodInfo& method = methods()[static_cast<std::size_t>(options.method)];
    require_accepted(method.accepts, data, fmt::format("family pl, method {}", method.name));
    std::optional<Parameters> init;
    if (options.init == Init::file) init = read_init(options.init_file, data, options.components);
    Result result = pl_mixture::fit(data, options, run, init);

    FitOutcome outcome;
    FitSummary& summary = outcome.summary;
    summary.method = method.name;
    summary.loglik = result.loglik;
    const auto num = static_cast<std::int64_t>(result.parameters.num_components()), n = static_cast<std::int64_t>(data.num_items());
    summary.num_parameters = num * (n - 1) + (num - 1) + static_cast<std::int64_t>(result.parameters.ties.orders.size());
    if (num > 1) summary.entropy = result.entropy;
    summary.iterations = result.iterations;
    summary.stop_reason = result.stop_reason;
    summary.trace.values = result.trace;
    if (result.strength > 0.0) summary.trace.measures = "log-likelihood less the penalty";
    summary.warnings = result.warnings;
    summary.options = show_options(options);
    summary.regularization = result.strength;
    if (result.starts.tried > 1) summary.starts = starts_of(result.starts);
    if (result.bootstrap) summary.details.set("bootstrap_samples", result.bootstrap->samples);
    if (result.posterior) {
      summary.posterior = posterior_of(*result.posterior);
      summary.trace.values = {result.trace.back()};  // of the posterior mean; the draws have a trace of their own
    }

    auto model = std::make_unique<FittedMixture>(data.items, data.unranked, result.parameters);
    std::vector<GroupErrors> errors;
    for (std::size_t k = 0; k < result.parameters.num_components(); ++k) {
      errors.push_back(errors_of(result, k));
      if (result.bootstrap) model->component_extras.push_back(bootstrap_record(*result.bootstrap, data.num_items(), k));
    }
    model->set_errors(std::move(errors));
    if (result.errors && !result.errors->log_ties.empty()) {
      Record errors_of_ties;  // of delta itself, by the delta method
      for (std::size_t o = 0; o < result.errors->log_ties.size(); ++o)
        errors_of_ties.set(std::to_string(result.parameters.ties.orders[o]),
                           result.errors->log_ties[o] * std::exp(result.parameters.ties.log_delta[o]));
      model->extras.set("ties_standard_errors", errors_of_ties);
    }
    outcome.model = std::move(model);
    return outcome;
  }
};

}  // namespace
}  // namespace pl_mixture

std::unique_ptr<Family> make_pl_mixture_family() { return std::make_unique<pl_mixture::PlMixtureFamily>(); }

}  // namespace caucus
