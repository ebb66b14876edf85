#include "caucus/infer/mallows_mixture/subset_engine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/model/kendall.h"
#include "caucus/model/mallows_subset.h"
#include "caucus/model/stage.h"

namespace caucus::mallows_mixture {

SubsetEngine::SubsetEngine(const RankingSet& rankings, std::size_t num_items, ConsensusMethod consensus, int completions,
                           std::uint64_t seed)
    : rankings_(rankings),
      num_items_(num_items),
      consensus_(consensus),
      completions_(static_cast<std::size_t>(completions)),
      seed_(seed),
      total_(rankings.total_weight()) {}

double SubsetEngine::step(const Parameters& now, bool move_centres, int threads, Parameters& next) const {
  const std::size_t num_components = now.weight.size(), n = num_items_;
  struct Stats {
    double loglik = 0.0;
    std::vector<double> mass;
    std::vector<PairMatrix> pairs;
  };
  const Stats stats = parallel_fold(
      Blocks(num_rankings(), 32), threads,
      [&] {
        return Stats{0.0, std::vector<double>(num_components, 0.0), std::vector<PairMatrix>(num_components, PairMatrix(n))};
      },
      [&](Stats& part, std::size_t begin, std::size_t end) {
        std::vector<ItemId> completed(num_components * completions_ * n);
        std::vector<double> log_weight(num_components * completions_), joint(num_components);
        for (std::size_t i = begin; i < end; ++i) {
          for (std::size_t k = 0; k < num_components; ++k) {
            RandomStream stream(seed_, Purpose::augment, i * num_components + k);
            const auto weights = std::span(log_weight).subspan(k * completions_, completions_);
            for (std::size_t c = 0; c < completions_; ++c)
              weights[c] = draw_completion(rankings_[i].items(), now.centre[k], now.theta[k][0], stream,
                                           std::span(completed).subspan((k * completions_ + c) * n, n));
            joint[k] = (now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity) + log_sum_exp(weights) -
                       std::log(static_cast<double>(completions_));
          }
          const double total = log_sum_exp(joint), weight = rankings_.weights()[i];
          part.loglik += weight * total;
          for (std::size_t k = 0; k < num_components; ++k) {
            const double mass = weight * std::exp(joint[k] - total);
            part.mass[k] += mass;
            const auto weights = std::span(log_weight).subspan(k * completions_, completions_);
            const double log_sum = log_sum_exp(weights);
            for (std::size_t c = 0; c < completions_; ++c)
              part.pairs[k].add(RankingView(std::span<const ItemId>(completed).subspan((k * completions_ + c) * n, n)),
                                mass * std::exp(weights[c] - log_sum));
          }
        }
      },
      [](Stats& total, const Stats& part) {
        total.loglik += part.loglik;
        for (std::size_t k = 0; k < total.mass.size(); ++k) {
          total.mass[k] += part.mass[k];
          for (std::size_t v = 0; v < total.pairs[k].values().size(); ++v) total.pairs[k].values()[v] += part.pairs[k].values()[v];
        }
      });
  next = now;
  for (std::size_t k = 0; k < num_components; ++k) {
    next.weight[k] = stats.mass[k] / total_;
    if (!(stats.mass[k] > 1e-9 * total_)) continue;
    if (move_centres) next.centre[k] = find_consensus(stats.pairs[k], consensus_).order;
    next.theta[k] = {solve_mallows_theta(consensus_cost(next.centre[k], stats.pairs[k]), stats.mass[k], n, {}, now.theta[k][0])};
  }
  return stats.loglik;
}

Parameters SubsetEngine::from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const {
  Parameters result;
  for (std::size_t k = 0; k < num_components; ++k) {
    PairMatrix pairs(num_items_);
    double mass = 0.0;
    for (std::size_t i = 0; i < num_rankings(); ++i)
      if (labels[i] == k) {
        mass += rankings_.weights()[i];
        pairs.add(rankings_[i], rankings_.weights()[i], Unranked::absent);
      }
    result.centre.push_back(find_consensus(pairs, ConsensusMethod::local).order);
    result.weight.push_back((mass + 0.01 * total_) / (total_ * (1.0 + 0.01 * static_cast<double>(num_components))));
    result.theta.push_back({0.3});
  }
  return result;
}

void SubsetEngine::log_joint(const Parameters& now, int threads, std::span<double> out) const {
  const std::size_t num_components = now.weight.size();
  for (std::size_t k = 0; k < num_components; ++k) {
    const auto position = inverse_order(now.centre[k]);
    const double log_weight = now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity;
    const Blocks blocks(num_rankings(), 16);
    parallel_for(blocks.count(), threads, [&](std::size_t b) {
      for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i) {
        RandomStream stream(1, Purpose::augment, i * num_components + k);
        out[i * num_components + k] =
            log_weight + subset_probability(rankings_[i].items(), position, now.theta[k][0], stream).log_prob;
      }
    });
  }
}

void SubsetEngine::derivatives(const Parameters&, std::size_t, std::span<double> score, std::span<double> information) const {
  // No closed form: standard errors are left out for subset data.
  std::fill(score.begin(), score.end(), 0.0);
  std::fill(information.begin(), information.end(), 0.0);
}

}  // namespace caucus::mallows_mixture
