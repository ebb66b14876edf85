#include "caucus/base/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace caucus::detail {

std::string format_number(double value) { return fmt::format("{}", value); }
std::string format_number(std::int64_t value) { return fmt::format("{}", value); }

void throw_bad_value(std::string_view name, std::string_view text, std::string_view expected) {
  throw UsageError(fmt::format("{} = '{}' is not {}", name, text, expected));
}

void throw_outside(std::string_view name, std::string_view text, double min, double max) {
  throw UsageError(fmt::format("{} = {} is outside [{}, {}]", name, text, min, max));
}

void throw_unknown_option(std::string_view name, const std::vector<std::string>& known) {
  throw UsageError(fmt::format("there is no option '{}' here; there are: {}", name, fmt::join(known, ", ")));
}

double parse_double(std::string_view name, std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(value)) throw_bad_value(name, text, "a number");
  return value;
}

std::int64_t parse_integer(std::string_view name, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw_bad_value(name, text, "a whole number");
  return value;
}

std::string join_choices(const std::string_view* names, std::size_t count) {
  std::string text = "one of ";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += names[i];
  }
  return text;
}

}  // namespace caucus::detail
