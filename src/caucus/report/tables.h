// A report's numbers as CSV tables, for spreadsheets and slides.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace caucus {

struct ReportTable {
  std::string file;  // "groups.csv"
  std::string content;
};

// `data` is an object of schema caucus.report/1. One table per subject that the report has; of several models each in turn, with
// the model's name in the first column.
std::vector<ReportTable> report_tables(const nlohmann::json& data);

}  // namespace caucus
