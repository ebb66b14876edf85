// Plackett-Luce regression: covariates explain classes or whole ballots.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string_view.h>

#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/version.h"
#include "caucus/infer/pl_regression/family.h"
#include "caucus/infer/pl_regression/predict.h"
#include "caucus/io/source.h"
#include "caucus/service/regress.h"
#include "core.h"

namespace caucus::python {

namespace {

struct Regression {
  std::shared_ptr<const pl_regression::Fitted> model;
  std::string text;
};

std::pair<Regression, nb::object> regress(std::optional<std::vector<PythonColumn>> columns, std::size_t num_rows, const Data* data,
                                          const std::string& target, const std::vector<std::string>& features,
                                          const std::vector<std::string>& categorical, const std::vector<std::string>& ignore,
                                          const std::string& missing, const OptionMap& options, const RunRequest& request,
                                          const std::string& command) {
  service::RegressRequest wanted;
  wanted.options = options;
  wanted.input.features = {.categorical = categorical, .formulas = features, .missing = named<MissingValues>("missing", missing)};
  wanted.input.target = target;
  wanted.input.ignore = ignore;
  Table table;
  if (columns) {
    table = table_of(std::move(*columns), num_rows);
    wanted.table = &table;
  } else {
    wanted.data = data->set.get();
  }
  service::RegressResult done;
  nb::object raised = run_watched(request, [&](const Run& run) { done = service::regress(wanted, run); });
  std::string text = pl_regression::model_text(done, done.data, {std::string(version()), command});
  return {Regression{std::make_shared<const pl_regression::Fitted>(std::move(done.model)), std::move(text)}, raised};
}

// One row per row of the table, NaN for those that were left out.
OutputMatrix<double> predict(const Regression& regression, std::vector<PythonColumn> columns, std::size_t num_rows,
                             const std::optional<std::string>& missing) {
  const Table table = table_of(std::move(columns), num_rows);
  std::optional<MissingValues> rule;
  if (missing) rule = named<MissingValues>("missing", *missing);
  pl_regression::Predictions found;
  {
    const nb::gil_scoped_release released;
    found = pl_regression::predict_table(*regression.model, table, rule);
  }
  const auto width = static_cast<std::size_t>(found.probabilities.cols());
  std::vector<double> rows(num_rows * width, std::nan(""));
  for (std::size_t i = 0; i < found.rows.size(); ++i)
    for (std::size_t k = 0; k < width; ++k)
      rows[found.rows[i] * width + k] = found.probabilities(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k));
  return matrix_of(std::move(rows), num_rows, width);
}

// The mean log-probability of whole ballots, weighted.
double score_ballots(const Regression& regression, const Data& data) {
  const nb::gil_scoped_release released;
  const pl_regression::BallotPredictions found = pl_regression::predict_ballots(*regression.model, *data.set);
  double sum = 0.0, total = 0.0;
  for (std::size_t i = 0; i < found.log_prob.size(); ++i) {
    const double weight = found.ballots.weights.empty() ? 1.0 : found.ballots.weights[i];
    sum += weight * found.log_prob[i];
    total += weight;
  }
  return total > 0.0 ? sum / total : 0.0;
}

Regression parsed_regression(std::string text, const std::string& name) {
  pl_regression::Loaded loaded = pl_regression::parse_regression(text, name);
  return {std::make_shared<const pl_regression::Fitted>(std::move(loaded.model)), std::move(text)};
}

}  // namespace

void bind_regression(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Regression>(module, "Regression", "A fitted regression.")
      .def_prop_ro("classes", [](const Regression& self) { return self.model->classes; })
      .def_prop_ro("ranking", [](const Regression& self) { return self.model->ranking; })
      .def_prop_ro("column_names", [](const Regression& self) { return self.model->column_names(); })
      .def_ro("text", &Regression::text, "The model file.")
      .def("predict", &predict, "columns"_a, "num_rows"_a, "missing"_a.none() = nb::none())
      .def("score_ballots", &score_ballots, "data"_a)
      .def("__getstate__", [](const Regression& self) { return self.text; })
      .def("__setstate__",
           [](Regression& self, const std::string& text) { new (&self) Regression(parsed_regression(text, "pickled model")); });
  module.def("is_regression", &pl_regression::is_regression, "text"_a,
             "Does this text say that it is the model file of a regression?");
  module.def("parse_regression", &parsed_regression, "text"_a, "name"_a, "A regression from the text of its file.");
  module.def(
      "regress", &regress, "columns"_a.none(), "num_rows"_a, "data"_a.none(), "target"_a, "features"_a, "categorical"_a, "ignore"_a,
      "missing"_a, "options"_a, "run"_a, "command"_a,
      nb::sig("def regress(columns: list[tuple[str, NDArray[numpy.float64] | None, list[str] | None]] | None, num_rows: int, data: "
              "Data | None, "
              "target: str, features: list[str], categorical: list[str], ignore: list[str], missing: str, options: dict[str, "
              "str], run: RunRequest, command: str) -> tuple[Regression, BaseException | None]"),
      "Fits a regression; the exception, where there is one, is to be raised once the model is kept.");
  module.def(
      "regression_families",
      [] {
        nb::list all;
        for (const FamilyInfo& info : pl_regression::families()) all.append(family_dict(info));
        return all;
      },
      nb::sig("def regression_families() -> list[dict[str, typing.Any]]"),
      "Regressions with their methods and options, as the tables in C++ have them.");
}

}  // namespace caucus::python
