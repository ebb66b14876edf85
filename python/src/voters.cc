// Who cast which rankings, in and out of Python.
#include "caucus/io/voters.h"

#include <cmath>
#include <unordered_map>

#include "caucus/base/error.h"
#include "caucus/io/row_table.h"
#include "core.h"

namespace caucus::python {

namespace {

// The rankings with voters named by a covariate, and what a table says of them; without a column every ranking is for itself.
Data with_voters(const Data& data, const std::string& column, std::optional<std::vector<PythonColumn>> table, std::size_t num_rows,
                 const std::string& source) {
  Dataset set = *data.set;
  ReadOptions reading = data.reading;
  set.voters = {};
  reading.voter = column;
  if (!column.empty()) collect_voters(set, column);
  if (table) {
    if (column.empty()) throw UsageError("a table of voters needs voters, the column or array that tells who cast each ranking");
    join_voter_table(set, table_of(std::move(*table), num_rows, source));
  }
  return {std::make_shared<const Dataset>(std::move(set)), std::move(reading)};
}

bool named_voters(const Dataset& set) { return set.voters.given() && !set.voters.by_row(); }

// Those with rankings in the order of the first, then those whose rankings are all blank.
std::vector<std::string> voter_names(const Data& data) {
  const Voters& voters = data.set->voters;
  std::vector<std::string> names = voters.names;
  names.insert(names.end(), voters.silent.begin(), voters.silent.end());
  return names;
}

OutputVector<double> voter_weights(const Data& data) {
  const Voters& voters = data.set->voters;
  std::vector<double> weights;
  if (named_voters(*data.set)) weights = voters.weights;
  weights.resize(weights.size() + voters.silent.size(), 0.0);
  return vector_of(std::move(weights));
}

// The place of every row's voter among voter_names.
OutputVector<std::int64_t> voter_of_rows(const Data& data) {
  const Dataset& set = *data.set;
  std::vector<std::int64_t> voters(set.num_listed(), -1);
  if (!named_voters(set)) return vector_of(std::move(voters));
  const std::vector<std::string> names = voter_names(data);
  std::unordered_map<std::string_view, std::int64_t> place;
  for (std::size_t v = 0; v < names.size(); ++v) place.emplace(names[v], static_cast<std::int64_t>(v));
  const auto column = std::ranges::find(set.blank_covariates, set.voters.column, &Column::name);
  for_each_file_row(
      set, [&](std::size_t row, std::size_t i) { voters[row] = static_cast<std::int64_t>(set.voters.of_row[i]); },
      [&](std::size_t row, std::size_t i) {
        if (column == set.blank_covariates.end()) return;
        if (const auto found = place.find(covariate_text(*column, i)); found != place.end()) voters[row] = found->second;
      });
  return vector_of(std::move(voters));
}

// What is known of the voters who have rankings, by name: numbers, or texts.
nb::dict known_of_voters(const Data& data, bool table_alone) {
  nb::dict all;
  if (!named_voters(*data.set)) return all;
  for (Column& column : table_alone ? std::vector<Column>(data.set->voters.table) : voter_columns(*data.set)) {
    if (column.is_numeric())
      all[column.name.c_str()] = nb::cast(vector_of(std::move(column.numbers)));
    else
      all[column.name.c_str()] = nb::cast(std::move(column.texts));
  }
  return all;
}

}  // namespace

void bind_voters(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "read_table",
      [](const std::string& path) {
        std::vector<std::tuple<std::string, nb::object, nb::object>> columns;
        Table table = read_table(path);
        for (Column& column : table.columns) {
          const bool numbers = column.is_numeric();
          columns.emplace_back(column.name, numbers ? nb::cast(vector_of(std::move(column.numbers))) : nb::none(),
                               numbers ? nb::none() : nb::cast(std::move(column.texts)));
        }
        return columns;
      },
      "path"_a, nb::sig("def read_table(path: str) -> list[tuple[str, NDArray[numpy.float64] | None, list[str] | None]]"),
      "The columns of a CSV table.");
  module.def("with_voters", &with_voters, "data"_a, "column"_a, "table"_a.none() = nb::none(), "num_rows"_a = 0,
             "source"_a = "table of voters", "The same rankings with voters named by a covariate, and a table of them.");
  module.def(
      "voter_column", [](const Data& data) { return named_voters(*data.set) ? data.set->voters.column : std::string(); }, "data"_a,
      "The covariate that names the voters; empty where there are none.");
  module.def("voter_names", &voter_names, "data"_a, "The voters by their first ranking, then those of blank rankings only.");
  module.def("voter_weights", &voter_weights, "data"_a, "How many such voters there are, one number each.");
  module.def("voter_of_rows", &voter_of_rows, "data"_a, "The place of every row's voter among the names; -1: nobody.");
  module.def("known_of_voters", &known_of_voters, "data"_a, "table_alone"_a = false,
             nb::sig("def known_of_voters(data: Data, table_alone: bool = False) -> dict[str, typing.Any]"),
             "Columns about the voters, by name.");
}

}  // namespace caucus::python
