// How many groups, which family, does it fit: tables as lists of dictionaries.
#include <nanobind/stl/map.h>

#include "caucus/base/version.h"
#include "caucus/evaluate/goodness.h"
#include "caucus/evaluate/identifiable.h"
#include "caucus/service/compare.h"
#include "caucus/service/families.h"
#include "caucus/service/reading.h"
#include "caucus/service/select.h"
#include "core.h"

namespace caucus::python {

namespace {

nb::dict row_of(const SelectRow& row) {
  nb::dict one;
  one["k"] = row.k;
  one["loglik"] = row.loglik;
  one["ebic"] = row.ebic;
  one["bic"] = row.bic;
  one["aic"] = row.aic;
  one["icl"] = row.icl;
  one["heldout_mean"] = nb::cast(row.heldout_mean);
  one["heldout_se"] = nb::cast(row.heldout_se);
  one["gain"] = row.ahead.empty() ? nb::none() : nb::cast(row.ahead.back().mean);
  one["gain_se"] = row.ahead.empty() ? nb::none() : nb::cast(row.ahead.back().standard_error);
  one["behind_best"] = nb::cast(row.behind_best);
  one["behind_se"] = nb::cast(row.behind_se);
  one["agreement"] = row.replication ? nb::cast(row.replication->weakest) : nb::none();
  one["smallest_share"] = row.shares.empty() ? nb::none() : nb::cast(row.shares.back());
  one["seconds"] = row.seconds;
  return one;
}

std::tuple<nb::dict, Model, nb::object> select_groups(const Data& data, const std::string& family, const OptionMap& options,
                                                      const std::string& candidates, const std::string& criterion, int folds,
                                                      double holdout, bool one_standard_error, const RunRequest& request,
                                                      const std::string& command, const OptionMap& recorded) {
  SelectRequest wanted;
  wanted.family = family;
  wanted.options = options;
  wanted.candidates = parse_candidates(candidates);
  wanted.criterion = named<Criterion>("criterion", criterion);
  wanted.folds = folds;
  wanted.holdout = holdout;
  wanted.one_standard_error = one_standard_error;
  Dataset storage;
  const Dataset& set = fitted_data(data, options, storage);
  Selection selection;
  nb::object raised = run_watched(request, [&](const Run& run) { selection = select(set, wanted, run); });
  FitOutcome& chosen = selection.chosen;
  if (selection.chosen_k > 1)
    if (const auto why = why_no_groups(set)) chosen.summary.warnings.insert(chosen.summary.warnings.begin(), *why);
  for (const auto& [name, value] : recorded) chosen.summary.options[name] = value;
  std::string text = model_text(
      *chosen.model, &chosen.summary, facts_of(set), {std::string(version()), command},
      Record().set("selection", record_of(selection)).set("reading", reading_record(fitted_reading(data, options), set.unranked)));
  nb::list table;
  for (const SelectRow& row : selection.table) table.append(row_of(row));
  nb::dict facts;
  facts["table"] = table;
  facts["criterion"] = std::string(name_of(selection.criterion));
  facts["chosen_k"] = selection.chosen_k;
  facts["why"] = nb::cast(selection.why);
  facts["unfinished"] = nb::cast(selection.unfinished);
  return {facts, parsed_model(std::move(text), "selected model"), raised};
}

nb::dict row_of(const CompareRow& row) {
  const bool compared = !row.refused;
  const auto where_compared = [&](double value) -> nb::object { return compared ? nb::cast(value) : nb::none(); };
  nb::dict one;
  one["label"] = row.label;
  one["family"] = row.family;
  one["heldout_mean"] = where_compared(row.heldout_mean);
  one["heldout_se"] = where_compared(row.heldout_se);
  one["behind_best"] = where_compared(row.behind_best.mean);
  one["behind_se"] = where_compared(row.behind_best.standard_error);
  one["groups"] = where_compared(row.groups);
  one["seconds"] = row.seconds;
  one["refused"] = nb::cast(row.refused);
  return one;
}

std::vector<std::string> default_contenders() {
  std::vector<std::string> names;
  for (const auto& family : families())
    if (const FamilyInfo info = family->info(); info.compared_by_default) names.push_back(info.name);
  return names;
}

std::pair<nb::dict, nb::object> compare_families(const Data& data, const std::vector<std::string>& contenders,
                                                 const std::string& candidates, int folds, const RunRequest& request) {
  CompareRequest wanted;
  for (const std::string& one : contenders.empty() ? default_contenders() : contenders)
    wanted.contenders.push_back(parse_contender(one));
  wanted.candidates = parse_candidates(candidates);
  wanted.folds = folds;
  Comparison comparison;
  nb::object raised = run_watched(request, [&](const Run& run) { comparison = compare(*data.set, wanted, run); });
  nb::list table;
  for (const CompareRow& row : comparison.table) table.append(row_of(row));
  nb::dict facts;
  facts["table"] = table;
  facts["note"] = comparison.note;
  return {facts, raised};
}

nb::dict check_fit(const Model& model, const Data& data, int replicates, std::size_t max_ballots, std::uint64_t seed, int threads) {
  Goodness goodness;
  {
    const nb::gil_scoped_release released;
    Dataset storage;
    const Dataset& set = matched(model, *data.set, storage);
    goodness =
        goodness_of_fit(*model.model, set,
                        {.replicates = replicates, .max_ballots = max_ballots, .seed = seed, .threads = usable_threads(threads)});
  }
  nb::list table;
  for (const GoodnessCheck& check : goodness.checks) {
    nb::list worst;
    for (const Discrepancy& one : check.worst) {
      nb::dict row;
      row["check"] = check.name;
      row["what"] = one.what;
      row["observed"] = one.observed;
      row["expected"] = one.expected;
      row["z"] = one.z;
      worst.append(row);
    }
    nb::dict row;
    row["name"] = check.name;
    row["statistic"] = check.statistic;
    row["p_value"] = check.p_value;
    row["worst"] = worst;
    table.append(row);
  }
  nb::dict facts;
  facts["table"] = table;
  facts["num_ballots"] = goodness.num_ballots;
  facts["replicates"] = goodness.replicates;
  return facts;
}

}  // namespace

void bind_searches(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "select", &select_groups, "data"_a, "family"_a, "options"_a, "candidates"_a, "criterion"_a, "folds"_a, "holdout"_a,
      "one_standard_error"_a, "run"_a, "command"_a, "recorded"_a = OptionMap{},
      nb::sig("def select(data: Data, family: str, options: dict[str, str], candidates: str, criterion: str, folds: int, holdout: "
              "float, one_standard_error: bool, run: RunRequest, command: str, recorded: dict[str, str] = {}) -> "
              "tuple[dict[str, typing.Any], Model, BaseException | None]"),
      "How many groups.");
  module.def("compare", &compare_families, "data"_a, "contenders"_a, "candidates"_a, "folds"_a, "run"_a,
             nb::sig("def compare(data: Data, contenders: list[str], candidates: str, folds: int, run: RunRequest) -> "
                     "tuple[dict[str, typing.Any], BaseException | None]"),
             "Which family.");
  module.def("check", &check_fit, "model"_a, "data"_a, "replicates"_a, "max_ballots"_a, "seed"_a, "threads"_a,
             nb::sig("def check(model: Model, data: Data, replicates: int, max_ballots: int, seed: int, threads: int) -> dict[str, "
                     "typing.Any]"),
             "Does the model fit.");
  module.def(
      "criteria", [] { return std::vector<std::string>(enum_names<Criterion>.begin(), enum_names<Criterion>.end()); },
      "By what the number of groups may be chosen.");
}

}  // namespace caucus::python
