#include "caucus/base/assignment.h"

#include "caucus/base/numeric.h"

namespace caucus {

std::vector<std::size_t> assign(std::span<const double> cost, std::size_t size) {
  // Potentials u, v and the row matched to each column; row and column 0 stand for "none".
  std::vector<double> u(size + 1, 0.0), v(size + 1, 0.0);
  std::vector<std::size_t> row_of(size + 1, 0), previous(size + 1, 0);
  for (std::size_t row = 1; row <= size; ++row) {
    row_of[0] = row;
    std::size_t column = 0;
    std::vector<double> reach(size + 1, infinity);
    std::vector<bool> done(size + 1, false);
    do {
      done[column] = true;
      const std::size_t from = row_of[column];
      double least = infinity;
      std::size_t next = 0;
      for (std::size_t j = 1; j <= size; ++j) {
        if (done[j]) continue;
        const double reduced = cost[(from - 1) * size + j - 1] - u[from] - v[j];
        if (reduced < reach[j]) {
          reach[j] = reduced;
          previous[j] = column;
        }
        if (reach[j] < least) {
          least = reach[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= size; ++j) {
        if (done[j]) {
          u[row_of[j]] += least;
          v[j] -= least;
        } else {
          reach[j] -= least;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = previous[column]) row_of[column] = row_of[previous[column]];
  }
  std::vector<std::size_t> column_of(size);
  for (std::size_t j = 1; j <= size; ++j) column_of[row_of[j] - 1] = j - 1;
  return column_of;
}

}  // namespace caucus
