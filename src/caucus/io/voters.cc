#include "caucus/io/voters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "caucus/base/error.h"
#include "caucus/io/row_table.h"
#include "caucus/io/text.h"

namespace caucus {

namespace {

// Numbers are numbers however they are written: 7, 07 and 7.0 are one voter where either side holds them as numbers.
std::string key_of(std::string_view text) {
  std::string key;
  if (const auto number = parse_number(text))
    append_number(key, *number);
  else
    key = text;
  return key;
}

std::string some_names(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 5); ++i) shown.push_back(show_text(names[i]));
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > 5 ? ", ..." : "");
}

}  // namespace

void join_voter_table(Dataset& data, const Table& table) {
  Voters& voters = data.voters;
  const Column* key = table.find(voters.column);
  if (key == nullptr) {
    std::vector<std::string> there;
    for (const Column& column : table.columns) there.push_back(column.name);
    throw DataError(
        fmt::format("{}: no column {}; the table of voters needs the column that names them beside the rankings. There are: {}",
                    table.source, show_text(voters.column), fmt::join(there, ", ")));
  }
  std::unordered_map<std::string, std::size_t> line_of;
  std::vector<std::string> twice;
  for (std::size_t row = 0; row < table.num_rows; ++row) {
    if (key->is_missing(row))
      throw DataError(fmt::format("{}: row {} names no voter in column {}", table.source, row + 1, show_text(voters.column)));
    std::string name = covariate_text(*key, row);
    if (!line_of.try_emplace(key->is_numeric() ? key_of(name) : name, row).second) twice.push_back(std::move(name));
  }
  if (!twice.empty())
    throw DataError(
        fmt::format("{}: {} voters have more than one line: {}; each may have one", table.source, twice.size(), some_names(twice)));
  const std::size_t no_line = table.num_rows;
  std::vector<std::size_t> lines;
  std::vector<std::string> absent;
  for (const std::string& name : voters.names) {
    const auto found = line_of.find(key->is_numeric() ? key_of(name) : name);
    lines.push_back(found == line_of.end() ? no_line : found->second);
    if (found == line_of.end()) absent.push_back(name);
  }
  if (absent.size() == voters.size())
    throw DataError(fmt::format("{}: none of the {} voters of {} is there; do the names in column {} differ?", table.source,
                                voters.size(), data.source, show_text(voters.column)));
  if (!absent.empty())
    data.warnings.push_back(fmt::format("{} of {} voters are not in {}: {}; what is known of them is missing", absent.size(),
                                        voters.size(), table.source, some_names(absent)));
  for (const Column& column : table.columns) {
    if (&column == key) continue;
    Column joined{column.name, {}, {}};
    for (const std::size_t line : lines) {
      if (column.is_numeric())
        joined.numbers.push_back(line == no_line ? std::numeric_limits<double>::quiet_NaN() : column.numbers[line]);
      else
        joined.texts.push_back(line == no_line ? std::string() : column.texts[line]);
    }
    voters.table.push_back(std::move(joined));
  }
}

void add_voters(Dataset& data, const ReadOptions& options) {
  std::string column = options.voter.empty() ? data.voters.column : options.voter == "none" ? "" : options.voter;
  data.voters = {};
  const auto beside = std::ranges::find(data.covariates, column, &Column::name);
  const bool there = beside != data.covariates.end();
  if (options.recalled && !column.empty() && !there) {
    data.warnings.push_back(
        fmt::format("there is no column {} that names voters: every ranking counts as a voter of its own", show_text(column)));
    column.clear();
  }
  // A key that only some rows have is no answer to who cast them, unless the user says so.
  if (options.voter.empty() && there)
    for (std::size_t row = 0; row < beside->size() && !column.empty(); ++row)
      if (beside->is_missing(row)) {
        data.warnings.push_back(
            fmt::format("some rankings have no {}: every ranking counts as a voter of its own", show_text(column)));
        column.clear();
      }
  // Nor is one whose rankings differ in weight: counts of outcomes, say.
  if (options.voter.empty() && there && !column.empty() && !has_weights_of_voters(data, column)) {
    data.warnings.push_back(
        fmt::format("rankings of the same {} differ in weight: every ranking counts as a voter of its own", show_text(column)));
    column.clear();
  }
  if (!column.empty())
    collect_voters(data, column);
  else if (options.rows_are_voters)
    make_rows_voters(data);
  if (options.voters_file.empty()) return;
  if (column.empty()) throw UsageError("--voters needs --voter COLUMN, the column beside the rankings that names who cast them");
  join_voter_table(data, read_table(options.voters_file));
}

}  // namespace caucus
