// What must hold for any text whatever: it is refused with an error of ours, or it gives a sound data set that can be written
// and read back.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "caucus/base/error.h"
#include "caucus/io/columnar.h"
#include "caucus/io/io.h"
#include "caucus/io/table.h"
#include "caucus/io/testing.h"
#include "caucus/io/text.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace caucus::fuzz {

inline void require(bool condition, const std::string& what) {
  if (!condition) throw std::logic_error(what);
}

inline void check_sound(const Dataset& data) {
  require(std::set<std::string>(data.items.begin(), data.items.end()).size() == data.items.size(), "items are not distinct");
  for (const std::string& item : data.items) require(!item.empty() && is_utf8(item), "item without a valid name");
  const RankingSet& rankings = data.rankings;
  require(!rankings.empty(), "no rankings");
  double total = 0.0;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const RankingView ranking = rankings[i];
    require(ranking.size() > 0 && ranking.ends_group(ranking.size() - 1), "empty or open ranking");
    std::set<ItemId> seen;
    for (const ItemId item : ranking.items())
      require(item < data.num_items() && seen.insert(item).second, "wrong or repeated item");
    ranking.for_each_group([](std::span<const ItemId> group) {
      for (std::size_t k = 1; k < group.size(); ++k) require(group[k - 1] < group[k], "tie-group out of order");
    });
    require(rankings.weight(i) > 0.0 && std::isfinite(rankings.weight(i)), "wrong weight");
    total += rankings.weight(i);
  }
  require(std::fabs(total - rankings.total_weight()) <= 1e-9 * total, "wrong total");
  for (std::size_t row = 0; row < rankings.num_rows(); ++row) require(rankings.row_ranking(row) < rankings.size(), "wrong row");
  for (const Column& column : data.covariates)
    require((column.is_numeric() ? column.numbers.size() : column.texts.size()) == rankings.num_rows(),
            "covariate of wrong length");
  for (std::size_t i = 0; i < data.blanks.size(); ++i)
    require(data.blanks[i].row < data.num_listed() && (i == 0 || data.blanks[i - 1].row < data.blanks[i].row), "wrong blank row");
  for (const Column& column : data.blank_covariates)
    require((column.is_numeric() ? column.numbers.size() : column.texts.size()) == data.blanks.size(),
            "covariate of wrong length in blank rows");
}

// Writes and reads again; where the writer says that nothing is lost, nothing may be. Names of columns are the caller's affair:
// a covariate called "rank1" makes any table another one.
inline void check_round_trip(const Dataset& data, Format format) {
  WriteOptions to;
  to.format = format;
  std::vector<std::string> lost;
  const std::string text = format_dataset(data, "x", to, &lost);
  std::erase_if(lost, [](const std::string& one) { return one.starts_with("nothing, but"); });
  if (!lost.empty() || (format != Format::jsonl && !data.covariates.empty())) {
    require(format != Format::jsonl, "JSON lines lost something");
    return;
  }
  ReadOptions from;
  from.format = format;
  Dataset back;
  try {
    back = parse_dataset(text, "x", from);
  } catch (const Error& error) {
    throw std::logic_error(fmt::format("{} as written is refused: {}\n{}", name_of(format), error.what(), text));
  }
  const std::string difference = io_testing::difference(data, back);
  require(difference.empty(), fmt::format("{} came back with another {}:\n{}", name_of(format), difference, text));
}

// A damaged .cds file with checksums that match what is in it: otherwise no damage would get beyond them.
inline std::string with_checksums(std::string_view text) {
  using namespace columnar;
  std::string bytes(text);
  Head head;
  if (bytes.size() < sizeof head) return bytes;
  std::memcpy(&head, bytes.data(), sizeof head);
  std::memcpy(head.magic, magic.data(), magic.size());
  head.version = version;
  head.file_bytes = bytes.size();
  head.checksum = 0;
  std::memcpy(bytes.data(), &head, sizeof head);
  const std::size_t sums = sizeof head + head.num_sections * sizeof(Section);
  if (head.payload > bytes.size() || head.payload < sums + sizeof(std::uint64_t)) return bytes;
  const std::uint64_t sum = XXH3_64bits(bytes.data() + head.payload, bytes.size() - head.payload);
  std::memcpy(bytes.data() + sums, &sum, sizeof sum);
  head.checksum = XXH3_64bits(bytes.data(), head.payload);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

// Refused or sound. It need not be what a writer would write: rankings may be repeated, or out of order.
inline void check_forged(std::string_view text) {
  ReadOptions options;
  options.format = Format::columnar;
  try {
    check_sound(parse_dataset(with_checksums(text), "x", options));
  } catch (const Error&) {
  }
}

inline void check_reader(Format format, std::string_view text) {
  if (format == Format::columnar) check_forged(text);
  ReadOptions options;
  options.format = format;
  Dataset data;
  try {
    data = parse_dataset(text, "x", options);
  } catch (const DataError& error) {
    require(!error.diagnostics().empty() && error.diagnostics().size() <= 20, "wrong number of diagnostics");
    return;
  } catch (const Error&) {
    return;
  }
  check_sound(data);
  check_round_trip(data, Format::jsonl);
  if (format != Format::jsonl && format != Format::automatic) check_round_trip(data, format);
  // One other format, chosen by the input.
  const auto& all = formats();
  check_round_trip(data, all[text.size() % all.size()].format);
}

inline void check_table(std::string_view text) {
  try {
    const Table table = parse_table(text, "x");
    for (const Column& column : table.columns)
      require((column.is_numeric() ? column.numbers.size() : column.texts.size()) == table.num_rows, "column of wrong length");
  } catch (const Error&) {
  }
}

}  // namespace caucus::fuzz
