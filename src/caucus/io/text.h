// Small pieces that all readers share: numbers, names, case.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caucus {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline std::string_view trim(std::string_view text) {
  while (!text.empty() && (is_blank(text.front()) || text.front() == '\r')) text.remove_prefix(1);
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// ASCII only: names of formats, keys and columns.
std::string lower_case(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);
// Does the text match the pattern, in which * stands for any text? Ignores case.
bool matches_pattern(std::string_view text, std::string_view pattern);

// The whole text as a number; nothing for inf and nan, which no format means.
std::optional<double> parse_number(std::string_view text);
std::optional<std::uint64_t> parse_count(std::string_view text);

// "  'abc'  " for a message: quoted, cut where long, unprintable bytes as \xNN.
std::string show_text(std::string_view text);

// The text, if it is UTF-8; otherwise its bytes read as Windows-1252, and `converted` is set.
std::string to_utf8(std::string_view text, bool& converted);
bool is_utf8(std::string_view text);

// The shortest decimal text that reads back as the same number.
void append_number(std::string& out, double value);
void append_count(std::string& out, std::uint64_t value);

// Ballot weights must be finite, positive and small enough that sums stay exact.
inline constexpr double max_weight = 1e15;

}  // namespace caucus
