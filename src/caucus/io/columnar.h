// The layout of .cds files: a data set as its arrays lie in memory, so that a file is mapped and not read. docs/data.md has the
// table. Numbers are little-endian; arrays begin at multiples of 64 bytes; everything is under a checksum.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace caucus::columnar {

// As in PNG: a byte above 127, both kinds of line break and the end-of-file mark of old systems, so that a file that some program
// took for text is told at once.
inline constexpr std::string_view magic{
    "\x89"
    "CDS\r\n\x1a\n",
    8};
inline constexpr std::uint32_t version = 1;
inline constexpr std::size_t alignment = 64;
inline constexpr std::size_t block_bytes = std::size_t{1} << 20;  // under one checksum
static_assert(std::endian::native == std::endian::little, "files would need their bytes turned round");

// Then come the table of sections, one checksum (XXH3, 64 bits) per block of the payload, and the payload.
struct Head {
  char magic[8];
  std::uint32_t version;
  std::uint32_t num_sections;
  std::uint64_t file_bytes;
  std::uint64_t payload;   // where it begins
  std::uint64_t checksum;  // of everything before the payload, this field taken as 0
  double total_weight;
  std::uint32_t unranked;
  std::uint32_t reserved;
  std::uint64_t seats;
};
static_assert(sizeof(Head) == 64);

struct Section {
  std::uint32_t kind;
  std::uint32_t part;  // of columns: which one
  std::uint64_t begin;
  std::uint64_t bytes;
};
static_assert(sizeof(Section) == 24);

// Texts are a count, the end of each, and their bytes one after the other.
enum Kind : std::uint32_t {
  item_names = 1,  // texts
  offsets,         // 64 bits
  listed,          // 32 bits: items, best first
  group_ends,      // 8 bits; missing: no ties
  weights,         // double
  row_rankings,    // 32 bits; missing: rows are rankings
  row_weights,     // double
  blank_rows,      // 64 bits
  blank_weights,   // double
  facts,           // double: overvoted, skipped
  warnings,        // texts
  voter_column,    // texts, one
  column_names,    // texts
  numbers,         // double, one section per column of numbers
  texts,
  blank_numbers,  // the same for blank rows
  blank_texts,
  end_of_kinds,
};

constexpr std::size_t aligned(std::size_t position) { return (position + alignment - 1) / alignment * alignment; }

inline bool is_columnar(std::string_view bytes) { return bytes.starts_with(magic); }

}  // namespace caucus::columnar
