// Fitted models: fit, load, and what a model says of rankings.
#include <nanobind/stl/map.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/version.h"
#include "caucus/evaluate/identifiable.h"
#include "caucus/io/source.h"
#include "caucus/service/choose.h"
#include "caucus/service/model_file.h"
#include "caucus/service/reading.h"
#include "core.h"

namespace caucus::python {

Model parsed_model(std::string text, const std::string& name) {
  LoadedModel loaded = parse_model(text, name);
  return {std::move(loaded.model), std::move(loaded.summary), std::move(text)};
}

namespace {

// The rankings as the model numbers its items, checked. `storage` is filled where they have to be renumbered.
const Dataset& matched(const Model& model, const Data& data, Dataset& storage) {
  const Dataset* set = data.set.get();
  if (set->items != model.model->items()) {
    storage = match_items(*set, model.model->items());
    set = &storage;
  }
  model.model->check(*set);
  return *set;
}

// One number per row of the file from one per distinct ranking; NaN for blank rows.
std::vector<double> by_row(const Dataset& data, const std::vector<double>& values, std::size_t width) {
  std::vector<double> rows(data.num_listed() * width, std::nan(""));
  for_each_file_row(
      data,
      [&](std::size_t row, std::size_t i) {
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(data.rankings.row_ranking(i) * width), width,
                    rows.begin() + static_cast<std::ptrdiff_t>(row * width));
      },
      [](std::size_t, std::size_t) {});
  return rows;
}

OutputVector<double> score_rows(const Model& model, const Data& data, int threads) {
  std::vector<double> rows;
  {
    const nb::gil_scoped_release released;
    Dataset storage;
    const Dataset& set = matched(model, data, storage);
    rows = by_row(set, log_probs(*model.model, set, usable_threads(threads)), 1);
  }
  return vector_of(std::move(rows));
}

OutputMatrix<double> member_rows(const Model& model, const Data& data, int threads) {
  std::vector<double> rows;
  const std::size_t k = model.model->num_components();
  {
    const nb::gil_scoped_release released;
    Dataset storage;
    const Dataset& set = matched(model, data, storage);
    rows = by_row(set, memberships(*model.model, set, usable_threads(threads)), k);
  }
  return matrix_of(std::move(rows), data.set->num_listed(), k);
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
                                 const std::string& command, const std::vector<std::string>& group_names) {
  service::FitRequest wanted;
  wanted.family = family;
  wanted.options = options;
  wanted.data = data.set.get();
  service::ChosenFit done;
  const bool choose = service::settle_components(wanted);
  nb::object raised = run_watched(request, [&](const Run& run) {
    if (choose) {
      done = service::choose_and_fit(wanted, run);
      return;
    }
    done.fit = service::fit(wanted, run);
    done.fit.data = facts_of(*data.set);
    if (const auto k = wanted.options.find("components"); k != wanted.options.end() && k->second != "1")
      if (const auto why = why_no_groups(*data.set)) done.fit.summary.warnings.insert(done.fit.summary.warnings.begin(), *why);
  });
  Record extra;
  extra.set("reading", reading_record(data.reading, done.fit.model->unranked()));
  if (choose) extra.set("selection", record_of(done.selection));
  if (!group_names.empty()) extra.set("group_names", group_names);
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
  module.def("fit", &fit, "data"_a, "family"_a, "options"_a, "run"_a, "command"_a, "group_names"_a = std::vector<std::string>{},
             nb::sig("def fit(data: Data, family: str, options: dict[str, str], run: RunRequest, command: str, group_names: "
                     "list[str] = []) -> "
                     "tuple[Model, BaseException | None]"),
             "Fits; the exception, where there is one, is to be raised once the model is kept.");
}

}  // namespace caucus::python
