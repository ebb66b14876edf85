// Words that stand where an item would and name nobody: one list for every layout.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caucus {

// Empty, -, NA, N/A, NaN, null, none, skipped, overvote, undervote, exhausted, blank, no vote, ... in any case, with brackets,
// hyphens or blanks: "(Over-vote)" is one of them.
bool names_nobody(std::string_view cell);

// Of these, two marks where one belongs: "overvote", "Over vote", ...
bool is_overvote(std::string_view cell);

enum class Named : std::uint8_t { somebody, nobody, too_many };
inline Named named_in(std::string_view cell) {
  return is_overvote(cell) ? Named::too_many : names_nobody(cell) ? Named::nobody : Named::somebody;
}

// Does the name of an item contain such a word ("Overvote - 2", "ballot exhausted")? Then a person should look at it.
bool resembles_nobody(std::string_view name);

// Is this the name of something about the voter or the survey, such as age, precinct or start date?
bool is_demographic(std::string_view column);

// Does the text match one of the patterns, in which * is any text? Each may be a list with commas ("a,b"); a text that has the
// comma itself matches too.
bool matches_any(std::string_view text, std::span<const std::string> patterns);

// "a,b" -> a and b; commas in double quotes do not separate.
std::vector<std::string> split_list(std::string_view text);

}  // namespace caucus
