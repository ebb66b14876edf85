#include "caucus/infer/pl_mixture/moments.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/random.h"
#include "caucus/infer/lbfgs.h"

namespace caucus::pl_mixture {

Parameters moments_start(const Objective& objective, std::uint64_t seed, std::uint64_t index) {
  const Dataset& data = objective.data();
  const std::size_t n = data.num_items(), num = objective.num_components();
  std::vector<double> first(n, 0.0), second(n * n, 0.0);
  double total = 0.0, total_second = 0.0;
  for (std::size_t r = 0; r < data.rankings.size(); ++r) {
    const RankingView ranking = data.rankings[r];
    const double weight = data.rankings.weight(r);
    if (ranking.size() == 0) continue;
    first[ranking[0]] += weight;
    total += weight;
    if (ranking.size() < 2) continue;
    second[ranking[0] * n + ranking[1]] += weight;
    total_second += weight;
  }
  // Shares of second places are among ballots that go on, scaled by the first places of all.
  for (double& value : first) value /= std::max(total, 1.0);
  for (double& value : second) value /= std::max(total_second, 1.0);

  // Variables: utilities of all components, logits of the weights. The objective is minus the sum of squares, second places
  // weighted n-fold because their shares are that much smaller.
  const double scale = static_cast<double>(n);
  const auto value = [&](const std::vector<double>& x, std::vector<double>& gradient) {
    std::vector<double> worth(num * n), weight(num);
    double top = -infinity;
    for (std::size_t k = 0; k < num; ++k) top = std::max(top, x[num * n + k]);
    double weight_sum = 0.0;
    for (std::size_t k = 0; k < num; ++k) {
      const auto utilities = std::span(x).subspan(k * n, n);
      const double shift = log_sum_exp(utilities);
      for (std::size_t i = 0; i < n; ++i) worth[k * n + i] = std::min(std::exp(utilities[i] - shift), 1.0 - 1e-9);
      weight_sum += weight[k] = std::exp(x[num * n + k] - top);
    }
    for (double& w : weight) w /= weight_sum;
    std::vector<double> by_worth(num * n, 0.0), by_weight(num, 0.0);
    double loss = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      double error = -first[i];
      for (std::size_t k = 0; k < num; ++k) error += weight[k] * worth[k * n + i];
      loss += error * error;
      for (std::size_t k = 0; k < num; ++k) {
        by_weight[k] += 2.0 * error * worth[k * n + i];
        by_worth[k * n + i] += 2.0 * error * weight[k];
      }
      for (std::size_t j = 0; total_second > 0.0 && j < n; ++j) {
        if (j == i) continue;
        double gap = -second[i * n + j];
        for (std::size_t k = 0; k < num; ++k) gap += weight[k] * worth[k * n + i] * worth[k * n + j] / (1.0 - worth[k * n + i]);
        loss += scale * gap * gap;
        for (std::size_t k = 0; k < num; ++k) {
          const double a = worth[k * n + i], b = worth[k * n + j], slope = 2.0 * scale * gap;
          by_weight[k] += slope * a * b / (1.0 - a);
          by_worth[k * n + i] += slope * weight[k] * b / ((1.0 - a) * (1.0 - a));
          by_worth[k * n + j] += slope * weight[k] * a / (1.0 - a);
        }
      }
    }
    // Through the two softmaxes.
    double mean_weight = 0.0;
    for (std::size_t k = 0; k < num; ++k) mean_weight += weight[k] * by_weight[k];
    for (std::size_t k = 0; k < num; ++k) {
      double mean = 0.0;
      for (std::size_t i = 0; i < n; ++i) mean += worth[k * n + i] * by_worth[k * n + i];
      for (std::size_t i = 0; i < n; ++i) gradient[k * n + i] = -worth[k * n + i] * (by_worth[k * n + i] - mean);
      gradient[num * n + k] = -weight[k] * (by_weight[k] - mean_weight);
    }
    return -loss;
  };

  RandomStream random(seed, Purpose::initialise, index);
  std::vector<double> x(num * n + num, 0.0);
  for (std::size_t k = 0; k < num; ++k)
    for (std::size_t i = 0; i < n; ++i) x[k * n + i] = std::log(std::max(first[i], 0.1 / static_cast<double>(n))) + random.normal();
  lbfgs_maximise(value, x, std::vector<double>(x.size(), static_cast<double>(n)), 500, 1e-12);

  Parameters start(num, n);
  for (std::size_t k = 0; k < num; ++k) {
    start.weights[k] = std::exp(x[num * n + k]);
    for (std::size_t i = 0; i < n; ++i) start.component(k)[i] = x[k * n + i];
    center(start.component(k));
    // Moments of rare items fix nothing; keep them in reach of EM.
    for (double& utility : start.component(k)) utility = std::clamp(utility, -8.0, 8.0);
  }
  const double weights = sum(start.weights);
  // No component starts empty.
  for (double& weight : start.weights) weight = 0.98 * weight / weights + 0.02 / static_cast<double>(num);
  return start;
}

}  // namespace caucus::pl_mixture
