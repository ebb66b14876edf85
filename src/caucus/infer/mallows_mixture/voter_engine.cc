#include "caucus/infer/mallows_mixture/voter_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/base/random.h"
#include "caucus/infer/multistart.h"
#include "caucus/infer/voter_starts.h"

namespace caucus::mallows_mixture {

namespace {

Parameters only(const Parameters& all, std::size_t k) { return {{1.0}, {all.center[k]}, {all.theta[k]}}; }

}  // namespace

VoterEngine::VoterEngine(const Dataset& data, MakeEngine make_engine)
    : data_(data), make_(std::move(make_engine)), rankings_(make_(data.rankings)) {}

void VoterEngine::log_joint(const Parameters& now, int threads, std::span<double> out) const {
  const std::size_t num = now.weight.size(), count = data_.voters.size();
  Parameters equal = now;  // weights of one: log_joint gives log P_k itself
  equal.weight.assign(num, 1.0);
  std::vector<double> logs(data_.rankings.size() * num);
  rankings_->log_joint(equal, threads, logs);
  std::vector<double> log_weight;
  for (const double weight : now.weight) log_weight.push_back(weight > 0.0 ? std::log(weight) : -infinity);
  const Incidence& cast = data_.voters.rankings;
  const Blocks blocks(count);
  parallel_for(blocks.count(), threads, [&](std::size_t b) {
    for (std::size_t v = blocks.begin(b); v < blocks.end(b); ++v)
      for (std::size_t k = 0; k < num; ++k) {
        double sum = log_weight[k];
        for (std::size_t j = cast.begin[v]; j < cast.begin[v + 1]; ++j) sum += cast.count(j) * logs[cast.other[j] * num + k];
        out[v * num + k] = sum;
      }
  });
}

std::vector<std::vector<double>> VoterEngine::shares(std::span<const double> memberships, std::size_t num) const {
  std::vector<std::vector<double>> result(num, std::vector<double>(data_.rankings.size(), 0.0));
  const Incidence& casters = data_.voters.casters;
  for (std::size_t i = 0; i < data_.rankings.size(); ++i)
    for (std::size_t j = casters.begin[i]; j < casters.begin[i + 1]; ++j) {
      const std::size_t v = casters.other[j];
      const double weight = data_.voters.weights[v] * casters.count(j);
      for (std::size_t k = 0; k < num; ++k) result[k][i] += weight * memberships[v * num + k];
    }
  return result;
}

double VoterEngine::step(const Parameters& now, bool move_centers, const Workers& workers, Parameters& next) const {
  const std::size_t num = now.weight.size(), count = data_.voters.size();
  std::vector<double> joint(count * num), size(num, 0.0);
  log_joint(now, workers.threads, joint);
  double loglik = 0.0;
  for (std::size_t v = 0; v < count; ++v) {
    const auto row = std::span(joint).subspan(v * num, num);
    const double total = log_sum_exp(row), weight = data_.voters.weights[v];
    loglik += weight * total;
    for (std::size_t k = 0; k < num; ++k) {
      row[k] = std::exp(row[k] - total);
      size[k] += weight * row[k];
    }
  }
  next = now;
  const double total = total_weight();
  std::vector<std::vector<double>> of_group = shares(joint, num);
  for (std::size_t k = 0; k < num; ++k) {
    next.weight[k] = size[k] / total;
    if (!(size[k] > 1e-9 * total)) continue;  // an empty group keeps its center and dispersion
    const RankingSet weighted = data_.rankings.with_weights(std::move(of_group[k]));
    Parameters own;
    make_(weighted)->step(only(now, k), move_centers, workers, own);
    next.center[k] = std::move(own.center[0]);
    next.theta[k] = std::move(own.theta[0]);
  }
  return loglik;
}

Parameters VoterEngine::from_labels(std::span<const std::uint32_t> labels, std::size_t num) const {
  std::vector<double> memberships(data_.voters.size() * num, 0.0), size(num, 0.0);
  for (std::size_t v = 0; v < data_.voters.size(); ++v) {
    memberships[v * num + labels[v]] = 1.0;
    size[labels[v]] += data_.voters.weights[v];
  }
  std::vector<std::vector<double>> of_group = shares(memberships, num);
  const std::vector<std::uint32_t> one_group(data_.rankings.size(), 0);
  const double total = total_weight();
  Parameters result;
  for (std::size_t k = 0; k < num; ++k) {
    const RankingSet weighted = size[k] > 0.0 ? data_.rankings.with_weights(std::move(of_group[k])) : data_.rankings;
    Parameters own = make_(weighted)->from_labels(one_group, 1);
    result.center.push_back(std::move(own.center[0]));
    result.theta.push_back(std::move(own.theta[0]));
    result.weight.push_back((size[k] + 0.01 * total) / (total * (1.0 + 0.01 * static_cast<double>(num))));
  }
  return result;
}

std::vector<double> VoterEngine::center_gaps(const Parameters& now, const Workers& workers) const {
  const std::size_t num = now.weight.size();
  std::vector<double> joint(data_.voters.size() * num);
  log_joint(now, workers.threads, joint);
  for (std::size_t v = 0; v < data_.voters.size(); ++v) {
    const auto row = std::span(joint).subspan(v * num, num);
    const double total = log_sum_exp(row);
    for (double& value : row) value = std::exp(value - total);
  }
  std::vector<std::vector<double>> of_group = shares(joint, num);
  std::vector<double> gaps;
  for (std::size_t k = 0; k < num; ++k) {
    const RankingSet weighted = data_.rankings.with_weights(std::move(of_group[k]));
    gaps.push_back(weighted.total_weight() > 0.0 ? make_(weighted)->center_gaps(only(now, k), workers)[0] : 0.0);
  }
  return gaps;
}

void VoterEngine::derivatives(const Parameters& now, std::size_t k, std::span<double> score, std::span<double> information) const {
  const std::size_t stages = now.theta[k].size();
  std::vector<double> first(data_.rankings.size() * stages), second(first.size());
  rankings_->derivatives(now, k, first, second);
  const Incidence& cast = data_.voters.rankings;
  for (std::size_t v = 0; v < data_.voters.size(); ++v)
    for (std::size_t s = 0; s < stages; ++s) {
      score[v * stages + s] = information[v * stages + s] = 0.0;
      for (std::size_t j = cast.begin[v]; j < cast.begin[v + 1]; ++j) {
        score[v * stages + s] += cast.count(j) * first[cast.other[j] * stages + s];
        information[v * stages + s] += cast.count(j) * second[cast.other[j] * stages + s];
      }
    }
}

namespace {

// For infer/multistart.h; no moves: they regroup rankings.
class VoterProblem {
 public:
  using Solution = EmResult;
  using Point = Parameters;

  VoterProblem(const Dataset& data, const MallowsMixtureOptions& options, const MakeEngine& make_engine, const Run& run)
      : data_(data), options_(options), engine_(data, make_engine), observer_(run.observer), run_(run.alone()) {
    run_.observer = &observer_;
    warm_ = run.labels.size() == data.voters.size() && options.components > 1 ? 1 : 0;
  }

  int warm() const { return warm_; }
  Solution start(int number) const {
    const auto num = static_cast<std::size_t>(options_.components);
    const std::vector<std::uint32_t> labels =
        number < warm_ ? std::vector<std::uint32_t>(run_.labels.begin(), run_.labels.end())
                       : voter_labels(data_, num, run_.seed, static_cast<std::uint64_t>(number - warm_), 1);
    return go(engine_.from_labels(labels, num), std::max(options_.tolerance, 1e-7), 1);
  }
  std::vector<Parameters> moves(const Solution&, int) const { return {}; }
  std::vector<Parameters> cross(const Solution&, const Solution&, int) const { return {}; }
  Solution attempt(const Parameters& point) const { return go(point, options_.tolerance, 1); }
  Solution attempt(Solution solution) const { return solution; }
  Solution finish(Solution solution) const { return solution; }
  Solution refine(Solution solution) const { return solution; }
  Solution polish(Solution solution) const {
    Solution end = go(std::move(solution.parameters), options_.tolerance, run_.threads);
    end.trace.insert(end.trace.begin(), solution.trace.begin(), solution.trace.end());
    end.iterations += solution.iterations;
    return end;
  }
  static double value(const Solution& solution) { return solution.loglik; }
  double work(const Solution& solution) const { return solution.iterations; }
  static bool stopped(const Solution& solution) {
    return solution.stop_reason == StopReason::interrupted || solution.stop_reason == StopReason::time_limit;
  }

 private:
  Solution go(Parameters from, double tolerance, int threads) const {
    return run_em(engine_, std::move(from), {options_.iterations, tolerance, options_.accelerate}, threads,
                  [this](int iteration, double loglik) -> StopReason* {
                    StopReason why{};
                    if (run_.report({"em", iteration, options_.iterations, loglik}, why) == Flow::proceed) return nullptr;
                    return why == StopReason::interrupted ? &interrupted_ : &time_limit_;
                  });
  }

  const Dataset& data_;
  const MallowsMixtureOptions& options_;
  VoterEngine engine_;
  SharedObserver observer_;
  Run run_;
  int warm_ = 0;
  mutable StopReason interrupted_ = StopReason::interrupted, time_limit_ = StopReason::time_limit;  // to point at
};

constexpr int default_starts = 12;

}  // namespace

MultistartResult search_voters(const Dataset& data, const MallowsMixtureOptions& options, const MakeEngine& make_engine,
                               const Run& run) {
  VoterProblem problem(data, options, make_engine, run);
  MultistartPlan plan;
  plan.starts = (options.components == 1 ? 1 : options.restarts.value_or(default_starts)) + problem.warm();
  plan.workers = options.components == 1 ? Workers(1) : run.workers();
  plan.same = 1e-7;
  plan.moves = false;
  auto found = Multistart(problem, plan).run();
  MultistartResult result;
  result.starts = found.record;
  result.screened_on = data.rankings.size();
  result.best = std::move(found.best);
  if (found.stopped) result.best.stop_reason = run.out_of_time() ? StopReason::time_limit : StopReason::interrupted;
  if (!VoterProblem::stopped(result.best)) result.best = problem.polish(std::move(result.best));
  sort_components(result.best.parameters);
  return result;
}

Stability bootstrap_voters(const Dataset& data, const Parameters& fitted, const EmOptions& options, const MakeEngine& make_engine,
                           int resamples, const Run& run) {
  std::vector<double> cumulative;
  double total = 0.0;
  for (const double weight : data.voters.weights) cumulative.push_back(total += weight);
  return bootstrap(
      data.num_items(), fitted, options,
      [&](RandomStream& stream, const Refit& refit) {
        std::vector<double> weights(data.voters.size(), 0.0);
        const auto draws = static_cast<std::size_t>(std::llround(std::max(1.0, total)));
        for (std::size_t d = 0; d < draws; ++d) {
          const auto place = std::upper_bound(cumulative.begin(), cumulative.end(), stream.uniform() * total) - cumulative.begin();
          weights[std::min(static_cast<std::size_t>(place), weights.size() - 1)] += total / static_cast<double>(draws);
        }
        const Dataset resample = with_voter_weights(data, weights);
        refit(VoterEngine(resample, make_engine));
      },
      resamples, run);
}

}  // namespace caucus::mallows_mixture
