#include "caucus/base/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "caucus/base/renamed_options.h"

namespace caucus {

std::string_view renamed_option(std::string_view name, const std::vector<std::string>& known) {
  // One word for one thing in every family: restarts, iterations of an optimiser, sweeps of a sampler.
  static constexpr std::pair<std::string_view, std::string_view> renamed[] = {
      {"starts", "restarts"},      {"errors", "standard-errors"}, {"max-iterations", "iterations"},
      {"max-steps", "iterations"}, {"iterations", "sweeps"},      {"centre", "center"}};
  const auto knows = [&](std::string_view word) { return std::find(known.begin(), known.end(), word) != known.end(); };
  for (const auto& [old, now] : renamed)
    if (old == name && !knows(old) && knows(now)) return now;
  return {};
}

}  // namespace caucus

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
  if (const std::string_view now = renamed_option(name, known); !now.empty())
    throw UsageError(fmt::format("option '{}' is now called '{}'", name, now));
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
