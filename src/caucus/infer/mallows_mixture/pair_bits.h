// Rankings as bits, one per pair of items: Kendall's distance is a population count, and weighted pair matrices are sums by
// table. For up to 32 items (496 pairs, eight words).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/base/bytes.h"
#include "caucus/data/ranking.h"
#include "caucus/model/pair_matrix.h"

namespace caucus::mallows_mixture {

class PairBits {
 public:
  static constexpr std::size_t max_items = 32;

  PairBits() = default;
  // Unlisted items are last. Of rankings [first, last) alone, where they are given.
  PairBits(const RankingSet& rankings, std::size_t num_items);
  PairBits(const RankingSet& rankings, std::size_t num_items, std::size_t first, std::size_t last);
  // Of other rankings of the same set, laid out alike: sums over both may be one.
  PairBits(const PairBits& other, const RankingSet& rankings, std::size_t first, std::size_t last);

  bool has(std::size_t first, std::size_t count) const { return first >= first_ && first + count <= last_; }

  std::size_t num_words() const { return words_; }
  std::vector<std::uint64_t> center_bits(std::span<const std::uint32_t> position) const;
  // out[i - first] = strict pairs of ranking i against the center. O(words) each.
  void distances(std::span<const std::uint64_t> center, std::size_t first, std::span<std::uint16_t> out) const;

  // Weighted sums over rankings of the pair bits, K weights at a time, by tables over chunks of eight pairs: O(n^2 / 16) adds per
  // ranking and component.
  class Sums {
   public:
    Sums() = default;
    Sums(const PairBits& bits, std::size_t num_components);
    // weights: K numbers for each ranking of [first, first + count).
    void add(const PairBits& bits, std::size_t first, std::size_t count, std::span<const double> weights);
    void fold(const Sums& other);
    // Q of component k; total = sum of its weights.
    PairMatrix matrix(const PairBits& bits, std::size_t k, double total) const;

   private:
    friend auto parts(IsA<Sums> auto& sums) { return std::tie(sums.components_, sums.forward_, sums.backward_); }
    std::size_t components_ = 0;
    std::vector<double> forward_, backward_;  // [chunk][value][k]
  };

 private:
  void fill(const RankingSet& rankings);

  std::size_t num_items_ = 0, num_pairs_ = 0, words_ = 0;
  std::size_t first_ = 0, last_ = 0;
  bool partial_ = false;
  unsigned chunk_bits_ = 8;
  std::size_t chunks_ = 0;
  Buffer<std::uint64_t> forward_;   // bit of pair a < b: a strictly before b
  Buffer<std::uint64_t> backward_;  // b strictly before a; empty if all rankings are complete and strict
};

}  // namespace caucus::mallows_mixture
