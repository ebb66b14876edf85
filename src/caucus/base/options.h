// Options tables. A family's options are a plain struct whose defaults stand in its member
// initialisers; its static fields() names each member once with range and help. Validation,
// command-line flags, help, the JSON request and docs/options.md are loops over fields().
//
//   struct Options {
//     int components = 2;
//     double tolerance = 1e-8;
//     std::optional<double> regularization;   // "auto" when empty
//     Start init = Start::spectral;           // enum with enum_names<Start>
//     bool polish = true;                     // on | off
//     static constexpr auto fields() {
//       return std::tuple{field("components", &Options::components, 1, 1000, "number of groups"), ...};
//     }
//   };
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "caucus/base/error.h"

namespace caucus {

// Names of an enum's values, in order from 0. Specialise next to the enum:
//   template <> inline constexpr std::array<std::string_view, 2> enum_names<Unranked>{"last", "absent"};
template <class E>
inline constexpr std::array<std::string_view, 0> enum_names{};

template <class E>
  requires std::is_enum_v<E>
constexpr std::string_view name_of(E value) {
  return enum_names<E>[static_cast<std::size_t>(value)];
}

template <class E>
  requires std::is_enum_v<E>
std::optional<E> enum_from_name(std::string_view name) {
  for (std::size_t i = 0; i < enum_names<E>.size(); ++i)
    if (enum_names<E>[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

template <class O, class T>
struct Field {
  std::string_view name;
  T O::*member;
  double min;
  double max;
  std::string_view help;
};

// A number (or std::optional of one, read and shown as "auto" when empty) in [min, max].
template <class O, class T>
constexpr Field<O, T> field(std::string_view name, T O::*member, double min, double max, std::string_view help) {
  return {name, member, min, max, help};
}
// An enum, a bool (on | off) or a text.
template <class O, class T>
constexpr Field<O, T> field(std::string_view name, T O::*member, std::string_view help) {
  return {name, member, -HUGE_VAL, HUGE_VAL, help};
}

// What the outside sees of one field.
struct OptionInfo {
  std::string name;
  std::string default_value;
  std::optional<double> min;
  std::optional<double> max;
  std::vector<std::string> choices;  // enums and bools
  std::string help;
};

// Option values as text, by name: what a command line or a JSON request gives.
using OptionMap = std::map<std::string, std::string, std::less<>>;

namespace detail {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

std::string format_number(double value);
std::string format_number(std::int64_t value);
[[noreturn]] void throw_bad_value(std::string_view name, std::string_view text, std::string_view expected);
[[noreturn]] void throw_outside(std::string_view name, std::string_view text, double min, double max);
[[noreturn]] void throw_unknown_option(std::string_view name, const std::vector<std::string>& known);
double parse_double(std::string_view name, std::string_view text);
std::int64_t parse_integer(std::string_view name, std::string_view text);
std::string join_choices(const std::string_view* names, std::size_t count);

template <class T>
std::string show(const T& value) {
  if constexpr (is_optional<T>::value) {
    return value ? show(*value) : "auto";
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "on" : "off";
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(value));
  } else if constexpr (std::is_integral_v<T>) {
    return format_number(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return format_number(static_cast<double>(value));
  } else {
    return std::string(value);
  }
}

template <class T>
T parse(std::string_view name, std::string_view text, double min, double max) {
  if constexpr (is_optional<T>::value) {
    if (text == "auto") return std::nullopt;
    return parse<typename T::value_type>(name, text, min, max);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (text == "on" || text == "true" || text == "1") return true;
    if (text == "off" || text == "false" || text == "0") return false;
    throw_bad_value(name, text, "on or off");
  } else if constexpr (std::is_enum_v<T>) {
    if (const auto value = enum_from_name<T>(text)) return *value;
    throw_bad_value(name, text, join_choices(enum_names<T>.data(), enum_names<T>.size()));
  } else if constexpr (std::is_integral_v<T>) {
    const std::int64_t value = parse_integer(name, text);
    if (static_cast<double>(value) < min || static_cast<double>(value) > max) throw_outside(name, text, min, max);
    return static_cast<T>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    const double value = parse_double(name, text);
    if (!(value >= min && value <= max)) throw_outside(name, text, min, max);
    return static_cast<T>(value);
  } else {
    return T(text);
  }
}

template <class T>
void check_range(std::string_view name, const T& value, double min, double max) {
  if constexpr (is_optional<T>::value) {
    if (value) check_range(name, *value, min, max);
  } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    const double number = static_cast<double>(value);
    if (!(number >= min && number <= max)) throw_outside(name, show(value), min, max);
  }
}

}  // namespace detail

template <class O>
std::vector<OptionInfo> describe_options() {
  std::vector<OptionInfo> infos;
  const O defaults;
  std::apply(
      [&](const auto&... fields) {
        (
            [&](const auto& one) {
              using T = std::remove_cvref_t<decltype(defaults.*(one.member))>;
              OptionInfo info;
              info.name = one.name;
              info.default_value = detail::show(defaults.*(one.member));
              info.help = one.help;
              if (one.min > -HUGE_VAL) info.min = one.min;
              if (one.max < HUGE_VAL) info.max = one.max;
              if constexpr (std::is_same_v<T, bool>) info.choices = {"on", "off"};
              if constexpr (std::is_enum_v<T>) info.choices.assign(enum_names<T>.begin(), enum_names<T>.end());
              infos.push_back(std::move(info));
            }(fields),
            ...);
      },
      O::fields());
  return infos;
}

// Options from text. Throws UsageError for an unknown name, a malformed or an out-of-range value.
template <class O>
O parse_options(const OptionMap& values) {
  O options;
  std::vector<std::string> known;
  std::size_t used = 0;
  std::apply(
      [&](const auto&... fields) {
        (
            [&](const auto& one) {
              using T = std::remove_cvref_t<decltype(options.*(one.member))>;
              known.emplace_back(one.name);
              const auto found = values.find(one.name);
              if (found == values.end()) return;
              ++used;
              options.*(one.member) = detail::parse<T>(one.name, found->second, one.min, one.max);
            }(fields),
            ...);
      },
      O::fields());
  if (used != values.size())
    for (const auto& [name, text] : values)
      if (std::find(known.begin(), known.end(), name) == known.end()) detail::throw_unknown_option(name, known);
  return options;
}

// Checks the ranges of options that a caller filled in directly.
template <class O>
void validate_options(const O& options) {
  std::apply(
      [&](const auto&... fields) { (detail::check_range(fields.name, options.*(fields.member), fields.min, fields.max), ...); },
      O::fields());
}

// The options as text, by name: recorded in the model file.
template <class O>
OptionMap show_options(const O& options) {
  OptionMap values;
  std::apply([&](const auto&... fields) { ((values[std::string(fields.name)] = detail::show(options.*(fields.member))), ...); },
             O::fields());
  return values;
}

}  // namespace caucus
