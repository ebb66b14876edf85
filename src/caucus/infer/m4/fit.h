// Fits the multiplicative mixture. See README.md for the updates.
#pragma once

#include <functional>
#include <tuple>

#include "caucus/base/bytes.h"
#include "caucus/data/dataset.h"
#include "caucus/infer/m4/likelihood.h"
#include "caucus/infer/m4/options.h"
#include "caucus/infer/run.h"

namespace caucus::m4 {

struct State {
  Components components;
  std::vector<Weights> z;  // one per distinct ranking
};

// The prior of z: probability[pair][grid point].
struct Prior {
  std::vector<std::vector<double>> probability;
};

struct Result {
  State state;
  Prior prior;
  NormalizerTable normalizers;
  double loglik_paper = 0.0;  // at the fitted z
  double loglik_exact = 0.0;
  double loglik_exact_error = 0.0;
  double loglik_marginal = 0.0;  // z out by the prior, exact normaliser
  double z_entropy = 0.0;        // sum of -sum_m z log z over the ballots
  int iterations = 0;
  StopReason stop_reason = StopReason::converged;
  std::vector<double> trace;  // log-likelihood under the paper's normaliser
  int agreed = 1;
};

// What one start ends with.
auto parts(IsA<Weights> auto& z) { return std::tie(z.first, z.second, z.share); }
auto parts(IsA<Result> auto& one) {
  return std::tie(one.state.components.center, one.state.components.theta, one.state.z, one.loglik_paper, one.iterations,
                  one.stop_reason, one.trace);
}

Result fit_m4(const Dataset& data, const M4Options& options, const Run& run);

// The pieces, for tests and experiments.

// Stage codes of all distinct rankings about one center: n numbers each.
std::vector<std::uint32_t> stage_codes(const RankingSet& rankings, std::span<const ItemId> center);
// Minus the log-likelihood under the paper's normaliser, eqs. (12), (13).
double paper_objective(const RankingSet& rankings, const State& state);
// The best pair and share for every ballot, eq. (17) without the majoriser: convex in one dimension per pair.
void solve_weights(const RankingSet& rankings, State& state);
// The same under the exact normaliser, over the grid of `table`.
void solve_weights_exact(const RankingSet& rankings, const NormalizerTable& table, State& state);
// The best dispersions, a convex problem per stage. `stop`, here and below: asked before every stage; the rest stay as they were.
using Stop = std::function<bool()>;
void solve_dispersions(const RankingSet& rankings, State& state, const Stop& stop = {});
// One CCCP sweep: c_kj of (16) at the present point, then weights (pairs kept) and dispersions on the majoriser (15).
void cccp_sweep(const RankingSet& rankings, State& state, const Stop& stop = {});
// One pass of (18) over all ballots and of (20) over all stages, with step size step * i^-decay.
void sgd_sweep(const RankingSet& rankings, State& state, double step, double decay, int sweep, RandomStream& stream,
               const Stop& stop = {});
// The consensus rankings given weights and dispersions, eq. (22).
void solve_centers(const RankingSet& rankings, State& state);
// Algorithm 1: consensus rankings and dispersions of all components level by level.
void search_pi(const RankingSet& rankings, State& state);
// EM for the prior on the grid.
Prior fit_prior(const RankingSet& rankings, const Components& components, const NormalizerTable& table, double* loglik,
                const Stop& stop = {});

// Everything from one start given by labels; used by fit_m4.
Result run_start(const RankingSet& rankings, State start, const M4Options& options, const Run& run, RandomStream& stream);
// A start: labels by k-means under Kendall's distance, weights 0.9 on the own component.
State start_from_labels(const RankingSet& rankings, std::size_t num_items, std::span<const std::uint32_t> labels,
                        std::size_t num_components, const Stop& stop = {});

}  // namespace caucus::m4
