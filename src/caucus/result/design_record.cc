#include "caucus/result/design_record.h"

namespace caucus {

void write_design(const CovariateDesign& design, Record& record) {
  record.set("formula", design.formula()).set("columns", design.names());
  std::vector<Record> terms;
  for (const DesignTerm& term : design.terms()) {
    Record one;
    one.set("name", term.name);
    if (!term.levels.empty())
      one.set("levels", term.levels);
    else
      one.set("mean", term.mean);
    if (term.arithmetic) one.set("arithmetic", true);
    terms.push_back(std::move(one));
  }
  record.set("terms", terms);
}

std::vector<DesignTerm> read_terms(const RecordView& record) {
  std::vector<DesignTerm> terms;
  for (const RecordView& one : record.objects("terms")) {
    DesignTerm term;
    term.name = one.text("name");
    if (one.has("levels")) term.levels = one.texts("levels");
    if (one.has("levels") && term.levels.size() < 2) one.fail("levels", "two levels or more");
    term.mean = one.number("mean", 0.0);
    term.arithmetic = one.flag("arithmetic", false);
    terms.push_back(std::move(term));
  }
  return terms;
}

std::vector<std::vector<double>> rows_of(const std::vector<double>& values, std::size_t width) {
  std::vector<std::vector<double>> rows;
  for (std::size_t at = 0; at < values.size(); at += width)
    rows.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(at), values.begin() + static_cast<std::ptrdiff_t>(at + width));
  return rows;
}

std::vector<double> flattened(const std::vector<std::vector<double>>& rows) {
  std::vector<double> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  return values;
}

}  // namespace caucus
