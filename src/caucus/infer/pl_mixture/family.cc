#include "caucus/infer/pl_mixture/family.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/fitted.h"

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
  std::ifstream file(path, std::ios::binary);
  if (!file) throw NoInputError(fmt::format("{}: cannot be read", path));
  std::stringstream text;
  text << file.rdbuf();
  const nlohmann::json json = nlohmann::json::parse(text.str(), nullptr, false);
  if (json.is_discarded()) throw DataError(fmt::format("{}: not a JSON file", path));
  const auto model = load_mixture(json);
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

nlohmann::json component_json(const Result& result, std::size_t k) {
  const std::size_t n = result.parameters.num_items;
  const auto part = [&](const std::vector<double>& values) {
    return std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(k * n),
                               values.begin() + static_cast<std::ptrdiff_t>((k + 1) * n));
  };
  nlohmann::json json = nlohmann::json::object();
  if (result.errors) {
    json["standard_errors"] = part(result.errors->utilities);
    if (!result.errors->quasi.empty()) json["quasi_standard_errors"] = part(result.errors->quasi);
    if (!result.errors->weights.empty()) json["weight_standard_error"] = result.errors->weights[k];
  }
  if (result.bootstrap) {
    json["bootstrap"] = {
        {"standard_errors", part(result.bootstrap->utilities)},     {"utilities_low", part(result.bootstrap->utilities_low)},
        {"utilities_high", part(result.bootstrap->utilities_high)}, {"weight_standard_error", result.bootstrap->weights[k]},
        {"weight_low", result.bootstrap->weights_low[k]},           {"weight_high", result.bootstrap->weights_high[k]}};
  }
  if (result.posterior) {
    json["posterior"] = {
        {"utilities_mean", part(result.posterior->mean)},  {"utilities_deviation", part(result.posterior->deviation)},
        {"utilities_low", part(result.posterior->low)},    {"utilities_high", part(result.posterior->high)},
        {"weight_mean", result.posterior->weight_mean[k]}, {"weight_deviation", result.posterior->weight_deviation[k]},
        {"weight_low", result.posterior->weight_low[k]},   {"weight_high", result.posterior->weight_high[k]}};
  }
  if (k < result.infinite.size() && !result.infinite[k].empty()) json["infinite"] = result.infinite[k];
  return json;
}

class PlMixtureFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {"pl", "mixtures of Plackett-Luce models; one group is the Plackett-Luce model itself", methods(),
            describe_options<Options>(), true};
  }

  FitOutcome fit(const Dataset& data, const OptionMap& values, const Run& run) const override {
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
    summary.num_rankings = result.num_rankings;
    const auto num = static_cast<std::int64_t>(result.parameters.num_components()), n = static_cast<std::int64_t>(data.num_items());
    summary.num_parameters = num * (n - 1) + (num - 1) + static_cast<std::int64_t>(result.parameters.ties.orders.size());
    if (num > 1) summary.entropy = result.entropy;
    summary.iterations = result.iterations;
    summary.stop_reason = result.stop_reason;
    summary.seconds = run.seconds();
    summary.seed = run.seed;
    summary.threads = run.threads;
    summary.trace = result.trace;
    summary.warnings = result.warnings;
    summary.options = show_options(options);
    summary.details["regularization"] = result.strength;
    if (result.starts.tried > 1)
      summary.details["starts"] = {{"tried", result.starts.tried},
                                   {"finished", result.starts.finished},
                                   {"agreeing", result.starts.agreeing},
                                   {"missed", result.starts.missed()}};
    if (result.bootstrap) summary.details["bootstrap_samples"] = result.bootstrap->samples;
    if (result.posterior) summary.details["draws_loglik"] = result.posterior->loglik;

    auto model = std::make_unique<FittedMixture>(data.items, data.unranked, result.parameters);
    for (std::size_t k = 0; k < result.parameters.num_components(); ++k)
      model->component_extras.push_back(component_json(result, k));
    if (result.errors && !result.errors->log_ties.empty()) {
      // Of delta itself, by the delta method.
      for (std::size_t o = 0; o < result.errors->log_ties.size(); ++o)
        model->extras["ties_standard_errors"][std::to_string(result.parameters.ties.orders[o])] =
            result.errors->log_ties[o] * std::exp(result.parameters.ties.log_delta[o]);
    }
    outcome.model = std::move(model);
    return outcome;
  }

  std::unique_ptr<FittedModel> load(const nlohmann::json& model) const override { return load_mixture(model); }
};

}  // namespace
}  // namespace pl_mixture

std::unique_ptr<Family> make_pl_mixture_family() { return std::make_unique<pl_mixture::PlMixtureFamily>(); }

}  // namespace caucus
