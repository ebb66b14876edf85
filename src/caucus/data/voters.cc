#include "caucus/data/voters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "caucus/base/error.h"
#include "caucus/data/dataset.h"

namespace caucus {

bool Column::is_missing(std::size_t row) const { return is_numeric() ? std::isnan(numbers[row]) : texts[row].empty(); }

Column Column::select(const std::vector<std::size_t>& rows) const {
  Column part{name, {}, {}};
  for (const std::size_t row : rows) is_numeric() ? part.numbers.push_back(numbers[row]) : part.texts.push_back(texts[row]);
  return part;
}

double Voters::total_weight() const {
  double total = 0.0;
  for (const double weight : weights) total += weight;
  return total;
}

Incidence Incidence::transposed(std::size_t num_columns) const {
  Incidence result;
  result.begin.assign(num_columns + 1, 0);
  for (const std::uint32_t column : other) ++result.begin[column + 1];
  for (std::size_t c = 0; c < num_columns; ++c) result.begin[c + 1] += result.begin[c];
  std::vector<std::uint32_t> next(result.begin.begin(), result.begin.end() - 1);
  result.other.resize(other.size());
  result.times.resize(times.size());
  for (std::size_t row = 0; row < num_rows(); ++row)
    for (std::size_t j = begin[row]; j < begin[row + 1]; ++j) {
      const std::uint32_t place = next[other[j]]++;
      result.other[place] = static_cast<std::uint32_t>(row);
      if (!times.empty()) result.times[place] = times[j];
    }
  return result;
}

namespace {

// Rows by voter, then equal rankings of a voter counted.
Incidence count_rankings(const RankingSet& rankings, std::span<const std::uint32_t> of_row, std::size_t num_voters) {
  std::vector<std::uint32_t> begin(num_voters + 1, 0), cast(of_row.size());
  for (const std::uint32_t voter : of_row) ++begin[voter + 1];
  for (std::size_t v = 0; v < num_voters; ++v) begin[v + 1] += begin[v];
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t row = 0; row < of_row.size(); ++row)
    cast[next[of_row[row]]++] = static_cast<std::uint32_t>(rankings.row_ranking(row));
  Incidence result;
  result.begin.assign(num_voters + 1, 0);
  std::vector<std::uint32_t> times;
  bool repeated = false;
  std::uint32_t end = 0;
  for (std::size_t v = 0; v < num_voters; ++v) {
    std::sort(cast.begin() + begin[v], cast.begin() + begin[v + 1]);
    const std::uint32_t first = end;
    for (std::uint32_t j = begin[v]; j < begin[v + 1]; ++j) {
      if (end > first && cast[end - 1] == cast[j]) {
        ++times[end - 1];
        repeated = true;
      } else {
        cast[end++] = cast[j];
        times.push_back(1);
      }
    }
    result.begin[v + 1] = end;
  }
  cast.resize(end);
  cast.shrink_to_fit();
  result.other = std::move(cast);
  if (repeated) result.times = std::move(times);
  return result;
}

std::string cell_text(const Column& column, std::size_t row) {
  if (!column.is_numeric()) return column.texts[row];
  return column.is_missing(row) ? std::string() : fmt::format("{}", column.numbers[row]);
}

bool same_value(const Column& column, std::size_t a, std::size_t b) {
  if (!column.is_numeric()) return column.texts[a] == column.texts[b];
  return column.numbers[a] == column.numbers[b] || (std::isnan(column.numbers[a]) && std::isnan(column.numbers[b]));
}

// The row of each voter's first ranking.
std::vector<std::size_t> first_rows(const Voters& voters) {
  std::vector<std::size_t> first(voters.size(), voters.of_row.size());
  for (std::size_t row = voters.of_row.size(); row-- > 0;) first[voters.of_row[row]] = row;
  return first;
}

}  // namespace

void set_voters(Dataset& data, std::vector<std::uint32_t> of_row, std::vector<std::string> names, std::vector<double> weights) {
  Voters& voters = data.voters;
  voters.of_row = std::move(of_row);
  voters.names = std::move(names);
  voters.weights = std::move(weights);
  voters.rankings = count_rankings(data.rankings, voters.of_row, voters.size());
  voters.casters = voters.rankings.transposed(data.rankings.size());
  voters.shared_ = voters.of_row.size() > voters.size();
}

bool has_weights_of_voters(const Dataset& data, std::string_view name) {
  const auto column = std::ranges::find(data.covariates, name, &Column::name);
  if (column == data.covariates.end()) return true;
  const RankingSet& rankings = data.rankings;
  std::size_t row = 1;
  while (row < rankings.num_rows() && rankings.row_weight(row) == rankings.row_weight(0)) ++row;
  if (row >= rankings.num_rows()) return true;  // all rows have one weight: no name needs to be read
  std::unordered_map<std::string, double> weights;
  for (row = 0; row < rankings.num_rows(); ++row) {
    const double weight = rankings.row_weight(row);
    if (weights.try_emplace(cell_text(*column, row), weight).first->second != weight) return false;
  }
  return true;
}

void collect_voters(Dataset& data, std::string_view name) {
  const auto column = std::ranges::find(data.covariates, name, &Column::name);
  if (column == data.covariates.end()) {
    std::string there;
    for (const Column& one : data.covariates) there += (there.empty() ? "" : ", ") + one.name;
    throw UsageError(
        there.empty() ? fmt::format("--voter {}: {}: no column stands beside the rankings", name, data.source)
                      : fmt::format("--voter {}: {}: no such column beside the rankings; there are: {}", name, data.source, there));
  }
  const RankingSet& rankings = data.rankings;
  std::vector<std::uint32_t> of_row(rankings.num_rows());
  std::vector<std::string> names;
  std::vector<double> weights;
  std::unordered_map<std::string, std::uint32_t> numbers;
  std::size_t num_nameless = 0, first_nameless = 0;
  for_each_file_row(
      data,
      [&](std::size_t file_row, std::size_t row) {
        std::string who = cell_text(*column, row);
        if (who.empty() && num_nameless++ == 0) first_nameless = file_row;
        const auto [found, fresh] = numbers.try_emplace(std::move(who), static_cast<std::uint32_t>(weights.size()));
        of_row[row] = found->second;
        const double weight = rankings.row_weight(row);
        if (fresh) {
          names.push_back(found->first);
          weights.push_back(weight);
        } else if (weights[found->second] != weight && num_nameless == 0) {
          throw DataError(fmt::format(
              "{}: ranking {}: voter '{}' has weight {} here and {} before; a weight is the voter's and the same in all "
              "rows (--weight-column none leaves weights out)",
              data.source, file_row + 1, found->first, weight, weights[found->second]));
        }
      },
      [](std::size_t, std::size_t) {});
  if (num_nameless > 0)
    throw DataError(
        fmt::format("{}: column '{}': {} rankings name no voter, the first of them ranking {}; give each a name of its "
                    "own, or leave --voter out",
                    data.source, name, num_nameless, first_nameless + 1));
  data.voters = {};
  if (const auto blank = std::ranges::find(data.blank_covariates, name, &Column::name); blank != data.blank_covariates.end()) {
    std::unordered_map<std::string, bool> seen;
    for (std::size_t row = 0; row < blank->size(); ++row) {
      const std::string who = cell_text(*blank, row);
      if (!who.empty() && !numbers.contains(who) && seen.try_emplace(who, true).second) data.voters.silent.push_back(who);
    }
  }
  data.voters.column = std::string(name);
  set_voters(data, std::move(of_row), std::move(names), std::move(weights));
  if (!data.voters.silent.empty())
    data.warnings.push_back(fmt::format("{} voters cast blank rankings only and take no part", data.voters.silent.size()));
}

void make_rows_voters(Dataset& data) {
  std::vector<std::uint32_t> of_row(data.rankings.num_rows());
  std::vector<double> weights(of_row.size());
  for (std::size_t row = 0; row < of_row.size(); ++row) {
    of_row[row] = static_cast<std::uint32_t>(row);
    weights[row] = data.rankings.row_weight(row);
  }
  data.voters = {};
  set_voters(data, std::move(of_row), {}, std::move(weights));
}

std::vector<Column> voter_columns(const Dataset& data) {
  const Voters& voters = data.voters;
  std::vector<Column> columns = voters.table;
  const std::vector<std::size_t> first = first_rows(voters);
  for (const Column& column : data.covariates) {
    if (column.name == voters.column && !voters.by_row()) continue;
    if (std::ranges::find(columns, column.name, &Column::name) != columns.end()) continue;
    bool varies = false;
    for (std::size_t row = 0; row < voters.of_row.size() && !varies; ++row)
      varies = !same_value(column, row, first[voters.of_row[row]]);
    if (!varies) columns.push_back(column.select(first));
  }
  return columns;
}

Dataset with_voter_weights(const Dataset& data, std::span<const double> weights) {
  const Voters& voters = data.voters;
  Dataset part;
  part.items = data.items;
  part.unranked = data.unranked;
  part.source = data.source;
  std::vector<std::size_t> kept;
  std::vector<std::uint32_t> number(voters.size(), 0), of_row;
  std::vector<std::string> names;
  std::vector<double> own;
  for (std::size_t v = 0; v < voters.size(); ++v) {
    if (!(weights[v] > 0.0)) continue;
    number[v] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(v);
    own.push_back(weights[v]);
    if (!voters.names.empty()) names.push_back(voters.names[v]);
  }
  RankingSetBuilder builder;
  const RankingSet& rankings = data.rankings;
  for (std::size_t row = 0; row < voters.of_row.size(); ++row) {
    const std::uint32_t voter = voters.of_row[row];
    if (!(weights[voter] > 0.0)) continue;
    const std::size_t i = rankings.row_ranking(row);
    const auto ends = rankings.has_ties() ? rankings.group_ends().subspan(rankings.offsets()[i], rankings.length(i))
                                          : std::span<const std::uint8_t>{};
    builder.append(rankings[i].items(), weights[voter], ends);
    of_row.push_back(number[voter]);
  }
  part.rankings = builder.build();
  part.voters.column = voters.column;
  for (const Column& column : voter_columns(data)) part.voters.table.push_back(column.select(kept));
  set_voters(part, std::move(of_row), std::move(names), std::move(own));
  return part;
}

}  // namespace caucus
