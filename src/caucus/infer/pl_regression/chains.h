// Draws of the regression's chains, run by infer/chains.h.
//
// A Chain has sweep(bool adapt), coefficients(), hyper(), loglik(), save(Saver&) and load(Loader&).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "caucus/infer/chains.h"
#include "caucus/model/pl_regression_features.h"

namespace caucus::pl_regression {

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

// A chain whose draws are kept.
template <class Chain>
struct RecordedChain {
  Chain& chain;
  ChainDraws& draws;

  bool sweep(bool burnin, const AskToStop&) {
    chain.sweep(burnin);
    if (burnin) return true;
    const double* values = chain.coefficients().data();
    for (std::size_t j = 0; j < draws.sum.size(); ++j) draws.sum[j] += values[j];
    draws.hyper_sum += chain.hyper();
    ++draws.num_summed;
    return true;
  }
  void keep(int) {
    const double* values = chain.coefficients().data();
    const std::size_t end = draws.values.size();
    draws.values.resize(end + draws.sum.size());
    for (std::size_t j = 0; j < draws.sum.size(); ++j) draws.values[end + j] = static_cast<float>(values[j]);
    draws.hyper.push_back(chain.hyper());
    draws.loglik.push_back(chain.loglik());
  }
  double objective() const { return chain.loglik(); }
  void save(Saver& state) const {
    state(draws);
    chain.save(state);
  }
  void load(Loader& state) {
    state(draws);
    chain.load(state);
  }
};

template <class Chain>
Posterior run_chains(std::vector<Chain>& chains, const ChainPlan& plan, const Run& run, const Checkpointing& checkpoints = {}) {
  Posterior posterior;
  posterior.chains.resize(chains.size());
  posterior.num_coefficients = static_cast<std::size_t>(chains[0].coefficients().size());
  std::vector<RecordedChain<Chain>> recorded;
  for (std::size_t c = 0; c < chains.size(); ++c) {
    posterior.chains[c].sum.assign(posterior.num_coefficients, 0.0);
    recorded.push_back({chains[c], posterior.chains[c]});
  }
  const std::optional<Checkpoint> checkpoint = checkpoint_of(checkpoints, plan, chains.size());
  const ChainsDone done =
      caucus::run_chains(std::span(recorded), plan, run, {checkpoint ? &*checkpoint : nullptr, checkpoints.every});
  posterior.iterations = done.least();
  posterior.stop_reason = done.stop_reason;
  return posterior;
}

}  // namespace caucus::pl_regression
