#include "caucus/infer/pl_mixture/solver.h"

#include <algorithm>
#include <cmath>

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
  for (std::size_t o = 0; o < at.num_ties; ++o)
    parameters.ties.log_delta[o] += step * direction[at.num_utilities + at.num_weights + o];
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
    metric[j] = 1.0 / std::max({objective.tie_counts()[o], e.tie_expected[o], 1e-6});
  }
}

}  // namespace

void mm_step(const Objective& objective, const Evaluation& at, Parameters& parameters, bool fixed_weights, bool ties) {
  if (ties) {
    for (std::size_t o = 0; o < parameters.ties.orders.size(); ++o)
      parameters.ties.log_delta[o] += std::log(objective.tie_counts()[o] / std::max(at.tie_expected[o], 1e-300));
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
  solution.parameters = std::move(start);
  Parameters& parameters = solution.parameters;
  objective.complete(parameters);
  const Variables variables{parameters.utilities.size(), options.fixed_weights ? 0 : objective.num_weight_variables(),
                            parameters.ties.orders.size(), objective.membership() != nullptr};
  Evaluation here = objective.evaluate(parameters);
  solution.iterations = 1;
  solution.trace.push_back(here.objective());
  const auto finish = [&](StopReason why) {
    if (variables.by_voter)  // the mean over the voters
      for (std::size_t k = 0; k < parameters.num_components(); ++k)
        parameters.weights[k] = here.responsibility[k] / std::max(sum(here.responsibility), 1e-300);
    solution.loglik = here.loglik;
    solution.objective = here.objective();
    solution.stop_reason = why;
    return solution;
  };
  const double scale = std::max(1.0, std::abs(here.loglik));
  if (!(objective.total_weight() > 0.0)) return finish(StopReason::converged);

  std::vector<double> g, metric, g_next, metric_next;
  gradient(objective, parameters, here, variables, g, metric);
  LbfgsMemory memory;
  int small_gains = 0;
  double at_last_look = here.objective();
  StopReason why = StopReason::converged;
  for (int iteration = 0; solution.iterations < options.max_iterations; ++iteration) {
    if (run.report({options.phase, solution.iterations, options.max_iterations, here.objective()}, why) == Flow::stop)
      return finish(why);

    // Where components run to the edge, gains go on for thousands of steps and change nothing that is shown.
    if (iteration % look_every == look_every - 1) {
      if (here.objective() - at_last_look <= 0.02 * options.tolerance * scale) return finish(StopReason::converged);
      at_last_look = here.objective();
    }

    std::vector<double> direction;
    double slope = 0.0;
    const bool warm_up = iteration < 3;
    if (!warm_up) {
      direction = memory.apply(g, metric);
      slope = dot(g, direction);
      if (!(slope > 0.0) || !std::isfinite(slope)) {
        memory.clear();
        direction = memory.apply(g, metric);
        slope = dot(g, direction);
      }
      // Expected distance to the maximum of the quadratic model. Twice in a row, far below the tolerance: the model learns
      // flat directions only as it walks them.
      if (0.5 * slope <= 1e-3 * options.tolerance * scale) {
        if (++small_gains >= 2) return finish(StopReason::converged);
      } else {
        small_gains = 0;
      }
      double longest = 0.0;
      for (double value : direction) longest = std::max(longest, std::abs(value));
      if (longest > 5.0) {
        for (double& value : direction) value *= 5.0 / longest;
        slope *= 5.0 / longest;
      }
    }

    Parameters next;
    Evaluation there;
    bool accepted = false;
    double step = 1.0;
    for (int attempt = 0; !warm_up && attempt < 8; ++attempt) {
      next = parameters;
      move(next, variables, direction, step);
      there = objective.evaluate(next);
      ++solution.iterations;
      const double gain = there.objective() - here.objective();
      const double rounding = 1e-15 * scale;
      if (gain >= 1e-4 * step * slope - rounding && std::isfinite(there.objective())) {
        accepted = gain > 0.0 || step * slope > rounding;
        break;
      }
      // The parabola through both values and the slope at the start.
      const double vertex = std::isfinite(gain) ? 0.5 * step * step * slope / (step * slope - gain) : 0.1 * step;
      step = std::clamp(vertex, 0.1 * step, 0.5 * step);
    }
    if (!accepted) {
      if (!warm_up && 0.5 * slope <= 1e-13 * scale) return finish(StopReason::converged);
      next = parameters;
      mm_step(objective, here, next, options.fixed_weights, false);
      there = objective.evaluate(next);
      ++solution.iterations;
      if (variables.num_ties > 0) {
        mm_step(objective, there, next, true, true);
        there = objective.evaluate(next);
        ++solution.iterations;
      }
      const double gain = there.objective() - here.objective();
      if (!(gain > 1e-15 * scale)) return finish(StopReason::converged);
      if (!warm_up) memory.clear();
    }
    gradient(objective, next, there, variables, g_next, metric_next);
    std::vector<double> moved(variables.size()), drop(variables.size());
    for (std::size_t j = 0; j < variables.num_utilities; ++j) moved[j] = next.utilities[j] - parameters.utilities[j];
    for (std::size_t k = 0; k < variables.num_weights && variables.by_voter; ++k)
      moved[variables.num_utilities + k] = next.gamma[k] - parameters.gamma[k];
    for (std::size_t k = 0; k < variables.num_weights && !variables.by_voter; ++k)
      moved[variables.num_utilities + k] =
          next.weights[k] > 0.0 && parameters.weights[k] > 0.0 ? std::log(next.weights[k] / parameters.weights[k]) : 0.0;
    for (std::size_t o = 0; o < variables.num_ties; ++o)
      moved[variables.num_utilities + variables.num_weights + o] = next.ties.log_delta[o] - parameters.ties.log_delta[o];
    for (std::size_t j = 0; j < variables.size(); ++j) drop[j] = g[j] - g_next[j];
    memory.add(std::move(moved), std::move(drop));
    std::swap(g, g_next);
    std::swap(metric, metric_next);
    parameters = std::move(next);
    here = std::move(there);
    solution.trace.push_back(here.objective());
  }
  return finish(StopReason::iteration_limit);
}

}  // namespace caucus::pl_mixture
