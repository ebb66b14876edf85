#include "caucus/infer/mallows_mixture/subset_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/infer/mallows_mixture/completion_engine.h"
#include "caucus/infer/mallows_mixture/subset_engine.h"

namespace caucus::mallows_mixture {

namespace {

// Monte Carlo EM begins with few completions, at least this many, and takes four times as many whenever it has come to rest.
constexpr std::size_t first_completions = 32, more_completions = 4;
constexpr int steps_per_size = 12;
// A fit warns beyond: nats per ballot, and part of a dispersion.
constexpr double largest_loglik_error = 0.01, largest_theta_error = 0.01;

std::size_t most_completions(const Dataset& data, const MallowsOptions& options) {
  if (options.completions) return static_cast<std::size_t>(*options.completions);
  const double n = static_cast<double>(data.num_items());
  return static_cast<std::size_t>(
      std::clamp(1.5e8 / (static_cast<double>(data.rankings.size()) * options.components * n * n), 32.0, 2048.0));
}

// Labels of start number `index`. One group: all ballots, then random halves. More: every ballot a random group, or in every second
// start one ballot in five only, so that the groups begin farther apart.
std::vector<std::uint32_t> start_labels(std::size_t count, std::size_t num_components, std::uint64_t index, std::uint64_t seed) {
  RandomStream stream(seed, Purpose::initialise, index);
  const auto none = static_cast<std::uint32_t>(num_components);
  std::vector<std::uint32_t> labels(count, 0);
  if (num_components == 1 && index == 0) return labels;
  const bool part = num_components == 1 || (index % 2 == 1 && count > 10 * num_components);
  const double kept = num_components == 1 ? 0.5 : 0.2;
  for (std::uint32_t& label : labels) {
    label = static_cast<std::uint32_t>(stream.below(num_components));
    if (part && stream.uniform() >= kept) label = none;
  }
  return labels;
}

class Search {
 public:
  Search(const Dataset& data, const MallowsOptions& options, const Run& run) : data_(data), options_(options), run_(run) {}

  const StopReason* stopped() const { return stopped_ ? &why_ : nullptr; }

  EmResult em(const Engine& engine, Parameters start) {
    const EmOptions limits{options_.iterations, options_.tolerance, options_.accelerate};
    return run_em(engine, std::move(start), limits, run_.threads,
                  [&](int iteration, double loglik) { return tell("em", iteration, loglik) ? &why_ : nullptr; });
  }

  // EM whose likelihoods are estimates: centers may go on moving to and fro, so it rests when two steps in turn gain less than
  // `worth`.
  EmResult noisy_em(const Engine& engine, Parameters now, double worth) {
    EmResult result{now, -infinity, 0, StopReason::iteration_limit, {}};
    int idle = 0;
    while (result.iterations < std::min(options_.iterations, steps_per_size)) {
      Parameters next;
      const double loglik = engine.step(now, true, run_.threads, next);
      ++result.iterations;
      idle = loglik > result.loglik + worth ? 0 : idle + 1;
      if (loglik > result.loglik) result.loglik = loglik, result.parameters = std::move(now), result.trace.push_back(loglik);
      now = std::move(next);
      if (tell("em with completions", result.iterations, loglik)) {
        result.stop_reason = why_;
        break;
      }
      if (idle == 2) {
        result.stop_reason = StopReason::converged;
        break;
      }
    }
    return result;
  }

  // All starts; the ended ones, best first. run(start) -> EmResult.
  template <class RunStart>
  std::vector<EmResult> starts(const Engine& engine, int count, RunStart&& run_start) {
    const auto num_components = static_cast<std::size_t>(options_.components);
    std::vector<EmResult> ended;
    for (int s = 0; s < count && !stopped_; ++s) {
      const auto labels = start_labels(data_.rankings.size(), num_components, static_cast<std::uint64_t>(s), run_.seed);
      ended.push_back(run_start(engine.from_labels(labels, num_components)));
    }
    std::stable_sort(ended.begin(), ended.end(), [](const EmResult& a, const EmResult& b) { return a.loglik > b.loglik; });
    return ended;
  }

 private:
  bool tell(std::string_view phase, int iteration, double loglik) {
    stopped_ = run_.report({phase, iteration, options_.iterations, loglik}, why_) == Flow::stop;
    return stopped_;
  }

  const Dataset& data_;
  const MallowsOptions& options_;
  const Run& run_;
  StopReason why_ = StopReason::converged;
  bool stopped_ = false;
};

FitResult take(std::vector<EmResult> ended, int starts, double agreement) {
  FitResult result;
  result.starts = {.tried = starts};
  for (const EmResult& end : ended) {
    result.iterations += end.iterations;
    result.starts.finished += end.stop_reason == StopReason::converged || end.stop_reason == StopReason::iteration_limit;
    result.starts.agreeing += ended[0].loglik - end.loglik <= agreement * (1.0 + std::abs(ended[0].loglik));
  }
  result.parameters = std::move(ended[0].parameters);
  result.trace = std::move(ended[0].trace);
  result.stop_reason = ended[0].stop_reason;
  return result;
}

void report_error(FitResult& result, const MonteCarloError& error, double num_rankings) {
  double worst = 0.0;
  for (std::size_t k = 0; k < error.theta.size(); ++k) {
    const double size = result.parameters.theta[k][0];
    if (result.parameters.weight[k] * num_rankings >= 0.5 && size > 0.0) worst = std::max(worst, error.theta[k] / size);
  }
  result.monte_carlo = true;
  Record own;
  own.set("completions", error.completions).set("loglik_error", error.loglik).set("theta_error", error.theta);
  result.details.set("monte_carlo", own);
  if (error.loglik > largest_loglik_error * num_rankings || worst > largest_theta_error)
    result.warnings.push_back(
        fmt::format("these rankings of subsets are too long for exact probabilities; with {} completions a ballot the "
                    "log-likelihood has a Monte Carlo error of "
                    "{:.3g}, a dispersion one of {:.2g} %: more --completions make it smaller",
                    error.completions, error.loglik, 100.0 * worst));
}

// Each size of the sample runs to rest from where the one before ended; its draws begin with the same random numbers.
FitResult fit_by_completions(Search& search, const Dataset& data, const MallowsOptions& options, const Run& run) {
  const std::size_t most = most_completions(data, options);
  const auto engine = [&](std::size_t completions) {
    return CompletionEngine(data.rankings, data.num_items(), options.consensus, completions, run.seed, limits_of(run));
  };
  std::size_t completions = most;
  while (completions / more_completions >= first_completions) completions /= more_completions;
  const int starts = options.restarts.value_or(options.components == 1 ? 1 : 4);
  const CompletionEngine first = engine(completions);
  // Until the error is known, a tenth of a nat counts.
  FitResult result = take(
      search.starts(first, starts, [&](Parameters start) { return search.noisy_em(first, std::move(start), 0.1); }), starts, 1e-4);
  MonteCarloError error = first.error(result.parameters, run.threads);
  while (completions < most && search.stopped() == nullptr) {
    completions = std::min(most, completions * more_completions);
    const CompletionEngine larger = engine(completions);
    EmResult end = search.noisy_em(larger, std::move(result.parameters), 0.1 * error.loglik);
    result.iterations += end.iterations;
    result.trace = std::move(end.trace);
    result.parameters = std::move(end.parameters);
    result.stop_reason = end.stop_reason;
    error = larger.error(result.parameters, run.threads);
  }
  report_error(result, error, data.rankings.total_weight());
  return result;
}

}  // namespace

MakeEngine subset_engines(const Dataset& data, const MallowsOptions& options, const Run& run) {
  const std::size_t n = data.num_items();
  if (SubsetEngine::affordable(data.rankings, n))
    return [n, &run](const RankingSet& rankings) -> std::unique_ptr<Engine> {
      return std::make_unique<SubsetEngine>(rankings, n, limits_of(run));
    };
  return [n, consensus = options.consensus, completions = most_completions(data, options),
          &run](const RankingSet& rankings) -> std::unique_ptr<Engine> {
    return std::make_unique<CompletionEngine>(rankings, n, consensus, completions, run.seed, limits_of(run));
  };
}

FitResult fit_subsets(const Dataset& data, const MallowsOptions& options, const MakeEngine& make_engine, const Run& run) {
  Search search(data, options, run);
  FitResult result;
  if (SubsetEngine::affordable(data.rankings, data.num_items())) {
    const std::unique_ptr<Engine> engine = make_engine(data.rankings);
    const int starts = options.restarts.value_or(options.components == 1 ? 4 : 12);
    result =
        take(search.starts(*engine, starts, [&](Parameters start) { return search.em(*engine, std::move(start)); }), starts, 1e-7);
  } else {
    result = fit_by_completions(search, data, options, run);
  }
  if (const StopReason* why = search.stopped()) result.stop_reason = *why;
  sort_components(result.parameters);
  return result;
}

}  // namespace caucus::mallows_mixture
