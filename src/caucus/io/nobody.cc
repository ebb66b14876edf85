#include "caucus/io/nobody.h"

#include <algorithm>
#include <array>

#include "caucus/io/csv.h"
#include "caucus/io/text.h"

namespace caucus {

namespace {

// Letters and digits in lower case: "(Over-vote)" is "overvote". Bytes beyond ASCII stay, so that no foreign name becomes empty.
std::string letters_of(std::string_view text) {
  std::string letters;
  for (const char c : lower_case(text))
    if (is_digit(c) || (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80) letters += c;
  return letters;
}

constexpr std::array<std::string_view, 24> nobody{"skipped",    "skip",       "overvote",  "overvoted", "overvotes", "undervote",
                                                  "undervoted", "undervotes", "exhausted", "blank",     "na",        "nan",
                                                  "null",       "none",       "novote",    "novotes",   "notvoted",  "unranked",
                                                  "notranked",  "noranking",  "noanswer",  "missing",   "abstain",   "abstention"};

constexpr std::array<std::string_view, 10> suspicious{"skipped",   "overvote", "over vote", "undervote",  "under vote",
                                                      "exhausted", "no vote",  "unranked",  "abstention", "abstain"};

constexpr std::array<std::string_view, 41> demographic{
    "age",       "agegroup", "gender",     "sex",         "income",    "education", "region",    "precinct",  "ward",
    "district",  "county",   "state",      "zip",         "zipcode",   "postcode",  "ethnicity", "religion",  "party",
    "race",      "marital",  "children",   "household",   "language",  "duration",  "progress",  "finished",  "status",
    "startdate", "enddate",  "date",       "timestamp",   "time",      "ipaddress", "latitude",  "longitude", "satisfaction",
    "wave",      "batch",    "occupation", "nationality", "employment"};

}  // namespace

bool names_nobody(std::string_view cell) {
  if (cell.empty()) return true;
  if (cell.size() > 24) return false;
  const std::string letters = letters_of(cell);
  if (letters.empty()) return cell.find_first_not_of("-_.?*()[]{}<>/ ") == std::string_view::npos;
  if (letters == "\u2013" || letters == "\u2014") return true;  // dashes
  return std::ranges::find(nobody, letters) != nobody.end();
}

bool is_overvote(std::string_view cell) { return cell.size() <= 24 && letters_of(cell).starts_with("overvote"); }

bool resembles_nobody(std::string_view name) {
  std::string words = lower_case(name);
  std::ranges::replace_if(
      words, [](char c) { return c == '-' || c == '_'; }, ' ');
  return names_nobody(name) ||
         std::ranges::any_of(suspicious, [&](std::string_view word) { return words.find(word) != std::string::npos; });
}

bool is_demographic(std::string_view column) { return std::ranges::find(demographic, letters_of(column)) != demographic.end(); }

bool matches_any(std::string_view text, std::span<const std::string> patterns) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    if (pattern.empty()) return false;
    if (matches_pattern(text, pattern)) return true;
    if (pattern.find(',') == std::string::npos) return false;
    return std::ranges::any_of(split_list(pattern),
                               [&](const std::string& one) { return !one.empty() && matches_pattern(text, one); });
  });
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  CsvReader reader(text, ',');
  if (reader.next())
    for (const CsvCell& cell : reader.cells()) parts.emplace_back(cell.text);
  return parts;
}

}  // namespace caucus
