#include "caucus/infer/pl_mixture/fit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "caucus/base/parallel.h"
#include "caucus/infer/pl_mixture/start.h"

namespace caucus::pl_mixture {

namespace {

// Weak enough to move no estimate that the data determine, strong enough to keep the others in sight.
constexpr double automatic_strength = 0.1;
constexpr double information_budget = 5e8;  // multiplications, well under a second
constexpr double most_information_rows = 3000;

double entropy_of(const std::vector<double>& posterior, const RankingSet& rankings, std::size_t num) {
  double entropy = 0.0;
  for (std::size_t i = 0; i < rankings.size(); ++i)
    for (std::size_t k = 0; k < num; ++k)
      if (const double p = posterior[i * num + k]; p > 0.0) entropy -= rankings.weight(i) * p * std::log(p);
  return entropy;
}

// Items of a component that are (almost) never chosen, or that (almost) never lose: their utilities have no finite maximum.
std::vector<std::vector<std::size_t>> runaway_items(const Objective& objective, const std::vector<double>& posterior) {
  constexpr double nothing = 1e-4;  // of a ranking
  const Dataset& data = objective.data();
  const std::size_t n = data.num_items(), num = objective.num_components();
  std::vector<double> wins(num * n, 0.0), losses(num * n, 0.0), after_last(num, 0.0);
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    const RankingView ranking = data.rankings[i];
    const bool rest = data.unranked == Unranked::last && ranking.size() < n;
    std::size_t num_groups = 0;
    ranking.for_each_group([&](std::span<const ItemId>) { ++num_groups; });
    for (std::size_t k = 0; k < num; ++k) {
      const double q = data.rankings.weight(i) * posterior[i * num + k];
      std::size_t g = 0;
      ranking.for_each_group([&](std::span<const ItemId> group) {
        const bool choice = group.size() > 1 || rest || g + 1 < num_groups;  // a last single item is no choice
        for (ItemId item : group) {
          if (choice) wins[k * n + item] += q;
          // A tie is a loss too; an unlisted item loses every stage, so listed ones give back the stages after theirs.
          losses[k * n + item] += q * static_cast<double>(g + (group.size() > 1 ? 1 : 0)) - (rest ? q * static_cast<double>(num_groups) : 0.0);
        }
        ++g;
      });
      if (rest) after_last[k] += q * static_cast<double>(num_groups);
    }
  }
  std::vector<std::vector<std::size_t>> result(num);
  for (std::size_t k = 0; k < num; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      const double lost = losses[k * n + i] + after_last[k];
      if (wins[k * n + i] < nothing || lost < nothing + 1e-10 * after_last[k]) result[k].push_back(i);
    }
  }
  return result;
}

std::string list_items(const Dataset& data, const std::vector<std::size_t>& items) {
  std::vector<std::string> names;
  for (std::size_t i : items)
    if (names.size() < 5) names.push_back("'" + data.items[i] + "'");
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (items.size() > names.size()) text += fmt::format(" and {} more", items.size() - names.size());
  return text;
}

// Runs the chosen method from one start.
Solution solve_from(const Objective& objective, const Options& options, Parameters start, int max_iterations, std::string_view phase, const Run& run) {
  const SolveOptions solve{max_iterations, options.tolerance, !options.estimate_weights, phase};
  return maximise(objective, std::move(start), solve, run);
}

// The best of several starts. Short runs sort them; the better half goes on, and so on until the last few are run to the end.
Solution search(const Objective& objective, const Options& options, const Run& run, const std::optional<Parameters>& init, Result& result) {
  const int num = options.components;
  if (init) return solve_from(objective, options, *init, options.max_iterations, name_of(options.method), run);
  const int automatic = num == 1 ? 1 : std::min(4 + 2 * num, 30);
  const int restarts = num == 1 ? 1 : options.restarts.value_or(automatic);
  Starts starts(objective, options, run.seed);
  if ((options.init == Init::spectral || options.init == Init::kmeans) && num > 1 && !starts.can_embed())
    throw UsageError(fmt::format("init = {} does not take rankings with ties; choose init = random", name_of(options.init)));
  if (options.init == Init::moments && num > 1 && (objective.has_ties() || objective.data().unranked == Unranked::absent))
    throw UsageError("init = moments takes complete rankings and ballots that stop early; choose init = spectral or random");

  if (restarts == 1)
    return solve_from(objective, options, starts.make(options.init, 0), options.max_iterations, name_of(options.method), run);

  std::vector<Solution> field;
  int spent = 0;
  constexpr int first_round = 12;
  for (int r = 0; r < restarts; ++r) {
    const std::string phase = fmt::format("start {} of {}", r + 1, restarts);
    field.push_back(solve_from(objective, options, starts.make(options.init, static_cast<std::uint64_t>(r)), first_round, phase, run));
    spent += field.back().iterations;
    if (field.back().stop_reason == StopReason::interrupted || field.back().stop_reason == StopReason::time_limit) break;
  }
  const auto better = [](const Solution& a, const Solution& b) { return a.objective > b.objective; };
  const auto stopped = [](const Solution& s) { return s.stop_reason == StopReason::interrupted || s.stop_reason == StopReason::time_limit; };
  const bool cut_short = stopped(field.back());
  std::stable_sort(field.begin(), field.end(), better);
  for (int limit = 2 * first_round; !cut_short && field.size() > 2; limit *= 2) {
    field.resize(std::max<std::size_t>(2, (field.size() + 1) / 2));
    for (Solution& solution : field) {
      if (solution.stop_reason == StopReason::converged) continue;
      Solution next = solve_from(objective, options, solution.parameters, limit, "em", run);
      spent += next.iterations;
      next.trace.insert(next.trace.begin(), solution.trace.begin(), solution.trace.end());
      solution = std::move(next);
      if (stopped(solution)) break;
    }
    std::stable_sort(field.begin(), field.end(), better);
    if (std::ranges::any_of(field, stopped)) break;
  }
  for (Solution& solution : field) {
    if (solution.stop_reason != StopReason::iteration_limit) continue;
    Solution next = solve_from(objective, options, solution.parameters, options.max_iterations, "em", run);
    spent += next.iterations;
    next.trace.insert(next.trace.begin(), solution.trace.begin(), solution.trace.end());
    solution = std::move(next);
  }
  std::stable_sort(field.begin(), field.end(), better);
  result.starts = restarts;
  result.starts_agreeing = 0;
  for (const Solution& solution : field)
    result.starts_agreeing += solution.objective >= field.front().objective - 1e-6 * std::abs(field.front().objective) ? 1 : 0;
  Solution best = std::move(field.front());
  best.iterations = spent;
  return best;
}

}  // namespace

Result fit(const Dataset& data, const Options& options, const Run& run, const std::optional<Parameters>& init) {
  validate_options(options);
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
  result.strength = options.regularization.value_or(graph.strongly_connected ? 0.0 : automatic_strength);
  if (!graph.strongly_connected) {
    const std::string what = describe(graph, data);
    if (result.strength > 0.0)
      warn(fmt::format("{}; without a prior their utilities would be infinite, so every item was given {} pseudo-wins and pseudo-losses", what,
                       result.strength));
    else
      warn(fmt::format("{}; with regularization = 0 their utilities have no finite maximum and are flagged", what));
  }

  const Objective objective(data, num, result.strength, threads);
  if (!(objective.total_weight() > 0.0)) warn("no ranking orders two items: all utilities are zero");

  Solution solution = search(objective, options, run, init, result);
  result.iterations = solution.iterations;
  result.stop_reason = solution.stop_reason;
  result.trace = std::move(solution.trace);
  Parameters& parameters = solution.parameters;

  // Largest group first, utilities centred; a penalty has its own origin, so centring waits for the Newton steps.
  parameters.sort_by_weight();
  const double rows = static_cast<double>(num * data.num_items());
  const bool want_errors = options.standard_errors == Toggle::on ||
                           (options.standard_errors == Toggle::automatic && rows <= most_information_rows &&
                            information_cost(objective) <= information_budget);
  if (want_errors && objective.total_weight() > 0.0 && result.stop_reason == StopReason::converged) {
    Eigen::MatrixXd information = observed_information(objective, parameters);
    // The maximum to the last digits while the matrix is at hand.
    for (int polish = 0; polish < 3 && newton_step(objective, information, parameters, fixed_weights); ++polish)
      if (polish == 0) information = observed_information(objective, parameters);
    Uncertainty errors = uncertainty(objective, parameters, information, fixed_weights);
    if (errors.usable)
      result.errors = std::move(errors);
    else if (graph.strongly_connected || result.strength > 0.0)
      warn("the observed information is singular at the estimate: no standard errors");
  }

  std::vector<double> posterior;
  const Evaluation last = objective.evaluate(parameters, &posterior);
  result.loglik = last.loglik;
  if (!(std::abs(result.trace.back() - last.objective()) <= 0.0)) result.trace.push_back(last.objective());
  result.entropy = entropy_of(posterior, data.rankings, num);
  result.infinite.assign(num, {});
  if (num == 1) {
    for (std::size_t i = 0; i < data.num_items(); ++i)
      if (graph.side_of_item[i] != Side::inside) result.infinite[0].push_back(i);
  } else {
    result.infinite = runaway_items(objective, posterior);
    for (std::size_t k = 0; k < num; ++k) {
      if (last.responsibility[k] < 1.0) {
        warn(fmt::format("group {} is empty: less than one ranking belongs to it", k + 1));
      } else if (!result.infinite[k].empty()) {
        warn(fmt::format("group {}: {} never chosen or never beaten there: the utilities have no finite maximum and are flagged", k + 1,
                         list_items(data, result.infinite[k])));
      }
    }
  }
  parameters.centre_all();
  result.parameters = std::move(parameters);
  return result;
}

}  // namespace caucus::pl_mixture
