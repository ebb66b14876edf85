// 'caucus predict': class probabilities for new rows.
#include "caucus/infer/pl_regression/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/evaluate/predict_voters.h"
#include "caucus/evaluate/regression_scores.h"
#include "caucus/io/csv.h"
#include "caucus/io/nobody.h"
#include "caucus/io/source.h"
#include "caucus/io/text.h"
#include "caucus/result/item_utilities.h"
#include "commands.h"

namespace caucus::cli {

namespace {

using Json = nlohmann::ordered_json;

struct PredictFlags {
  std::string model, out, missing, row;
  DataFlags data;
  bool curves = false;
};

// "age=31, town=Bern" as a table of one row.
Table table_of_row(const std::string& text) {
  std::string names, values;
  for (const std::string& part : split_list(text)) {
    const std::size_t at = part.find('=');
    if (at == std::string::npos || trim(part.substr(0, at)).empty())
      throw UsageError(fmt::format("--row: {} says nothing about a column; expected NAME=VALUE,NAME=VALUE", show_text(part)));
    const char* const comma = names.empty() ? "" : ",";
    names += comma + csv_cell((trim(part.substr(0, at))));
    values += comma + csv_cell((trim(part.substr(at + 1))));
  }
  return parse_table(names + "\n" + values + "\n", "--row");
}

// Ballots beside the covariates are scored; a table without them is predicted all the same.
std::optional<BallotScores> scores_of_ballots(const pl_regression::Fitted& model, const PredictFlags& flags,
                                              std::optional<MissingValues> missing, Context& context) {
  if (flags.data.path == "-" || flags.data.path.empty()) return std::nullopt;
  try {
    return score_ballots(pl_regression::predict_ballots(model, read_data(context, flags.data, model.unranked), missing));
  } catch (const DataError& failure) {
    note(context, fmt::format("Not scored, as there are no ballots to be read: {}", failure.what()));
    return std::nullopt;
  }
}

Table rows_of(const PredictFlags& flags, Context& context) {
  if (flags.row.empty() == flags.data.path.empty())
    throw UsageError(flags.row.empty() ? "the rows are missing: name a file, or give --row \"age=31,town=Bern\""
                                       : "a file and --row exclude each other");
  Table table = flags.row.empty() ? read_table(flags.data.path) : table_of_row(flags.row);
  for (const std::string& one : table.warnings) warning(context, fmt::format("{}: {}", table.source, one));
  return table;
}

bool is_group_model(const std::string& path) {
  const Source source = Source::open(path);
  const nlohmann::json json = nlohmann::json::parse(source.text(), nullptr, false);
  return json.is_object() && json.value("schema", nlohmann::json()) == "caucus.model/1";
}

// Writes and prints predictions of rows.
void show_predictions(const PredictFlags& flags, std::string_view csv, Json json, Context& context) {
  if (!flags.out.empty()) write_file(flags.out, csv);
  if (context.json)
    print_json(std::move(json));
  else if (flags.out.empty())
    print(csv);
  note_written(context, "Predictions", flags.out);
}

// Utilities of items that nobody has ranked, in every group, on the scale on which the mean of the model's items is zero; and what
// follows: the place among the model's items, and the chance to be chosen first before all of them.
void run_predict_items(const PredictFlags& flags, const FittedModel& model, const Table& table, Context& context) {
  const std::vector<Group> groups = model.profile();
  std::vector<std::string> warnings;
  const auto predictions = predict_items(*item_utilities_of(model), table.columns, table.source, warnings);
  for (const std::string& one : warnings) warning(context, one);
  fmt::memory_buffer csv;
  const auto out = std::back_inserter(csv);
  fmt::format_to(out, "row");
  for (std::size_t k = 1; k <= groups.size(); ++k) fmt::format_to(out, ",u{},u{}_low,u{}_high,place{},first{}", k, k, k, k, k);
  fmt::format_to(out, "\n");
  Json rows = Json::array();
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    fmt::format_to(out, "{}", row + 1);
    std::vector<double> utilities, low, high, first;
    std::vector<std::size_t> place;
    for (std::size_t k = 0; k < groups.size(); ++k) {
      const ItemPrediction& one = predictions[row][k];
      utilities.push_back(one.utility);
      low.push_back(one.utility - 1.959964 * one.error);
      high.push_back(one.utility + 1.959964 * one.error);
      double others = 0.0;
      place.push_back(1);
      for (const double utility : groups[k].utilities) {
        others += std::exp(utility - one.utility);
        if (utility > one.utility) ++place.back();
      }
      first.push_back(1.0 / (1.0 + others));
      fmt::format_to(out, ",{:.6g},{:.6g},{:.6g},{},{:.6g}", one.utility, low.back(), high.back(), place.back(), first.back());
    }
    fmt::format_to(out, "\n");
    rows.push_back({{"row", row + 1}, {"utilities", utilities}, {"low", low}, {"high", high}, {"place", place}, {"first", first}});
  }
  show_predictions(flags, {csv.data(), csv.size()}, {{"num_rows", predictions.size()}, {"predicted", "items"}, {"rows", rows}},
                   context);
}

// Which of the columns that a formula names a table lacks.
std::string lacking(const CovariateDesign& design, const Table& table) {
  std::string names;
  for (const DesignTerm& term : design.terms())
    if (!term.arithmetic && table.find(term.name) == nullptr) names += (names.empty() ? "" : ", ") + show_text(term.name);
  return names;
}

// Groups and preferences of voters of whom no ranking is known.
void run_predict_voters(const PredictFlags& flags, const FittedModel& model, const Table& table, Context& context) {
  std::vector<std::string> warnings;
  const std::vector<VoterPrediction> predictions = predict_voters(model, table.columns, table.source, warnings);
  for (const std::string& one : warnings) warning(context, one);
  const std::size_t k = model.num_components();
  fmt::memory_buffer csv;
  const auto out = std::back_inserter(csv);
  fmt::format_to(out, "row,label");
  for (std::size_t c = 1; c <= k; ++c) fmt::format_to(out, ",p{},p{}_low,p{}_high", c, c, c);
  for (const std::string& item : model.items())
    fmt::format_to(out, ",{},{},{}", csv_cell("u_" + item), csv_cell("u_" + item + "_low"), csv_cell("u_" + item + "_high"));
  fmt::format_to(out, "\n");
  Json rows = Json::array();
  const auto numbers = [](const std::vector<Predicted>& values, double Predicted::*which) {
    std::vector<double> result;
    for (const Predicted& one : values) result.push_back(one.*which);
    return result;
  };
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    const VoterPrediction& one = predictions[row];
    const std::vector<double> p = numbers(one.groups, &Predicted::value);
    const auto label = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin()) + 1;
    fmt::format_to(out, "{},{}", row + 1, label);
    for (const auto* list : {&one.groups, &one.utilities})
      for (const Predicted& value : *list) fmt::format_to(out, ",{:.6g},{:.6g},{:.6g}", value.value, value.low, value.high);
    fmt::format_to(out, "\n");
    rows.push_back({{"row", row + 1},
                    {"label", label},
                    {"p", p},
                    {"p_low", numbers(one.groups, &Predicted::low)},
                    {"p_high", numbers(one.groups, &Predicted::high)},
                    {"utilities", numbers(one.utilities, &Predicted::value)},
                    {"utilities_low", numbers(one.utilities, &Predicted::low)},
                    {"utilities_high", numbers(one.utilities, &Predicted::high)}});
  }
  show_predictions(flags, {csv.data(), csv.size()},
                   {{"num_rows", predictions.size()}, {"predicted", "voters"}, {"items", model.items()}, {"rows", rows}}, context);
}

// New voters or new items, whichever the model and the columns of the table speak of.
void run_predict_groups(const PredictFlags& flags, Context& context) {
  const LoadedModel loaded = load_model(flags.model);
  const FittedModel& model = *loaded.model;
  const Membership* const voters = model.membership();
  const ItemUtilities* const items = item_utilities_of(model);
  if (voters == nullptr && items == nullptr)
    throw DataError(
        fmt::format("{}: the groups of this model do not depend on anything known of a voter; fit it with --membership, or with "
                    "--utilities to predict new items",
                    flags.model));
  if (!flags.missing.empty())
    throw UsageError("--missing: a model of groups goes by what it was fitted with; fit it with --missing mean or drop");
  const Table table = rows_of(flags, context);
  if (voters == nullptr) return run_predict_items(flags, model, table, context);
  if (items == nullptr) return run_predict_voters(flags, model, table, context);
  const std::string of_voter = lacking(voters->design, table), of_item = lacking(items->design, table);
  if (of_voter.empty() == of_item.empty())
    throw DataError(
        of_voter.empty()
            ? fmt::format("{}: has the columns of voters ({}) and of items ({}): leave out those that are not meant", table.source,
                          voters->design.formula(), items->design.formula())
            : fmt::format("{}: lacks {} to be a table of voters, and {} to be one of items", table.source, of_voter, of_item));
  of_voter.empty() ? run_predict_voters(flags, model, table, context) : run_predict_items(flags, model, table, context);
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(const PredictionScores& scores, bool curves) {
  Json json{{"num_scored", scores.num_scored},
            {"num_unseen", scores.num_unseen},
            {"misclassification", scores.misclassification},
            {"log_loss", or_null(scores.log_loss)}};
  if (!scores.auc) return json;
  json["brier"] = *scores.brier;
  json["auc"] = *scores.auc;
  json["calibration_error"] = *scores.calibration_error;
  if (!curves) return json;
  for (const CalibrationBin& bin : scores.calibration)
    json["calibration"].push_back({{"predicted", bin.mean_predicted}, {"observed", bin.observed}, {"count", bin.count}});
  if (!scores.roc.empty()) json["roc"] = Json::array();
  for (const RocPoint& point : scores.roc) json["roc"].push_back({point.false_positive_rate, point.true_positive_rate});
  return json;
}

Json to_json(const BallotScores& scores) {
  Json json{
      {"num_scored", scores.num_scored}, {"misclassification", scores.misclassification}, {"log_loss", or_null(scores.log_loss)}};
  if (scores.num_impossible > 0.0) json["num_impossible"] = scores.num_impossible;
  return json;
}

std::string predictions_csv(const pl_regression::Fitted& model, const pl_regression::Predictions& predictions) {
  fmt::memory_buffer csv;
  const auto out = std::back_inserter(csv);
  fmt::format_to(out, "row,predicted");
  for (const std::string& name : model.classes) fmt::format_to(out, ",{}", csv_cell("p_" + name));
  fmt::format_to(out, "\n");
  for (std::size_t i = 0; i < predictions.rows.size(); ++i) {
    fmt::format_to(out, "{},{}", predictions.rows[i] + 1, csv_cell(model.classes[predictions.predicted[i]]));
    for (Eigen::Index k = 0; k < predictions.probabilities.cols(); ++k)
      fmt::format_to(out, ",{}", predictions.probabilities(static_cast<Eigen::Index>(i), k));
    fmt::format_to(out, "\n");
  }
  return fmt::to_string(csv);
}

void run_predict(const PredictFlags& flags, Context& context) {
  if (is_group_model(flags.model)) return run_predict_groups(flags, context);
  const bool text = wants_text(context, {flags.out});
  const pl_regression::Fitted model = pl_regression::load_regression(flags.model).model;
  const std::optional<MissingValues> missing = flags.missing.empty() ? std::nullopt : enum_from_name<MissingValues>(flags.missing);
  const Table table = rows_of(flags, context);
  const pl_regression::Predictions predictions = pl_regression::predict_table(model, table, missing);
  for (const std::string& one : predictions.warnings) warning(context, fmt::format("{}: {}", table.source, one));

  const std::string csv = predictions_csv(model, predictions);
  if (!flags.out.empty()) write_file(flags.out, csv);

  Json json{{"num_rows", predictions.rows.size()}};
  if (model.ranking) {
    if (const auto scores = scores_of_ballots(model, flags, missing, context)) json.update(to_json(*scores));
  } else if (const auto scores = score_predictions(predictions)) {
    json.update(to_json(*scores, flags.curves));
  }
  if (!flags.out.empty()) json["out"] = flags.out;
  if (context.json) {
    print_json(json);
    return;
  }
  if (flags.out.empty()) print(csv);
  if (json.contains("misclassification")) {
    const std::string loss = json["log_loss"].is_number() ? fmt::format("{:.4f}", json["log_loss"].get<double>()) : "infinite";
    std::string scores = fmt::format("misclassification{} {:.4f}, log loss{} {}", model.ranking ? " of first places" : "",
                                     json["misclassification"].get<double>(), model.ranking ? " of whole ballots" : "", loss);
    if (json.contains("auc")) scores += fmt::format(", AUC {:.4f}", json["auc"].get<double>());
    scores += fmt::format(", over {} {}", json["num_scored"].get<double>(), model.ranking ? "ballots" : "rows");
    if (flags.out.empty() || flags.out == "-")
      note(context, scores);
    else if (text)
      print(scores + "\n");
  }
  note_written(context, "Predictions", flags.out);
}

}  // namespace

void add_predict(CLI::App& app, Context& context) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* command = app.add_subcommand("predict",
                                         "Predict classes of new rows with a model of 'caucus regress', groups of new voters (fit "
                                         "--membership), new items (--utilities)");
  command
      ->add_option("model", flags->model,
                   "model file written by 'caucus regress --out', 'caucus fit --membership' or 'caucus fit --utilities'")
      ->required()
      ->type_name("MODEL");
  command->add_option("data", flags->data.path, "CSV with the columns of the training table, in any order; - for standard input")
      ->type_name("TEST");
  command->add_option("--row,--ballot", flags->row, "one row instead of a file: \"age=31,town=Bern\"")->type_name("ROW");
  command->add_option("--missing", flags->missing, "missing values: error, drop (the row) or mean; default: as in training")
      ->check(CLI::IsMember(std::vector<std::string>(enum_names<MissingValues>.begin(), enum_names<MissingValues>.end())));
  command->add_option("-o,--out", flags->out, "write row,predicted,p_CLASS... for every row")->type_name("FILE");
  CLI::Option* json = command->add_flag("--json", context.json, "print the scores as one JSON object");
  command->add_flag("--curves", flags->curves, "with --json: the calibration curve and, for two classes, the ROC curve")
      ->needs(json);
  add_data_flags(*command, flags->data);
  command->footer(examples({"caucus predict m.json test.csv --out p.csv", "caucus predict m.json --row \"age=31,town=Bern\"",
                            "caucus predict m.json test.csv --json --curves"}));
  command->callback([flags, &context] { run_predict(*flags, context); });
}

}  // namespace caucus::cli
