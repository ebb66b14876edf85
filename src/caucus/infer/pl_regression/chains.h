// Runs chains side by side, keeps their draws, and saves and resumes them to the same bits.
//
// A Chain has sweep(bool adapt), coefficients(), hyper(), loglik(), save(Saver&) and load(Loader&).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "caucus/base/parallel.h"
#include "caucus/infer/checkpoint.h"
#include "caucus/infer/run.h"
#include "caucus/model/pl_regression_features.h"

namespace caucus::pl_regression {

struct ChainPlan {
  int iterations = 10000;  // burn-in included
  int burnin = 5000;
  int thin = 1;
};

struct ChainDraws {
  std::vector<float> values;   // one draw after the other, row-major
  std::vector<double> hyper;   // a or theta, one per draw
  std::vector<double> loglik;  // one per draw
  std::vector<double> sum;     // of every sweep after burn-in, thinned away or not
  std::int64_t num_summed = 0;
  double hyper_sum = 0.0;
};
auto parts(IsA<ChainDraws> auto& draws) {
  return std::tie(draws.values, draws.hyper, draws.loglik, draws.sum, draws.num_summed, draws.hyper_sum);
}

struct Posterior {
  std::size_t num_coefficients = 0;
  std::vector<ChainDraws> chains;
  int iterations = 0;  // done, of each chain
  StopReason stop_reason = StopReason::iteration_limit;

  std::size_t num_draws(std::size_t chain) const { return chains[chain].hyper.size(); }
  const float* draw(std::size_t chain, std::size_t index) const { return chains[chain].values.data() + index * num_coefficients; }
  std::vector<double> mean() const;    // over all chains and all sweeps after burn-in
  std::vector<double> median() const;  // over all kept draws
  double hyper_mean() const;
};

struct Checkpointing {
  std::string path;     // empty: none
  std::string key;      // of data and options but for the plan
  double every = 60.0;  // seconds
};
// More sweeps go on where a checkpoint ends; burn-in, thinning and the number of chains must be the same.
std::optional<Checkpoint> checkpoint_of(const Checkpointing& checkpoints, const ChainPlan& plan, std::size_t num_chains);

// The stop reason of a complete run is `iteration_limit`. The observer is called from the calling thread, about four times a
// second.
template <class Chain>
Posterior run_chains(std::vector<Chain>& chains, const ChainPlan& plan, const Run& run, const Checkpointing& checkpoints = {}) {
  Posterior posterior;
  posterior.chains.resize(chains.size());
  posterior.num_coefficients = static_cast<std::size_t>(chains[0].coefficients().size());
  for (ChainDraws& draws : posterior.chains) draws.sum.assign(posterior.num_coefficients, 0.0);
  const std::optional<Checkpoint> checkpoint = checkpoint_of(checkpoints, plan, chains.size());
  if (checkpoint)
    checkpoint->resume([&](Loader& state) {
      state(posterior.iterations, posterior.chains);
      for (Chain& chain : chains) chain.load(state);
    });
  double last_saved = run.seconds();
  int segment = 1;
  while (posterior.iterations < plan.iterations) {
    const int todo = std::min(segment, plan.iterations - posterior.iterations);
    const double begun = run.seconds();
    parallel_for(chains.size(), run.threads, [&](std::size_t c) {
      ChainDraws& draws = posterior.chains[c];
      for (int i = 0; i < todo; ++i) {
        const int iteration = posterior.iterations + i;
        chains[c].sweep(iteration < plan.burnin);
        if (iteration < plan.burnin) continue;
        const double* values = chains[c].coefficients().data();
        for (std::size_t j = 0; j < draws.sum.size(); ++j) draws.sum[j] += values[j];
        draws.hyper_sum += chains[c].hyper();
        if (draws.num_summed++ % plan.thin != 0) continue;
        const std::size_t end = draws.values.size();
        draws.values.resize(end + draws.sum.size());
        for (std::size_t j = 0; j < draws.sum.size(); ++j) draws.values[end + j] = static_cast<float>(values[j]);
        draws.hyper.push_back(chains[c].hyper());
        draws.loglik.push_back(chains[c].loglik());
      }
    });
    posterior.iterations += todo;
    // Segments of about a quarter of a second: the chains do not see where they are cut.
    const double seconds = run.seconds() - begun;
    segment = std::clamp(static_cast<int>(todo * 0.25 / std::max(seconds, 1e-6)), 1, 4 * segment);
    const Flow flow = run.report({"sweep", posterior.iterations, plan.iterations, chains[0].loglik()}, posterior.stop_reason);
    const bool over = flow == Flow::stop || posterior.iterations == plan.iterations;
    if (checkpoint && (over || run.seconds() - last_saved > checkpoints.every)) {
      Saver state;
      state(posterior.iterations, posterior.chains);
      for (const Chain& chain : chains) chain.save(state);
      checkpoint->save(state);
      last_saved = run.seconds();
    }
    if (flow == Flow::stop) break;
  }
  return posterior;
}

}  // namespace caucus::pl_regression
