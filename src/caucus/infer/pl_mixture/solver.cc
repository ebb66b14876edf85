#include "caucus/infer/pl_mixture/solver.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "caucus/infer/lbfgs.h"

namespace caucus::pl_mixture {

namespace {

constexpr int look_every = 20;  // steps

// The free variables in one vector: utilities of all components, logits of the weights, logs of the tie strengths.
struct Variables {
  std::size_t num_utilities, num_weights, num_ties;
  bool by_voter = false;  // weights are those of a logit
  std::size_t size() const { return num_utilities + num_weights + num_ties; }
};

void move(Parameters& parameters, const Variables& at, const std::vector<double>& direction, double step) {
  for (std::size_t j = 0; j < at.num_utilities; ++j) parameters.utilities[j] += step * direction[j];
  if (at.by_voter) {
    for (std::size_t j = 0; j < at.num_weights; ++j) parameters.gamma[j] += step * direction[at.num_utilities + j];
  } else if (at.num_weights > 0) {
    double total = 0.0;
    for (std::size_t k = 0; k < at.num_weights; ++k)
      total += parameters.weights[k] *= std::exp(step * direction[at.num_utilities + k]);
    for (double& weight : parameters.weights) weight /= total;
  }
  for (std::size_t o = 0; o < at.num_ties; ++o) {
    double& log_delta = parameters.ties.log_delta[o];
    log_delta = std::min(log_delta + step * direction[at.num_utilities + at.num_weights + o],
                         max_log_delta(parameters.num_items, parameters.ties.orders[o]));
  }
}

void gradient(const Objective& objective, const Parameters& parameters, const Evaluation& e, const Variables& at,
              std::vector<double>& g, std::vector<double>& metric) {
  g.resize(at.size());
  metric.resize(at.size());
  // The metric is the inverse of the MM step's curvature: theta += log(wins / expected) is gradient / expected to first order.
  for (std::size_t j = 0; j < at.num_utilities; ++j) {
    g[j] = e.wins[j] - e.expected[j];
    metric[j] = 1.0 / std::max({e.wins[j], e.expected[j], 1e-6});
  }
  if (at.num_weights > 0) {
    const std::vector<double> slope = objective.weight_gradient(e, parameters),
                              curvature = objective.weight_curvature(e, parameters);
    for (std::size_t k = 0; k < at.num_weights; ++k) {
      g[at.num_utilities + k] = slope[k];
      metric[at.num_utilities + k] = 1.0 / std::max(curvature[k], 1e-6);
    }
  }
  for (std::size_t o = 0; o < at.num_ties; ++o) {
    const std::size_t j = at.num_utilities + at.num_weights + o;
    g[j] = objective.tie_counts()[o] - e.tie_expected[o];
    const double most = max_log_delta(parameters.num_items, parameters.ties.orders[o]);
    if (g[j] > 0.0 && parameters.ties.log_delta[o] >= most) g[j] = 0.0;  // no further
    metric[j] = 1.0 / std::max({objective.tie_counts()[o], e.tie_expected[o], 1e-6});
  }
}

// From one point to another, in the free variables.
std::vector<double> difference(const Parameters& to, const Parameters& from, const Variables& at) {
  std::vector<double> moved(at.size());
  for (std::size_t j = 0; j < at.num_utilities; ++j) moved[j] = to.utilities[j] - from.utilities[j];
  for (std::size_t k = 0; k < at.num_weights && at.by_voter; ++k) moved[at.num_utilities + k] = to.gamma[k] - from.gamma[k];
  for (std::size_t k = 0; k < at.num_weights && !at.by_voter; ++k)
    moved[at.num_utilities + k] = to.weights[k] > 0.0 && from.weights[k] > 0.0 ? std::log(to.weights[k] / from.weights[k]) : 0.0;
  for (std::size_t o = 0; o < at.num_ties; ++o)
    moved[at.num_utilities + at.num_weights + o] = to.ties.log_delta[o] - from.ties.log_delta[o];
  return moved;
}

// The quasi-Newton direction, no longer than 5 in any variable; `expected` is the gain of the full step in the quadratic model.
struct Direction {
  std::vector<double> along;
  double slope = 0.0, expected = 0.0;
};
Direction ascent(LbfgsMemory& memory, const std::vector<double>& g, const std::vector<double>& metric) {
  Direction found{memory.apply(g, metric)};
  found.slope = dot(g, found.along);
  if (!(found.slope > 0.0) || !std::isfinite(found.slope)) {
    memory.clear();
    found.along = memory.apply(g, metric);
    found.slope = dot(g, found.along);
  }
  found.expected = 0.5 * found.slope;
  double longest = 0.0;
  for (double value : found.along) longest = std::max(longest, std::abs(value));
  if (longest > 5.0) {
    for (double& value : found.along) value *= 5.0 / longest;
    found.slope *= 5.0 / longest;
  }
  return found;
}

struct Place {
  Parameters parameters;
  Evaluation value;
};

// Items that one group always puts above others run off from them. Gaps wider than `widest` change nothing that is shown, but use
// up the room that the spread of utilities has, and no slope leads back. So they are closed to that: whoever is below a gap keeps
// their distances. What a gap costs a stage is e^-gap; `room` may not allow more than 14.
void close_gaps(Parameters& parameters, double room) {
  const std::size_t n = parameters.num_items;
  const double widest = std::clamp(room / static_cast<double>(std::max<std::size_t>(n, 2) - 1), 14.0, 25.0);
  std::vector<std::size_t> order(n);
  for (std::size_t k = 0; k < parameters.num_components(); ++k) {
    const auto utilities = parameters.component(k);
    const auto [least, most] = std::ranges::minmax(utilities);
    if (!(most - least > widest)) continue;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, std::greater(), [&](std::size_t i) { return utilities[i]; });
    double closed = 0.0, above = utilities[order[0]];
    for (const std::size_t i : order) {
      closed += std::max(0.0, above - utilities[i] - widest);
      above = utilities[i];
      utilities[i] += closed;
    }
  }
}

// Where utilities have all the room there is, what is left to gain lies beyond it.
bool at_the_edge(const Objective& objective, const Parameters& parameters) {
  const double room = objective.has_ties() ? tie_spread : max_spread;
  for (std::size_t k = 0; k < parameters.num_components(); ++k) {
    const auto [least, most] = std::ranges::minmax(parameters.component(k));
    if (most - least >= room - 1.0) return true;
  }
  return false;
}

// A penalty has its own origin, and the strengths of ties theirs.
bool may_close_gaps(const Objective& objective) { return !(objective.strength() > 0.0) && !objective.has_ties(); }

// Backtracks along the direction until the gain is a fair part of what the slope promises.
bool line_search(const Objective& objective, const Place& here, const Variables& variables, const Direction& direction,
                 double scale, Place& there, int& evaluations) {
  const double rounding = 1e-15 * scale;
  double step = 1.0;
  for (int attempt = 0; attempt < 8; ++attempt) {
    there.parameters = here.parameters;
    move(there.parameters, variables, direction.along, step);
    if (may_close_gaps(objective)) close_gaps(there.parameters, max_spread);
    there.value = objective.evaluate(there.parameters);
    ++evaluations;
    const double gain = there.value.objective() - here.value.objective(), promised = step * direction.slope;
    if (gain >= 1e-4 * step * direction.slope - rounding && std::isfinite(there.value.objective()))
      return gain > 0.0 || promised > rounding;
    // The parabola through both values and the slope at the start.
    const double vertex = std::isfinite(gain) ? 0.5 * step * step * direction.slope / (promised - gain) : 0.1 * step;
    step = std::clamp(vertex, 0.1 * step, 0.5 * step);
  }
  return false;
}

// One EM step of utilities and weights, then one of the ties. Never falls; true where it gains.
bool em_step(const Objective& objective, const Place& here, bool fixed_weights, double scale, Place& there, int& evaluations) {
  there.parameters = here.parameters;
  mm_step(objective, here.value, there.parameters, fixed_weights, false);
  if (may_close_gaps(objective)) close_gaps(there.parameters, max_spread);
  there.value = objective.evaluate(there.parameters);
  ++evaluations;
  if (!there.parameters.ties.orders.empty()) {
    mm_step(objective, there.value, there.parameters, true, true);
    there.value = objective.evaluate(there.parameters);
    ++evaluations;
  }
  return there.value.objective() - here.value.objective() > 1e-15 * scale;
}

}  // namespace

void mm_step(const Objective& objective, const Evaluation& at, Parameters& parameters, bool fixed_weights, bool ties) {
  if (ties) {
    for (std::size_t o = 0; o < parameters.ties.orders.size(); ++o) {
      double& log_delta = parameters.ties.log_delta[o];
      log_delta = std::min(log_delta + std::log(objective.tie_counts()[o] / std::max(at.tie_expected[o], 1e-300)),
                           max_log_delta(parameters.num_items, parameters.ties.orders[o]));
    }
  } else {
    for (std::size_t j = 0; j < parameters.utilities.size(); ++j) {
      if (!(at.expected[j] > 0.0)) continue;  // never there: nothing is known of it
      parameters.utilities[j] += std::clamp(std::log(std::max(at.wins[j], 1e-300) / at.expected[j]), -5.0, 5.0);
    }
    // A penalty has its own origin, so only a likelihood alone may be centered.
    if (!(objective.strength() > 0.0)) parameters.center_all();
  }
  if (!fixed_weights) objective.update_weights(at, parameters);
}

Solution maximise(const Objective& objective, Parameters start, const SolveOptions& options, const Run& run) {
  Solution solution;
  objective.complete(start);
  Place here{std::move(start), {}}, there;
  here.value = objective.evaluate(here.parameters);
  const Variables variables{here.parameters.utilities.size(), options.fixed_weights ? 0 : objective.num_weight_variables(),
                            here.parameters.ties.orders.size(), objective.membership() != nullptr};
  solution.iterations = 1;
  solution.trace.push_back(here.value.objective());
  const auto finish = [&](StopReason why) {
    if (variables.by_voter)  // the mean over the voters
      for (std::size_t k = 0; k < here.parameters.num_components(); ++k)
        here.parameters.weights[k] = here.value.responsibility[k] / std::max(sum(here.value.responsibility), 1e-300);
    solution.parameters = std::move(here.parameters);
    solution.loglik = here.value.loglik;
    solution.objective = here.value.objective();
    solution.stop_reason = why;
    return solution;
  };
  const double scale = std::max(1.0, std::abs(here.value.loglik));
  if (!(objective.total_weight() > 0.0)) return finish(StopReason::converged);

  std::vector<double> g, metric, g_next, metric_next;
  gradient(objective, here.parameters, here.value, variables, g, metric);
  LbfgsMemory memory;
  int small_gains = 0;
  double at_last_look = here.value.objective();
  StopReason why = StopReason::converged;
  for (int iteration = 0; solution.iterations < options.max_iterations; ++iteration) {
    if (run.report({options.phase, solution.iterations, options.max_iterations, here.value.objective()}, why) == Flow::stop)
      return finish(why);

    // Where components run to the edge, gains go on for thousands of steps and change nothing that is shown.
    if (iteration % look_every == look_every - 1) {
      const double worth = (at_the_edge(objective, here.parameters) ? 4.0 : 0.02) * options.tolerance * scale;
      if (here.value.objective() - at_last_look <= worth) return finish(StopReason::converged);
      at_last_look = here.value.objective();
    }

    // At the edge of the room that utilities have even an EM step may not rise.
    const bool warm_up = iteration < 3;
    if (!warm_up || !em_step(objective, here, options.fixed_weights, scale, there, solution.iterations)) {
      const Direction direction = ascent(memory, g, metric);
      if (!warm_up) {
        // Twice in a row, far below the tolerance: the model learns flat directions only as it walks them.
        small_gains = direction.expected <= 1e-3 * options.tolerance * scale ? small_gains + 1 : 0;
        if (small_gains >= 2) return finish(StopReason::converged);
      }
      if (!line_search(objective, here, variables, direction, scale, there, solution.iterations)) {
        if (warm_up || 0.5 * direction.slope <= 1e-13 * scale) return finish(StopReason::converged);
        if (!em_step(objective, here, options.fixed_weights, scale, there, solution.iterations))
          return finish(StopReason::converged);
        memory.clear();
      }
    }
    gradient(objective, there.parameters, there.value, variables, g_next, metric_next);
    std::vector<double> drop(variables.size());
    for (std::size_t j = 0; j < variables.size(); ++j) drop[j] = g[j] - g_next[j];
    memory.add(difference(there.parameters, here.parameters, variables), std::move(drop));
    std::swap(g, g_next);
    std::swap(metric, metric_next);
    std::swap(here, there);
    solution.trace.push_back(here.value.objective());
  }
  return finish(StopReason::iteration_limit);
}

}  // namespace caucus::pl_mixture
