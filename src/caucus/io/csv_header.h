// What the names of columns say: ranks ("Rank 1", "First Choice"), contests ("DEM Mayor Choice 1 of 5 Citywide"), and the header
// lines that survey programs put beneath the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace caucus {

using CsvSample = std::vector<std::vector<std::string>>;  // the first rows, without the header

struct RankHeader {
  std::uint64_t rank = 0;  // 0: the name speaks of no rank
  std::string contest;     // what is left of the name; empty in "rank1" and "1st choice"
  std::string word;        // rank, choice, ...; empty in "1st"
};
RankHeader parse_rank_header(std::string_view name);

// Columns that differ in their rank alone.
struct Contest {
  std::string name;
  std::vector<std::size_t> columns;  // by rank
  std::uint64_t missing = 0;         // the first rank without a column, where a later one has it; 0: none
};
std::vector<Contest> find_contests(const std::vector<std::string>& header);

// A cell of the line of a Qualtrics file that says where its columns come from.
inline bool is_import_cell(std::string_view cell) { return cell.starts_with("{\"ImportId\":") && cell.ends_with('}'); }

// Header lines beneath the first. Qualtrics: the questions, then {"ImportId": ...}. SurveyMonkey: the answers' names beneath a
// question that stands over the first of them.
struct HeaderLines {
  std::size_t count = 0;            // of records after the header that are no ballots
  std::vector<std::string> labels;  // what a column is called there; empty where nothing is said
};
HeaderLines find_header_lines(std::vector<std::string>& header, const CsvSample& sample);

}  // namespace caucus
