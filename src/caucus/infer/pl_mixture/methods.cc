#include "caucus/infer/pl_mixture/methods.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/random.h"
#include "caucus/infer/squarem.h"

namespace caucus::pl_mixture {

namespace {

// One point of the iteration: parameters with what an E-step says of them.
struct Point {
  Parameters parameters;
  Evaluation evaluation;
  std::vector<double> posterior;
  Buffer<double> placed;  // em-lsr: as Objective::evaluate_all gives them
  double objective() const { return evaluation.objective(); }
};

class Driver {
 public:
  Driver(const Objective& objective, Method method, Chain chain, const SolveOptions& options, const Run& run)
      : objective_(objective), method_(method), chain_(chain), options_(options), run_(run) {}

  Solution monotone(Parameters start) {
    Point here = at(std::move(start));
    begin(here);
    StopReason why = StopReason::iteration_limit;
    double previous_gain = 0.0;
    int settled = 0;
    while (solution_.iterations < options_.max_iterations) {
      if (run_.report({options_.phase, solution_.iterations, options_.max_iterations, here.objective()}, why) == Flow::stop) break;
      why = StopReason::iteration_limit;
      const Point one = step(here), two = step(one);
      Point best = extrapolate(here, one, two);
      const double gain = best.objective() - here.objective();
      here = std::move(best);
      solution_.trace.push_back(here.objective());
      // Aitken: with gains shrinking by a constant factor, this much is still to come.
      const double ratio = previous_gain > 0.0 ? std::clamp(gain / previous_gain, 0.0, 0.999) : 0.999;
      const double left = gain * ratio / (1.0 - ratio);
      const double scale = std::max(std::abs(here.evaluation.loglik), 1.0);
      settled = gain <= 0.1 * options_.tolerance * scale && left <= options_.tolerance * scale ? settled + 1 : 0;
      previous_gain = gain;
      if (settled >= 3 || !(gain > 1e-15 * scale)) {
        why = StopReason::converged;
        break;
      }
    }
    return end(here, why);
  }

  Solution surrogate(Parameters start) {
    const PairCounter pairs(objective_);
    Point here = at(std::move(start));
    begin(here);
    StopReason why = StopReason::iteration_limit;
    while (solution_.iterations < options_.max_iterations) {
      if (run_.report({options_.phase, solution_.iterations, options_.max_iterations, here.objective()}, why) == Flow::stop) break;
      why = StopReason::iteration_limit;
      const std::vector<double> old = here.parameters.utilities;
      Parameters next = here.parameters;
      const auto above = pairs.count(here.posterior);
      for (std::size_t k = 0; k < next.num_components(); ++k) {
        if (here.evaluation.responsibility[k] < 1e-9) continue;
        if (method_ == Method::em_cml)
          composite_step(above[k], objective_.strength(), next.component(k));
        else
          moment_step(above[k], next.component(k));
      }
      if (!options_.fixed_weights) objective_.update_weights(here.evaluation, next);
      here = at(std::move(next));
      solution_.trace.push_back(here.objective());
      double moved = 0.0;
      for (std::size_t j = 0; j < old.size(); ++j) moved = std::max(moved, std::abs(here.parameters.utilities[j] - old[j]));
      if (moved < 1e-6) {
        why = StopReason::converged;
        break;
      }
    }
    return end(here, why);
  }

  // Liu et al. (2019): each ranking goes to one component at random, by its memberships, and unweighted LSR runs on each cluster.
  Solution stochastic(Parameters start) {
    Point here = at(std::move(start)), best = here;
    begin(here);
    StopReason why = StopReason::iteration_limit;
    constexpr int patience = 30;
    const RankingSet& rankings = objective_.data().rankings;
    const std::size_t num = objective_.num_components();
    int since_best = 0;
    for (int iteration = 0; solution_.iterations < options_.max_iterations; ++iteration) {
      if (run_.report({options_.phase, solution_.iterations, options_.max_iterations, here.objective()}, why) == Flow::stop) break;
      why = StopReason::iteration_limit;
      std::vector<double> hard(here.posterior.size(), 0.0);
      RandomStream random(run_.seed, Purpose::augment, static_cast<std::uint64_t>(iteration));
      for (std::size_t i = 0; i < rankings.size(); ++i) {
        const auto row = std::span<const double>(here.posterior).subspan(i * num, num);
        // A ranking that stands for w voters is w draws, as long as that is cheap.
        const double weight = rankings.weight(i);
        const bool each = weight <= 50.0 && weight == std::floor(weight) && weight >= 1.0;
        const int draws = each ? static_cast<int>(weight) : 1;
        for (int draw = 0; draw < draws; ++draw) hard[i * num + random.categorical(row)] += 1.0 / draws;
      }
      Parameters next = here.parameters;
      std::vector<double> sizes(num, 0.0);
      for (std::size_t i = 0; i < rankings.size(); ++i)
        for (std::size_t k = 0; k < num; ++k) sizes[k] += rankings.weight(i) * hard[i * num + k];
      for (std::size_t k = 0; k < num; ++k)
        if (sizes[k] > 0.0) weighted_lsr(objective_, {hard, num, k}, chain_, 3, 1e-6, next.component(k));
      const double total = sum(sizes);
      if (!options_.fixed_weights)
        for (std::size_t k = 0; k < num; ++k) next.weights[k] = (sizes[k] + 1e-6) / (total + 1e-6 * static_cast<double>(num));
      here = at(std::move(next));
      solution_.trace.push_back(here.objective());
      if (here.objective() > best.objective()) {
        if (here.objective() > best.objective() + options_.tolerance * std::abs(best.objective())) since_best = 0;
        best = here;
      }
      if (++since_best > patience) {
        why = StopReason::converged;
        break;
      }
    }
    solution_.trace.push_back(best.objective());
    return end(best, why);
  }

 private:
  Point at(Parameters parameters) {
    Point point;
    point.parameters = std::move(parameters);
    if (method_ == Method::em_lsr && memberships_for_lsr(objective_, chain_) == Objective::Whose::own)
      point.evaluation = objective_.evaluate_all(point.parameters, point.placed);
    else
      point.evaluation = objective_.evaluate(point.parameters, method_ == Method::emm ? nullptr : &point.posterior);
    ++solution_.iterations;
    return point;
  }

  Shares shares_of(const Point& point, std::size_t k) const {
    const bool placed = !point.placed.empty();
    return {placed ? std::span<const double>(point.placed.data(), point.placed.size()) : std::span<const double>(point.posterior),
            point.parameters.num_components(), k, placed && objective_.memberships_by_place()};
  }

  Point step(const Point& from) {
    if (method_ == Method::em_lsr) {
      Parameters next = from.parameters;
      for (std::size_t k = 0; k < next.num_components(); ++k)
        if (from.evaluation.responsibility[k] > 1e-9)
          weighted_lsr(objective_, shares_of(from, k), chain_, 5, 1e-7, next.component(k));
      if (!options_.fixed_weights) objective_.update_weights(from.evaluation, next);
      Point point = at(std::move(next));
      // A single chain may overshoot where a component is nearly disconnected; the MM step never does.
      if (point.objective() >= from.objective() - 1e-13 * std::abs(from.objective())) return point;
    }
    Parameters next = from.parameters;
    mm_step(objective_, from.evaluation, next, options_.fixed_weights, false);
    Point point = at(std::move(next));
    if (!objective_.has_ties()) return point;
    mm_step(objective_, point.evaluation, point.parameters, true, true);
    return at(std::move(point.parameters));
  }

  // x0 - 2 a r + a^2 v with r = x1 - x0, v = x2 - 2 x1 + x0, a = -|r| / |v|: kept only where it beats two plain steps.
  Point extrapolate(const Point& zero, const Point& one, const Point& two) {
    const auto coordinates = [](const Parameters& p) {
      std::vector<double> x = p.utilities;
      for (double weight : p.weights) x.push_back(std::log(std::max(weight, 1e-300)));
      x.insert(x.end(), p.ties.log_delta.begin(), p.ties.log_delta.end());
      x.insert(x.end(), p.gamma.begin(), p.gamma.end());
      return x;
    };
    const auto x0 = coordinates(zero.parameters), x1 = coordinates(one.parameters), x2 = coordinates(two.parameters);
    const auto x = squarem(x0, x1, x2, 64.0);
    if (!x) return two;
    Parameters next = two.parameters;
    const auto value = [&](std::size_t j) { return (*x)[j]; };
    const std::size_t utilities = next.utilities.size(), num = next.num_components();
    for (std::size_t j = 0; j < utilities; ++j) next.utilities[j] = value(j);
    if (!options_.fixed_weights && num > 1) {
      std::vector<double> logs;
      for (std::size_t k = 0; k < num; ++k) logs.push_back(value(utilities + k));
      const double shift = log_sum_exp(logs);
      for (std::size_t k = 0; k < num; ++k) next.weights[k] = std::exp(logs[k] - shift);
    }
    for (std::size_t o = 0; o < next.ties.log_delta.size(); ++o) next.ties.log_delta[o] = value(utilities + num + o);
    if (!options_.fixed_weights)
      for (std::size_t j = 0; j < next.gamma.size(); ++j) next.gamma[j] = value(utilities + num + next.ties.log_delta.size() + j);
    for (double v : next.utilities)
      if (!std::isfinite(v)) return two;
    Point point = at(std::move(next));
    return point.objective() > two.objective() ? point : two;
  }

  void begin(const Point& start) { solution_.trace.push_back(start.objective()); }
  Solution end(Point& point, StopReason why) {
    solution_.parameters = std::move(point.parameters);
    solution_.loglik = point.evaluation.loglik;
    solution_.objective = point.evaluation.objective();
    solution_.stop_reason = why;
    return std::move(solution_);
  }

  const Objective& objective_;
  Method method_;
  Chain chain_;
  const SolveOptions& options_;
  const Run& run_;
  Solution solution_;
};

}  // namespace

Solution run_method(const Objective& objective, Method method, Chain chain, Parameters start, const SolveOptions& options,
                    const Run& run) {
  objective.complete(start);
  if (method == Method::em || !(objective.total_weight() > 0.0)) return maximise(objective, std::move(start), options, run);
  Driver driver(objective, method, chain, options, run);
  if (method == Method::em_cml || method == Method::em_gmm) return driver.surrogate(std::move(start));
  if (method == Method::em_slsr) return driver.stochastic(std::move(start));
  return driver.monotone(std::move(start));
}

}  // namespace caucus::pl_mixture
