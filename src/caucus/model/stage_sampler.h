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

// v in {0, .., m-1} with P(v) proportional to exp(-theta v), by inversion: O(1), no tables.
std::uint32_t draw_stage(double theta, std::size_t m, RandomStream& stream);

class StageSampler {
 public:
  // Stage j (0-based) has n - j values and dispersion theta[j], j < n - 1. O(n min(n, 256)) time and memory.
  StageSampler(std::span<const double> theta, std::size_t num_items);

  // The first `out.size()` stages, at most n; the last stage (one value) is 0.
  void draw(RandomStream& stream, std::span<std::uint32_t> out) const;

 private:
  static constexpr std::size_t max_outcomes = 1024;
  static constexpr std::size_t max_stages = 6;
  struct Entry {
    std::uint64_t threshold;  // of 2^64: below, the entry's own outcome; else its alias
    std::uint32_t alias;
  };
  struct Group {
    std::size_t first = 0;  // stages first .. first + count - 1
    std::size_t count = 0;
    std::size_t begin = 0;  // of the entries
    std::size_t size = 0;   // outcomes; 0: drawn by inversion
    unsigned bits = 0;      // the table has 2^bits columns
  };
  void build(Group& group);

  std::size_t num_items_;
  std::vector<double> theta_;
  std::vector<Group> groups_;
  std::vector<Entry> entries_;
  std::vector<std::array<std::uint16_t, max_stages>> digits_;
};

}  // namespace caucus
