#include "caucus/io/text.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace caucus {

namespace {
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

void append_code_point(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// Windows-1252, 0x80..0x9F; 0 where it has no character (the byte's own code is used).
constexpr std::array<std::uint16_t, 32> windows_1252{
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017D, 0,
    0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E, 0x0178};
}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, lower, lower); }

bool matches_pattern(std::string_view text, std::string_view pattern) {
  // Greedy with one step back to the last star: O(text * pattern).
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && lower(pattern[p]) == lower(text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = fast_float::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string show_text(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string shown = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F)
      shown += fmt::format("\\x{:02x}", byte);
    else
      shown += c;
  }
  if (text.size() > longest) {
    // Not in the middle of a character.
    while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xC0) == 0x80) shown.pop_back();
    if (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xC0) == 0xC0) shown.pop_back();
    shown += "...";
  }
  shown += '\'';
  bool converted = false;
  return to_utf8(shown, converted);
}

bool is_utf8(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = p + text.size();
  const auto follows = [&](std::ptrdiff_t count) {
    if (end - p < count) return false;
    for (std::ptrdiff_t i = 0; i < count; ++i)
      if ((p[i] & 0xC0) != 0x80) return false;
    return true;
  };
  while (p < end) {
    const unsigned char lead = *p++;
    if (lead < 0x80) continue;
    if (lead >= 0xC2 && lead <= 0xDF) {
      if (!follows(1)) return false;
      p += 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      // No overlong forms, no surrogates.
      if (!follows(2) || (lead == 0xE0 && p[0] < 0xA0) || (lead == 0xED && p[0] > 0x9F)) return false;
      p += 2;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      if (!follows(3) || (lead == 0xF0 && p[0] < 0x90) || (lead == 0xF4 && p[0] > 0x8F)) return false;
      p += 3;
    } else {
      return false;
    }
  }
  return true;
}

std::string to_utf8(std::string_view text, bool& converted) {
  if (is_utf8(text)) return std::string(text);
  converted = true;
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool special = byte >= 0x80 && byte < 0xA0 && windows_1252[byte - 0x80U] != 0;
    append_code_point(out, special ? windows_1252[byte - 0x80U] : byte);
  }
  return out;
}

void append_number(std::string& out, double value) {
  char buffer[40];
  // Whole numbers without an exponent: counts stay readable and other programs' integer parsers take them.
  if (value == std::floor(value) && std::fabs(value) <= max_weight) {
    if (std::signbit(value) && value == 0.0) {
      out += "-0";
      return;
    }
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, static_cast<std::int64_t>(value));
    out.append(buffer, end);
    return;
  }
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

void append_count(std::string& out, std::uint64_t value) {
  char buffer[24];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

}  // namespace caucus
