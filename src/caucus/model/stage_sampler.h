// Fast exact draws of the stages of a Mallows or generalized Mallows model: small stages share one joint alias table (Walker
// 1977; Vose 1991) of a power of two columns, so that half a random word settles several of them: some bits choose the column, the
// rest are compared with its threshold, and the rare equality draws more bits. Exact to 64 bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/base/random.h"

namespace caucus {

// v in {0, .., m-1} with P(v) proportional to exp(-theta v), by inversion: O(1), no tables. A stream is a RandomStream or a
// WordStream, here and below.
template <class Stream>
std::uint32_t draw_stage(double theta, std::size_t m, Stream& stream);

class StageSampler {
 public:
  // Stage j (0-based) has n - j values and dispersion theta[j], j < n - 1. O(n min(n, 256)) time and memory.
  StageSampler(std::span<const double> theta, std::size_t num_items);

  // The first `count` stages, at most n; the last stage (one value) is 0. Groups of stages are written whole, so `out` holds
  // `count` + beyond.
  static constexpr std::size_t beyond = 8;
  template <class Stream>
  void draw(Stream& stream, std::size_t count, std::span<std::uint32_t> out) const;

 private:
  static constexpr std::size_t max_outcomes = 1024;
  static constexpr std::size_t max_stages = 6;
  // What is looked at with every draw, in one place.
  struct Column {
    std::uint32_t threshold;  // of the random bits below the column's: below, the column's own outcome; else its alias
    std::uint32_t alias;
    std::array<std::uint8_t, beyond> digits;  // of the column's own outcome
  };
  struct Group {
    std::size_t first = 0;  // stages first .. first + count - 1
    std::size_t count = 0;
    std::size_t begin = 0;  // of the columns
    std::size_t size = 0;   // outcomes; 0: drawn by inversion
    unsigned bits = 0;      // the table has 2^bits columns
  };
  void build(Group& group);

  std::size_t num_items_;
  std::vector<double> theta_;
  std::vector<Group> groups_;
  std::vector<Column> columns_;
  std::vector<std::uint64_t> below_thresholds_;  // the bits of the thresholds that follow, asked for where all others are equal
};

}  // namespace caucus
