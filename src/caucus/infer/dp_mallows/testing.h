// For tests: points from rankings written out.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace caucus::dp_mallows::testing
