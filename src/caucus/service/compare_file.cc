// What `compare --out` writes, and back.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "caucus/base/error.h"
#include "caucus/result/model_json.h"
#include "caucus/result/record_json.h"
#include "caucus/service/compare.h"

namespace caucus {

namespace {

constexpr const char* compare_schema = "caucus.compare/1";

CompareRow compared_row(const RecordView& record) {
  CompareRow row;
  row.family = record.text("family", "");
  row.label = record.text("label", row.family);
  if (record.has("refused")) row.refused = record.text("refused");
  if (!row.refused && !record.maybe_number("heldout_mean")) row.refused = "no result";
  row.heldout_mean = record.maybe_number("heldout_mean").value_or(0.0);
  row.heldout_se = record.maybe_number("heldout_se").value_or(0.0);
  row.behind_best = {record.maybe_number("behind_best").value_or(0.0), record.maybe_number("behind_se").value_or(0.0)};
  row.groups = record.maybe_number("groups").value_or(0.0);
  row.monte_carlo_error = record.maybe_number("monte_carlo_error");
  row.seconds = record.maybe_number("seconds").value_or(0.0);
  row.peak_bytes = record.maybe_number("peak_bytes");
  return row;
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  using Json = nlohmann::ordered_json;
  Json table = Json::array();
  for (const CompareRow& row : comparison.table) {
    Json one = {{"label", row.label}, {"family", row.family}};
    if (row.refused) {
      one["refused"] = *row.refused;
    } else {
      one["heldout_mean"] = row.heldout_mean;
      one["heldout_se"] = row.heldout_se;
      one["behind_best"] = row.behind_best.mean;
      one["behind_se"] = row.behind_best.standard_error;
      one["groups"] = row.groups;
      if (row.monte_carlo_error) one["monte_carlo_error"] = *row.monte_carlo_error;
    }
    one["seconds"] = row.seconds;
    one["peak_bytes"] = row.peak_bytes ? Json(*row.peak_bytes) : Json(nullptr);
    table.push_back(std::move(one));
  }
  const Json json = {{"schema", compare_schema},
                     {"folds", comparison.folds},
                     {"seed", comparison.seed},
                     {"num_rankings", Json(model_json::count(comparison.num_rankings))},
                     {"table", std::move(table)},
                     {"note", comparison.note},
                     {"data", {{"digest", comparison.data.digest}, {"source", comparison.data.source}}}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Comparison> parse_comparison(std::string_view text, const std::string& name) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("schema", nlohmann::json()) != compare_schema) return std::nullopt;
  const RecordView record = view_of(json);
  try {
    Comparison comparison;
    for (const RecordView& row : record.objects("table")) comparison.table.push_back(compared_row(row));
    comparison.note = record.text("note", "");
    comparison.folds = static_cast<int>(std::min(record.maybe_number("folds").value_or(0.0), 1e6));
    return comparison;
  } catch (const Error& error) {
    throw DataError(fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace caucus
