#include "caucus/infer/pl_mixture/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>

#include "caucus/base/parallel.h"
#include "caucus/data/weights.h"
#include "caucus/infer/pl_mixture/bootstrap.h"
#include "caucus/infer/pl_mixture/gibbs.h"
#include "caucus/infer/pl_mixture/search.h"
#include "caucus/infer/pl_mixture/start.h"
#include "caucus/result/fitted_model.h"

namespace caucus::pl_mixture {

namespace {

// Weak enough to move no estimate that the data determine, strong enough to keep the others in sight.
constexpr double automatic_strength = 0.1;
constexpr double information_budget = 5e8;  // multiplications, well under a second
constexpr double most_information_rows = 3000;

// What lies beyond the spread that the likelihood sees is no number to go on with: its exponential may be none.
void limit_spread(Parameters& parameters) {
  for (std::size_t k = 0; k < parameters.num_components(); ++k) {
    const auto utilities = parameters.component(k);
    const double floor = *std::ranges::max_element(utilities) - max_spread;
    for (double& utility : utilities) utility = std::max(utility, floor);
  }
}

std::vector<Pieces> pieces_at(const Objective& objective, const Parameters& parameters, const Connectivity& graph,
                              double one_ballot) {
  Buffer<double> posterior;
  objective.evaluate_all(parameters, posterior);
  return find_pieces(objective, parameters, posterior, graph, one_ballot);
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
  limit_spread(start.parameters);
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
  if (result.bootstrap) lists = {&result.bootstrap->utilities, &result.bootstrap->utilities_low, &result.bootstrap->utilities_high};
  if (result.posterior)
    for (auto* list : {&result.posterior->deviation, &result.posterior->low, &result.posterior->high}) lists.push_back(list);
  for (std::size_t k = 0; k < result.unbounded.size(); ++k)
    for (std::size_t i : result.unbounded[k])
      for (auto* list : lists) (*list)[k * num_items + i] = std::numeric_limits<double>::quiet_NaN();
}

// What is known of the voters, as the columns of a logit, and the voters of whom enough is known.
struct KnownVoters {
  Dataset data;
  CovariateDesign design;
  std::shared_ptr<MembershipLogit> logit;
  std::vector<std::string> warnings;
};
KnownVoters know_voters(const Dataset& data, const Options& options) {
  if (options.method != Method::em && options.method != Method::emm && options.method != Method::em_lsr)
    throw UsageError(fmt::format("--membership needs method em, emm or em-lsr, not {}", name_of(options.method)));
  if (options.bootstrap > 0)
    throw UsageError("--membership and --bootstrap exclude each other; standard errors come from the information matrix");
  if (!options.estimate_weights) throw UsageError("--membership and --estimate-weights off exclude each other");
  KnownVoters known{data, {}, {}, {}};
  if (!known.data.voters.given()) make_rows_voters(known.data);
  const auto encode = [&] {
    const std::vector<Column> columns = voter_columns(known.data);
    if (columns.empty())
      throw DataError(
          fmt::format("{}: --membership: nothing is known of the voters; --voters FILE names a table, or columns may stand "
                      "beside the rankings",
                      data.source));
    known.warnings.clear();
    known.design = CovariateDesign::learn(columns, options.membership, options.missing, true, "--membership", known.warnings);
    return known.design.encode(
        columns, [&](std::size_t voter) { return fmt::format("{}: voter {}", data.source, known.data.voters.name(voter)); });
  };
  CovariateDesign::Encoded encoded = encode();
  std::vector<double> weights = known.data.voters.weights;
  std::size_t left_out = 0;
  for (std::size_t v = 0; v < weights.size(); ++v)
    if (encoded.complete[v] == 0) weights[v] = 0.0, ++left_out;
  if (left_out == weights.size())
    throw DataError(fmt::format("{}: --membership: something is missing of every voter; --missing mean keeps them", data.source));
  if (left_out > 0) {
    known.data = with_voter_weights(known.data, weights);
    encoded = encode();
    known.warnings.push_back(fmt::format("{} of {} voters were left out: something that --membership names is missing of them",
                                         left_out, weights.size()));
  }
  known.logit =
      std::make_shared<MembershipLogit>(encoded.x, known.data.voters.weights, static_cast<std::size_t>(options.components));
  return known;
}

// A standardised coefficient beyond this has no maximum in sight: one standard deviation would change the odds by a factor of 3000.
constexpr double separated = 8.0;
constexpr double separation_ridge = 0.1;

// Twice the log-likelihood that a fit without the term loses, from where the fit with it ended.
std::vector<Membership::Test> test_terms(const Objective& objective, const Parameters& fitted, double best,
                                         const CovariateDesign& design, const Options& options, const Run& run) {
  std::vector<Membership::Test> tests;
  for (const DesignTerm& term : design.terms()) {
    Objective without = objective;
    without.use_membership(std::make_shared<MembershipLogit>(objective.membership()->without(term.first, term.count)));
    Parameters start = fitted;
    start.gamma = objective.membership()->without(fitted.gamma, term.first, term.count);
    StopReason why = StopReason::converged;
    if (run.report({"tests of terms", static_cast<int>(tests.size()), static_cast<int>(design.terms().size()), best}, why) ==
        Flow::stop)
      break;
    const Solution solution = maximise(without, std::move(start), {options.iterations, options.tolerance, false, "test"}, Run{});
    Membership::Test test;
    test.term = term.name;
    test.statistic = std::max(0.0, 2.0 * (best - solution.objective));
    test.degrees = static_cast<int>(term.count * (fitted.num_components() - 1));
    test.p_value = boost::math::gamma_q(0.5 * test.degrees, 0.5 * test.statistic);
    tests.push_back(test);
  }
  return tests;
}

Result fit_data(const Dataset& data, const Options& options, const Run& run, const std::optional<Parameters>& init,
                KnownVoters* known);

}  // namespace

Result fit(const Dataset& data, const Options& options, const Run& run, const std::optional<Parameters>& init) {
  validate_options(options);
  if (options.membership.empty()) return fit_data(data, options, run, init, nullptr);
  KnownVoters known = know_voters(data, options);
  if (options.components == 1) {
    known.warnings.emplace_back("there is one group only: --membership has nothing to explain");
    known.logit = nullptr;
  }
  return fit_data(known.data, options, run, init, &known);
}

namespace {

Result fit_data(const Dataset& data, const Options& options, const Run& run, const std::optional<Parameters>& init,
                KnownVoters* known) {
  const auto num = static_cast<std::size_t>(options.components);
  const int threads = resolve_threads(run.threads);
  const bool fixed_weights = !options.estimate_weights;
  Result result;
  result.num_rankings = data.rankings.total_weight();

  const auto warn = [&](std::string message) {
    run.warn(message);
    result.warnings.push_back(std::move(message));
  };
  const Connectivity graph = connectivity(data);
  // Weights that are no counts have no scale of their own: a ballot is this much of them (data/weights.h).
  const double size = data.voters.share() ? effective_size(data.voters.weights) : effective_size(data.rankings);
  const double total = data.voters.share() ? data.voters.total_weight() : result.num_rankings;
  const double one_ballot = size > 0.0 ? total / size : 1.0;
  result.strength = options.regularization.value_or(graph.strongly_connected ? 0.0 : automatic_strength * one_ballot);
  if (!graph.strongly_connected) {
    const std::string what = describe(graph, data);
    if (result.strength > 0.0)
      warn(fmt::format(
          "{}; without a prior their utilities would be infinite, so every item was given {} pseudo-wins and pseudo-losses", what,
          result.strength));
    else
      warn(fmt::format("{}; with regularization = 0 their utilities have no finite maximum and are flagged", what));
  }

  Objective objective(data, num, result.strength, {threads, run.ranks, run.journal});
  if (known != nullptr) {
    for (std::string& message : known->warnings) warn(std::move(message));
    if (known->logit != nullptr) objective.use_membership(known->logit);
  }
  if (!(objective.total_weight() > 0.0)) warn("no ranking orders two items: all utilities are zero");

  Solution solution;
  if (options.method == Method::spectral) {
    // Algorithm 3 alone.
    solution.parameters = Starts(objective, options, run.seed)
                              .make(num == 1                       ? Init::spectral
                                    : options.init == Init::kmeans ? Init::kmeans
                                                                   : Init::spectral,
                                    0);
    solution.objective = objective.evaluate(solution.parameters).objective();
    solution.trace.push_back(solution.objective);
    solution.iterations = 1;
    solution.stop_reason = StopReason::closed_form;
  } else {
    Options searched = options;
    if (options.method == Method::gibbs) searched.method = Method::em;
    SearchResult found = search(objective, searched, run, init);
    result.starts = found.record;
    solution = std::move(found.best);
    if (objective.membership() != nullptr && !was_cut_short(solution.stop_reason)) {
      if (const auto largest = known->logit->largest(solution.parameters.gamma); std::abs(largest.value) > separated) {
        warn(fmt::format(
            "group {} can be told from group 1 almost for certain by '{}': its coefficient has no finite maximum, and a ridge "
            "of {} on standardised coefficients holds it",
            largest.group + 1, known->design.names()[largest.column], separation_ridge));
        known->logit = std::make_shared<MembershipLogit>(*known->logit);
        known->logit->set_ridge(separation_ridge);
        objective.use_membership(known->logit);
        for (double& value : solution.parameters.gamma) value = std::clamp(value, -3.0, 3.0);
        solution = run_method(objective, options.method, options.chain, std::move(solution.parameters),
                              {options.iterations, options.tolerance, false, name_of(options.method)}, run);
      }
    }
    if (options.method == Method::gibbs && objective.total_weight() > 0.0 && !was_cut_short(solution.stop_reason))
      solution = sample_posterior(objective, graph, options, run, std::move(solution), result);
  }
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
  std::vector<Pieces> pieces = pieces_at(objective, parameters, graph, one_ballot);
  if (want_errors && objective.total_weight() > 0.0 && result.stop_reason == StopReason::converged) {
    const Eigen::MatrixXd information = observed_information(objective, parameters);
    // The maximum to the last digits while the matrix is at hand; it hardly changes on the way.
    newton_step(objective, information, parameters, fixed_weights, pieces);
    Uncertainty errors = uncertainty(objective, parameters, information / one_ballot, fixed_weights, pieces);
    if (errors.usable)
      result.errors = std::move(errors);
    else
      warn("the observed information is singular at the estimate: no standard errors");
  }

  Buffer<double> posterior;
  const Evaluation last = objective.evaluate_all(parameters, posterior);
  result.loglik = last.loglik;
  // A fit that was stopped before its first step has no trace yet.
  if (result.trace.empty() || result.trace.back() != last.objective()) result.trace.push_back(last.objective());
  result.entropy = objective.by_voter() ? membership_entropy(objective.voter_memberships(parameters), data.voters.weights, num)
                                        : membership_entropy(posterior, data.rankings.weights(), num);
  for (std::size_t k = 0; k < num; ++k) {
    result.unbounded.push_back(pieces[k].unbounded());
    if (num == 1) break;  // said above
    if (last.responsibility[k] < one_ballot) {
      warn(fmt::format("group {} is empty: less than one {} belongs to it", k + 1, objective.by_voter() ? "voter" : "ranking"));
    } else if (!result.unbounded[k].empty()) {
      warn(
          fmt::format("group {}: {} cannot be placed against the rest (there never chosen, never beaten, or never compared): the "
                      "utilities have no finite maximum and are flagged",
                      k + 1, list_items(data, result.unbounded[k])));
    }
  }
  limit_spread(parameters);  // such items are flagged above
  center_on_references(pieces, parameters);
  if (options.bootstrap > 0 && !was_cut_short(result.stop_reason) && objective.total_weight() > 0.0)
    result.bootstrap = bootstrap(data, parameters, pieces, options, result.strength, run, result.stop_reason);
  forget_unbounded(result, data.num_items());
  if (objective.membership() != nullptr) {
    auto membership = std::make_shared<Membership>();
    membership->design = known->design;
    membership->num_groups = num;
    membership->coefficients = known->logit->coefficients(parameters.gamma);
    membership->mean_weights = parameters.weights;
    membership->ridge = known->logit->ridge();
    if (result.errors) {
      const auto known_size = static_cast<Eigen::Index>(known->logit->size()), at = static_cast<Eigen::Index>(num * data.num_items());
      const RowMatrix covariance = known->logit->unstandardised(result.errors->covariance.block(at, at, known_size, known_size));
      membership->covariance.assign(covariance.data(), covariance.data() + covariance.size());
    }
    if (!was_cut_short(result.stop_reason))
      membership->tests = test_terms(objective, parameters, last.objective(), known->design, options, run);
    result.effects = membership_effects(*membership, data);
    result.membership = std::move(membership);
  }
  result.parameters = std::move(parameters);
  return result;
}

}  // namespace

}  // namespace caucus::pl_mixture
