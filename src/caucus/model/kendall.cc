#include "caucus/model/kendall.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "caucus/base/clones.h"

namespace caucus {

namespace {

// Above this size a Fenwick tree beats counting bits word by word.
constexpr std::size_t bitset_limit = 512;

// A set of ranks 0..n-1 that counts its members below a rank.
class RankSet64 {
 public:
  explicit RankSet64(std::size_t) {}
  void insert(std::uint32_t rank) { bits_ |= std::uint64_t{1} << rank; }
  std::uint32_t below(std::uint32_t rank) const {
    return static_cast<std::uint32_t>(std::popcount(bits_ & ((std::uint64_t{1} << rank) - 1)));
  }

 private:
  std::uint64_t bits_ = 0;
};

class RankSetWords {
 public:
  explicit RankSetWords(std::size_t) {}
  void insert(std::uint32_t rank) { words_[rank >> 6] |= std::uint64_t{1} << (rank & 63); }
  std::uint32_t below(std::uint32_t rank) const {
    int count = std::popcount(words_[rank >> 6] & ((std::uint64_t{1} << (rank & 63)) - 1));
    for (std::uint32_t word = 0; word < rank >> 6; ++word) count += std::popcount(words_[word]);
    return static_cast<std::uint32_t>(count);
  }

 private:
  std::uint64_t words_[bitset_limit / 64] = {};
};

class RankSetTree {
 public:
  explicit RankSetTree(std::size_t n) : tree_(n + 1, 0) {}
  void insert(std::uint32_t rank) {
    for (std::size_t i = rank + std::size_t{1}; i < tree_.size(); i += i & (~i + 1)) ++tree_[i];
  }
  std::uint32_t below(std::uint32_t rank) const {
    std::uint32_t count = 0;
    for (std::size_t i = rank; i > 0; i -= i & (~i + 1)) count += tree_[i];
    return count;
  }

 private:
  std::vector<std::uint32_t> tree_;
};

template <class Body>
auto with_rank_set(std::size_t n, Body&& body) {
  if (n <= 64) return body(RankSet64(n));
  if (n <= bitset_limit) return body(RankSetWords(n));
  return body(RankSetTree(n));
}

}  // namespace

std::vector<std::uint32_t> inverse_order(std::span<const ItemId> order) {
  std::vector<std::uint32_t> position(order.size());
  for (std::size_t j = 0; j < order.size(); ++j) position[order[j]] = static_cast<std::uint32_t>(j);
  return position;
}

std::uint64_t kendall_distance(std::span<const ItemId> a, std::span<const ItemId> b) {
  return strict_discordances(RankingView(a), inverse_order(b));
}

namespace {

template <class Ranks>
[[gnu::always_inline]] inline std::uint64_t count_discordances(std::span<const ItemId> items,
                                                               std::span<const std::uint32_t> position, Ranks used) {
  std::uint64_t total = 0;
  for (ItemId item : items) {
    const std::uint32_t rank = position[item];
    total += rank - used.below(rank);
    used.insert(rank);
  }
  return total;
}

CAUCUS_CLONES std::uint64_t count_by_word(std::span<const ItemId> items, std::span<const std::uint32_t> position) {
  return count_discordances(items, position, RankSet64(position.size()));
}
CAUCUS_CLONES std::uint64_t count_by_words(std::span<const ItemId> items, std::span<const std::uint32_t> position) {
  return count_discordances(items, position, RankSetWords(position.size()));
}

}  // namespace

std::uint64_t strict_discordances(RankingView ranking, std::span<const std::uint32_t> position) {
  if (!ranking.has_ties() && position.size() <= bitset_limit)
    return position.size() <= 64 ? count_by_word(ranking.items(), position) : count_by_words(ranking.items(), position);
  return with_rank_set(position.size(), [&](auto used) {
    std::uint64_t total = 0;
    if (!ranking.has_ties()) return count_discordances(ranking.items(), position, std::move(used));
    // Members of a group enter together: pairs inside it are not ordered.
    ranking.for_each_group([&](std::span<const ItemId> group) {
      for (ItemId item : group) used.insert(position[item]);
      for (ItemId item : group) total += position[item] - used.below(position[item]);
    });
    return total;
  });
}

namespace {

template <class Ranks>
[[gnu::always_inline]] inline void write_code_s(std::span<const ItemId> ranking, std::span<const std::uint32_t> position,
                                                std::span<std::uint32_t> out, Ranks used) {
  for (std::size_t j = 0; j < ranking.size(); ++j) {
    const std::uint32_t rank = position[ranking[j]];
    out[j] = rank - used.below(rank);
    used.insert(rank);
  }
}

// The member of central rank r placed at step j has had j - below(r) members of higher central rank before it.
template <class Ranks>
[[gnu::always_inline]] inline void write_code_v(std::span<const ItemId> ranking, std::span<const std::uint32_t> position,
                                                std::span<std::uint32_t> out, Ranks used) {
  for (std::size_t j = 0; j < ranking.size(); ++j) {
    const std::uint32_t rank = position[ranking[j]];
    out[rank] = static_cast<std::uint32_t>(j) - used.below(rank);
    used.insert(rank);
  }
}

// Up to 64 items these are the inner loops of every generalized Mallows fit.
CAUCUS_CLONES void code_s_word(std::span<const ItemId> ranking, std::span<const std::uint32_t> position,
                               std::span<std::uint32_t> out) {
  write_code_s(ranking, position, out, RankSet64(position.size()));
}
CAUCUS_CLONES void code_v_word(std::span<const ItemId> ranking, std::span<const std::uint32_t> position,
                               std::span<std::uint32_t> out) {
  write_code_v(ranking, position, out, RankSet64(position.size()));
}
CAUCUS_CLONES void code_s_words(std::span<const ItemId> ranking, std::span<const std::uint32_t> position,
                                std::span<std::uint32_t> out) {
  write_code_s(ranking, position, out, RankSetWords(position.size()));
}
CAUCUS_CLONES void code_v_words(std::span<const ItemId> ranking, std::span<const std::uint32_t> position,
                                std::span<std::uint32_t> out) {
  write_code_v(ranking, position, out, RankSetWords(position.size()));
}

}  // namespace

void code_s(std::span<const ItemId> ranking, std::span<const std::uint32_t> position, std::span<std::uint32_t> out) {
  if (position.size() <= 64) return code_s_word(ranking, position, out);
  if (position.size() <= bitset_limit) return code_s_words(ranking, position, out);
  write_code_s(ranking, position, out, RankSetTree(position.size()));
}

void code_v(std::span<const ItemId> ranking, std::span<const std::uint32_t> position, std::span<std::uint32_t> out) {
  if (position.size() <= 64) return code_v_word(ranking, position, out);
  if (position.size() <= bitset_limit) return code_v_words(ranking, position, out);
  write_code_v(ranking, position, out, RankSetTree(position.size()));
}

namespace {

// The k-th free place of a Fenwick tree of free places, which is then taken.
class FreePlaces {
 public:
  explicit FreePlaces(std::size_t n) : tree_(n + 1), top_(std::bit_floor(std::max<std::size_t>(n, 1))) {
    for (std::size_t i = 1; i <= n; ++i) tree_[i] = static_cast<std::uint32_t>(i & (~i + 1));
  }
  std::uint32_t take(std::uint32_t k) {
    std::size_t place = 0;
    for (std::size_t step = top_; step > 0; step >>= 1) {
      if (place + step >= tree_.size()) continue;
      if (tree_[place + step] <= k) {
        place += step;
        k -= tree_[place];
      } else {
        --tree_[place + step];
      }
    }
    return static_cast<std::uint32_t>(place);
  }

 private:
  std::vector<std::uint32_t> tree_;
  std::size_t top_;
};

constexpr std::size_t moving_limit = 512;  // memmove of 16-bit ranks

#if defined(__x86_64__)
constexpr std::size_t select_limit = 128;

// The k-th set bit by a parallel deposit: three cycles instead of a search.
[[gnu::target("bmi,bmi2,popcnt")]] void take_selected(std::span<const std::uint32_t> code, std::size_t n, std::size_t length,
                                                      std::uint32_t* ranks) {
  const auto low_bits = [](std::size_t count) { return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1; };
  std::uint64_t low = low_bits(n), high = n > 64 ? low_bits(n - 64) : 0;
  std::uint32_t in_low = static_cast<std::uint32_t>(std::min<std::size_t>(n, 64));
  for (std::size_t j = 0; j < length; ++j) {
    const std::uint32_t k = code[j];
    if (k < in_low) {
      const std::uint64_t bit = _pdep_u64(std::uint64_t{1} << k, low);
      ranks[j] = static_cast<std::uint32_t>(_tzcnt_u64(bit));
      low ^= bit;
      --in_low;
    } else {
      const std::uint64_t bit = _pdep_u64(std::uint64_t{1} << (k - in_low), high);
      ranks[j] = 64 + static_cast<std::uint32_t>(_tzcnt_u64(bit));
      high ^= bit;
    }
  }
}

bool can_select(std::size_t n) {
  static const bool has_deposit = __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("bmi");
  return n <= select_limit && has_deposit;
}
#else
constexpr std::size_t select_limit = 1;
void take_selected(std::span<const std::uint32_t>, std::size_t, std::size_t, std::uint32_t*) {}
bool can_select(std::size_t) { return false; }
#endif

// Calls take(j, rank) with the central ranks that a code takes in turn.
template <class Take>
void take_all(std::span<const std::uint32_t> code, std::size_t n, std::size_t length, Take&& take) {
  if (can_select(n)) {
    std::uint32_t ranks[select_limit];
    take_selected(code, n, length, ranks);
    for (std::size_t j = 0; j < length; ++j) take(j, ranks[j]);
  } else if (n <= moving_limit) {
    std::uint16_t left[moving_limit];
    for (std::size_t i = 0; i < n; ++i) left[i] = static_cast<std::uint16_t>(i);
    for (std::size_t j = 0; j < length; ++j) {
      const std::size_t k = code[j];
      take(j, left[k]);
      std::memmove(left + k, left + k + 1, (n - j - k - 1) * sizeof(std::uint16_t));
    }
  } else {
    FreePlaces left(n);
    for (std::size_t j = 0; j < length; ++j) take(j, left.take(code[j]));
  }
}

}  // namespace

void decode_s(std::span<const std::uint32_t> code, std::span<const ItemId> center, std::span<ItemId> out) {
  take_all(code, center.size(), std::min(code.size(), out.size()), [&](std::size_t j, std::size_t rank) { out[j] = center[rank]; });
}

void decode_v(std::span<const std::uint32_t> code, std::span<const ItemId> center, std::span<ItemId> out) {
  // V_j items of later central rank stand before item j: in central order, item j takes the V_j-th free place from the front.
  take_all(code, center.size(), center.size(), [&](std::size_t j, std::size_t place) { out[place] = center[j]; });
}

}  // namespace caucus
