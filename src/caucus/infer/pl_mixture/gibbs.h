// The Bayesian mixture of Plackett-Luce models by Gibbs sampling (Mollica & Tardella 2017).
#pragma once

#include <vector>

#include "caucus/infer/pl_mixture/objective.h"
#include "caucus/infer/run.h"

namespace caucus::pl_mixture {

struct GibbsOptions {
  int sweeps = 2000;
  int burnin = 500;
  double prior_shape = 1.0;  // worths ~ Gamma(shape, rate)
  double prior_rate = 0.001;
  double prior_weight = 1.0;  // weights ~ Dirichlet
  bool fixed_weights = false;
};

struct GibbsState {
  std::vector<double> weights;  // [k]
  std::vector<double> worths;   // [k * n + i], on the prior's scale
};

// One sweep: memberships and the stages' waiting times given worths, then worths and weights given those. A ranking of weight w
// stands for w voters: their memberships are one multinomial draw and their waiting times at a stage one gamma draw. Blocks of
// rankings draw from streams (seed, Purpose::chain, sweep and block), so the draw does not depend on the number of threads. Returns
// log P(data) at the worths the sweep began with.
double gibbs_sweep(const Objective& objective, const GibbsOptions& options, std::uint64_t seed, std::uint64_t sweep,
                   GibbsState& state);

struct GibbsDraws {
  std::vector<Parameters> kept;  // utilities centered, labels as drawn
  std::vector<double> loglik;
  StopReason stop_reason = StopReason::converged;
  int sweeps = 0;
};
GibbsDraws gibbs_chain(const Objective& objective, const GibbsOptions& options, const Parameters& start, const Run& run);

// The group of `draw` that matches each of `pivot`, by optimal assignment on squared distances of centered utilities and weights.
std::vector<std::size_t> match_groups(const Parameters& pivot, const Parameters& draw);
// Relabels each draw to match `pivot`: label switching undone towards the most likely draw, as the pivotal reordering of Marin,
// Mengersen & Robert (2005).
void align_draws(const Parameters& pivot, std::vector<Parameters>& draws);

}  // namespace caucus::pl_mixture
