// Sums over rows of bits by tables: a few bits are read as one number, which names a cell of a table (the "four Russians" method).
#pragma once

#include <cstddef>
#include <type_traits>

namespace caucus {

// Calls body with the number of lanes, as a constant where it is a common one: loops over lanes are then a few vector operations.
template <class Body>
void with_lanes(std::size_t lanes, Body&& body) {
  switch (lanes) {
    case 1:
      return body(std::integral_constant<std::size_t, 1>{});
    case 2:
      return body(std::integral_constant<std::size_t, 2>{});
    case 3:
      return body(std::integral_constant<std::size_t, 3>{});
    case 4:
      return body(std::integral_constant<std::size_t, 4>{});
    case 5:
      return body(std::integral_constant<std::size_t, 5>{});
    case 6:
      return body(std::integral_constant<std::size_t, 6>{});
    case 8:
      return body(std::integral_constant<std::size_t, 8>{});
    default:
      return body(lanes);
  }
}

// table[value * lanes + t] holds a sum for each value of so many bits; sums[bit * lanes + t] gains those of all values that have
// the bit. From the highest bit down, the half with it is added and then folded onto the half without: 2^bits additions twice over.
// The table is used up.
template <class Lanes>
void add_sums_by_bit(double* table, unsigned bits, Lanes lanes, double* sums) {
  for (std::size_t bit = bits; bit-- > 0;) {
    double* to = sums + bit * lanes;
    const std::size_t half = std::size_t{1} << bit;
    for (std::size_t v = 0; v < half; ++v)
      for (std::size_t t = 0; t < lanes; ++t) {
        const double value = table[(v + half) * lanes + t];
        to[t] += value;
        table[v * lanes + t] += value;
      }
  }
}

}  // namespace caucus
