// Exact moments by enumeration, random mixtures and samples, for the tests of this folder.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/infer/mallows_tensor/counts.h"
#include "caucus/infer/mallows_tensor/pair.h"
#include "caucus/model/mallows.h"

namespace caucus::mallows_tensor {

inline double log_normalizer(double theta, std::size_t n) {
  double sum = 0.0;
  for (std::size_t m = 1; m <= n; ++m) {
    double z = 0.0;
    for (std::size_t k = 0; k < m; ++k) z += std::exp(-theta * static_cast<double>(k));
    sum += std::log(z);
  }
  return sum;
}

// Exact moments by enumeration of all rankings, scaled to stand for 10^16 of them, with any items taken out first.
inline CountSource exact_source(const MallowsPair& pair) {
  return [pair](std::span<const ItemId> deleted) {
    const std::size_t n = pair.center[0].size();
    std::vector<ItemId> renumbered(n);
    ItemId kept = 0;
    for (ItemId item = 0; item < n; ++item)
      renumbered[item] = std::find(deleted.begin(), deleted.end(), item) == deleted.end() ? kept++ : static_cast<ItemId>(n);
    TopCounts counts(kept);
    const std::array<double, 2> log_z{log_normalizer(pair.theta[0], n), log_normalizer(pair.theta[1], n)};
    std::vector<ItemId> order(n), rest;
    std::iota(order.begin(), order.end(), ItemId{0});
    do {
      double p = 0.0;
      for (std::size_t r = 0; r < 2; ++r)
        p += pair.weight[r] * std::exp(-pair.theta[r] * static_cast<double>(kendall(order, pair.center[r])) - log_z[r]);
      rest.clear();
      for (ItemId item : order)
        if (renumbered[item] < n) rest.push_back(renumbered[item]);
      counts.add(rest, p);
    } while (std::next_permutation(order.begin(), order.end()));
    counts.scale(1e16);
    return counts;
  };
}

inline MallowsPair random_pair(std::size_t n, RandomStream& random) {
  MallowsPair pair;
  pair.weight[0] = 0.05 + 0.9 * random.uniform();
  pair.weight[1] = 1.0 - pair.weight[0];
  for (std::size_t r = 0; r < 2; ++r) {
    pair.theta[r] = -std::log(0.05 + 0.9 * random.uniform());
    pair.center[r].resize(n);
    std::iota(pair.center[r].begin(), pair.center[r].end(), ItemId{0});
    random.shuffle(std::span(pair.center[r]));
  }
  return pair;
}

// Largest parameter error after the better of the two labellings; infinite unless both rankings are exact.
inline double pair_error(const MallowsPair& found, const MallowsPair& truth) {
  double best = infinity;
  for (const std::size_t flip : {0u, 1u}) {
    double error = 0.0;
    for (std::size_t r = 0; r < 2; ++r) {
      const std::size_t s = r ^ flip;
      if (found.center[s] != truth.center[r]) error = infinity;
      error = std::max(error, std::abs(found.weight[s] - truth.weight[r]));
      error = std::max(error, std::abs(std::exp(-found.theta[s]) - std::exp(-truth.theta[r])));
    }
    best = std::min(best, error);
  }
  return best;
}

inline std::vector<ItemId> identity(std::size_t n) {
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  return order;
}

inline MallowsPair make_pair(double weight, double theta1, double theta2, std::vector<ItemId> first, std::vector<ItemId> second) {
  return {{weight, 1.0 - weight}, {theta1, theta2}, {std::move(first), std::move(second)}};
}

inline RankingSet draw_rankings(const std::vector<std::vector<ItemId>>& center, const std::vector<double>& theta,
                                const std::vector<double>& weight, std::size_t count, std::uint64_t seed) {
  std::vector<MallowsSampler> samplers;
  for (std::size_t k = 0; k < center.size(); ++k) samplers.emplace_back(center[k], theta[k]);
  RankingSetBuilder builder;
  std::vector<ItemId> order(center[0].size());
  RandomStream random(seed, Purpose::sample, 0);
  for (std::size_t i = 0; i < count; ++i) {
    samplers[random.categorical(weight)].draw(random, order);
    builder.add(order);
  }
  return builder.build();
}

inline RankingSet draw_rankings(const MallowsPair& pair, std::size_t count, std::uint64_t seed) {
  return draw_rankings({pair.center[0], pair.center[1]}, {pair.theta[0], pair.theta[1]}, {pair.weight[0], pair.weight[1]}, count,
                       seed);
}

}  // namespace caucus::mallows_tensor
