#include "caucus/infer/mallows_mixture/pair_bits.h"

#include <algorithm>
#include <bit>

#include "caucus/base/bit_tables.h"
#include "caucus/base/clones.h"

namespace caucus::mallows_mixture {

namespace {

CAUCUS_CLONES void count_complete(const std::uint64_t* forward, const std::uint64_t* center, std::size_t words, std::size_t count,
                                  std::uint16_t* out) {
  if (words == 1) {
    const std::uint64_t c = center[0];
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint16_t>(std::popcount(forward[i] ^ c));
    return;
  }
  for (std::size_t i = 0; i < count; ++i, forward += words) {
    int total = 0;
    for (std::size_t w = 0; w < words; ++w) total += std::popcount(forward[w] ^ center[w]);
    out[i] = static_cast<std::uint16_t>(total);
  }
}

CAUCUS_CLONES void count_partial(const std::uint64_t* forward, const std::uint64_t* backward, const std::uint64_t* center,
                                 std::size_t words, std::size_t count, std::uint16_t* out) {
  for (std::size_t i = 0; i < count; ++i, forward += words, backward += words) {
    int total = 0;
    for (std::size_t w = 0; w < words; ++w) total += std::popcount((forward[w] & ~center[w]) | (backward[w] & center[w]));
    out[i] = static_cast<std::uint16_t>(total);
  }
}

void add_chunks(const std::uint64_t* bits, std::size_t words, std::size_t chunks, unsigned chunk_bits, std::size_t count,
                const double* weights, std::size_t num_components, double* table) {
  const std::uint64_t mask = (std::uint64_t{1} << chunk_bits) - 1;
  const std::size_t per_word = 64 / chunk_bits, values = std::size_t{1} << chunk_bits;
  with_lanes(num_components, [=](auto lanes) {
    const std::uint64_t* row = bits;
    const double* __restrict weight = weights;  // kept in registers while the cells are written
    for (std::size_t i = 0; i < count; ++i, row += words, weight += lanes)
      for (std::size_t c = 0; c < chunks; ++c) {
        double* __restrict cell = table + (c * values + (row[c / per_word] >> (chunk_bits * (c % per_word)) & mask)) * lanes;
        for (std::size_t k = 0; k < lanes; ++k) cell[k] += weight[k];
      }
  });
}

}  // namespace

PairBits::PairBits(const RankingSet& rankings, std::size_t num_items) : PairBits(rankings, num_items, 0, rankings.size()) {}

PairBits::PairBits(const RankingSet& rankings, std::size_t num_items, std::size_t first, std::size_t last)
    : num_items_(num_items),
      num_pairs_(num_items * (num_items - 1) / 2),
      words_(std::max<std::size_t>(1, (num_pairs_ + 63) / 64)),
      first_(first),
      last_(last) {
  // Wide chunks pay when there are many more rankings than table cells.
  chunk_bits_ = rankings.size() < 2000 ? 4 : 8;
  chunks_ = (num_pairs_ + chunk_bits_ - 1) / chunk_bits_;
  partial_ = rankings.has_ties();
  for (std::size_t i = 0; i < rankings.size() && !partial_; ++i) partial_ = rankings.length(i) + 1 < num_items;
  fill(rankings);
}

PairBits::PairBits(const PairBits& other, const RankingSet& rankings, std::size_t first, std::size_t last)
    : num_items_(other.num_items_),
      num_pairs_(other.num_pairs_),
      words_(other.words_),
      first_(first),
      last_(last),
      partial_(other.partial_),
      chunk_bits_(other.chunk_bits_),
      chunks_(other.chunks_) {
  fill(rankings);
}

void PairBits::fill(const RankingSet& rankings) {
  const std::size_t num_items = num_items_, count = last_ - first_;
  forward_ = scratch_array<std::uint64_t>(rankings.scratch(), count * words_);
  if (partial_) backward_ = scratch_array<std::uint64_t>(rankings.scratch(), count * words_);
  std::vector<std::size_t> group(num_items);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t g = 0;
    std::fill(group.begin(), group.end(), num_items);  // unlisted: last
    rankings[first_ + i].for_each_group([&](std::span<const ItemId> members) {
      for (ItemId item : members) group[item] = g;
      ++g;
    });
    std::size_t p = 0;
    for (std::size_t a = 0; a < num_items; ++a)
      for (std::size_t b = a + 1; b < num_items; ++b, ++p) {
        const std::uint64_t bit = std::uint64_t{1} << (p & 63);
        if (group[a] < group[b]) forward_[i * words_ + (p >> 6)] |= bit;
        if (partial_ && group[b] < group[a]) backward_[i * words_ + (p >> 6)] |= bit;
      }
  }
}

std::vector<std::uint64_t> PairBits::center_bits(std::span<const std::uint32_t> position) const {
  std::vector<std::uint64_t> bits(words_, 0);
  std::size_t p = 0;
  for (std::size_t a = 0; a < num_items_; ++a)
    for (std::size_t b = a + 1; b < num_items_; ++b, ++p)
      if (position[a] < position[b]) bits[p >> 6] |= std::uint64_t{1} << (p & 63);
  return bits;
}

void PairBits::distances(std::span<const std::uint64_t> center, std::size_t first, std::span<std::uint16_t> out) const {
  if (!partial_)
    count_complete(forward_.data() + (first - first_) * words_, center.data(), words_, out.size(), out.data());
  else
    count_partial(forward_.data() + (first - first_) * words_, backward_.data() + (first - first_) * words_, center.data(), words_,
                  out.size(), out.data());
}

PairBits::Sums::Sums(const PairBits& bits, std::size_t num_components)
    : components_(num_components), forward_((bits.chunks_ << bits.chunk_bits_) * num_components, 0.0) {
  if (bits.partial_) backward_.assign(forward_.size(), 0.0);
}

void PairBits::Sums::add(const PairBits& bits, std::size_t first, std::size_t count, std::span<const double> weights) {
  add_chunks(bits.forward_.data() + (first - bits.first_) * bits.words_, bits.words_, bits.chunks_, bits.chunk_bits_, count,
             weights.data(), components_, forward_.data());
  if (!backward_.empty())
    add_chunks(bits.backward_.data() + (first - bits.first_) * bits.words_, bits.words_, bits.chunks_, bits.chunk_bits_, count,
               weights.data(), components_, backward_.data());
}

void PairBits::Sums::fold(const Sums& other) {
  for (std::size_t i = 0; i < forward_.size(); ++i) forward_[i] += other.forward_[i];
  for (std::size_t i = 0; i < backward_.size(); ++i) backward_[i] += other.backward_[i];
}

PairMatrix PairBits::Sums::matrix(const PairBits& bits, std::size_t k, double total) const {
  const std::size_t n = bits.num_items_, values = std::size_t{1} << bits.chunk_bits_;
  PairMatrix pairs(n);
  std::vector<double> value(values);
  const auto unfold = [&](const std::vector<double>& table, std::size_t chunk, double* sums) {
    for (std::size_t v = 0; v < values; ++v) value[v] = table[(chunk * values + v) * components_ + k];
    std::fill_n(sums, 8, 0.0);
    add_sums_by_bit(value.data(), bits.chunk_bits_, std::integral_constant<std::size_t, 1>{}, sums);
  };
  double forward[8], backward[8];
  std::size_t a = 0, b = 1;
  for (std::size_t chunk = 0; chunk < bits.chunks_; ++chunk) {
    unfold(forward_, chunk, forward);
    if (!backward_.empty()) unfold(backward_, chunk, backward);
    for (unsigned bit = 0; bit < bits.chunk_bits_ && chunk * bits.chunk_bits_ + bit < bits.num_pairs_; ++bit) {
      pairs(a, b) = forward[bit];
      pairs(b, a) = backward_.empty() ? total - forward[bit] : backward[bit];
      if (++b == n) ++a, b = a + 1;
    }
  }
  return pairs;
}

}  // namespace caucus::mallows_mixture
