// The assignment problem: one column for each row at the least total cost.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace caucus {

// cost[row * size + column], size x size. Returns the column of each row. Shortest augmenting paths (Jonker & Volgenant 1987), O(size^3).
std::vector<std::size_t> assign(std::span<const double> cost, std::size_t size);

}  // namespace caucus
