#include "caucus/infer/pl_mixture/start.h"

#include <boost/math/special_functions/gamma.hpp>  // std::lgamma writes a global: no good on several threads
#include <cmath>

#include "caucus/base/random.h"
#include "caucus/infer/mallows_tensor/start.h"
#include "caucus/infer/pl_mixture/moments.h"

namespace caucus::pl_mixture {

TieStrengths initial_ties(const Objective& objective) {
  TieStrengths ties;
  double choices = 0.0;
  const RankingSet& rankings = objective.data().rankings;
  for (std::size_t i = 0; i < rankings.size(); ++i)
    rankings[i].for_each_group([&](std::span<const ItemId>) { choices += rankings.weight(i); });
  const double n = static_cast<double>(objective.num_items());
  for (std::size_t o = 0; o < objective.tie_orders().size(); ++o) {
    const double order = objective.tie_orders()[o];
    // With equal worths, sets of this size have weight delta C(n, t) against n for single items.
    const double log_sets = boost::math::lgamma(n + 1.0) - boost::math::lgamma(order + 1.0) - boost::math::lgamma(n - order + 1.0);
    ties.orders.push_back(objective.tie_orders()[o]);
    ties.log_delta.push_back(std::log(objective.tie_counts()[o] / std::max(choices, 1.0)) + std::log(n) - log_sets);
  }
  return ties;
}

namespace {

// Utilities around zero, weights equal.
Parameters random_start(const Objective& objective, std::uint64_t seed, std::uint64_t index) {
  Parameters start(objective.num_components(), objective.num_items());
  RandomStream random(seed, Purpose::initialise, index);
  for (double& utility : start.utilities) utility = 0.5 * random.normal();
  start.centre_all();
  return start;
}

}  // namespace

Starts::Starts(const Objective& objective, const Options& options, std::uint64_t seed)
    : objective_(objective), options_(options), seed_(seed) {}
Starts::~Starts() = default;

bool Starts::can_embed() const { return !objective_.has_ties() && objective_.num_items() > 1 && objective_.batch().count > 0; }

const Embedding& Starts::embedding() {
  // One start among many need not see every ranking; a spectral fit asked for by name does.
  const bool one_of_many = options_.init == Init::automatic && options_.method != Method::spectral;
  const std::size_t most = one_of_many ? std::max<std::size_t>(1500, 60 * objective_.num_items()) : 20'000;
  if (!embedding_) embedding_ = std::make_unique<Embedding>(objective_.data(), seed_, objective_.threads(), most);
  return *embedding_;
}

Parameters Starts::make(Init kind, std::uint64_t index) {
  const std::size_t num = objective_.num_components();
  if (num == 1 && kind != Init::spectral) kind = Init::random;
  if (objective_.num_items() < 2 || objective_.batch().count == 0) kind = Init::random;  // nothing to embed or count
  if (kind == Init::automatic) kind = index == 0 && can_embed() ? Init::spectral : Init::random;
  Parameters start(num, objective_.num_items());
  // Restart r of k-means in start `index` has a stream of its own.
  const std::uint64_t stream = index * 100'000;
  switch (kind) {
    case Init::spectral: {
      const SpectralOptions spectral{options_.center, options_.rank_rule, options_.link, options_.kmeans_restarts};
      const Embedding& points = embedding();
      if (!svd_) svd_ = std::make_unique<TruncatedSvd>(truncated_svd(points, num + 1, options_.center, seed_));
      start = cluster_parameters(points, spectral_clusters(points, num, spectral, seed_, stream, svd_.get()), num, options_.link);
      break;
    }
    case Init::kmeans:
      start = cluster_parameters(embedding(), embedding_kmeans(embedding(), num, options_.kmeans_restarts, seed_, stream), num,
                                 options_.link);
      break;
    case Init::moments:
      start = moments_start(objective_, seed_, index);
      break;
    case Init::tensor: {
      // First-position probabilities of the terms of the top-3 tensor are the worths.
      const tensor::TensorStart terms =
          tensor::tensor_start(objective_.data().rankings, objective_.num_items(), num, seed_ + index);
      start.weights = terms.weight;
      for (std::size_t k = 0; k < num; ++k)
        for (std::size_t i = 0; i < objective_.num_items(); ++i)
          start.utilities[k * objective_.num_items() + i] = std::log(terms.first[k][i]);
      start.centre_all();
      break;
    }
    default:
      if (num > 1) start = random_start(objective_, seed_, index);
  }
  if (!options_.estimate_weights) start.weights.assign(num, 1.0 / static_cast<double>(num));
  start.ties = initial_ties(objective_);
  return start;
}

Parameters Starts::from_labels(std::span<const std::uint32_t> labels) const {
  const Dataset& data = objective_.data();
  const std::size_t num = objective_.num_components(), n = objective_.num_items();
  Parameters start(num, n);
  std::vector<double> wins(num * n, 0.0), losses(num * n, 0.0), unlisted(num, 0.0), size(num, 0.0);
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    const RankingView ranking = data.rankings[i];
    const std::size_t k = labels[i];
    const double weight = data.rankings.weight(i);
    const bool rest = data.unranked == Unranked::last;
    const std::size_t others = rest ? n : ranking.size();
    size[k] += weight;
    // Unlisted items lose to all listed ones; listed ones give that back.
    if (rest) unlisted[k] += weight * static_cast<double>(ranking.size());
    for (std::size_t p = 0; p < ranking.size(); ++p) {
      wins[k * n + ranking[p]] += weight * static_cast<double>(others - 1 - p);
      losses[k * n + ranking[p]] += weight * (static_cast<double>(p) - (rest ? static_cast<double>(ranking.size()) : 0.0));
    }
  }
  const double total = std::max(sum(size), 1e-300);
  for (std::size_t k = 0; k < num; ++k) {
    start.weights[k] = (size[k] + 1e-3 * total) / (total * (1.0 + 1e-3 * static_cast<double>(num)));
    for (std::size_t i = 0; i < n; ++i)
      start.utilities[k * n + i] = std::log((wins[k * n + i] + 1.0) / (std::max(0.0, losses[k * n + i] + unlisted[k]) + 1.0));
  }
  start.centre_all();
  if (!options_.estimate_weights) start.weights.assign(num, 1.0 / static_cast<double>(num));
  start.ties = initial_ties(objective_);
  return start;
}

}  // namespace caucus::pl_mixture
