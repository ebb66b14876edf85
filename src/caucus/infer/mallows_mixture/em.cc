#include "caucus/infer/mallows_mixture/em.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/infer/squarem.h"
#include "caucus/model/stage.h"

namespace caucus::mallows_mixture {

namespace {

constexpr double least_theta = 1e-8, least_weight = 1e-200;

std::vector<double> flatten(const Parameters& p) {
  std::vector<double> x;
  for (double weight : p.weight) x.push_back(std::log(std::max(weight, least_weight)));
  for (const auto& theta : p.theta)
    for (double value : theta) x.push_back(std::log(std::max(value, least_theta)));
  return x;
}

Parameters unflatten(const std::vector<double>& x, const Parameters& like) {
  Parameters p = like;
  const std::size_t num_components = p.weight.size();
  const double norm = log_sum_exp(std::span(x).first(num_components));
  for (std::size_t k = 0; k < num_components; ++k) p.weight[k] = std::exp(x[k] - norm);
  std::size_t at = num_components;
  for (auto& theta : p.theta)
    for (double& value : theta) value = std::clamp(std::exp(x[at++]), least_theta, max_theta);
  return p;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double total = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) total += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(total);
}

}  // namespace

EmResult run_em(const Engine& engine, Parameters start, const EmOptions& options, const Workers& workers,
                const std::function<StopReason*(int, double)>& stopped) {
  EmResult result;
  Parameters now = std::move(start), next;
  int rested = 0;             // steps since a center moved
  double before = -infinity;  // log-likelihood of the step before
  double gain_before = infinity;
  const auto finish = [&](Parameters p, double loglik, StopReason reason) {
    result.parameters = std::move(p);
    result.loglik = loglik;
    result.stop_reason = reason;
    result.trace.push_back(loglik);
    return result;
  };
  // One pass; false when it is time to stop, with the result set.
  const auto pass = [&](const Parameters& at, bool move_centers, Parameters& to, double& loglik) {
    loglik = engine.step(at, move_centers, workers, to);
    ++result.iterations;
    if (StopReason* why = stopped(result.iterations, loglik)) {
      finish(at, loglik, *why);
      return false;
    }
    if (result.iterations >= options.iterations) {
      finish(at, loglik, StopReason::iteration_limit);
      return false;
    }
    return true;
  };
  const double tolerance = std::max(options.tolerance, 1e-15);
  while (true) {
    double loglik;
    if (!pass(now, true, next, loglik)) return result;
    result.trace.push_back(loglik);
    const bool moved = next.center != now.center;
    rested = moved ? 0 : rested + 1;
    const double gain = loglik - before;
    const double scale = tolerance * (1.0 + std::abs(loglik));
    if (rested >= 2 && options.known != nullptr && now.center == options.known->center) {
      result.trace.pop_back();
      return finish(std::move(now), loglik, StopReason::converged);
    }
    if (!moved) {
      // Aitken: gains shrink by a constant rate near the end.
      const double rate = gain_before < infinity && gain_before > 0.0 ? std::clamp(gain / gain_before, 0.0, 0.9999) : 0.9999;
      if (gain <= scale * (1.0 - rate) && rested >= 2) {
        result.trace.pop_back();
        return finish(std::move(now), loglik, StopReason::converged);
      }
    }
    gain_before = gain;
    before = loglik;
    if (!options.accelerate || rested < 2) {
      now = next;
      continue;
    }

    // A SQUAREM cycle: x0 = now, x1 = next.
    Parameters second, jumped_next;
    double loglik1;
    if (!pass(next, false, second, loglik1)) return result;
    result.trace.push_back(loglik1);
    const std::vector<double> x0 = flatten(now), x1 = flatten(next), x2 = flatten(second);
    const double step1 = distance(x1, x0), step2 = distance(x2, x1);
    // Gains go as squares of steps.
    const double ratio = step1 > 0.0 ? std::min(step2 / step1, 0.99999) : 0.0;
    if ((loglik1 - loglik) <= scale * (1.0 - ratio * ratio)) {
      // The centers may still move: only a full step may end the run.
      Parameters full;
      double last;
      if (!pass(second, true, full, last)) return result;
      if (full.center == second.center) return finish(std::move(second), last, StopReason::converged);
      result.trace.push_back(last);
      before = last;
      gain_before = infinity;
      rested = 0;
      now = std::move(full);
      continue;
    }
    now = second;
    before = loglik1;
    gain_before = infinity;
    const auto x = squarem(x0, x1, x2, 256.0);
    if (!x) continue;
    const Parameters jumped = unflatten(*x, second);
    double jumped_loglik;
    if (!pass(jumped, false, jumped_next, jumped_loglik)) {
      if (result.loglik < loglik1) {  // stopped at a jump that would have been taken back
        result.trace.pop_back();
        result.parameters = next;
        result.loglik = loglik1;
        result.trace.push_back(loglik1);
      }
      return result;
    }
    if (!(jumped_loglik >= loglik1)) continue;
    result.trace.push_back(jumped_loglik);
    before = jumped_loglik;
    now = std::move(jumped_next);
  }
}

}  // namespace caucus::mallows_mixture
