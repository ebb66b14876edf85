#include "caucus/infer/pl_mixture/family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/mcmc_diagnostics.h"
#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/fitted.h"
#include "caucus/infer/pl_mixture/structured.h"
#include "caucus/io/source.h"

namespace caucus {

namespace pl_mixture {
namespace {

constexpr Accepts everything{.complete = true, .top_t = true, .subset = true, .ties = true, .voters = true};
constexpr Accepts strict_voters{.complete = true, .top_t = true, .subset = true, .ties = false, .voters = true};
constexpr Accepts strict{.complete = true, .top_t = true, .subset = true, .ties = false};

const std::vector<MethodInfo>& methods() {
  static const std::vector<MethodInfo> list{
      {"em", "maximum likelihood by accelerated EM: the fastest way to the true maximum", everything, true},
      {"em-lsr", "maximum likelihood by EM with weighted Luce spectral ranking (Nguyen & Zhang 2023)", strict_voters, true},
      {"emm", "maximum likelihood by EM with one minorise-maximise step per pass (Gormley & Murphy 2008)", everything, true},
      {"em-cml", "EM with the composite marginal likelihood of pairs in the M-step (Zhao, Liu & Xia 2020)", strict, true},
      {"em-gmm", "EM with a generalized method of moments on pairs in the M-step (Zhao, Villamil & Xia 2018)", strict, true},
      {"em-slsr", "stochastic EM with unweighted Luce spectral ranking (Liu et al. 2019)", strict, true},
      {"spectral", "spectral clustering and least squares alone, no EM (Nguyen & Zhang 2023, Algorithm 3)", strict, true},
      {"gibbs", "Bayesian mixture by Gibbs sampling with gamma priors (Mollica & Tardella 2017)", strict_voters}};
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

// Items of group k that are tied to each other but not to its reference.
UtilityBlock block_of(const Result& result, std::size_t k, const std::vector<std::size_t>& items) {
  const auto utilities = result.parameters.component(k);
  UtilityBlock block{{items.begin(), items.end()}, {}, {}};
  std::ranges::stable_sort(block.items, std::greater(), [&](ItemId item) { return utilities[item]; });
  if (!result.errors || result.errors->block_utilities.empty()) return block;
  const auto known = [&](const std::vector<double>& values) {
    std::vector<std::optional<double>> own;
    for (ItemId item : block.items)
      if (const double value = values[k * result.parameters.num_items + item]; std::isfinite(value)) own.emplace_back(value);
    return own;  // a block has all of them or none
  };
  block.errors = known(result.errors->block_utilities);
  block.quasi_errors = known(result.errors->block_quasi);
  return block;
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
    const Spread &utilities = result.bootstrap->utilities, &weights = result.bootstrap->weights;
    if (!result.errors) {
      errors.utility_errors = part(utilities.error);
      errors.weight_error = weights.error[k];
    }
    errors.utility_intervals = intervals(utilities.low, utilities.high);
    // Not the percentiles: where groups are hard to tell apart these held the weight 91 times in 100, this 94 (docs/validation.md).
    errors.weight_interval = share_interval(result.parameters.weights[k], weights.error[k]);
  }
  if (result.posterior) {
    errors.utility_errors = part(result.posterior->deviation);
    errors.weight_error = result.posterior->weight_deviation[k];
    errors.utility_intervals = intervals(result.posterior->low, result.posterior->high);
    errors.weight_interval = Interval{result.posterior->weight_low[k], result.posterior->weight_high[k], 0.95};
  }
  errors.unbounded.assign(result.unbounded[k].begin(), result.unbounded[k].end());
  for (std::size_t b = 0; k < result.blocks.size() && b < result.blocks[k].size(); ++b)
    errors.blocks.push_back(block_of(result, k, result.blocks[k][b]));
  return errors;
}

// What else the file keeps of a bootstrap: its standard errors, which need not be those of the information matrix.
Record bootstrap_record(const BootstrapResult& bootstrap, std::size_t num_items, std::size_t k) {
  const auto begin = bootstrap.utilities.error.begin() + static_cast<std::ptrdiff_t>(k * num_items);
  Record errors;
  errors.set("standard_errors", std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(num_items)))
      .set("weight_standard_error", bootstrap.weights.error[k]);
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

// Term by term: how sure it is that it matters, and how much.
std::vector<ModelFact> membership_facts(const Membership& membership, std::span<const MembershipEffect> effects) {
  std::vector<ModelFact> facts;
  for (const Membership::Test& test : membership.tests) {
    std::vector<MembershipEffect> own;
    for (const MembershipEffect& effect : effects)
      if (effect.term == test.term) own.push_back(effect);
    facts.push_back({fmt::format("What {} says of a voter's group", test.term),
                     test.p_value < 0.0005
                         ? fmt::format("p < 0.0005 (likelihood ratio {:.1f} on {})", test.statistic, test.degrees)
                         : fmt::format("p = {:.3f} (likelihood ratio {:.1f} on {})", test.p_value, test.statistic, test.degrees),
                     fmt::format("{}", fmt::join(effect_sentences(own, membership), "; "))});
  }
  return facts;
}

std::vector<OptionInfo> all_options() {
  std::vector<OptionInfo> options = describe_options<Options>(), more = describe_options<StructureOptions>();
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

// [k * width + j] as lists of each group.
std::vector<std::vector<double>> by_group(const std::vector<double>& values, std::size_t num) {
  std::vector<std::vector<double>> rows;
  const std::size_t width = values.size() / num;
  for (std::size_t k = 0; k < num; ++k)
    rows.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(k * width),
                      values.begin() + static_cast<std::ptrdiff_t>((k + 1) * width));
  return rows;
}

void tell_exponents(const Structured& known, const Spread* bootstrap, FittedMixture& model) {
  for (std::size_t k = 0; k < known.parameters.num_components(); ++k)
    model.exponents.emplace_back(known.exponents_of(k).begin(), known.exponents_of(k).end());
  const std::size_t lists = known.exponents.size() / known.num_stages;
  for (std::size_t g = 0; g < lists; ++g) {
    std::string values;
    for (std::size_t s = 0; s < std::min<std::size_t>(known.num_stages, 12); ++s) {
      const std::size_t j = g * known.num_stages + s;
      values += fmt::format("{}{:.2f}", s > 0 ? ", " : "", known.exponents[j]);
      if (std::isfinite(known.exponent_errors[j])) values += fmt::format(" ± {:.2f}", 1.96 * known.exponent_errors[j]);
    }
    model.told.push_back({lists > 1 ? fmt::format("Exponents of the second choice and later ones, group {}", g + 1)
                                    : "Exponents of the second choice and later ones",
                          values, "1 is as sure as the first choice, 0 is chance"});
  }
  model.extras.set("dampening_standard_errors", known.exponent_errors);
  if (bootstrap != nullptr)
    model.extras.set("dampening_bootstrap",
                     Record().set("standard_errors", bootstrap->error).set("low", bootstrap->low).set("high", bootstrap->high));
}

void tell_items(const Structured& known, const Spread* bootstrap, FittedMixture& model) {
  const std::size_t num = known.parameters.num_components();
  ItemUtilities told;
  told.design = known.items->design;
  const std::size_t q = told.design.num_columns();
  for (std::size_t j = 0; j < q; ++j) told.center.push_back(known.items->x.col(static_cast<Eigen::Index>(j)).mean());
  told.coefficients = by_group(known.coefficients, num);
  told.errors = by_group(known.coefficient_errors, num);
  for (const Eigen::MatrixXd& own : known.item_covariances) told.covariances.emplace_back(own.data(), own.data() + own.size());
  if (bootstrap != nullptr)
    told.bootstrap = {by_group(bootstrap->error, num), by_group(bootstrap->low, num), by_group(bootstrap->high, num)};
  for (std::size_t k = 0; k < num; ++k) {
    std::string words;
    for (std::size_t j = 0; j < q; ++j) {
      words += fmt::format("{}{} {:+.3g}", j > 0 ? ", " : "", told.design.names()[j], told.coefficients[k][j]);
      if (std::isfinite(told.errors[k][j])) words += fmt::format(" ± {:.2g}", 1.96 * told.errors[k][j]);
    }
    model.told.push_back({fmt::format("What group {} values in an item", k + 1), words, "utility per unit of the column"});
  }
  model.items_known = std::make_shared<ItemUtilities>(std::move(told));
}

void tell_membership(const Result& result, FittedMixture& model) {
  model.set_membership(result.membership);
  std::vector<Record> effects;
  for (const MembershipEffect& effect : result.effects)
    effects.push_back(Record()
                          .set("term", effect.term)
                          .set("from", effect.from)
                          .set("to", effect.to)
                          .set("group", effect.group + 1)
                          .set("share_from", effect.share_from)
                          .set("share_to", effect.share_to)
                          .set("low", effect.low)
                          .set("high", effect.high));
  model.extras.set("membership_effects", effects);
  if (result.bootstrap) {
    const std::size_t num = result.parameters.num_components();
    const Spread& spread = result.bootstrap->membership;
    model.extras.set("membership_bootstrap", Record()
                                                 .set("standard_errors", by_group(spread.error, num))
                                                 .set("low", by_group(spread.low, num))
                                                 .set("high", by_group(spread.high, num)));
  }
  for (ModelFact& fact : membership_facts(*result.membership, result.effects)) model.told.push_back(std::move(fact));
}

FitSummary summary_of(const Result& result, const Options& options, const StructureOptions& structure) {
  FitSummary summary;
  summary.method = name_of(options.method);
  summary.loglik = result.loglik;
  summary.num_rankings = result.num_rankings;
  summary.num_voters = result.num_voters;
  summary.num_parameters = result.num_parameters;
  if (options.components > 1) summary.entropy = result.entropy;
  summary.iterations = result.iterations;
  summary.stop_reason = result.stop_reason;
  summary.trace.values = result.trace;
  if (result.strength > 0.0) summary.trace.measures = "log-likelihood less the penalty";
  summary.warnings = result.warnings;
  summary.options = show_options(options);
  summary.options.merge(show_options(structure));
  summary.regularization = result.strength;
  if (result.starts.tried > 1) summary.starts = starts_of(result.starts);
  if (result.bootstrap) summary.details.set("bootstrap_samples", result.bootstrap->samples);
  if (result.posterior) {
    summary.posterior = posterior_of(*result.posterior);
    summary.trace.values = {result.trace.back()};  // of the posterior mean; the draws have a trace of their own
  }
  return summary;
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
            .options = all_options(),
            .ties = TieMeaning::outcome,
            .starts_from_labels = true,
            .compared_by_default = true};
  }

  std::unique_ptr<FittedModel> load(const ModelRecord& file) const override { return load_mixture(file); }

 protected:
  FitOutcome do_fit(const Dataset& data, const OptionMap& values, const Run& run) const override {
    OptionMap plain = values, structure;
    for (const OptionInfo& option : describe_options<StructureOptions>())
      if (auto one = plain.extract(option.name)) structure.insert(std::move(one));
    Options options = parse_options<Options>(plain);
    const auto structured = parse_options<StructureOptions>(structure);
    const MethodInfo& method = methods()[static_cast<std::size_t>(options.method)];
    require_accepted(method.accepts, data, fmt::format("family pl, method {}", method.name));
    std::optional<Parameters> init;
    if (!options.init_file.empty()) {
      if (options.init != Init::automatic && options.init != Init::file)
        throw UsageError(fmt::format("init-file goes with init = file, not with init = {}", name_of(options.init)));
      options.init = Init::file;
    }
    if (options.init == Init::file) init = read_init(options.init_file, data, options.components);
    const Result result = pl_mixture::fit(data, options, run, init, structured);

    FitOutcome outcome;
    outcome.summary = summary_of(result, options, structured);
    auto model = std::make_unique<FittedMixture>(data.items, data.unranked, result.parameters);
    const BootstrapResult* const bootstrap = result.bootstrap ? &*result.bootstrap : nullptr;
    if (result.structured && !result.structured->exponents.empty())
      tell_exponents(*result.structured, bootstrap != nullptr ? &bootstrap->exponents : nullptr, *model);
    if (result.structured && result.structured->items)
      tell_items(*result.structured, bootstrap != nullptr ? &bootstrap->coefficients : nullptr, *model);
    std::vector<GroupErrors> errors;
    for (std::size_t k = 0; k < result.parameters.num_components(); ++k) {
      errors.push_back(errors_of(result, k));
      if (bootstrap != nullptr) model->component_extras.push_back(bootstrap_record(*bootstrap, data.num_items(), k));
    }
    model->set_errors(std::move(errors));
    if (result.errors && !result.errors->log_ties.empty()) {
      // Of delta itself, by the delta method. None of a strength that the data do not bound, nor beyond what a file holds.
      Record errors_of_ties;
      for (std::size_t o = 0; o < result.errors->log_ties.size(); ++o) {
        const double of_log = result.errors->log_ties[o], error = of_log * std::exp(result.parameters.ties.log_delta[o]);
        if (of_log <= useless_error && error < 1e99) errors_of_ties.set(std::to_string(result.parameters.ties.orders[o]), error);
      }
      model->extras.set("ties_standard_errors", errors_of_ties);
    }
    if (result.membership) tell_membership(result, *model);
    outcome.model = std::move(model);
    return outcome;
  }
};

}  // namespace
}  // namespace pl_mixture

std::unique_ptr<Family> make_pl_mixture_family() { return std::make_unique<pl_mixture::PlMixtureFamily>(); }

}  // namespace caucus
