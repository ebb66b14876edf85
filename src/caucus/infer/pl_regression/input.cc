#include "caucus/infer/pl_regression/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "caucus/base/error.h"
#include "caucus/infer/family.h"

namespace caucus::pl_regression {

namespace {

std::vector<Column> covariate_columns(std::span<const Column> columns, const InputRequest& request) {
  for (const std::string& name : request.ignore)
    if (std::ranges::find(columns, name, &Column::name) == columns.end())
      throw UsageError(fmt::format("ignore: the table has no column '{}'", name));
  std::vector<Column> kept;
  for (const Column& column : columns)
    if (column.name != request.target && std::ranges::find(request.ignore, column.name) == request.ignore.end())
      kept.push_back(column);
  return kept;
}

// Learns the features of the columns and fills in those of the rows that are kept, whose numbers it returns.
std::vector<std::size_t> encode(const std::vector<Column>& columns, const FeatureRequest& request, Input& input) {
  input.map = FeatureMap::learn(columns, request, input.warnings);
  EncodedRows encoded = input.map.encode(columns);
  input.warnings.insert(input.warnings.end(), encoded.warnings.begin(), encoded.warnings.end());
  input.data.w = input.map.features(encoded.x, encoded.rows);
  input.x = std::move(encoded.x);
  return std::move(encoded.rows);
}

Column rows_of(const Column& column, std::span<const std::size_t> rows) {
  Column kept{column.name, {}, {}};
  for (const std::size_t row : rows) {
    if (column.is_numeric())
      kept.numbers.push_back(column.numbers[row]);
    else
      kept.texts.push_back(column.texts[row]);
  }
  return kept;
}

// Rows without a class cannot teach.
std::vector<std::size_t> rows_with_class(const Table& table, const Column& target, MissingValues missing) {
  std::vector<std::size_t> known;
  for (std::size_t row = 0; row < table.num_rows; ++row) {
    if (!class_in(target, row).empty())
      known.push_back(row);
    else if (missing == MissingValues::error)
      throw DataError(fmt::format("{}: row {}: the target '{}' is missing; --missing drop leaves such rows out", table.source,
                                  row + 1, target.name));
  }
  if (known.empty()) throw DataError(fmt::format("{}: there are no rows to learn from", table.source));
  return known;
}

// The classes in their order: by number where they are numbers, else by name.
std::vector<std::string> classes_of(const Table& table, const Column& target, std::span<const std::size_t> rows) {
  std::vector<std::string> classes;
  for (const std::size_t row : rows) classes.push_back(class_in(target, row));
  std::ranges::sort(classes);
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  if (classes.size() < 2)
    throw DataError(fmt::format("{}: the target '{}' has only the class '{}'; a regression needs at least two", table.source,
                                target.name, classes.front()));
  if (classes.size() > 20 && 2 * classes.size() > rows.size())
    throw DataError(fmt::format("{}: the target '{}' has {} different values in {} rows: a column of classes is expected",
                                table.source, target.name, classes.size(), rows.size()));
  if (target.is_numeric())
    std::ranges::sort(classes, {}, [](const std::string& name) { return detail::parse_double("class", name); });
  return classes;
}

}  // namespace

std::string class_in(const Column& column, std::size_t row) {
  if (!column.is_numeric()) return column.texts[row];
  return std::isnan(column.numbers[row]) ? std::string() : fmt::format("{}", column.numbers[row]);
}

Input class_input(const Table& table, const InputRequest& request) {
  const Column& target = table.column(request.target);
  Input input;
  input.target = request.target;
  std::vector<Column> columns = covariate_columns(table.columns, request);
  const std::vector<std::size_t> known = rows_with_class(table, target, request.features.missing);
  if (known.size() < table.num_rows) {
    input.warnings.push_back(fmt::format("{} rows without a target were left out", table.num_rows - known.size()));
    for (Column& column : columns) column = rows_of(column, known);
  }
  input.classes = classes_of(table, target, known);
  std::map<std::string, std::uint32_t> numbers;
  for (std::size_t k = 0; k < input.classes.size(); ++k) numbers[input.classes[k]] = static_cast<std::uint32_t>(k);
  try {
    for (const std::size_t row : encode(columns, request.features, input))
      input.data.outcome.push_back(numbers.at(class_in(target, known[row])));
  } catch (const DataError& failure) {
    throw DataError(fmt::format("{}: {}", table.source, failure.what()));
  }
  input.data.num_classes = input.classes.size();
  return input;
}

RegressionData ballots_of(const Dataset& data, std::span<const std::size_t> rows) {
  RegressionData ballots;
  ballots.ranking = true;
  ballots.unranked = data.unranked;
  ballots.num_classes = data.num_items();
  ballots.offsets = {0};
  for (const std::size_t row : rows) {
    for (const ItemId item : data.rankings[data.rankings.row_ranking(row)].items()) ballots.outcome.push_back(item);
    ballots.offsets.push_back(ballots.outcome.size());
    ballots.weights.push_back(data.rankings.row_weight(row));
  }
  if (std::ranges::all_of(ballots.weights, [](double weight) { return weight == 1.0; })) ballots.weights.clear();
  return ballots;
}

Input ranking_input(const Dataset& data, const InputRequest& request) {
  require_accepted({true, true, true, false}, data, "pl-regression");
  if (data.covariates.empty())
    throw DataError(fmt::format("{}: there are no covariates; a CSV of ballots needs columns about the voters beside the rankings",
                                data.source));
  Input input;
  input.classes = data.items;
  try {
    const std::vector<std::size_t> rows = encode(covariate_columns(data.covariates, request), request.features, input);
    RowMatrix w = std::move(input.data.w);
    input.data = ballots_of(data, rows);
    input.data.w = std::move(w);
  } catch (const DataError& failure) {
    throw DataError(fmt::format("{}: {}", data.source, failure.what()));
  }
  return input;
}

}  // namespace caucus::pl_regression
