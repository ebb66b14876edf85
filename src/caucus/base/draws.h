// Draws that any stream of 64-bit words gives in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace caucus {

// Uniform on {0, .., bound - 1} without bias (Lemire 2019). bound > 0.
template <class Stream>
std::uint64_t draw_below(Stream& stream, std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(stream()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<Wide>(stream()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

// Index with probability proportional to weights[i] >= 0; their sum must be positive. One word.
template <class Stream>
std::size_t draw_categorical(Stream& stream, std::span<const double> weights) {
  double total = 0.0;
  for (const double weight : weights) total += weight;
  double left = stream.uniform() * total;
  std::size_t last_positive = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0.0)) continue;
    last_positive = i;
    left -= weights[i];
    if (left < 0.0) return i;
  }
  return last_positive;  // rounding only
}

}  // namespace caucus
