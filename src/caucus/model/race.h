// Many Plackett-Luce orders at once by exponential races: the item of worth a finishes after E / a, E exponential, and the order of
// finishing is the ranking. Draws are lanes of SIMD registers: their random words, logarithms and a sorting network are made for
// all of them together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/data/ranking.h"

namespace caucus {

class Race {
 public:
  // A time carries its item in its last bits.
  static constexpr std::uint64_t item_bits = 4095;
  static constexpr std::size_t most_items = item_bits + 1;

  // At most most_items worths, positive, no more than e^500 apart, the largest 1.
  explicit Race(std::span<const double> worths);

  // Draw j goes to out[j]: the first `wanted` items of the race that the words 1, 2, .. of RandomStream(seed, Purpose::sample,
  // streams[j]) make, one for each item. Word 0 is the caller's. The same draws on every machine but for times that agree in 40
  // bits (one pair in 10^12), which fall in the order of their items.
  void run(std::uint64_t seed, std::span<const std::uint64_t> streams, std::size_t wanted, std::span<ItemId* const> out) const;

  struct Comparator {
    std::uint16_t first, second;  // afterwards the smaller of the two stands first
  };
  // Comparators that sort n values whatever they are: Batcher's merge exchange (Knuth, The Art of Computer Programming 3, 5.2.2 M).
  static std::vector<Comparator> network(std::size_t n);

 private:
  std::vector<double> scale_;        // 1 / worth
  std::vector<Comparator> network_;  // empty: so many are better sorted one draw after the other
};

}  // namespace caucus
