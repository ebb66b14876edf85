// Complete or top-t orders of a PrefLib file ("count: a,b,c" lines), for tests that need real rankings without the readers.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus::testing {

inline Dataset strict_orders(const std::string& path) {
  std::ifstream file(path);
  Dataset data;
  data.source = path;
  RankingSetBuilder builder;
  std::string line;
  std::size_t num_items = 0;
  while (std::getline(file, line)) {
    const auto colon = line.find(':');
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    std::vector<ItemId> order;
    std::stringstream cells(line.substr(colon + 1));
    for (std::string cell; std::getline(cells, cell, ',');) {
      order.push_back(static_cast<ItemId>(std::stoul(cell) - 1));
      num_items = std::max(num_items, static_cast<std::size_t>(order.back()) + 1);
    }
    builder.add(order, std::stod(line.substr(0, colon)));
  }
  for (std::size_t i = 0; i < num_items; ++i) data.items.push_back("item " + std::to_string(i + 1));
  data.rankings = builder.build();
  return data;
}

}  // namespace caucus::testing
