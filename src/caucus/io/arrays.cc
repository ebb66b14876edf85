#include "caucus/io/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "caucus/base/error.h"
#include "caucus/io/items.h"

namespace caucus {

namespace {

constexpr std::size_t most_array_errors = 20;

// Rows on their way into a data set; what is wrong with them is collected.
class ArrayRows {
 public:
  ArrayRows(ArrayFrame frame, std::size_t num_rows) : frame_(std::move(frame)) {
    if (!frame_.weights.empty() && frame_.weights.size() != num_rows)
      throw DataError(
          fmt::format("{}: found {} weights for {} rankings; expected one each", frame_.source, frame_.weights.size(), num_rows));
    for (const Column& column : frame_.covariates)
      if (std::max(column.numbers.size(), column.texts.size()) != num_rows)
        throw DataError(fmt::format("{}: column '{}' has {} values for {} rankings; expected one each", frame_.source, column.name,
                                    std::max(column.numbers.size(), column.texts.size()), num_rows));
    rows_.builder().expect_rows(num_rows);
  }

  void begin() { rows_.begin(); }
  // Negative numbers are nothing.
  void push(std::size_t row, std::int32_t item) {
    if (item < 0) return;
    if (static_cast<std::size_t>(item) >= frame_.items.size())
      wrong(row, fmt::format("found item number {}, expected one below {}, the number of items", item, frame_.items.size()));
    else if (!rows_.push(static_cast<ItemId>(item)) && !frame_.first_of_repeated)
      wrong(row, fmt::format("item '{}' appears twice in one ranking", frame_.items[static_cast<std::size_t>(item)]));
  }
  void end_group() { rows_.end_group(); }
  void finish(std::size_t row) {
    const double weight = frame_.weights.empty() ? 1.0 : frame_.weights[row];
    if (!(weight >= 0.0) || !std::isfinite(weight))
      return wrong(row, fmt::format("found weight {}, expected a number not below 0", weight));
    rows_.finish(weight);
  }

  Dataset build() {
    if (!errors_.empty()) throw DataError(std::move(errors_));
    Dataset data;
    data.items = std::move(frame_.items);
    data.unranked = frame_.unranked;
    data.source = std::move(frame_.source);
    rows_.build(data);
    data.covariates = std::move(frame_.covariates);
    split_blank_rows(data);
    return data;
  }

 private:
  void wrong(std::size_t row, const std::string& message) {
    if (errors_.size() < most_array_errors) errors_.push_back({frame_.source, 0, 0, fmt::format("row {}: {}", row, message)});
  }

  ArrayFrame frame_;
  BallotRows rows_;
  std::vector<Diagnostic> errors_;
};

}  // namespace

Dataset rankings_of_lists(ArrayFrame frame, std::span<const std::int64_t> offsets, std::span<const std::int32_t> items,
                          std::span<const std::uint8_t> group_ends) {
  const std::size_t num_rows = offsets.empty() ? 0 : offsets.size() - 1;
  for (std::size_t row = 0; row < num_rows; ++row)
    if (offsets[row] < 0 || offsets[row] > offsets[row + 1] || static_cast<std::size_t>(offsets[row + 1]) > items.size())
      throw DataError(fmt::format("{}: the offsets of row {} do not lie in the list of {} items", frame.source, row, items.size()));
  if (!group_ends.empty() && group_ends.size() != items.size())
    throw DataError(
        fmt::format("{}: found {} tie flags for {} items; expected one each", frame.source, group_ends.size(), items.size()));
  ArrayRows rows(std::move(frame), num_rows);
  for (std::size_t row = 0; row < num_rows; ++row) {
    rows.begin();
    for (auto i = static_cast<std::size_t>(offsets[row]); i < static_cast<std::size_t>(offsets[row + 1]); ++i) {
      rows.push(row, items[i]);
      if (!group_ends.empty() && group_ends[i] != 0) rows.end_group();
    }
    if (!group_ends.empty()) rows.end_group();
    rows.finish(row);
  }
  return rows.build();
}

Dataset rankings_of_orders(ArrayFrame frame, std::span<const std::int32_t> orders, std::size_t columns) {
  const std::size_t num_rows = columns == 0 ? 0 : orders.size() / columns;
  ArrayRows rows(std::move(frame), num_rows);
  for (std::size_t row = 0; row < num_rows; ++row) {
    rows.begin();
    for (const std::int32_t item : orders.subspan(row * columns, columns)) rows.push(row, item);
    rows.finish(row);
  }
  return rows.build();
}

Dataset rankings_of_ranks(ArrayFrame frame, std::span<const double> ranks) {
  const std::size_t columns = frame.items.size();
  const std::size_t num_rows = columns == 0 ? 0 : ranks.size() / columns;
  ArrayRows rows(std::move(frame), num_rows);
  std::vector<std::int32_t> order;
  for (std::size_t row = 0; row < num_rows; ++row) {
    const std::span<const double> rank = ranks.subspan(row * columns, columns);
    order.clear();
    for (std::size_t item = 0; item < columns; ++item)
      if (!std::isnan(rank[item])) order.push_back(static_cast<std::int32_t>(item));
    const auto of = [&](std::int32_t item) { return rank[static_cast<std::size_t>(item)]; };
    std::ranges::stable_sort(order, {}, of);
    rows.begin();
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0 && of(order[i]) != of(order[i - 1])) rows.end_group();
      rows.push(row, order[i]);
    }
    rows.end_group();
    rows.finish(row);
  }
  return rows.build();
}

namespace {

// The voters of rows taken from `data`: by the column that names them, which is among the covariates, with what the table said of
// them.
void keep_voters(const Dataset& data, Dataset& part) {
  const Voters& before = data.voters;
  if (!before.given() || before.by_row()) return;
  collect_voters(part, before.column);
  std::unordered_map<std::string_view, std::size_t> place;
  for (std::size_t v = 0; v < before.names.size(); ++v) place.emplace(before.names[v], v);
  std::vector<std::size_t> kept;
  for (const std::string& name : part.voters.names) kept.push_back(place.at(name));
  for (const Column& column : before.table) part.voters.table.push_back(column.select(kept));
}

}  // namespace

Dataset take_rows(const Dataset& data, std::span<const std::int64_t> wanted, std::span<const double> weights) {
  if (!weights.empty() && weights.size() != wanted.size())
    throw DataError(
        fmt::format("{}: found {} weights for {} rankings; expected one each", data.source, weights.size(), wanted.size()));
  // Where each row of the file lies: among the rankings, or, as -1 - i, among the blank ones.
  std::vector<std::int64_t> place(data.num_listed());
  for_each_file_row(
      data, [&](std::size_t row, std::size_t i) { place[row] = static_cast<std::int64_t>(i); },
      [&](std::size_t row, std::size_t i) { place[row] = -1 - static_cast<std::int64_t>(i); });
  Dataset part;
  part.items = data.items;
  part.unranked = data.unranked;
  part.source = data.source;
  const RankingSet& rankings = data.rankings;
  RankingSetBuilder builder;
  builder.expect_rows(wanted.size());
  std::vector<std::int64_t> from;  // the places of the rows taken
  for (std::size_t row = 0; row < wanted.size(); ++row) {
    if (wanted[row] < 0 || static_cast<std::size_t>(wanted[row]) >= place.size())
      throw UsageError(
          fmt::format("there is no row {}: the rows are 0 to {}", wanted[row], static_cast<std::int64_t>(place.size()) - 1));
    const std::int64_t at = place[static_cast<std::size_t>(wanted[row])];
    const std::size_t i = static_cast<std::size_t>(at < 0 ? -1 - at : at);
    const double weight = !weights.empty() ? weights[row] : at < 0 ? data.blanks[i].weight : rankings.row_weight(i);
    if (!(weight >= 0.0) || !std::isfinite(weight))
      throw DataError(fmt::format("{}: row {}: found weight {}, expected a number not below 0", data.source, row, weight));
    if (at < 0 || weight == 0.0) part.blanks.push_back({row, weight});
    from.push_back(at);
    if (at < 0 || weight == 0.0) continue;
    const std::size_t ranking = rankings.row_ranking(i);
    const auto ends = rankings.has_ties() && rankings[ranking].has_ties()
                          ? rankings.group_ends().subspan(rankings.offsets()[ranking], rankings.length(ranking))
                          : std::span<const std::uint8_t>{};
    builder.append(rankings[ranking].items(), weight, ends);
  }
  part.rankings = builder.build();
  for (std::size_t c = 0; c < data.covariates.size(); ++c) {
    Column& column = part.covariates.emplace_back();
    column.name = data.covariates[c].name;
    const bool texts = !data.covariates[c].is_numeric() || (!data.blanks.empty() && !data.blank_covariates[c].is_numeric());
    for (const std::int64_t at : from) {
      const Column& source = at < 0 ? data.blank_covariates[c] : data.covariates[c];
      const auto i = static_cast<std::size_t>(at < 0 ? -1 - at : at);
      if (texts)
        column.texts.push_back(source.texts[i]);
      else
        column.numbers.push_back(source.numbers[i]);
    }
  }
  split_blank_rows(part);
  keep_voters(data, part);
  return part;
}

}  // namespace caucus
