#include "caucus/infer/mallows_mixture/completion_engine.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/mallows_mixture/subset_engine.h"
#include "caucus/model/kendall.h"
#include "caucus/model/mallows_completion.h"
#include "caucus/model/stage.h"

namespace caucus::mallows_mixture {

struct CompletionEngine::Stats {
  double loglik = 0.0, loglik_variance = 0.0;
  bool cut = false;  // stopped before all ballots were seen
  // Per component: mass; sum of the expected distances and the variance their estimates leave; sum of the distances' own variances.
  std::vector<double> mass, distance, distance_error, distance_variance;
  std::vector<PairMatrix> pairs;

  Stats(std::size_t num_components, std::size_t num_items, bool want_pairs)
      : mass(num_components, 0.0),
        distance(num_components, 0.0),
        distance_error(num_components, 0.0),
        distance_variance(num_components, 0.0),
        pairs(want_pairs ? num_components : 0, PairMatrix(num_items)) {}

  // Observed information of theta (Louis 1982).
  double information(std::size_t k, double theta, std::size_t num_items) const {
    return mass[k] * variance_distance(theta, num_items) - distance_variance[k];
  }

  void fold(const Stats& other) {
    loglik += other.loglik;
    loglik_variance += other.loglik_variance;
    cut = cut || other.cut;
    const auto add = [](std::span<double> to, std::span<const double> from) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    };
    add(mass, other.mass);
    add(distance, other.distance);
    add(distance_error, other.distance_error);
    add(distance_variance, other.distance_variance);
    for (std::size_t k = 0; k < pairs.size(); ++k) add(pairs[k].values(), other.pairs[k].values());
  }
};

CompletionEngine::Stats CompletionEngine::pass(const Parameters& now, bool want_pairs, int threads) const {
  const std::size_t num_components = now.weight.size(), n = num_items_;
  std::vector<CompletionSampler> samplers;
  for (std::size_t k = 0; k < num_components; ++k) samplers.emplace_back(now.center[k], now.theta[k][0]);
  return parallel_fold(
      Blocks(num_rankings(), 8), threads, [&] { return Stats(num_components, n, want_pairs); },
      [&](Stats& part, std::size_t begin, std::size_t end) {
        std::vector<Completions> found(num_components);
        std::vector<double> joint(num_components);
        for (std::size_t i = begin; i < end && !part.cut; ++i) {
          if (limits_.stop && limits_.stop()) {
            part.cut = true;
            break;
          }
          for (std::size_t k = 0; k < num_components; ++k) {
            RandomStream stream(seed_, Purpose::augment, i * num_components + k);
            found[k] = samplers[k].draw(rankings_[i], completions_, stream);
            joint[k] = (now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity) + found[k].probability.log_prob;
          }
          const double total = log_sum_exp(joint), weight = rankings_.weights()[i];
          part.loglik += weight * total;
          for (std::size_t k = 0; k < num_components; ++k) {
            const double share = std::exp(joint[k] - total), mass = weight * share;
            part.loglik_variance += std::pow(mass * found[k].probability.standard_error, 2);
            part.mass[k] += mass;
            part.distance[k] += mass * found[k].distance;
            part.distance_error[k] += std::pow(mass * found[k].distance_error, 2);
            part.distance_variance[k] += mass * found[k].distance_variance;
            if (!want_pairs || !(share > 1e-12)) continue;
            for (std::size_t c = 0; c < found[k].share.size(); ++c)
              part.pairs[k].add(RankingView(std::span<const ItemId>(found[k].order).subspan(c * n, n)), mass * found[k].share[c]);
          }
        }
      },
      [](Stats& total, const Stats& part) { total.fold(part); });
}

double CompletionEngine::step(const Parameters& now, bool move_centers, int threads, Parameters& next) const {
  const Stats stats = pass(now, move_centers, threads);
  next = now;
  if (stats.cut) return -infinity;
  for (std::size_t k = 0; k < now.weight.size(); ++k) {
    next.weight[k] = stats.mass[k] / total_weight();
    if (!(stats.mass[k] > 1e-9 * total_weight())) continue;
    if (move_centers) next.center[k] = find_consensus(stats.pairs[k], consensus_, limits_).order;
    const double theta = now.theta[k][0];
    if (next.center[k] != now.center[k]) {
      const double distance = consensus_cost(next.center[k], stats.pairs[k]);
      next.theta[k] = {solve_mallows_theta(distance, stats.mass[k], num_items_, {}, theta)};
    } else if (const double information = stats.information(k, theta, num_items_); information > 0.0) {
      // Newton's step on the likelihood of the ballots themselves: EM would creep by the share of what is missing.
      const double slope = stats.mass[k] * mean_distance(theta, num_items_) - stats.distance[k];
      next.theta[k] = {std::clamp(theta + slope / information, 0.5 * theta, std::min(2.0 * theta, max_theta))};
    } else {
      next.theta[k] = {solve_mallows_theta(stats.distance[k], stats.mass[k], num_items_, {}, theta)};
    }
  }
  return stats.loglik;
}

// theta solves E d(theta) = mean of E(d | ballot): the error of the right side over the slope of the difference.
MonteCarloError CompletionEngine::error(const Parameters& now, int threads) const {
  const Stats stats = pass(now, false, threads);
  MonteCarloError result{completions_, stats.cut ? infinity : std::sqrt(stats.loglik_variance), {}};
  for (std::size_t k = 0; k < now.weight.size(); ++k) {
    const double information = stats.information(k, now.theta[k][0], num_items_);
    result.theta.push_back(information > 0.0 ? std::sqrt(stats.distance_error[k]) / information : infinity);
  }
  return result;
}

Parameters CompletionEngine::from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const {
  Parameters result = parameters_from_pairs(rankings_, num_items_, labels, num_components, limits_);
  // A model of many items is far more concentrated at the same dispersion.
  for (auto& theta : result.theta) theta[0] = std::min(theta[0], 2.0 / static_cast<double>(num_items_));
  return result;
}

void CompletionEngine::log_joint(const Parameters& now, int threads, std::span<double> out) const {
  const std::size_t num_components = now.weight.size();
  for (std::size_t k = 0; k < num_components; ++k) {
    const CompletionSampler sampler(now.center[k], now.theta[k][0]);
    const SubsetProbabilities exact(now.theta[k][0], num_items_);
    const double log_weight = now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity;
    const Blocks blocks(num_rankings(), 8);
    parallel_for(blocks.count(), threads, [&](std::size_t b) {
      for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i)
        out[i * num_components + k] =
            log_weight + scored_probability(rankings_[i], sampler, exact, i * num_components + k).log_prob;
    });
  }
}

void CompletionEngine::derivatives(const Parameters&, std::size_t, std::span<double> score, std::span<double> information) const {
  std::fill(score.begin(), score.end(), 0.0);
  std::fill(information.begin(), information.end(), 0.0);
}

}  // namespace caucus::mallows_mixture
