#include "caucus/infer/mallows_mixture/multistart.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "caucus/base/parallel.h"
#include "caucus/infer/mallows_mixture/starts.h"

namespace caucus::mallows_mixture {

namespace {

constexpr std::size_t screen_above = 20'000, screen_size = 8'000, polished = 2, improved_optima = 10;

// The observer hears of progress from one thread at a time; once it says stop, all starts stop.
class Reporter {
 public:
  Reporter(const Run& run, int limit) : run_(run), limit_(limit) {}

  StopReason* tell(std::string_view phase, int iteration, double objective) {
    if (stopped_.load(std::memory_order_acquire)) return &why_;  // with why_ as it was written before
    if (run_.observer == nullptr && run_.time_limit == infinity) return nullptr;
    const std::lock_guard lock(mutex_);
    if (stopped_) return &why_;
    StopReason why{};
    if (run_.report({phase, iteration, limit_, objective}, why) == Flow::proceed) return nullptr;
    why_ = why;
    stopped_ = true;
    return &why_;
  }
  bool stopped() const { return stopped_; }

 private:
  const Run& run_;
  int limit_;
  std::mutex mutex_;
  std::atomic<bool> stopped_ = false;
  StopReason why_ = StopReason::interrupted;
};

// Every distinct ranking with chance proportional to its weight, by systematic sampling; the weight of a chosen one is the number
// of times it was hit.
RankingSet subsample(const RankingSet& rankings, std::size_t count, std::uint64_t seed) {
  RandomStream stream(seed, Purpose::permute, 0);
  double total = 0.0;
  for (double weight : rankings.weights()) total += weight;
  const double stride = total / static_cast<double>(count);
  double at = stream.uniform() * stride, seen = 0.0;
  RankingSetBuilder builder;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    seen += rankings.weights()[i];
    double hits = 0.0;
    for (; at < seen; at += stride) hits += 1.0;
    if (hits == 0.0) continue;
    const auto ends = rankings.has_ties() ? rankings.group_ends().subspan(rankings.offsets()[i], rankings.length(i))
                                          : std::span<const std::uint8_t>{};
    builder.add(rankings[i].items(), hits, ends);
  }
  return builder.build();
}

// EM stops where every centre is best given the memberships; a neighbouring centre with other memberships may still be better.
// Tries all swaps of neighbours in all centres (a step with the centres at rest each, a few more for the better ones), follows the
// best one by EM, and repeats.
void improve(const Engine& engine, EmResult& best, const EmOptions& options, int threads, Reporter& reporter) {
  const auto tell = [&](int iteration, double loglik) { return reporter.tell("neighbouring centres", iteration, loglik); };
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
    for (std::size_t k = 0; k < num_components; ++k)
      for (std::size_t p = 0; p + 1 < n; ++p) {
        Trial trial{0.0, best.parameters};
        std::swap(trial.parameters.centre[k][p], trial.parameters.centre[k][p + 1]);
        Parameters next;
        trial.loglik = engine.step(trial.parameters, false, threads, next);
        trial.parameters = std::move(next);
        ++best.iterations;
        if (tell(best.iterations, trial.loglik) != nullptr) return;
        trials.push_back(std::move(trial));
      }
    // One step tells most of them; the better ones get three more.
    best_first();
    trials.resize(std::min(trials.size(), std::max<std::size_t>(6, trials.size() / 5)));
    for (Trial& trial : trials) {
      Parameters next;
      for (int step = 1; step < 4; ++step) {
        trial.loglik = engine.step(trial.parameters, false, threads, next);
        ++best.iterations;
        if (step < 3) trial.parameters = next;
      }
      if (tell(best.iterations, trial.loglik) != nullptr) return;
    }
    best_first();
    bool improved = false;
    for (std::size_t t = 0; t < trials.size() && t < 3 && !improved; ++t) {
      EmResult moved = run_em(engine, trials[t].parameters, options, threads, tell);
      if (reporter.stopped()) return;
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

int default_starts(std::size_t distinct, std::size_t num_components) {
  if (num_components == 1) return 1;
  const double work = static_cast<double>(distinct) * static_cast<double>(num_components);
  return static_cast<int>(std::clamp(900'000.0 / work, 12.0, 240.0));
}

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
    sorted.centre.push_back(std::move(parameters.centre[k]));
    sorted.theta.push_back(std::move(parameters.theta[k]));
  }
  parameters = std::move(sorted);
}

MultistartResult run_multistart(const RankingSet& rankings, std::size_t num_items, const MallowsMixtureOptions& options,
                                const MakeEngine& make_engine, const Run& run) {
  MultistartResult result;
  const auto num_components = static_cast<std::size_t>(options.components);
  const bool screen = rankings.size() > screen_above && num_components > 1;
  const RankingSet sample = screen ? subsample(rankings, screen_size, run.seed) : RankingSet();
  const RankingSet& seen = screen ? sample : rankings;
  result.screened_on = seen.size();
  result.starts = options.restarts.value_or(default_starts(seen.size(), num_components));
  // Tensor starts differ only in where their least squares begin, and each is the best of a dozen: few are enough.
  if (!options.restarts && options.init == MallowsStart::tensor) result.starts = std::min(result.starts, 3);

  const EmOptions em{options.iterations, options.tolerance, options.accelerate};
  EmOptions screening = em;
  // Starts need not be finished to be told apart; the best one is, below.
  if (num_components > 1) screening.tolerance = std::max(em.tolerance, 1e-7);
  Reporter reporter(run, options.iterations);
  const std::unique_ptr<Engine> engine = make_engine(seen);
  const MallowsEngine seeds(seen, num_items, ConsensusMethod::local, {});
  const Starts starts(seeds, seen, num_components, options.init, run.seed);
  // A start from given labels comes on top.
  const bool warm = num_components > 1 && run.labels.size() == rankings.size();
  result.starts += warm ? 1 : 0;
  std::unique_ptr<Engine> full;
  if (screen) full = make_engine(rankings);
  std::vector<EmResult> ended(static_cast<std::size_t>(result.starts));
  // A single start may use all threads inside; many run side by side. The arithmetic is the same.
  const bool outer = ended.size() > 1;
  parallel_for(ended.size(), outer ? run.threads : 1, [&](std::size_t s) {
    if (s > 0 && reporter.stopped()) return;
    const bool labelled = warm && s + 1 == ended.size();
    Parameters start = labelled ? (screen ? *full : *engine).from_labels(run.labels, num_components)
                                : engine->from_labels(starts.labels(s), num_components);
    ended[s] = run_em(*engine, std::move(start), screening, outer ? 1 : run.threads,
                      [&](int iteration, double loglik) { return reporter.tell("em", iteration, loglik); });
  });

  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < ended.size(); ++s) {
    if (ended[s].parameters.weight.empty()) continue;
    order.push_back(s);
    result.finished += ended[s].stop_reason == StopReason::converged || ended[s].stop_reason == StopReason::iteration_limit;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ended[a].loglik > ended[b].loglik; });
  const double best = ended[order[0]].loglik;

  // The best few different optima: improved by moves of the centres, and finished on all the data.
  std::vector<std::size_t> chosen;
  for (std::size_t s : order) {
    const double loglik = ended[s].loglik;
    const bool known = std::any_of(chosen.begin(), chosen.end(), [&](std::size_t other) {
      return std::abs(ended[other].loglik - loglik) <= 1e-6 * (1.0 + std::abs(loglik));
    });
    if (!known && chosen.size() < improved_optima) chosen.push_back(s);
  }
  if (num_components > 1 && !reporter.stopped())
    parallel_for(chosen.size(), run.threads, [&](std::size_t c) { improve(*engine, ended[chosen[c]], screening, 1, reporter); });
  std::stable_sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) { return ended[a].loglik > ended[b].loglik; });
  const double improved = ended[chosen[0]].loglik;
  result.improved = improved - best > 1e-7 * (1.0 + std::abs(best));
  for (std::size_t s : order) result.agreed += improved - ended[s].loglik <= 1e-7 * (1.0 + std::abs(improved));

  if (num_components == 1 || (reporter.stopped() && !screen)) {
    result.best = std::move(ended[chosen[0]]);
  } else {
    for (std::size_t c = 0; c < chosen.size() && c < (screen ? polished : 1); ++c) {
      if (c > 0 && reporter.stopped()) break;
      EmResult polishing = run_em(screen ? *full : *engine, ended[chosen[c]].parameters, em, run.threads,
                                  [&](int iteration, double value) { return reporter.tell("em, to the end", iteration, value); });
      polishing.iterations += ended[chosen[c]].iterations;
      if (!screen) polishing.trace.insert(polishing.trace.begin(), ended[chosen[c]].trace.begin(), ended[chosen[c]].trace.end());
      if (c == 0 || polishing.loglik > result.best.loglik) result.best = std::move(polishing);
    }
  }
  sort_components(result.best.parameters);
  return result;
}

}  // namespace caucus::mallows_mixture
