// For tests: points from rankings written out, priors and settings in one line.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "caucus/infer/dp_mallows/chain.h"
#include "caucus/infer/dp_mallows/points.h"

namespace caucus::dp_mallows::testing {

inline Points points_of(std::size_t num_items, const std::vector<std::vector<Item>>& rankings) {
  Points points;
  points.num_items = num_items;
  for (const auto& ranking : rankings) {
    points.add_ranking(ranking);
    points.ranking.push_back(static_cast<std::uint32_t>(points.ranking.size()));
  }
  points.index_points();
  return points;
}

inline PriorParameters parameters(double alpha, double nu, std::vector<double> r) {
  PriorParameters result;
  result.alpha = alpha;
  result.nu = nu;
  result.r = std::move(r);
  return result;
}

inline ChainSettings settings(Method method) {
  ChainSettings result;
  result.method = method;
  result.gibbs_steps = 2;
  result.slice_steps = 2;
  return result;
}

}  // namespace caucus::dp_mallows::testing
