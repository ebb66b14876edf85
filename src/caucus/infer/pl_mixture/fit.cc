#include "caucus/infer/pl_mixture/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "caucus/base/error.h"
#include "caucus/base/parallel.h"
#include "caucus/data/weights.h"
#include "caucus/infer/pl_mixture/bootstrap.h"
#include "caucus/infer/pl_mixture/gibbs.h"
#include "caucus/infer/pl_mixture/known_voters.h"
#include "caucus/infer/pl_mixture/search.h"
#include "caucus/infer/pl_mixture/start.h"
#include "caucus/infer/silent_observer.h"
#include "caucus/result/fitted_model.h"

namespace caucus::pl_mixture {

namespace {

// Weak enough to move no estimate that the data determine, strong enough to keep the others in sight.
constexpr double automatic_strength = 0.1;
constexpr double information_budget = 2e9;  // multiplications: about a second
constexpr double most_information_rows = 3000;

// What lies beyond the spread that the likelihood sees is no number to go on with: its exponential may be none.
void limit_spread(Parameters& parameters, double spread) {
  for (std::size_t k = 0; k < parameters.num_components(); ++k) {
    const auto utilities = parameters.component(k);
    const double floor = *std::ranges::max_element(utilities) - spread;
    for (double& utility : utilities) utility = std::max(utility, floor);
  }
}

std::vector<Pieces> pieces_at(const Objective& objective, const Parameters& parameters, const Connectivity& graph,
                              double one_ballot) {
  Buffer<double> posterior;
  objective.evaluate_all(parameters, posterior);
  return find_pieces(objective, parameters, posterior, graph, one_ballot);
}

// Of the memberships of the own blocks, and of all processes together; what says nothing belongs to the groups by their weights.
double entropy_of(const Objective& objective, const Parameters& parameters, std::span<const double> posterior) {
  const std::span<const std::uint32_t> sources = objective.sources();
  const RankingSet& rankings = objective.data().rankings;
  const std::size_t num = objective.num_components();
  const double telling = parallel_fold(
      objective.blocks(), objective.workers().without_journal(), [] { return 0.0; },
      [&](double& sum, std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
          const double weight = rankings.weight(sources[r]);
          sum += membership_entropy(posterior.subspan(objective.membership_of(r) * num, num), std::span(&weight, 1), num);
        }
      },
      [](double& total, double part) { total += part; });
  const double silent = objective.silent_weight();
  return silent > 0.0 ? telling + membership_entropy(parameters.weights, std::span(&silent, 1), num) : telling;
}

std::string list_items(const Dataset& data, const std::vector<std::size_t>& items) {
  std::vector<std::string> names;
  for (std::size_t i : items)
    if (names.size() < 5) names.push_back("'" + data.items[i] + "'");
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (items.size() > names.size()) text += fmt::format(" and {} more", items.size() - names.size());
  return text;
}

// Summaries of aligned draws.
PosteriorResult summarise(const std::vector<Parameters>& draws, std::vector<double> loglik) {
  PosteriorResult result;
  result.draws = static_cast<int>(draws.size());
  result.loglik = std::move(loglik);
  const auto add = [&](auto&& value, std::size_t size, std::vector<double>& mean, std::vector<double>& deviation,
                       std::vector<double>& low, std::vector<double>& high) {
    for (std::size_t j = 0; j < size; ++j) {
      std::vector<double> values;
      for (const Parameters& draw : draws) values.push_back(value(draw, j));
      std::ranges::sort(values);
      const double center_of = sum(values) / static_cast<double>(values.size());
      double squares = 0.0;
      for (double v : values) squares += (v - center_of) * (v - center_of);
      mean.push_back(center_of);
      deviation.push_back(values.size() > 1 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) : 0.0);
      const auto at = [&](double p) {
        return values[static_cast<std::size_t>(std::lround(p * static_cast<double>(values.size() - 1)))];
      };
      low.push_back(at(0.025));
      high.push_back(at(0.975));
    }
  };
  const Parameters& first = draws.front();
  add([](const Parameters& p, std::size_t j) { return p.utilities[j]; }, first.utilities.size(), result.mean, result.deviation,
      result.low, result.high);
  add([](const Parameters& p, std::size_t k) { return p.weights[k]; }, first.num_components(), result.weight_mean,
      result.weight_deviation, result.weight_low, result.weight_high);
  return result;
}

// Burn-in starts at the maximum-likelihood estimate; the answer is the posterior mean after label switching is undone.
Solution sample_posterior(const Objective& objective, const Connectivity& graph, const Options& options, const Run& run,
                          Solution start, Result& result) {
  if (options.burnin >= options.sweeps)
    throw UsageError(fmt::format("burnin = {} leaves none of {} sweeps", options.burnin, options.sweeps));
  const GibbsOptions gibbs{options.sweeps,     options.burnin,       options.prior_shape,
                           options.prior_rate, options.prior_weight, !options.estimate_weights};
  limit_spread(start.parameters, narrow_spread);
  start.parameters.center_all();
  GibbsDraws draws = gibbs_chain(objective, gibbs, start.parameters, run);
  start.trace = draws.loglik;
  start.iterations = draws.sweeps;
  start.stop_reason = draws.stop_reason;
  if (draws.kept.empty()) {
    start.trace = {start.objective};
    return start;
  }
  const auto best = static_cast<std::size_t>(std::ranges::max_element(draws.loglik) - draws.loglik.begin());
  Parameters pivot = draws.kept[best];
  pivot.sort_by_weight();
  align_draws(pivot, draws.kept);
  // Label switching undone towards the best draw, then once more towards the mean.
  for (int pass = 0; pass < 2; ++pass) {
    result.posterior = summarise(draws.kept, draws.loglik);
    start.parameters.utilities = result.posterior->mean;
    start.parameters.weights = result.posterior->weight_mean;
    if (pass > 0) break;
    align_draws(start.parameters, draws.kept);
    // Items that only the prior holds must not move the others.
    const std::vector<Pieces> pieces = pieces_at(objective, start.parameters, graph, 1.0);  // counts only
    for (Parameters& draw : draws.kept) center_on_references(pieces, draw);
  }
  return start;
}

// Of what the data do not bound there are no errors and no intervals.
void forget_unbounded(Result& result, std::size_t num_items) {
  std::vector<std::vector<double>*> lists;
  if (result.bootstrap) {
    Spread& spread = result.bootstrap->utilities;
    lists = {&spread.error, &spread.low, &spread.high};
  }
  if (result.posterior)
    for (auto* list : {&result.posterior->deviation, &result.posterior->low, &result.posterior->high}) lists.push_back(list);
  for (std::size_t k = 0; k < result.unbounded.size(); ++k)
    for (std::size_t i : result.unbounded[k])
      for (auto* list : lists) (*list)[k * num_items + i] = std::numeric_limits<double>::quiet_NaN();
}

// A fit under way: what its parts share.
struct Fit {
  const Dataset& data;
  const Options& options;
  const Run& run;
  KnownVoters* known;          // with options.membership
  const Structure* structure;  // with dampening or item covariates
  Connectivity graph;
  double one_ballot;
  Result result;

  void warn(std::string message) {
    run.warn(message);
    result.warnings.push_back(std::move(message));
  }
  std::size_t num() const { return static_cast<std::size_t>(options.components); }
  bool whole() const { return !was_cut_short(result.stop_reason); }
  // For fits within this one: the same limits, no word of their progress.
  Run silently() const {
    Run inner = run;
    inner.observer = silent.get();
    return inner;
  }

  std::unique_ptr<SilentObserver> silent = std::make_unique<SilentObserver>(run.observer);
};

void choose_strength(Fit& fit) {
  fit.result.strength =
      fit.options.regularization.value_or(fit.graph.strongly_connected ? 0.0 : automatic_strength * fit.one_ballot);
  if (fit.graph.strongly_connected) return;
  const std::string what = describe(fit.graph, fit.data);
  if (fit.result.strength > 0.0)
    fit.warn(fmt::format(
        "{}; without a prior their utilities would be infinite, so every item was given {} pseudo-wins and pseudo-losses", what,
        fit.result.strength));
  else
    fit.warn(fmt::format("{}; with regularization = 0 their utilities have no finite maximum and are flagged", what));
}

// Where a covariate of the voters tells a group for certain, a ridge joins the objective.
bool hold_coefficients(Fit& fit, Objective& objective, std::span<const double> gamma) {
  std::string warning;
  const auto held = held_by_ridge(*fit.known, gamma, warning);
  if (held == nullptr) return false;
  fit.warn(std::move(warning));
  fit.known->logit = held;
  objective.use_membership(held);
  return true;
}

Solution find_solution(Fit& fit, Objective& objective, const std::optional<Parameters>& init) {
  const Options& options = fit.options;
  Solution solution;
  if (options.method == Method::spectral) {
    // Algorithm 3 alone.
    solution.parameters = Starts(objective, options, fit.run.seed)
                              .make(fit.num() == 1                 ? Init::spectral
                                    : options.init == Init::kmeans ? Init::kmeans
                                                                   : Init::spectral,
                                    0);
    solution.objective = objective.evaluate(solution.parameters).objective();
    solution.trace.push_back(solution.objective);
    solution.iterations = 1;
    solution.stop_reason = StopReason::closed_form;
    return solution;
  }
  Options searched = options;
  if (options.method == Method::gibbs) searched.method = Method::em;
  SearchResult found = search(objective, searched, fit.run, init);
  fit.result.starts = found.record;
  solution = std::move(found.best);
  if (objective.membership() != nullptr && !was_cut_short(solution.stop_reason) &&
      hold_coefficients(fit, objective, solution.parameters.gamma)) {
    clamp_coefficients(solution.parameters.gamma);
    solution = run_method(objective, options.method, options.chain, std::move(solution.parameters),
                          {options.iterations, options.tolerance, false, name_of(options.method)}, fit.run);
  }
  if (options.method == Method::gibbs && objective.total_weight() > 0.0 && !was_cut_short(solution.stop_reason))
    solution = sample_posterior(objective, fit.graph, options, fit.run, std::move(solution), fit.result);
  return solution;
}

void add_membership(Fit& fit, const Parameters& parameters, const Eigen::MatrixXd& covariance, double best,
                    const RefitWithout& refit) {
  auto membership = tell_membership(*fit.known, parameters, covariance);
  if (fit.whole()) membership->tests = test_terms(*fit.known, parameters.gamma, best, fit.run, refit);
  fit.result.effects = membership_effects(*membership, fit.data);
  membership->level_tests = test_levels(*fit.known, parameters.gamma, best, membership->tests, fit.result.effects, fit.run, refit);
  fit.result.membership = std::move(membership);
}

// Dampening and utilities from what is known of the items, from where the plain fit ended.
void keep_bootstrap(Fit& fit, BootstrapResult found) {
  if (found.samples > 0)
    fit.result.bootstrap = std::move(found);
  else
    fit.warn("stopped before the first bootstrap sample was done: it gives no errors");
}

void finish_structured(Fit& fit, Objective& objective, const Solution& plain) {
  const Options& options = fit.options;
  Result& result = fit.result;
  for (const std::string& message : fit.structure->items ? fit.structure->items->warnings : std::vector<std::string>{})
    fit.warn(message);
  const auto refit = [&](const StructuredObjective& of, std::vector<double> start, const Run& run) {
    return maximise_structured(of, std::move(start), options.iterations, options.tolerance, run);
  };
  StructuredObjective structured(objective, *fit.structure);
  StructuredFit found = refit(structured, structured.start(plain.parameters), fit.run);
  if (Parameters at = structured.unpack(found.variables);
      objective.membership() != nullptr && hold_coefficients(fit, objective, at.gamma)) {
    clamp_coefficients(at.gamma);
    std::ranges::copy(at.gamma, found.variables.begin() + static_cast<std::ptrdiff_t>(structured.first_weight()));
    found = refit(structured, found.variables, fit.run);
  }
  result.iterations = plain.iterations + found.evaluations;
  result.stop_reason = was_cut_short(plain.stop_reason) ? plain.stop_reason : found.stop_reason;
  result.trace = {found.objective};
  result.loglik = found.loglik;
  result.unbounded.assign(fit.num(), {});
  result.entropy = membership_entropy(structured.voter_memberships(found.variables), fit.data.voters.weights, fit.num());
  const bool want_errors = options.standard_errors != Toggle::off && result.stop_reason == StopReason::converged;
  result.structured = describe_structured(structured, *fit.structure, found.variables, want_errors, fit.one_ballot);
  result.parameters = result.structured->parameters;
  result.num_parameters = result.structured->num_parameters;
  if (std::isfinite(result.structured->utility_errors[0])) {
    Uncertainty errors;
    errors.utilities = result.structured->utility_errors;
    errors.weights = result.structured->weight_errors;
    errors.log_ties = result.structured->log_tie_errors;
    errors.usable = true;
    result.errors = std::move(errors);
  }
  if (options.bootstrap > 0 && fit.whole())
    keep_bootstrap(fit, bootstrap_structured(structured, fit.known, *fit.structure, found.variables, *result.structured, options,
                                             fit.run, result.stop_reason));
  if (objective.membership() == nullptr) return;
  add_membership(fit, result.parameters, result.structured->weight_covariance, found.objective,
                 [&](std::shared_ptr<const MembershipLogit> logit, std::vector<double> gamma) {
                   Objective without = objective;
                   without.use_membership(std::move(logit));
                   const StructuredObjective smaller(without, *fit.structure);
                   return refit(smaller, smaller.start(structured, found.variables, gamma), fit.silently()).objective;
                 });
}

void finish_plain(Fit& fit, const Objective& objective, Solution solution) {
  const Options& options = fit.options;
  const Dataset& data = fit.data;
  Result& result = fit.result;
  const std::size_t num = fit.num();
  const bool fixed_weights = !options.estimate_weights;
  result.iterations = solution.iterations;
  result.stop_reason = solution.stop_reason;
  result.trace = std::move(solution.trace);
  Parameters& parameters = solution.parameters;

  // Largest group first, utilities centered; a penalty has its own origin, so centering waits for the Newton steps.
  if (!result.posterior) parameters.sort_by_weight();
  const double rows = static_cast<double>(num * data.num_items());
  const bool maximum = options.method == Method::em || options.method == Method::em_lsr || options.method == Method::emm;
  const bool want_errors = maximum && (options.standard_errors == Toggle::on ||
                                       (options.standard_errors == Toggle::automatic && rows <= most_information_rows &&
                                        information_cost(objective) <= information_budget));
  if (maximum && !want_errors && options.standard_errors == Toggle::automatic && options.bootstrap == 0)
    fit.warn("standard errors would take long here and were left out: --standard-errors on computes them");
  std::vector<Pieces> pieces = pieces_at(objective, parameters, fit.graph, fit.one_ballot);
  if (want_errors && objective.total_weight() > 0.0 && result.stop_reason == StopReason::converged) {
    const Eigen::MatrixXd information = observed_information(objective, parameters);
    // The maximum to the last digits while the matrix is at hand; it hardly changes on the way.
    newton_step(objective, information, parameters, fixed_weights, pieces);
    Uncertainty errors = uncertainty(objective, parameters, information / fit.one_ballot, fixed_weights, pieces);
    if (errors.usable)
      result.errors = std::move(errors);
    else
      fit.warn("the observed information is singular at the estimate: no standard errors");
  }

  Buffer<double> posterior;
  const Evaluation last = objective.evaluate_all(parameters, posterior);
  result.loglik = last.loglik;
  // A fit that was stopped before its first step has no trace yet.
  if (result.trace.empty() || result.trace.back() != last.objective()) result.trace.push_back(last.objective());
  result.entropy = objective.by_voter() ? membership_entropy(objective.voter_memberships(parameters), data.voters.weights, num)
                                        : entropy_of(objective, parameters, posterior);
  for (std::size_t k = 0; k < num; ++k) {
    result.unbounded.push_back(pieces[k].unbounded());
    result.blocks.emplace_back(pieces[k].blocks.begin() + (pieces[k].blocks.empty() ? 0 : 1), pieces[k].blocks.end());
    if (num == 1) break;  // said above
    if (last.responsibility[k] < fit.one_ballot) {
      fit.warn(fmt::format("group {} is empty: less than one {} belongs to it", k + 1, objective.by_voter() ? "voter" : "ranking"));
    } else if (!result.unbounded[k].empty()) {
      fit.warn(
          fmt::format("group {}: {} cannot be placed against the rest (there never chosen, never beaten, or never compared): the "
                      "utilities have no finite maximum and are flagged",
                      k + 1, list_items(data, result.unbounded[k])));
    }
  }
  limit_spread(parameters, objective.by_voter()   ? narrow_spread
                           : objective.has_ties() ? tie_spread
                                                  : max_spread);  // such items are flagged above
  center_on_references(pieces, parameters);
  if (options.bootstrap > 0 && fit.whole() && objective.total_weight() > 0.0)
    keep_bootstrap(fit, bootstrap_plain(objective, fit.known, parameters, pieces, options, fit.run, result.stop_reason));
  forget_unbounded(result, data.num_items());
  if (objective.membership() != nullptr) {
    Eigen::MatrixXd covariance;
    if (result.errors) {
      const auto size = static_cast<Eigen::Index>(fit.known->logit->size()), at = static_cast<Eigen::Index>(num * data.num_items());
      covariance = result.errors->covariance.block(at, at, size, size);
    }
    add_membership(fit, parameters, covariance, last.objective(),
                   [&](std::shared_ptr<const MembershipLogit> logit, std::vector<double> gamma) {
                     Objective without = objective;
                     without.use_membership(std::move(logit));
                     Parameters start = parameters;
                     start.gamma = std::move(gamma);
                     const Solution nearby = maximise(without, std::move(start),
                                                      {options.iterations, options.tolerance, false, "test"}, fit.silently());
                     // The best fit without a term may lie elsewhere; from here alone the term would seem to say more than it does.
                     Run elsewhere = fit.silently().alone();
                     elsewhere.effort *= 0.25;
                     return std::max(nearby.objective, search(without, options, elsewhere, std::nullopt).best.objective);
                   });
  }
  result.num_parameters = static_cast<std::int64_t>(
      num * (data.num_items() - 1) + (objective.membership() != nullptr ? objective.num_weight_variables() : num - 1) +
      parameters.ties.orders.size());
  result.parameters = std::move(parameters);
}

Result fit_data(const Dataset& data, const Options& options, const Run& run, const std::optional<Parameters>& init,
                KnownVoters* known, const Structure* structure) {
  // Weights that are no counts have no scale of their own: a ballot is this much of them (data/weights.h).
  const bool voters = data.voters.share();
  const double size = voters ? effective_size(data.voters.weights) : effective_size(data.rankings);
  const double total = voters ? data.voters.total_weight() : data.rankings.total_weight();
  Fit fit{data,
          options,
          run,
          known,
          structure,
          connectivity(data, Workers(resolve_threads(run.threads), run.ranks, nullptr)),
          size > 0.0 ? total / size : 1.0,
          {}};
  fit.result.num_rankings = data.rankings.total_weight();
  if (voters || known != nullptr) fit.result.num_voters = data.voters.total_weight();
  choose_strength(fit);
  Objective objective(data, fit.num(), fit.result.strength, {resolve_threads(run.threads), run.ranks, run.journal});
  if (known != nullptr) {
    for (std::string& message : known->warnings) fit.warn(std::move(message));
    if (known->logit != nullptr) objective.use_membership(known->logit);
  }
  if (!(objective.total_weight() > 0.0)) fit.warn("no ranking orders two items: all utilities are zero");
  Solution solution = find_solution(fit, objective, init);
  if (structure != nullptr && objective.total_weight() > 0.0)
    finish_structured(fit, objective, solution);
  else
    finish_plain(fit, objective, std::move(solution));
  return std::move(fit.result);
}

// Combinations that do not exist, and why.
void check_structure(const Options& options) {
  if (options.method == Method::gibbs)
    throw UsageError(
        "--dampening and --utilities do not go with method gibbs: its draws need worths that are free and the same at every stage; "
        "method em has standard errors, and --bootstrap intervals");
  if (options.method != Method::em && options.method != Method::emm && options.method != Method::em_lsr)
    throw UsageError(
        fmt::format("--dampening and --utilities need method em, emm or em-lsr, not {}: it has no likelihood to maximise",
                    name_of(options.method)));
  if (!options.estimate_weights) throw UsageError("--dampening and --utilities do not go with --estimate-weights off");
}

}  // namespace

Result fit(const Dataset& data, const Options& options, const Run& run, const std::optional<Parameters>& init,
           const StructureOptions& structure) {
  validate_options(options);
  std::optional<KnownVoters> known;
  if (!options.membership.empty()) {
    known = know_voters(data, options);
    if (options.components == 1) {
      known->warnings.emplace_back("there is one group only: --membership has nothing to explain");
      known->logit = nullptr;
    }
  }
  const Dataset& used = known ? known->data : data;
  if (!structure.active()) return fit_data(used, options, run, init, known ? &*known : nullptr, nullptr);
  check_structure(options);
  const Structure made = make_structure(used, structure);
  if (used.voters.given()) return fit_data(used, options, run, init, known ? &*known : nullptr, &made);
  Dataset by_row = used;
  make_rows_voters(by_row);
  return fit_data(by_row, options, run, init, nullptr, &made);
}

}  // namespace caucus::pl_mixture
