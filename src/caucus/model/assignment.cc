#include "caucus/model/assignment.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"

namespace caucus {

std::vector<std::size_t> solve_assignment(std::span<const double> given, std::size_t n) {
  // A cost that is no number would compare false with everything and the search for a free column would never end: it is dearer
  // than all others instead. With finite costs each turn of the inner loop uses up one column, so there are at most n.
  double largest = 0.0;
  for (double value : given)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  largest = std::min(largest, 1e290);
  std::vector<double> cost(given.begin(), given.end());
  for (double& value : cost) value = std::isfinite(value) ? std::clamp(value, -largest, largest) : 4.0 * largest + 1.0;
  // Rows and columns count from 1; 0 is the free row that starts each path.
  std::vector<double> row_price(n + 1, 0.0), column_price(n + 1, 0.0);
  std::vector<std::size_t> row_of(n + 1, 0), previous(n + 1, 0);
  for (std::size_t row = 1; row <= n; ++row) {
    row_of[0] = row;
    std::size_t column = 0;
    std::vector<double> least(n + 1, infinity);
    std::vector<bool> used(n + 1, false);
    do {
      used[column] = true;
      const std::size_t at = row_of[column];
      double step = infinity;
      std::size_t next = 0;
      for (std::size_t j = 1; j <= n; ++j) {
        if (used[j]) continue;
        const double reduced = cost[(at - 1) * n + (j - 1)] - row_price[at] - column_price[j];
        if (reduced < least[j]) least[j] = reduced, previous[j] = column;
        if (least[j] < step) step = least[j], next = j;
      }
      for (std::size_t j = 0; j <= n; ++j) {
        if (used[j])
          row_price[row_of[j]] += step, column_price[j] -= step;
        else
          least[j] -= step;
      }
      column = next;
    } while (row_of[column] != 0);
    while (column != 0) {
      row_of[column] = row_of[previous[column]];
      column = previous[column];
    }
  }
  std::vector<std::size_t> result(n);
  for (std::size_t j = 1; j <= n; ++j) result[row_of[j] - 1] = j - 1;
  return result;
}

}  // namespace caucus
