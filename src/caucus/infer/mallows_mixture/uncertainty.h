// Standard errors of weights and dispersions, and the stability of consensus rankings under the bootstrap.
#pragma once

#include <optional>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/infer/mallows_mixture/em.h"
#include "caucus/infer/mallows_mixture/multistart.h"

namespace caucus::mallows_mixture {

struct StandardErrors {
  bool available = false;                                 // false: too many parameters, or the information is not positive definite
  std::vector<std::optional<double>> weight;              // K; empty for a weight at 0 or 1
  std::vector<std::vector<std::optional<double>>> theta;  // K; empty for a dispersion at a bound
};
// Observed information by Louis (1982), centers held fixed. O(N p^2), p parameters, at most 400.
StandardErrors standard_errors(const Engine& engine, const Parameters& parameters, std::span<const double> ranking_weights,
                               int threads);
// The same in pieces: are they few enough, the information of some of the rankings, and the errors from the sum over all.
bool affordable_errors(const Parameters& parameters, std::size_t num_rankings);
std::vector<double> information_of(const Engine& engine, const Parameters& parameters, std::span<const double> ranking_weights,
                                   int threads);
StandardErrors standard_errors(const Parameters& parameters, std::span<const double> information);

struct Stability {
  int resamples = 0;
  // pairs[k][a * n + b]: share of the resamples in which the matched component puts a before b.
  std::vector<std::vector<double>> pairs;
  std::vector<double> unchanged;                                           // share with exactly the same consensus
  std::vector<std::pair<double, double>> weight_interval, theta_interval;  // 95% percentile; theta only with one per component
};
// Resamples the counts of the distinct rankings (multinomial), continues EM from the fit, and matches components by the least
// total distance of their centers.
Stability bootstrap(const RankingSet& rankings, std::size_t num_items, const Parameters& fitted, const EmOptions& options,
                    const MakeEngine& make_engine, int resamples, const Run& run);
// The same for resamples of any kind: `draw` makes an engine of one and hands it to `refit`.
using Refit = std::function<void(const Engine&)>;
Stability bootstrap(std::size_t num_items, const Parameters& fitted, const EmOptions& options,
                    const std::function<void(RandomStream&, const Refit&)>& draw, int resamples, const Run& run);

}  // namespace caucus::mallows_mixture
