// Kendall's distance and the two codes that split it into independent stages.
//
// Orders are lists of items, best first. A center is given by its inverse: position[item] = 0-based rank in the center.
//   code v: V_j = number of items after the j-th item of the center that the ranking puts before it (Fligner & Verducci 1986);
//   code s: s_j = number of items not yet used that stand before the j-th item of the ranking in the center (Meila & Bao 2008).
// Both sum to the distance. Cost O(n) words for n <= 64, O(n^2 / 64) up to a few hundred items, O(n log n) beyond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "caucus/data/ranking.h"

namespace caucus {

enum class Code { s, v };
template <>
inline constexpr std::array<std::string_view, 2> enum_names<Code>{"s", "v"};

// position[order[j]] = j.
std::vector<std::uint32_t> inverse_order(std::span<const ItemId> order);

// Number of pairs that the two orders of the same items put the other way round.
std::uint64_t kendall_distance(std::span<const ItemId> a, std::span<const ItemId> b);

// Number of pairs strictly ordered by the ranking (unlisted items are last, together) against the center.
std::uint64_t strict_discordances(RankingView ranking, std::span<const std::uint32_t> position);

// s_1..s_t of a strict top-t ranking: out[j], j < ranking.size().
void code_s(std::span<const ItemId> ranking, std::span<const std::uint32_t> position, std::span<std::uint32_t> out);
// V_1..V_n of a complete strict ranking.
void code_v(std::span<const ItemId> ranking, std::span<const std::uint32_t> position, std::span<std::uint32_t> out);

// The ranking with the given code. code_s may be shorter than the center: then the first items only.
void decode_s(std::span<const std::uint32_t> code, std::span<const ItemId> center, std::span<ItemId> out);
void decode_v(std::span<const std::uint32_t> code, std::span<const ItemId> center, std::span<ItemId> out);

}  // namespace caucus
