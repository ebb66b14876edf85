#include "caucus/infer/mallows_mixture/swaps.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/log_sum.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"

namespace caucus::mallows_mixture {

std::vector<double> logliks_after(const Swaps& swaps, const Workers& workers, const SwapFactors& factors) {
  const std::size_t num = swaps.num_components, each = swaps.num_items - 1;
  const auto add = [&](std::vector<double>& sums, std::size_t begin, std::size_t end) {
    std::vector<LogSum> logs(num * each);
    std::vector<double> less_one(num * each);
    for (std::size_t i = begin; i < end; ++i) {
      factors(i, less_one);
      for (std::size_t k = 0; k < num; ++k) {
        const double share = swaps.memberships[i * num + k] / swaps.weights[i];
        if (!(share > 0.0)) continue;
        for (std::size_t s = k * each; s < (k + 1) * each; ++s)
          logs[s].add(swaps.weights[i], std::max(1.0 + share * less_one[s], 1e-18));  // rounding may leave nothing
      }
    }
    for (std::size_t s = 0; s < logs.size(); ++s) sums[s] += logs[s].total();
  };
  std::vector<double> result = parallel_fold(
      Blocks(swaps.weights.size()), workers.without_journal(), [&] { return std::vector<double>(num * each, 0.0); }, add,
      [](std::vector<double>& total, const std::vector<double>& partial) {
        for (std::size_t s = 0; s < total.size(); ++s) total[s] += partial[s];
      });
  for (double& value : result) value += swaps.loglik;
  return result;
}

std::vector<double> logliks_after_swaps(const Engine& engine, const Parameters& now, std::span<const double> weights,
                                        const Workers& workers, const SwapFactors& factors) {
  const std::size_t num = now.weight.size();
  std::vector<double> memberships(weights.size() * num);
  engine.log_joint(now, workers.threads, memberships);
  double loglik = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto row = std::span(memberships).subspan(i * num, num);
    const double total = log_sum_exp(row);
    loglik += weights[i] * total;
    for (double& value : row) value = weights[i] * std::exp(value - total);
  }
  return logliks_after({loglik, weights, memberships, num, engine.num_items()}, workers, factors);
}

}  // namespace caucus::mallows_mixture
