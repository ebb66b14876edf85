#include "caucus/infer/mallows_mixture/multistart.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include "caucus/base/deferred.h"
#include "caucus/base/parallel.h"
#include "caucus/data/weights.h"
#include "caucus/infer/mallows_mixture/fit.h"
#include "caucus/infer/mallows_mixture/starts.h"
#include "caucus/infer/multistart.h"
#include "caucus/infer/regroup.h"

namespace caucus::mallows_mixture {

namespace {

constexpr std::size_t screen_above = many_rankings, screen_size = 8'000;
// Work is counted in distances of a ranking from a center, with what goes with them; about half a nanosecond a unit.
constexpr double budget = 4e9;

using Tell = std::function<StopReason*(int iteration, double loglik)>;

bool stopped(const EmResult& result) {
  return result.stop_reason == StopReason::interrupted || result.stop_reason == StopReason::time_limit;
}

// EM stops where every center is best given the memberships; a neighbouring center with other memberships may still be better.
// Tries all swaps of neighbours in all centers (a few steps with the centers at rest for the better ones), follows the best ones by
// EM unless their centers go back, and repeats.
void improve(const Engine& engine, EmResult& best, const EmOptions& options, const Workers& workers, const Tell& tell) {
  const std::size_t num_components = best.parameters.weight.size(), n = engine.num_items();
  const double least_gain = 1e-8 * (1.0 + std::abs(best.loglik));
  for (int round = 0; round < 50 && n > 1 && n <= 64; ++round) {
    struct Trial {
      double loglik;
      Parameters parameters;
    };
    std::vector<Trial> trials;
    const auto best_first = [&] {
      std::stable_sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) { return a.loglik > b.loglik; });
    };
    // Trials go side by side, each with one thread; processes share the passes of one after the other.
    const bool side_by_side = workers.ranks == nullptr && workers.journal == nullptr;
    const Workers own = side_by_side ? Workers(1) : workers;
    std::atomic<bool> stop = false;
    const auto all_trials = [&](const std::function<void(Trial&)>& body) {
      parallel_for(trials.size(), side_by_side ? workers.threads : 1, [&](std::size_t t) {
        if (stop) return;
        body(trials[t]);
        if (tell(best.iterations, trials[t].loglik) != nullptr) stop = true;
      });
    };
    const std::vector<double> after_swaps = engine.after_swaps(best.parameters, workers);
    for (std::size_t k = 0; k < num_components; ++k)
      for (std::size_t p = 0; p + 1 < n; ++p) {
        trials.push_back({after_swaps.empty() ? 0.0 : after_swaps[k * (n - 1) + p], best.parameters});
        std::swap(trials.back().parameters.center[k][p], trials.back().parameters.center[k][p + 1]);
      }
    const auto step = [&](Trial& trial) {
      Parameters next;
      trial.loglik = engine.step(trial.parameters, false, own, next);
      return next;
    };
    if (after_swaps.empty()) {
      all_trials([&](Trial& trial) { trial.parameters = step(trial); });
      best.iterations += static_cast<int>(trials.size());
    } else {
      best.iterations += 2;  // about as much work
    }
    // The likelihood at the swap tells most of them; the better ones get a few steps.
    best_first();
    trials.resize(std::min(trials.size(), std::max<std::size_t>(6, trials.size() / 5)));
    const int steps = after_swaps.empty() ? 3 : 4;
    all_trials([&](Trial& trial) {
      for (int s = 1; s < steps; ++s) trial.parameters = step(trial);
      step(trial);  // the last one for its likelihood
    });
    best.iterations += steps * static_cast<int>(trials.size());
    if (stop) return;
    best_first();
    bool improved = false;
    for (std::size_t t = 0; t < trials.size() && t < 3 && !improved; ++t) {
      EmOptions away = options;
      away.known = &best.parameters;
      EmResult moved = run_em(engine, trials[t].parameters, away, workers, tell);
      if (stopped(moved)) return;
      const int iterations = best.iterations + moved.iterations;
      if (moved.loglik > best.loglik + least_gain) {
        moved.trace.insert(moved.trace.begin(), best.trace.begin(), best.trace.end());
        best = std::move(moved);
        improved = true;
      }
      best.iterations = iterations;
    }
    if (!improved) return;
  }
}

class Problem {
 public:
  using Solution = EmResult;
  // Worked out by the attempt: side by side with others, and not at all where a checkpoint has what came of it.
  using Point = std::function<Parameters()>;

  Problem(const RankingSet& rankings, std::size_t num_items, const MallowsMixtureOptions& options, const MakeEngine& make_engine,
          const Run& run, double step_cost)
      : options_(options),
        num_components_(static_cast<std::size_t>(options.components)),
        observer_(run.observer),
        run_(run.alone()),
        together_(run),
        dear_(step_cost > 1.0) {
    run_.observer = together_.observer = &observer_;
    if (rankings.size() > screen_above && num_components_ > 1) {
      RandomStream random(run.seed, Purpose::permute, 0);
      part_ = draw_by_weight(rankings, screen_size, random);
      full_ = make_engine(rankings);
    }
    const RankingSet& seen = full_ ? part_ : rankings;
    engine_ = make_engine(seen);
    // One group starts where all are: nothing is to be near anything.
    seeds_.emplace(seen, num_items, ConsensusMethod::local, limits_of(run),
                   std::pair<std::size_t, std::size_t>(0, seen.size() > screen_above ? 0 : seen.size()));
    starts_.emplace(*seeds_, seen, num_components_, options.init, run.seed, [&run] { return should_stop(run); });
    regrouper_.emplace(seen, num_items, Unranked::last, [&run] { return should_stop(run); });
    // A start from given labels comes on top, and first.
    warm_ = num_components_ > 1 && run.labels.size() == rankings.size() ? 1 : 0;
    const double n = static_cast<double>(num_items);
    const double pairs = n * n / (num_items <= PairBits::max_items ? 8.0 : 1.0);
    // The search for a center goes over triples of items: about 2 n^3 units, which counts from some thirty items on.
    cost_ = static_cast<double>(num_components_) *
            (step_cost * (static_cast<double>(seen.size()) * (8.0 + pairs) + 3000.0) + 2.0 * n * n * n);
    em_ = {options.iterations, options.tolerance, options.accelerate};
    // Starts need not be finished to be told apart; the best one is, below.
    if (num_components_ > 1) em_.tolerance = std::max(em_.tolerance, 1e-7);
  }

  int warm() const { return warm_; }
  // Where a step is dear, more starts are worth more than moves of the centers.
  int refined() const { return num_components_ == 1 ? 0 : dear_ ? 2 : 4; }
  std::size_t screened_on() const { return engine_->num_rankings(); }

  Solution start(int number) const {
    Parameters from = number < warm_
                          ? (full_ ? *full_ : *engine_).from_labels(run_.labels, num_components_)
                          : engine_->from_labels(starts_->labels(static_cast<std::uint64_t>(number - warm_)), num_components_);
    return num_components_ == 1 ? go_together(*engine_, std::move(from), em_, "em") : go(*engine_, std::move(from), em_, "em");
  }
  std::vector<Point> moves(const Solution& best, int time) const {
    const auto moves = std::make_shared<Deferred<Moves>>([this, from = best.parameters, time] {
      RandomStream random(run_.seed, Purpose::permute, 1 + static_cast<std::uint64_t>(time));
      return Moves{from, regrouper_->moves(standing_of(from), num_components_, random)};
    });
    std::vector<Point> points;
    for (std::size_t m = 0; m < Regrouper::num_moves(num_components_); ++m)
      points.emplace_back([this, moves, m] { return moved(moves->get(), m); });
    return points;
  }
  std::vector<Point> cross(const Solution& one, const Solution& two, int time) const {
    const auto children = std::make_shared<Deferred<std::vector<Parameters>>>(
        [this, one = one.parameters, two = two.parameters, time] { return crossed(one, two, time); });
    return {[children] { return children->get()[0]; }, [children] { return children->get()[1]; }};
  }
  Solution attempt(const Point& point) const {
    EmOptions brief = em_;
    brief.iterations = std::min(em_.iterations, 4);
    return go(*engine_, point(), brief, "moves");
  }
  Solution attempt(Solution solution) const {
    if (solution.stop_reason == StopReason::converged) return solution;
    EmOptions brief = em_;
    brief.iterations = std::min(em_.iterations, 4);
    return go(*engine_, std::move(solution.parameters), brief, "moves");
  }
  Solution finish(Solution solution) const {
    if (solution.stop_reason == StopReason::converged) return solution;
    return go(*engine_, std::move(solution.parameters), em_, "moves");
  }
  // Moves of the centers; on all rankings where the runs saw a part.
  Solution refine(Solution solution) const {
    improve(*engine_, solution, em_, together_.workers(), tell(together_, "neighbouring centers"));
    if (!full_) return solution;
    return go_together(*full_, std::move(solution.parameters), em_, "em");
  }
  // To the tolerance asked for.
  Solution polish(Solution solution) const {
    EmOptions last = em_;
    last.tolerance = options_.tolerance;
    Solution end = go_together(full_ ? *full_ : *engine_, std::move(solution.parameters), last, "em, to the end");
    end.trace.insert(end.trace.begin(), solution.trace.begin(), solution.trace.end());
    end.iterations += solution.iterations;
    return end;
  }

  static double value(const Solution& solution) { return solution.loglik; }
  double work(const Solution& solution) const { return solution.iterations * cost_; }
  static bool stopped(const Solution& solution) { return mallows_mixture::stopped(solution); }

 private:
  struct Moves {
    Parameters from;
    std::vector<Regrouping> list;
  };

  Standing standing_of(const Parameters& parameters) const {
    Standing standing{std::vector<double>(engine_->num_rankings() * num_components_), {}};
    engine_->log_joint(parameters, 1, standing.memberships);
    for (std::size_t i = 0; i < engine_->num_rankings(); ++i) {
      const auto row = std::span(standing.memberships).subspan(i * num_components_, num_components_);
      const double total = log_sum_exp(row);
      standing.log_probs.push_back(total);
      for (double& value : row) value = std::exp(value - total);
    }
    return standing;
  }
  Parameters moved(const Moves& moves, std::size_t number) const {
    if (number >= moves.list.size()) return moves.from;  // stopped before it was made
    const Regrouping& move = moves.list[number];
    Parameters fitted = engine_->from_labels(move.labels, num_components_), start = moves.from;
    for (std::size_t k : move.fresh) {
      start.weight[k] = fitted.weight[k];
      start.center[k] = std::move(fitted.center[k]);
      start.theta[k] = std::move(fitted.theta[k]);
    }
    to_shares(start.weight);
    return start;
  }
  std::vector<Parameters> crossed(const Parameters& one, const Parameters& two, int time) const {
    const Standing standing_one = standing_of(one), standing_two = standing_of(two);
    RandomStream random(run_.seed, Purpose::permute, ~static_cast<std::uint64_t>(time));
    std::vector<Parameters> children(2);
    for (Parameters& child : children) {
      for (const GroupOf& from : regrouper_->cross(standing_one, standing_two, num_components_, random)) {
        const Parameters& parent = from.second ? two : one;
        child.weight.push_back(parent.weight[from.group]);
        child.center.push_back(parent.center[from.group]);
        child.theta.push_back(parent.theta[from.group]);
      }
      to_shares(child.weight);
    }
    return children;
  }
  Tell tell(const Run& run, std::string_view phase) const {
    return [this, &run, phase](int iteration, double loglik) -> StopReason* {
      StopReason why{};
      if (run.report({phase, iteration, options_.iterations, loglik}, why) == Flow::proceed) return nullptr;
      return why == StopReason::interrupted ? &interrupted_ : &time_limit_;
    };
  }
  // One of several side by side.
  Solution go(const Engine& engine, Parameters from, const EmOptions& em, std::string_view phase) const {
    return run_em(engine, std::move(from), em, 1, tell(run_, phase));
  }
  // With all threads and processes.
  Solution go_together(const Engine& engine, Parameters from, const EmOptions& em, std::string_view phase) const {
    return run_em(engine, std::move(from), em, together_.workers(), tell(together_, phase));
  }

  const MallowsMixtureOptions& options_;
  std::size_t num_components_;
  SharedObserver observer_;
  Run run_, together_;  // of a start among others; of what is done alone
  bool dear_;
  RankingSet part_;
  std::unique_ptr<Engine> engine_, full_;  // of what the starts see; of all where that is a part
  std::optional<MallowsEngine> seeds_;
  std::optional<Starts> starts_;
  std::optional<Regrouper> regrouper_;
  EmOptions em_;
  int warm_ = 0;
  double cost_ = 0.0;
  mutable StopReason interrupted_ = StopReason::interrupted, time_limit_ = StopReason::time_limit;  // to point at
};

}  // namespace

void sort_components(Parameters& parameters) {
  const std::size_t num_components = parameters.weight.size();
  std::vector<std::size_t> order(num_components);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return parameters.weight[a] > parameters.weight[b]; });
  Parameters sorted;
  for (std::size_t k : order) {
    sorted.weight.push_back(parameters.weight[k]);
    sorted.center.push_back(std::move(parameters.center[k]));
    sorted.theta.push_back(std::move(parameters.theta[k]));
  }
  parameters = std::move(sorted);
}

MultistartResult run_multistart(const RankingSet& rankings, std::size_t num_items, const MallowsMixtureOptions& options,
                                const MakeEngine& make_engine, const Run& run, double step_cost) {
  Problem problem(rankings, num_items, options, make_engine, run, step_cost);
  MultistartPlan plan;
  plan.starts = options.restarts;
  // Tensor starts differ only in where their least squares begin, and each is the best of a dozen: few are enough.
  if (!plan.starts && options.init == MallowsStart::tensor) plan.starts = 3;
  if (options.components == 1) plan.starts = 1;
  if (plan.starts) *plan.starts += problem.warm();
  plan.budget = budget * run.effort;
  plan.least = least_share(effective_size(rankings), static_cast<std::size_t>(options.components) * num_items);
  plan.workers = options.components == 1 ? Workers(1) : run.workers();
  plan.same = 1e-7;
  plan.refined = problem.refined();
  auto found = Multistart(problem, plan).run();
  MultistartResult result;
  result.starts = found.record;
  result.screened_on = problem.screened_on();
  result.best = std::move(found.best);
  if (found.stopped) result.best.stop_reason = run.out_of_time() ? StopReason::time_limit : StopReason::interrupted;
  if (options.components > 1 && !stopped(result.best)) result.best = problem.polish(std::move(result.best));
  sort_components(result.best.parameters);
  return result;
}

}  // namespace caucus::mallows_mixture
