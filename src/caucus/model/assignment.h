// The linear assignment problem.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace caucus {

// column[row] for the cheapest one-to-one assignment of n rows to n columns; cost is n x n, row-major. Shortest augmenting paths
// (Jonker & Volgenant 1987), O(n^3).
std::vector<std::size_t> solve_assignment(std::span<const double> cost, std::size_t n);

}  // namespace caucus
