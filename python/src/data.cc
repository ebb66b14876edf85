// Rankings in and out of Python.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/data/connectivity.h"
#include "caucus/data/per_voter.h"
#include "caucus/evaluate/identifiable.h"
#include "caucus/io/arrays.h"
#include "caucus/io/items.h"
#include "caucus/io/nobody.h"
#include "core.h"

namespace caucus::python {

std::vector<Column> columns_of(std::vector<PythonColumn> columns) {
  std::vector<Column> all;
  for (auto& [name, numbers, texts] : columns) {
    Column& column = all.emplace_back();
    column.name = std::move(name);
    if (numbers) column.numbers.assign(numbers->data(), numbers->data() + numbers->shape(0));
    if (texts) column.texts = std::move(*texts);
  }
  return all;
}

Table table_of(std::vector<PythonColumn> columns, std::size_t num_rows, std::string source) {
  Table table;
  table.columns = columns_of(std::move(columns));
  table.num_rows = num_rows;
  table.source = std::move(source);
  return table;
}

namespace {

ArrayFrame frame_of(std::vector<std::string> items, const std::string& unranked, const std::optional<InputVector<double>>& weights,
                    std::vector<PythonColumn> covariates, std::string source, bool first_of_repeated = false) {
  ArrayFrame frame;
  frame.items = std::move(items);
  frame.unranked = named<Unranked>("unranked", unranked);
  frame.weights = span_of(weights);
  frame.source = std::move(source);
  frame.first_of_repeated = first_of_repeated;
  frame.covariates = columns_of(std::move(covariates));
  return frame;
}

Data make_data(Dataset data, ReadOptions reading = {}) {
  return {std::make_shared<const Dataset>(std::move(data)), std::move(reading)};
}

ReadOptions reading_of(const std::string& format, const std::optional<std::string>& unranked, const std::string& weight_column,
                       std::vector<std::string> columns, const std::string& contest, std::size_t top, const std::string& categories,
                       std::vector<std::string> drop, std::vector<std::string> keep, std::vector<std::string> merge,
                       std::vector<std::string> rename, std::vector<std::string> exclude, std::vector<std::string> items_only,
                       const std::string& voter, const std::string& voters_file) {
  ReadOptions options;
  options.format = named<Format>("format", format);
  if (unranked) options.unranked = named<Unranked>("unranked", *unranked);
  options.weight_column = weight_column;
  options.columns = std::move(columns);
  options.contest = contest;
  options.top = top;
  options.categories = named<CategoryOrder>("categories", categories);
  options.drop = std::move(drop);
  options.keep = std::move(keep);
  options.merge = std::move(merge);
  options.rename = std::move(rename);
  options.exclude = std::move(exclude);
  options.items_only = std::move(items_only);
  options.voter = voter;
  options.voters_file = voters_file;
  return options;
}

// Views of the arrays of the distinct rankings, which live as long as the data.
template <class T>
nb::object view_of(nb::handle self, std::span<const T> values) {
  return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(values.data(), {values.size()}, self));
}

// One entry per row of the file, NaN or -1 for blank ones.
OutputVector<std::int64_t> row_rankings(const Data& data) {
  const Dataset& set = *data.set;
  std::vector<std::int64_t> rankings(set.num_listed(), -1);
  for_each_file_row(
      set, [&](std::size_t row, std::size_t i) { rankings[row] = static_cast<std::int64_t>(set.rankings.row_ranking(i)); },
      [](std::size_t, std::size_t) {});
  return vector_of(std::move(rankings));
}

OutputVector<double> row_weights(const Data& data) {
  const Dataset& set = *data.set;
  std::vector<double> weights(set.num_listed());
  for_each_file_row(
      set, [&](std::size_t row, std::size_t i) { weights[row] = set.rankings.row_weight(i); },
      [&](std::size_t row, std::size_t i) { weights[row] = set.blanks[i].weight; });
  return vector_of(std::move(weights));
}

// Row by row, NaN where an item is not listed; tied items share the best place, as in "1 2 2 4".
OutputMatrix<double> ranks(const Data& data) {
  const Dataset& set = *data.set;
  const std::size_t n = set.num_items();
  std::vector<double> values(set.num_listed() * n, std::nan(""));
  for_each_file_row(
      set,
      [&](std::size_t row, std::size_t i) {
        std::size_t place = 1;
        set.rankings[set.rankings.row_ranking(i)].for_each_group([&](std::span<const ItemId> group) {
          for (const ItemId item : group) values[row * n + item] = static_cast<double>(place);
          place += group.size();
        });
      },
      [](std::size_t, std::size_t) {});
  return matrix_of(std::move(values), set.num_listed(), n);
}

// Row by row, -1 behind the last item listed.
OutputMatrix<std::int32_t> orders(const Data& data) {
  const Dataset& set = *data.set;
  if (traits(set).has_ties) throw DataError(fmt::format("{}: a table of orders holds no ties; ask for ranks", set.source));
  std::size_t longest = 0;
  for (std::size_t i = 0; i < set.rankings.size(); ++i) longest = std::max(longest, set.rankings.length(i));
  std::vector<std::int32_t> values(set.num_listed() * longest, -1);
  for_each_file_row(
      set,
      [&](std::size_t row, std::size_t i) {
        const RankingView ranking = set.rankings[set.rankings.row_ranking(i)];
        for (std::size_t place = 0; place < ranking.size(); ++place)
          values[row * longest + place] = static_cast<std::int32_t>(ranking[place]);
      },
      [](std::size_t, std::size_t) {});
  return matrix_of(std::move(values), set.num_listed(), longest);
}

// The tie-groups of one row, best first.
std::vector<std::vector<std::uint32_t>> ranking_at(const Data& data, std::size_t row) {
  const Dataset& set = *data.set;
  if (row >= set.num_listed()) throw nb::index_error();
  const auto blank = std::ranges::lower_bound(set.blanks, row, {}, &BlankRow::row);
  std::vector<std::vector<std::uint32_t>> groups;
  if (blank != set.blanks.end() && blank->row == row) return groups;
  const std::size_t i = row - static_cast<std::size_t>(blank - set.blanks.begin());
  set.rankings[set.rankings.row_ranking(i)].for_each_group(
      [&](std::span<const ItemId> group) { groups.emplace_back(group.begin(), group.end()); });
  return groups;
}

nb::object covariate(const Data& data, std::size_t index) {
  const Dataset& set = *data.set;
  const Column& column = set.covariates.at(index);
  const auto by_row = [&](auto&& of, auto missing) {
    std::vector<decltype(missing)> values(set.num_listed(), missing);
    for_each_file_row(
        set, [&](std::size_t row, std::size_t i) { values[row] = of(column)[i]; },
        [&](std::size_t row, std::size_t i) {
          if (index < set.blank_covariates.size() && i < of(set.blank_covariates[index]).size())
            values[row] = of(set.blank_covariates[index])[i];
        });
    return values;
  };
  const bool texts = !column.is_numeric() || (index < set.blank_covariates.size() && !set.blank_covariates[index].is_numeric());
  if (!texts) return nb::cast(vector_of(by_row([](const Column& one) -> auto& { return one.numbers; }, std::nan(""))));
  return nb::cast(by_row([](const Column& one) -> auto& { return one.texts; }, std::string()));
}

nb::dict facts(const Data& data) {
  const Dataset& set = *data.set;
  const DataTraits found = traits(set);
  const Connectivity graph = connectivity(set);
  nb::dict all;
  all["num_items"] = set.num_items();
  all["num_rows"] = set.num_listed();
  all["num_rankings"] = set.rankings.total_weight();
  all["num_blank"] = set.blank_weight();
  all["num_distinct"] = set.rankings.size();
  all["kind"] = std::string(name_of(found.kind));
  all["min_length"] = found.min_length;
  all["max_length"] = found.max_length;
  all["has_ties"] = found.has_ties;
  all["strongly_connected"] = graph.strongly_connected;
  all["connectivity"] = graph.strongly_connected ? std::string() : describe(graph, set);
  if (set.voters.given()) {
    const PerVoter per_voter = rankings_per_voter(set.voters);
    all["num_voters"] = set.voters.total_weight();
    all["min_per_voter"] = per_voter.least;
    all["mean_per_voter"] = per_voter.mean;
    all["max_per_voter"] = per_voter.most;
  }
  return all;
}

// First places (a tie for it counts in parts) and listings of every item, in ballots; and the weight of the voters who list it,
// where there are voters.
std::tuple<OutputVector<double>, OutputVector<double>, OutputVector<double>> item_counts(const Data& data) {
  const Dataset& set = *data.set;
  const Voters& voters = set.voters;
  const std::size_t n = set.num_items();
  std::vector<double> first(n, 0.0), listed(n, 0.0), by_voters(voters.given() ? n : 0, 0.0);
  for (std::size_t i = 0; i < set.rankings.size(); ++i) {
    bool at_first = true;
    const double weight = set.rankings.weight(i);
    set.rankings[i].for_each_group([&](std::span<const ItemId> group) {
      for (const ItemId item : group) {
        listed[item] += weight;
        if (at_first) first[item] += weight / static_cast<double>(group.size());
      }
      at_first = false;
    });
  }
  std::vector<std::size_t> last(by_voters.size(), voters.size());
  for (std::size_t v = 0; v < voters.size(); ++v)
    for (std::size_t j = voters.rankings.begin[v]; j < voters.rankings.begin[v + 1]; ++j)
      for (const ItemId item : set.rankings[voters.rankings.other[j]].items()) {
        if (last[item] == v) continue;
        last[item] = v;
        by_voters[item] += voters.weights[v];
      }
  return {vector_of(std::move(first)), vector_of(std::move(listed)), vector_of(std::move(by_voters))};
}

// JSON lines hold everything but the way a file was read, the table of voters and whether a column "voter" names voters at all.
using StateColumn = std::tuple<std::string, std::vector<double>, std::vector<std::string>>;
using DataState = std::tuple<nb::bytes, std::string, std::string, std::vector<StateColumn>>;
DataState state_of(const Data& data) {
  const Voters& voters = data.set->voters;
  const std::string text = format_dataset(*data.set, "rankings.jsonl");
  std::vector<StateColumn> table;
  for (const Column& column : voters.table) table.emplace_back(column.name, column.numbers, column.texts);
  return {nb::bytes(text.data(), text.size()), data.set->source, voters.column, std::move(table)};
}

Data data_of(const DataState& state) {
  const auto& [text, source, voter, table] = state;
  ReadOptions reading;
  reading.voter = voter.empty() ? "none" : voter;
  Dataset set = parse_dataset({text.c_str(), text.size()}, "rankings.jsonl", reading);
  set.source = source;
  for (const auto& [name, numbers, texts] : table) set.voters.table.push_back({name, numbers, texts});
  reading.voter = voter;
  return {std::make_shared<const Dataset>(std::move(set)), std::move(reading)};
}

}  // namespace

void bind_data(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Data>(module, "Data", "Rankings as the library holds them.")
      .def_prop_ro("items", [](const Data& self) { return self.set->items; })
      .def_prop_ro("unranked", [](const Data& self) { return std::string(name_of(self.set->unranked)); })
      .def_prop_ro("source", [](const Data& self) { return self.set->source; })
      .def_prop_ro("warnings", [](const Data& self) { return self.set->warnings; })
      .def_prop_ro("num_rows", [](const Data& self) { return self.set->num_listed(); })
      .def_prop_ro("num_rankings", [](const Data& self) { return self.set->rankings.total_weight(); })
      .def_prop_ro("num_distinct", [](const Data& self) { return self.set->rankings.size(); })
      .def_prop_ro("has_ties", [](const Data& self) { return traits(*self.set).has_ties; })
      .def_prop_ro("digest", [](const Data& self) { return digest(*self.set); })
      .def_prop_ro("covariates",
                   [](const Data& self) {
                     std::vector<std::string> names;
                     for (const Column& column : self.set->covariates) names.push_back(column.name);
                     return names;
                   })
      .def("covariate", &covariate, "index"_a, nb::sig("def covariate(self, index: int) -> typing.Any"))
      .def("facts", &facts, nb::sig("def facts(self) -> dict[str, typing.Any]"))
      .def("why_no_groups", [](const Data& self) { return why_no_groups(*self.set); })
      .def("item_counts", &item_counts)
      .def("row_rankings", &row_rankings)
      .def("row_weights", &row_weights)
      .def("ranks", &ranks, nb::call_guard<nb::gil_scoped_release>())
      .def("orders", &orders)
      .def("ranking", &ranking_at, "row"_a)
      .def(
          "take",
          [](const Data& self, const InputVector<std::int64_t>& rows, const std::optional<InputVector<double>>& weights) {
            return Data{std::make_shared<const Dataset>(take_rows(*self.set, {rows.data(), rows.shape(0)}, span_of(weights))),
                        self.reading};
          },
          "rows"_a, "weights"_a.none() = nb::none())
      .def(
          "with_covariates",
          [](const Data& self, std::vector<PythonColumn> columns) {
            Dataset data = *self.set;
            data.covariates = columns_of(std::move(columns));
            for (const Column& column : data.covariates)
              if (const std::size_t found = std::max(column.numbers.size(), column.texts.size()); found != data.num_listed())
                throw DataError(fmt::format("{}: column '{}' has {} values for {} rankings; expected one each", data.source,
                                            column.name, found, data.num_listed()));
            split_blank_rows(data);
            return make_data(std::move(data), self.reading);
          },
          "columns"_a)
      .def(
          "write",
          [](const Data& self, const std::string& path, const std::string& format) {
            return write_dataset(*self.set, path, {.format = named<Format>("format", format)});
          },
          "path"_a, "format"_a = "auto")
      .def("__getstate__", &state_of)
      .def("__setstate__", [](Data& self, const DataState& state) { new (&self) Data(data_of(state)); });

  nb::class_<ReadOptions>(module, "Reading", "How files of rankings are read: the flags of the command line.")
      .def(
          "__init__",
          [](ReadOptions* self, const std::string& format, const std::optional<std::string>& unranked,
             const std::string& weight_column, std::vector<std::string> columns, const std::string& contest, std::size_t top,
             const std::string& categories, std::vector<std::string> drop, std::vector<std::string> keep,
             std::vector<std::string> merge, std::vector<std::string> rename, std::vector<std::string> exclude,
             std::vector<std::string> items_only, const std::string& voter, const std::string& voters_file) {
            new (self) ReadOptions(reading_of(format, unranked, weight_column, std::move(columns), contest, top, categories,
                                              std::move(drop), std::move(keep), std::move(merge), std::move(rename),
                                              std::move(exclude), std::move(items_only), voter, voters_file));
          },
          nb::kw_only(), "format"_a = "auto", "unranked"_a.none() = nb::none(), "weight_column"_a = "",
          "columns"_a = std::vector<std::string>{}, "contest"_a = "", "top"_a = 0, "categories"_a = "auto",
          "drop"_a = std::vector<std::string>{}, "keep"_a = std::vector<std::string>{}, "merge"_a = std::vector<std::string>{},
          "rename"_a = std::vector<std::string>{}, "exclude"_a = std::vector<std::string>{},
          "items_only"_a = std::vector<std::string>{}, "voter"_a = "", "voters_file"_a = "");
  module.def(
      "read",
      [](const std::vector<std::string>& paths, const ReadOptions& reading) {
        const nb::gil_scoped_release released;
        return make_data(read_datasets(paths, reading), reading);
      },
      "paths"_a, "reading"_a, "Files of rankings, read as one.");
  module.def(
      "parse",
      [](const std::string& text, const std::string& name, const ReadOptions& reading) {
        const nb::gil_scoped_release released;
        return make_data(parse_dataset(text, name, reading), reading);
      },
      "text"_a, "name"_a, "reading"_a, "The text of a file of rankings; the name stands in messages.");
  module.def(
      "from_lists",
      [](std::vector<std::string> items, const InputVector<std::int64_t>& offsets, const InputVector<std::int32_t>& entries,
         const std::optional<InputVector<std::uint8_t>>& group_ends, const std::string& unranked,
         const std::optional<InputVector<double>>& weights, std::vector<PythonColumn> covariates, const std::string& source,
         bool first_of_repeated) {
        ArrayFrame frame = frame_of(std::move(items), unranked, weights, std::move(covariates), source, first_of_repeated);
        const nb::gil_scoped_release released;
        return make_data(rankings_of_lists(std::move(frame), {offsets.data(), offsets.shape(0)}, {entries.data(), entries.shape(0)},
                                           span_of(group_ends)));
      },
      "items"_a, "offsets"_a, "entries"_a, "group_ends"_a.none(), "unranked"_a, "weights"_a.none(), "covariates"_a, "source"_a,
      "first_of_repeated"_a = false, "Rankings from one list of items and where each ranking begins.");
  module.def(
      "from_orders",
      [](std::vector<std::string> items, const InputMatrix<std::int32_t>& orders, const std::string& unranked,
         const std::optional<InputVector<double>>& weights, std::vector<PythonColumn> covariates, const std::string& source,
         bool first_of_repeated) {
        ArrayFrame frame = frame_of(std::move(items), unranked, weights, std::move(covariates), source, first_of_repeated);
        const nb::gil_scoped_release released;
        return make_data(rankings_of_orders(std::move(frame), {orders.data(), orders.size()}, orders.shape(1)));
      },
      "items"_a, "orders"_a, "unranked"_a, "weights"_a.none(), "covariates"_a, "source"_a, "first_of_repeated"_a = false,
      "Rankings from a table of item numbers, best first; negative numbers are nothing.");
  module.def(
      "from_ranks",
      [](std::vector<std::string> items, const InputMatrix<double>& ranks, const std::string& unranked,
         const std::optional<InputVector<double>>& weights, std::vector<PythonColumn> covariates, const std::string& source) {
        ArrayFrame frame = frame_of(std::move(items), unranked, weights, std::move(covariates), source);
        const nb::gil_scoped_release released;
        return make_data(rankings_of_ranks(std::move(frame), {ranks.data(), ranks.size()}));
      },
      "items"_a, "ranks"_a, "unranked"_a, "weights"_a.none(), "covariates"_a, "source"_a,
      "Rankings from a table of ranks, one column per item; NaN is not ranked.");
  module.def(
      "natural_order",
      [](const std::vector<std::string>& names) {
        std::vector<std::size_t> order(names.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return natural_less(names[a], names[b]); });
        return order;
      },
      "names"_a, "The order of names in which runs of digits count as numbers, as files have it.");
  module.def(
      "names_nobody", [](const std::string& name) { return names_nobody(name); }, "name"_a,
      "Is this a word such as 'skipped' or 'overvote', which stands where an item would and names nobody?");
  module.def(
      "format_names", [] { return std::vector<std::string>(enum_names<Format>.begin(), enum_names<Format>.end()); },
      "The formats that files may have.");
}

}  // namespace caucus::python
