#include "caucus/io/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "caucus/io/csv.h"
#include "caucus/io/diagnostics.h"
#include "caucus/io/source.h"
#include "caucus/io/text.h"

namespace caucus {

const Column* Table::find(std::string_view name) const {
  for (const Column& column : columns)
    if (column.name == name) return &column;
  return nullptr;
}

const Column& Table::column(std::string_view name) const {
  if (const Column* found = find(name)) return *found;
  std::string names;
  for (const Column& column : columns) {
    if (names.size() > 300) {
      names += ", ...";
      break;
    }
    names += (names.empty() ? "" : ", ") + column.name;
  }
  throw DataError(fmt::format("{}: no column {}; there are: {}", source, show_text(name), names));
}

bool is_missing_cell(std::string_view cell) {
  return cell.empty() || cell == "NA" || cell == "NaN" || cell == "nan" || cell == "null" || cell == "NULL" || cell == "?";
}

namespace {

// Digits that a number forgets: zeros at the front, or more of them than a double holds.
bool is_numbered_id(std::string_view cell) {
  if (cell.size() < 2 || !std::ranges::all_of(cell, is_digit)) return false;
  return cell.front() == '0' || cell.size() > 15;
}

Column column_of(std::string name, const std::vector<std::string_view>& cells, bool keep_ids) {
  Column column;
  column.name = std::move(name);
  column.numbers.reserve(cells.size());
  for (const std::string_view cell : cells) {
    if (is_missing_cell(cell)) {
      column.numbers.push_back(std::numeric_limits<double>::quiet_NaN());
    } else if (const auto number = parse_number(cell); number && !(keep_ids && is_numbered_id(cell))) {
      column.numbers.push_back(*number);
    } else {
      column.numbers = {};
      break;
    }
  }
  if (column.numbers.size() == cells.size()) return column;
  column.texts.reserve(cells.size());
  bool converted = false;
  for (const std::string_view cell : cells)
    column.texts.push_back(is_missing_cell(cell) ? std::string() : to_utf8(cell, converted));
  return column;
}

}  // namespace

Column make_column(std::string name, const std::vector<std::string_view>& cells) {
  return column_of(std::move(name), cells, false);
}
Column make_id_column(std::string name, const std::vector<std::string_view>& cells) {
  return column_of(std::move(name), cells, true);
}

namespace {

Table parse_source(const Source& source) {
  Diagnostics diagnostics(source.name());
  CsvReader reader(source.text(), guess_delimiter(source.text()));
  if (!reader.next()) throw DataError(source.name() + ": is empty, expected a table with a header line");
  std::vector<std::string> names;
  bool converted = false;
  for (const CsvCell& cell : reader.cells()) names.push_back(to_utf8(cell.text, converted));
  // A delimiter at the end of every line makes one nameless, empty column.
  const bool trailing = names.size() > 1 && names.back().empty();

  std::vector<std::vector<std::string_view>> cells(names.size());
  Table table;
  while (reader.next()) {
    if (reader.unterminated()) diagnostics.add(reader.line(), reader.cells().back().column, "found a quote that is never closed");
    const std::size_t found = reader.cells().size();
    if (found != names.size() && !(trailing && found + 1 == names.size())) {
      diagnostics.add(reader.line(), 1, fmt::format("found {} cells, expected {} as in the header", found, names.size()));
      continue;
    }
    for (std::size_t i = 0; i < names.size(); ++i) cells[i].push_back(i < found ? reader.cells()[i].text : std::string_view());
    ++table.num_rows;
  }
  diagnostics.throw_if_any();
  if (converted) table.warnings.emplace_back("some names are not UTF-8 and were read as Windows-1252");
  for (std::size_t i = 0; i < names.size(); ++i) {
    Column column = make_column(names[i], cells[i]);
    if (trailing && i + 1 == names.size()) {
      bool all_missing = column.is_numeric();
      for (const double number : column.numbers) all_missing = all_missing && std::isnan(number);
      if (all_missing) continue;
    }
    table.columns.push_back(std::move(column));
    cells[i] = {};
  }
  table.source = source.name();
  const XXH128_hash_t hash = XXH3_128bits(source.text().data(), source.text().size());
  table.digest = fmt::format("xxh128:{:016x}{:016x}", hash.high64, hash.low64);
  return table;
}

}  // namespace

Table read_table(const std::string& path) { return parse_source(Source::open(path)); }
Table parse_table(std::string_view text, const std::string& name) { return parse_source(Source::from_text(text, name)); }

}  // namespace caucus
