// Writing a report: shared by `report` and by the --report of other commands.
#pragma once

#include <string>

#include "caucus/service/report_data.h"
#include "commands.h"

namespace caucus::cli {

#ifdef CAUCUS_REPORT
inline constexpr bool has_report = true;
#else
inline constexpr bool has_report = false;
#endif

// Adds --report where this build can write one.
void add_report_flag(CLI::App& command, std::string& path);

// Fills in version, command line and threads, and writes the page (or, for a name that ends in .json, the data alone).
// Returns its size in bytes.
std::size_t write_report(const Context& context, ReportRequest request, const std::string& path);

}  // namespace caucus::cli
