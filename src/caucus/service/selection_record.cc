// The "selection" of a model file.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "caucus/service/select.h"

namespace caucus {

namespace {

struct NumberOfRow {
  const char* key;
  double SelectRow::*member;
};
constexpr std::array<NumberOfRow, 6> row_numbers{{{"loglik", &SelectRow::loglik},
                                                  {"ebic", &SelectRow::ebic},
                                                  {"bic", &SelectRow::bic},
                                                  {"aic", &SelectRow::aic},
                                                  {"icl", &SelectRow::icl},
                                                  {"seconds", &SelectRow::seconds}}};
struct MaybeOfRow {
  const char* key;
  std::optional<double> SelectRow::*member;
};
constexpr std::array<MaybeOfRow, 4> row_maybes{{{"heldout_mean", &SelectRow::heldout_mean},
                                                {"heldout_se", &SelectRow::heldout_se},
                                                {"behind_best", &SelectRow::behind_best},
                                                {"behind_se", &SelectRow::behind_se}}};
constexpr double missing_number = std::numeric_limits<double>::quiet_NaN();  // null in the file

Record record_of(const SelectRow& row) {
  Record record;
  record.set("k", row.k);
  for (const NumberOfRow& one : row_numbers) record.set(one.key, row.*one.member);
  for (const MaybeOfRow& one : row_maybes) record.set(one.key, (row.*one.member).value_or(missing_number));
  record.set("gain", row.ahead.empty() ? missing_number : row.ahead.back().mean);
  record.set("gain_se", row.ahead.empty() ? missing_number : row.ahead.back().standard_error);
  if (row.replication && std::ranges::all_of(row.replication->groups, [](double value) { return std::isfinite(value); }))
    record.set("agreement", row.replication->groups);
  else
    record.set("agreement", missing_number);
  record.set("shares", row.shares);
  return record;
}

SelectRow row_of(const RecordView& record) {
  SelectRow row;
  const double k = record.number("k");
  if (!(k >= 1.0 && k <= 1e6)) record.fail("k", "a number of groups");
  row.k = static_cast<int>(k);
  for (const NumberOfRow& one : row_numbers) row.*one.member = record.maybe_number(one.key).value_or(missing_number);
  for (const MaybeOfRow& one : row_maybes) row.*one.member = record.maybe_number(one.key);
  if (const auto gain = record.maybe_number("gain")) row.ahead.push_back({*gain, record.maybe_number("gain_se").value_or(0.0)});
  if (const std::size_t size = record.size("agreement"); size > 0) {
    Replication& found = row.replication.emplace();
    found.groups = record.numbers("agreement", size);
    found.weakest = *std::ranges::min_element(found.groups);
  }
  if (const std::size_t size = record.size("shares"); size > 0) row.shares = record.numbers("shares", size);
  return row;
}

}  // namespace

Record record_of(const SelectionFacts& selection) {
  std::vector<Record> table;
  for (const SelectRow& row : selection.table) table.push_back(record_of(row));
  Record record;
  record.set("criterion", name_of(selection.criterion)).set("chosen_k", selection.chosen_k).set("why", selection.why);
  record.set("table", table).set("seconds", selection.seconds);
  if (!selection.unfinished.empty()) record.set("unfinished", selection.unfinished);
  return record;
}

SelectionFacts selection_of(const RecordView& record) {
  SelectionFacts selection;
  const auto criterion = enum_from_name<Criterion>(record.text("criterion", "bic"));
  if (!criterion) record.fail("criterion", "one that 'caucus select --criterion' knows");
  selection.criterion = *criterion;
  const double chosen = record.non_negative("chosen_k");
  if (chosen > 1e6) record.fail("chosen_k", "a number of groups");
  selection.chosen_k = static_cast<int>(chosen);
  selection.seconds = record.maybe_number("seconds").value_or(0.0);
  if (record.has("why")) selection.why = record.texts("why");
  for (const RecordView& row : record.objects("table")) selection.table.push_back(row_of(row));
  if (record.has("unfinished"))
    for (const double k : record.numbers("unfinished", record.size("unfinished")))
      selection.unfinished.push_back(static_cast<int>(std::clamp(k, 0.0, 1e6)));
  return selection;
}

}  // namespace caucus
