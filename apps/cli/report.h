// Writing a report: shared by `report` and by the --report of other commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caucus/infer/pl_regression/path.h"
#include "caucus/io/table.h"
#include "caucus/report/data.h"
#include "commands.h"

namespace caucus::cli {

#ifdef CAUCUS_REPORT
inline constexpr bool has_report = true;
#else
inline constexpr bool has_report = false;
#endif

// How a page is to look; the same flags for `report` and for the --report of other commands.
struct ReportFlags {
  std::string path;  // empty: no page
  std::string title, tables, surplus = "scottish";
  std::vector<std::string> names;
  report::Nouns nouns;
  std::size_t map_points = 20000;
  std::size_t seats = 0;  // 0: as the file of the ballots says, else one

  bool wanted() const { return !path.empty() || !tables.empty(); }
};
// Adds --report and its flags where this build can write one.
void add_report_flag(CLI::App& command, ReportFlags& flags);

// Fills in the flags, version, command line and threads, and writes the page (or, for a name that ends in .json, the data alone)
// and the tables. Returns the page's size in bytes.
std::size_t write_report(const Context& context, ReportRequest request, const ReportFlags& flags);

// What a regression predicts for the rows whose class is known. Nothing for a regression of ballots.
std::optional<ClassScores> class_scores(const pl_regression::Fitted& model, const Table& table, bool fitted_to_these);

}  // namespace caucus::cli
