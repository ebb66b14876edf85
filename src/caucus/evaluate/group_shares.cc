#include "caucus/evaluate/group_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "caucus/base/error.h"
#include "caucus/io/items.h"
#include "caucus/io/row_table.h"
#include "caucus/io/text.h"

namespace caucus {

namespace {

// Wilson's interval for a share of `total` observations; fractions of ballots count as such.
Share make_share(double count, double total) {
  Share result;
  result.count = count;
  if (!(total > 0.0)) return result;
  constexpr double z = 1.959963984540054;
  const double p = count / total, spread = z * std::sqrt(p * (1.0 - p) / total + z * z / (4.0 * total * total));
  const double center = p + z * z / (2.0 * total), scale = 1.0 + z * z / total;
  result.share = p;
  result.low = std::max(0.0, (center - spread) / scale);
  result.high = std::min(1.0, (center + spread) / scale);
  return result;
}

constexpr std::size_t most_numbers = 12;
constexpr std::size_t num_ranges = 5;

std::string number_text(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

// The value of each row: the position in `values`.
struct Coding {
  std::vector<std::string> values;
  std::vector<std::size_t> of_row;
};

// Numbers with many values fall into ranges that hold about as many rows each.
Coding code_numbers(const Column& column) {
  std::vector<double> sorted;
  for (const double value : column.numbers)
    if (!std::isnan(value)) sorted.push_back(value);
  std::ranges::sort(sorted);
  std::vector<double> distinct = sorted;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<double> first;  // the smallest value of each range
  if (distinct.size() <= most_numbers) {
    first = distinct;
  } else {
    for (std::size_t i = 0; i < num_ranges; ++i) {
      const double value = sorted[i * sorted.size() / num_ranges];
      if (first.empty() || value > first.back()) first.push_back(value);
    }
  }
  Coding coding;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto next = i + 1 < first.size() ? std::ranges::lower_bound(distinct, first[i + 1]) : distinct.end();
    const double last = *(next - 1);
    coding.values.push_back(last == first[i] ? number_text(last)
                                             : fmt::format("{} to {}", number_text(first[i]), number_text(last)));
  }
  for (const double value : column.numbers)
    coding.of_row.push_back(
        std::isnan(value) ? first.size() : static_cast<std::size_t>(std::ranges::upper_bound(first, value) - first.begin()) - 1);
  return coding;
}

Coding code_texts(const Column& column) {
  std::vector<std::string> distinct = column.texts;
  std::ranges::sort(distinct, natural_less);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::erase(distinct, std::string());
  std::map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < distinct.size(); ++i) place[distinct[i]] = i;
  Coding coding;
  for (const std::string& text : column.texts) coding.of_row.push_back(text.empty() ? distinct.size() : place[text]);
  coding.values = distinct;
  return coding;
}

const Column& find_column(const Dataset& data, const std::vector<Column>& columns, std::string_view name) {
  for (const Column& column : columns)
    if (column.name == name) return column;
  std::string there;
  for (const Column& column : columns) {
    if (equal_ignoring_case(column.name, name)) return column;
    there += (there.empty() ? "" : ", ") + column.name;
  }
  throw UsageError(there.empty()
                       ? fmt::format("{}: no column stands beside the ballots", data.source)
                       : fmt::format("{}: no column {} beside the ballots; there are: {}", data.source, show_text(name), there));
}

// Who has which membership: weight_of(row) and membership_of(row, group) for each row of the column.
template <class Weight, class Member>
GroupShares count_shares(const Column& column, std::size_t num_groups, Weight&& weight_of, Member&& membership_of) {
  Coding coding = column.is_numeric() ? code_numbers(column) : code_texts(column);
  if (std::ranges::find(coding.of_row, coding.values.size()) != coding.of_row.end()) coding.values.emplace_back("(missing)");
  const std::size_t num_values = coding.values.size();
  std::vector<double> counts(num_groups * num_values, 0.0), of_group(num_groups, 0.0), of_value(num_values, 0.0);
  GroupShares shares;
  for (std::size_t row = 0; row < coding.of_row.size(); ++row) {
    const std::size_t value = coding.of_row[row];
    const double weight = weight_of(row);
    shares.total += weight;
    of_value[value] += weight;
    for (std::size_t k = 0; k < num_groups; ++k) {
      const double part = weight * membership_of(row, k);
      counts[k * num_values + value] += part;
      of_group[k] += part;
    }
  }
  shares.column = column.name;
  shares.values = std::move(coding.values);
  for (std::size_t v = 0; v < num_values; ++v) shares.overall.push_back(make_share(of_value[v], shares.total));
  for (std::size_t k = 0; k < num_groups; ++k)
    for (std::size_t v = 0; v < num_values; ++v) shares.of_group.push_back(make_share(counts[k * num_values + v], of_group[k]));
  for (std::size_t v = 0; v < num_values; ++v)
    for (std::size_t k = 0; k < num_groups; ++k) shares.of_value.push_back(make_share(counts[k * num_values + v], of_value[v]));
  return shares;
}

}  // namespace

GroupShares group_shares(const Dataset& data, std::span<const double> memberships, std::size_t num_groups, std::string_view name) {
  return count_shares(
      find_column(data, data.covariates, name), num_groups, [&](std::size_t row) { return data.rankings.row_weight(row); },
      [&](std::size_t row, std::size_t k) { return memberships[data.rankings.row_ranking(row) * num_groups + k]; });
}

GroupShares voter_shares(const Dataset& data, std::span<const double> memberships, std::size_t num_groups, std::string_view name) {
  const std::vector<Column> columns = voter_columns(data);
  return count_shares(
      find_column(data, columns, name), num_groups, [&](std::size_t voter) { return data.voters.weights[voter]; },
      [&](std::size_t voter, std::size_t k) { return memberships[voter * num_groups + k]; });
}

}  // namespace caucus
