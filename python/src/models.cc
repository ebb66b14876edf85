// Fitted models: fit, load, and what a model says of rankings.
#include <nanobind/stl/map.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/version.h"
#include "caucus/evaluate/identifiable.h"
#include "caucus/evaluate/predict_voters.h"
#include "caucus/io/source.h"
#include "caucus/result/item_utilities.h"
#include "caucus/result/voter_sample.h"
#include "caucus/service/choose.h"
#include "caucus/service/model_file.h"
#include "caucus/service/reading.h"
#include "core.h"

namespace caucus::python {

Model parsed_model(std::string text, const std::string& name) {
  LoadedModel loaded = parse_model(text, name);
  return {std::move(loaded.model), std::move(loaded.summary), std::move(text), std::move(loaded.reading),
          loaded.facts.states_unranked};
}

const Dataset& with_row_voters(const Dataset& set, Dataset& storage) {
  if (set.voters.given()) return set;
  if (&set != &storage) storage = set;
  make_rows_voters(storage);
  return storage;
}

const Dataset& fitted_data(const Data& data, const OptionMap& options, Dataset& storage) {
  return options.contains("membership") ? with_row_voters(*data.set, storage) : *data.set;
}

ReadOptions fitted_reading(const Data& data, const OptionMap& options) {
  ReadOptions reading = data.reading;
  reading.rows_are_voters = options.contains("membership");
  return reading;
}

const Dataset& matched(const Model& model, const Dataset& data, Dataset& storage) {
  const Dataset* set = &data;
  if (set->items != model.model->items()) {
    storage = match_items(*set, model.model->items());
    set = &storage;
  }
  if (model.model->membership() != nullptr) set = &with_row_voters(*set, storage);
  model.model->check(*set);
  return *set;
}

namespace {

// `width` numbers for each who belongs to a group, from those of voters or, where nobody casts several, of distinct rankings: one
// row per voter where the data name them, those with blank rankings only last, else one per row of the file. NaN: blank.
std::vector<double> by_unit(const Dataset& data, bool of_voters, const std::vector<double>& values, std::size_t width) {
  const Voters& voters = data.voters;
  const bool named = voters.given() && !voters.by_row();
  const std::size_t num_rows = named ? voters.size() + voters.silent.size() : data.num_listed();
  std::vector<double> rows(num_rows * width, std::nan(""));
  const auto copy = [&](std::size_t from, std::size_t row) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from * width), width,
                rows.begin() + static_cast<std::ptrdiff_t>(row * width));
  };
  if (named) {
    for (std::size_t v = 0; v < voters.size(); ++v) copy(of_voters ? v : voters.rankings.other[voters.rankings.begin[v]], v);
    return rows;
  }
  for_each_file_row(
      data, [&](std::size_t row, std::size_t i) { copy(of_voters ? voters.of_row[i] : data.rankings.row_ranking(i), row); },
      [](std::size_t, std::size_t) {});
  return rows;
}

OutputVector<double> score_rows(const Model& model, const Data& data, int threads) {
  std::vector<double> rows;
  {
    const nb::gil_scoped_release released;
    Dataset storage;
    const Dataset& set = matched(model, *data.set, storage);
    const bool voters = counts_voters(*model.model, set);
    const int usable = usable_threads(threads);
    rows = by_unit(set, voters, voters ? voter_log_probs(*model.model, set, usable) : log_probs(*model.model, set, usable), 1);
  }
  return vector_of(std::move(rows));
}

OutputMatrix<double> member_rows(const Model& model, const Data& data, int threads) {
  std::vector<double> rows;
  const std::size_t k = model.model->num_components();
  {
    const nb::gil_scoped_release released;
    Dataset storage;
    const Dataset& set = matched(model, *data.set, storage);
    const bool voters = counts_voters(*model.model, set);
    const int usable = usable_threads(threads);
    rows = by_unit(set, voters, voters ? voter_memberships(*model.model, set, usable) : memberships(*model.model, set, usable), k);
  }
  const std::size_t num_rows = rows.size() / k;
  return matrix_of(std::move(rows), num_rows, k);
}

std::pair<Data, OutputVector<int>> draw_voters(const Model& model, std::size_t voters, std::size_t least, std::size_t most,
                                               std::size_t menu, std::uint64_t seed, std::size_t length, int threads) {
  Sample sample;
  {
    const nb::gil_scoped_release released;
    sample = sample_voters(*model.model, {.voters = voters,
                                          .least = least,
                                          .most = most,
                                          .menu = menu,
                                          .length = length,
                                          .seed = seed,
                                          .threads = usable_threads(threads)});
  }
  ReadOptions reading;
  reading.voter = sample.data.voters.column;
  return {Data{std::make_shared<const Dataset>(std::move(sample.data)), std::move(reading)}, vector_of(std::move(sample.labels))};
}

// A table with one row per thing predicted: numbers, and the ends of their intervals.
nb::dict predicted_dict(const std::vector<std::vector<Predicted>>& rows, std::size_t width) {
  const auto table = [&](double Predicted::*which) {
    std::vector<double> values;
    for (const std::vector<Predicted>& row : rows)
      for (const Predicted& one : row) values.push_back(one.*which);
    return nb::cast(matrix_of(std::move(values), rows.size(), width));
  };
  nb::dict all;
  all["value"] = table(&Predicted::value);
  all["low"] = table(&Predicted::low);
  all["high"] = table(&Predicted::high);
  return all;
}

nb::dict predict_new_voters(const Model& model, std::vector<PythonColumn> columns) {
  if (model.model->membership() == nullptr)
    throw UsageError(
        "the groups of this model do not depend on anything known of a voter; fit it with membership, or with utilities to predict "
        "new items");
  std::vector<std::string> warnings;
  std::vector<std::vector<Predicted>> groups, utilities;
  for (VoterPrediction& one : predict_voters(*model.model, columns_of(std::move(columns)), "voters", warnings)) {
    groups.push_back(std::move(one.groups));
    utilities.push_back(std::move(one.utilities));
  }
  nb::dict all;
  all["groups"] = predicted_dict(groups, model.model->num_components());
  all["utilities"] = predicted_dict(utilities, utilities.empty() ? 0 : utilities[0].size());
  all["warnings"] = nb::cast(warnings);
  return all;
}

nb::dict predict_new_items(const Model& model, std::vector<PythonColumn> columns) {
  const ItemUtilities* const known = item_utilities_of(*model.model);
  if (known == nullptr)
    throw DataError("the utilities of this model do not follow from anything known of an item; fit it with utilities");
  std::vector<std::string> warnings;
  std::vector<std::vector<Predicted>> rows;
  for (const std::vector<ItemPrediction>& groups : predict_items(*known, columns_of(std::move(columns)), "items", warnings)) {
    std::vector<Predicted>& row = rows.emplace_back();
    for (const ItemPrediction& one : groups)
      row.push_back({one.utility, one.utility - 1.959964 * one.error, one.utility + 1.959964 * one.error});
  }
  nb::dict all = predicted_dict(rows, model.model->num_components());
  all["warnings"] = nb::cast(warnings);
  return all;
}

// How files are read that are given to a model: as its own data were, where nothing else is said.
ReadOptions reading_for(const Model& model) {
  ReadOptions stated;
  if (model.states_unranked) stated.unranked = model.model->unranked();
  return recall_reading(model.reading, stated).options;
}

Data read_for(const Model& model, const std::vector<std::string>& paths) {
  const nb::gil_scoped_release released;
  ReadOptions reading = reading_for(model);
  Dataset data = read_datasets(paths, reading);
  return {std::make_shared<const Dataset>(std::move(data)), std::move(reading)};
}

Data parse_for(const Model& model, const std::string& text, const std::string& name) {
  const nb::gil_scoped_release released;
  ReadOptions reading = reading_for(model);
  Dataset data = parse_dataset(text, name, reading);
  return {std::make_shared<const Dataset>(std::move(data)), std::move(reading)};
}

std::pair<Data, OutputVector<int>> draw(const Model& model, std::size_t count, std::uint64_t seed, std::size_t length,
                                        int threads) {
  Sample sample;
  {
    const nb::gil_scoped_release released;
    sample = model.model->sample({.count = count, .seed = seed, .threads = usable_threads(threads), .length = length});
  }
  return {Data{std::make_shared<const Dataset>(std::move(sample.data)), {}}, vector_of(std::move(sample.labels))};
}

nb::dict group_places(const GroupMarginals& group, std::size_t num_pair_items) {
  nb::dict one;
  one["order"] = nb::cast(group.order);
  one["first"] = nb::cast(vector_of(std::vector<double>(group.first)));
  one["mean_place"] = nb::cast(vector_of(std::vector<double>(group.mean_place)));
  one["pairs"] = nb::cast(matrix_of(std::vector<double>(group.pairs), num_pair_items, num_pair_items));
  return one;
}

nb::dict places(const Model& model, std::uint64_t seed, int threads) {
  Marginals marginals;
  {
    const nb::gil_scoped_release released;
    marginals = model.model->marginals({.seed = seed, .threads = usable_threads(threads)});
  }
  nb::list groups;
  for (const GroupMarginals& group : marginals.groups) groups.append(group_places(group, marginals.pair_items.size()));
  nb::dict all;
  all["groups"] = groups;
  all["everyone"] = group_places(marginals.everyone, marginals.pair_items.size());
  all["pair_items"] = nb::cast(marginals.pair_items);
  all["num_draws"] = marginals.num_draws;
  return all;
}

std::pair<Model, nb::object> fit(const Data& data, const std::string& family, const OptionMap& options, const RunRequest& request,
                                 const std::string& command, const OptionMap& recorded) {
  service::FitRequest wanted;
  wanted.family = family;
  wanted.options = options;
  Dataset storage;
  const Dataset& set = fitted_data(data, options, storage);
  wanted.data = &set;
  service::ChosenFit done;
  const bool choose = service::settle_components(wanted);
  nb::object raised = run_watched(request, [&](const Run& run) {
    if (choose) {
      done = service::choose_and_fit(wanted, run);
      return;
    }
    done.fit = service::fit(wanted, run);
    done.fit.data = facts_of(set);
    if (const auto k = wanted.options.find("components"); k != wanted.options.end() && k->second != "1")
      if (const auto why = why_no_groups(set)) done.fit.summary.warnings.insert(done.fit.summary.warnings.begin(), *why);
  });
  Record extra;
  extra.set("reading", reading_record(fitted_reading(data, options), done.fit.model->unranked()));
  if (choose) extra.set("selection", record_of(done.selection));
  for (const auto& [name, value] : recorded) done.fit.summary.options[name] = value;
  std::string text = model_text(*done.fit.model, &done.fit.summary, done.fit.data, {std::string(version()), command}, extra);
  // Read back, so that what it says is what any reader of the file will be told, to the last bit.
  return {parsed_model(std::move(text), "fitted model"), raised};
}

}  // namespace

void bind_models(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<RunRequest>(module, "RunRequest", "What a fit is given besides data and options.")
      .def(
          "__init__",
          [](RunRequest* self, std::uint64_t seed, int threads, std::optional<double> time_limit, nb::object progress) {
            new (self) RunRequest{seed, threads, time_limit, std::move(progress)};
          },
          "seed"_a = 1, "threads"_a = 0, "time_limit"_a.none() = nb::none(), "progress"_a.none() = nb::none());
  nb::class_<Model>(module, "Model", "A fitted model.")
      .def_prop_ro("family", [](const Model& self) { return std::string(self.model->family()); })
      .def_prop_ro("items", [](const Model& self) { return self.model->items(); })
      .def_prop_ro("unranked", [](const Model& self) { return std::string(name_of(self.model->unranked())); })
      .def_prop_ro("num_components", [](const Model& self) { return self.model->num_components(); })
      .def_prop_ro("orders",
                   [](const Model& self) {
                     std::vector<std::vector<ItemId>> orders;
                     for (const Group& group : self.model->profile()) orders.push_back(group.order);
                     return orders;
                   })
      .def_ro("text", &Model::text, "The model file.")
      .def("log_probs", &score_rows, "data"_a, "threads"_a = 0)
      .def("memberships", &member_rows, "data"_a, "threads"_a = 0)
      .def("sample", &draw, "count"_a, "seed"_a = 1, "length"_a = 0, "threads"_a = 0)
      .def("sample_voters", &draw_voters, "voters"_a, "least"_a, "most"_a, "menu"_a = 0, "seed"_a = 1, "length"_a = 0,
           "threads"_a = 0)
      .def("predict_voters", &predict_new_voters, "columns"_a,
           nb::sig("def predict_voters(self, columns: list[tuple[str, NDArray[numpy.float64] | None, list[str] | None]]) -> "
                   "dict[str, typing.Any]"))
      .def("predict_items", &predict_new_items, "columns"_a,
           nb::sig("def predict_items(self, columns: list[tuple[str, NDArray[numpy.float64] | None, list[str] | None]]) -> "
                   "dict[str, typing.Any]"))
      .def("read", &read_for, "paths"_a, "Files of rankings, read as those of the model were.")
      .def("parse", &parse_for, "text"_a, "name"_a, "The text of such a file.")
      .def("places", &places, "seed"_a = 1, "threads"_a = 0,
           nb::sig("def places(self, seed: int = 1, threads: int = 0) -> dict[str, typing.Any]"))
      .def("__getstate__", [](const Model& self) { return self.text; })
      .def("__setstate__", [](Model& self, const std::string& text) { new (&self) Model(parsed_model(text, "pickled model")); });
  module.def("parse_model", &parsed_model, "text"_a, "name"_a, "A model from the text of its file.");
  module.def(
      "read_text", [](const std::string& path) { return std::string(Source::open(path).text()); }, "path"_a,
      "A file's text, unpacked.");
  module.def(
      "write_file", [](const std::string& path, const std::string& content) { write_file(path, content); }, "path"_a, "content"_a,
      "Writes under a temporary name, then renames: a file is either the old one or the whole new one.");
  module.def(
      "fit", &fit, "data"_a, "family"_a, "options"_a, "run"_a, "command"_a, "recorded"_a = OptionMap{},
      nb::sig("def fit(data: Data, family: str, options: dict[str, str], run: RunRequest, command: str, recorded: dict[str, "
              "str] = {}) -> tuple[Model, BaseException | None]"),
      "Fits; the exception, where there is one, is to be raised once the model is kept. `recorded`: what the model file is to "
      "say of an option in the place of its value.");
}

}  // namespace caucus::python
