#include "words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace caucus::serve {

namespace {

constexpr std::size_t most_text = 1000, most_values = 1000;

[[noreturn]] void refuse(std::string text) { throw std::invalid_argument(std::move(text)); }

std::string text_of(const Json& value, std::string_view what) {
  if (value.is_number_integer()) return std::to_string(value.get<long long>());
  if (value.is_number()) return fmt::format("{:g}", value.get<double>());
  if (!value.is_string()) refuse(fmt::format("{}: expected a text", what));
  const std::string text = value.get<std::string>();
  if (text.size() > most_text) refuse(fmt::format("{}: longer than {} letters", what, most_text));
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    refuse(fmt::format("{}: control characters are not text", what));
  return text;
}

const Json& family_of(const Abilities& abilities, const std::string& name) {
  for (const Json& family : abilities.families)
    if (family.at("name") == name) return family;
  refuse(fmt::format("there is no family '{}'", name));
}

// Takes a text that names no file.
constexpr std::string_view formula = "membership";

bool has_option(const Json& family, std::string_view name) {
  return std::ranges::any_of(family.at("options"), [&](const Json& one) { return one.at("name") == name; });
}

// An option that takes a number or one of a few words, or a formula. Others that take any text name files, and are not for a page.
std::string option_value(const Json& family, const std::string& name, const Json& value) {
  for (const Json& option : family.at("options")) {
    if (option.at("name") != name) continue;
    const std::string text = text_of(value, name);
    if (option.contains("choices")) {
      if (std::ranges::find(option["choices"], Json(text)) == option["choices"].end())
        refuse(fmt::format("{}: '{}' is no choice", name, text));
      return text;
    }
    if (name == formula) return text;
    if (option.value("min", Json()).is_null()) refuse(fmt::format("{}: not from this page; use the command line", name));
    if (text != "auto" && text.find_first_not_of("0123456789.eE+-") != std::string::npos)
      refuse(fmt::format("{}: '{}' is no number", name, text));
    return text;
  }
  refuse(fmt::format("{} has no option '{}'", family.at("name").get<std::string>(), name));
}

// "3", "1..6", "1,2,4" or "auto".
std::string groups_of(const Json& request) {
  const std::string text = request.contains("groups") ? text_of(request["groups"], "groups") : "auto";
  const bool numbers =
      !text.empty() && text.size() < 50 && text.find_first_not_of("0123456789.,") == std::string::npos && text[0] != '.';
  if (text != "auto" && !numbers) refuse(fmt::format("groups: '{}' is no number of groups", text));
  return text;
}

}  // namespace

std::set<std::string> flags_in(std::string_view help) {
  std::set<std::string> flags;
  for (std::size_t at = 0; (at = help.find("--", at)) != std::string_view::npos;) {
    std::size_t end = at + 2;
    while (end < help.size() && ((help[end] >= 'a' && help[end] <= 'z') || help[end] == '-')) ++end;
    flags.insert(std::string(help.substr(at + 2, end - at - 2)));
    at = end;
  }
  return flags;
}

std::vector<std::string> reading_words(const Json& reading, const Abilities& abilities) {
  static const std::set<std::string> known{"format", "unranked", "weight-column", "columns", "contest", "categories", "top",
                                           "voter",  "drop",     "keep",          "merge",   "rename",  "exclude",    "items-only"};
  std::vector<std::string> words;
  if (reading.is_null()) return words;
  if (!reading.is_object()) refuse("reading: expected an object");
  for (const auto& [name, value] : reading.items()) {
    if (!known.contains(name) || !abilities.read_flags.contains(name)) refuse(fmt::format("reading: there is no '{}'", name));
    const Json values = value.is_array() ? value : Json::array({value});
    if (words.size() + values.size() > most_values) refuse("reading: too many corrections");
    for (const Json& one : values)
      if (const std::string text = text_of(one, name); !text.empty())
        words.push_back(fmt::format("--{}={}", name, text));  // one word: its value cannot be taken for a flag
  }
  return words;
}

std::vector<std::string> job_words(const Json& request, const std::string& file, const Abilities& abilities) {
  if (!request.is_object()) refuse("expected an object");
  const std::string command = request.contains("command") ? text_of(request["command"], "command") : "fit";
  if (command != "fit" && command != "select" && command != "compare")
    refuse(fmt::format("there is no command '{}' here", command));
  std::vector<std::string> words{command, file};
  const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  const std::string groups = groups_of(request);
  if (command == "compare") {
    std::vector<std::string> names;
    if (const Json several = request.value("families", Json::array()); several.is_array())
      for (const Json& one : several) names.push_back(family_of(abilities, text_of(one, "families")).at("name").get<std::string>());
    if (!names.empty()) add({"--families", fmt::format("{}", fmt::join(names, ","))});
    if (groups != "auto") add({"-k", groups});
  } else {
    const Json& family =
        request.contains("family") ? family_of(abilities, text_of(request["family"], "family")) : abilities.families.at(0);
    add({"--family", family.at("name").get<std::string>()});
    const bool has_groups = has_option(family, "components");
    if (!has_groups && command == "select")
      refuse(fmt::format("{} has no number of groups to choose", family.at("name").get<std::string>()));
    if (has_groups && (groups != "auto" || command == "select")) add({"-k", groups});
    const Json options = request.value("options", Json::object());
    if (!options.is_object()) refuse("options: expected an object");
    for (const auto& [name, value] : options.items()) {
      const std::string setting = option_value(family, name, value);
      command == "select" ? add({"--set", fmt::format("{}={}", name, setting)}) : add({fmt::format("--{}={}", name, setting)});
    }
  }
  const auto number = [&](const char* name, const char* flag) {
    if (!request.contains(name)) return;
    if (!request[name].is_number() || request[name].get<double>() < 0) refuse(fmt::format("{}: expected a number", name));
    if (const std::string text = text_of(request[name], name); text != "0") add({flag, text});
  };
  number("seed", "--seed");
  number("time_limit", "--time-limit");
  for (std::string& word : reading_words(request.value("reading", Json()), abilities)) words.push_back(std::move(word));
  add({"--out", command == "compare" ? "compare.json" : "model.json"});
  return words;
}

std::vector<std::string> checkpoint_words(const Json& request, const Abilities& abilities, const std::string& file, bool resuming) {
  static constexpr const char *keep = "checkpoint", *go_on = "resume", *pause = "checkpoint-every";
  const std::string command = request.value("command", "fit");
  const auto known = abilities.flags.find(command);
  if (known == abilities.flags.end() || !known->second.contains(keep)) return {};
  // Of a command, it comes with the word to go on; else it is an option of some families, who go on by themselves.
  const bool of_command = known->second.contains(go_on);
  const std::string family = request.value("family", abilities.families.at(0).at("name").get<std::string>());
  if (!of_command && (command != "fit" || !has_option(family_of(abilities, family), keep))) return {};
  std::vector<std::string> words{fmt::format("--{}={}", keep, file)};
  if (!request.value("options", Json::object()).contains(pause)) words.push_back(fmt::format("--{}=5", pause));  // little is lost
  if (resuming && of_command) words.push_back(fmt::format("--{}", go_on));
  return words;
}

std::string command_line(const std::vector<std::string>& words) {
  std::string line = "caucus";
  for (const std::string& word : words) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("-_=./,:+%@").find(c) != std::string_view::npos;
    });
    line += ' ';
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) c == '\'' ? line += "'\\''" : line += c;
    line += '\'';
  }
  return line;
}

}  // namespace caucus::serve
