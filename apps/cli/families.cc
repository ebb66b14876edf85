#include "caucus/service/families.h"

#include <fmt/format.h>

#include "commands.h"

namespace caucus::cli {

namespace {

Accepts accepted_by_any(const FamilyInfo& info) {
  Accepts all{.complete = false};
  for (const MethodInfo& method : info.methods) {
    all.complete |= method.accepts.complete;
    all.top_t |= method.accepts.top_t;
    all.subset |= method.accepts.subset;
    all.ties |= method.accepts.ties;
  }
  return all;
}

nlohmann::ordered_json to_json(const FamilyInfo& info) {
  nlohmann::ordered_json json;
  json["name"] = info.name;
  json["summary"] = info.summary;
  json["methods"] = nlohmann::ordered_json::array();
  for (const MethodInfo& method : info.methods) json["methods"].push_back(method.name);
  json["accepts"] = accepted_by_any(info).names();
  json["options"] = nlohmann::ordered_json::array();
  for (const OptionInfo& option : info.options) {
    nlohmann::ordered_json one;
    one["name"] = option.name;
    one["default"] = option.default_value;
    one["min"] = option.min ? nlohmann::ordered_json(*option.min) : nlohmann::ordered_json(nullptr);
    one["max"] = option.max ? nlohmann::ordered_json(*option.max) : nlohmann::ordered_json(nullptr);
    if (!option.choices.empty()) one["choices"] = option.choices;
    one["help"] = option.help;
    json["options"].push_back(one);
  }
  json["method_details"] = nlohmann::ordered_json::array();
  for (const MethodInfo& method : info.methods)
    json["method_details"].push_back({{"name", method.name}, {"summary", method.summary}, {"accepts", method.accepts.names()}});
  return json;
}

std::string range_of(const OptionInfo& option) {
  if (!option.choices.empty()) return fmt::format("{}", fmt::join(option.choices, ", "));
  if (option.min && option.max) return fmt::format("{} to {}", *option.min, *option.max);
  if (option.min) return fmt::format("at least {}", *option.min);
  return "text";
}

std::string to_markdown() {
  const auto cell = [](const std::string& text) {
    std::string escaped;
    for (char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
    return escaped;
  };
  std::string text =
      "# Options of the families\n\nMade by `caucus families --markdown`; do not edit. Every option is a flag of `caucus fit`: "
      "`--components 3` (or `-k 3`).\n";
  for (const auto& family : families()) {
    const FamilyInfo info = family->info();
    text += fmt::format("\n## {}\n\n{}.\n\n| method | what it does | takes |\n|---|---|---|\n", info.name, info.summary);
    for (const MethodInfo& method : info.methods)
      text += fmt::format("| `{}` | {} | {} |\n", method.name, cell(method.summary), fmt::join(method.accepts.names(), ", "));
    text += "\n| option | default | values | meaning |\n|---|---|---|---|\n";
    for (const OptionInfo& option : info.options)
      text += fmt::format("| `{}` | {} | {} | {} |\n", option.name,
                          option.default_value.empty() ? "" : "`" + option.default_value + "`", cell(range_of(option)),
                          cell(option.help));
  }
  return text;
}

std::string one_family(const FamilyInfo& info, const Style& style) {
  std::string text = fmt::format("{}{}{}: {}\n\nMethods (--method):\n", style.bold, info.name, style.reset, info.summary);
  for (const MethodInfo& method : info.methods)
    text += fmt::format("  {:<14} {}\n{:17}takes {}\n", method.name, method.summary, "", fmt::join(method.accepts.names(), ", "));
  text += "\nOptions of 'caucus fit':\n";
  for (const OptionInfo& option : info.options)
    text += fmt::format("  --{:<20} {}\n{:25}{} [{}]\n", option.name, option.help, "", range_of(option), option.default_value);
  return text;
}

}  // namespace

void add_families(CLI::App& app, Context& context) {
  struct Flags {
    std::string name;
    bool markdown = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("families", "The families of models, their methods and options");
  command->add_option("family", flags->name, "show this one in full")->type_name("FAMILY");
  command->add_flag("--json", context.json, "print as one JSON object");
  command->add_flag("--markdown", flags->markdown, "print docs/options.md");
  command->footer(examples({"caucus families", "caucus families pl"}));
  command->callback([flags, &context] {
    const Style style(context.color_stdout());
    if (flags->markdown) return print(to_markdown());
    if (context.json) {
      nlohmann::ordered_json json = {{"families", nlohmann::ordered_json::array()}};
      for (const auto& family : families())
        if (flags->name.empty() || family->info().name == flags->name) json["families"].push_back(to_json(family->info()));
      return print_json(json);
    }
    if (!flags->name.empty()) return print(one_family(find_family(flags->name).info(), style));
    for (const auto& family : families()) {
      const FamilyInfo info = family->info();
      print(fmt::format("{}{:<10}{} {}\n{:11}takes {}\n{:11}methods {}\n", style.bold, info.name, style.reset, info.summary, "",
                        fmt::join(accepted_by_any(info).names(), ", "), "", [&] {
                          std::string names;
                          for (const MethodInfo& method : info.methods) names += (names.empty() ? "" : ", ") + method.name;
                          return names;
                        }()));
    }
    note(context, "More on one of them: caucus families NAME");
  });
}

}  // namespace caucus::cli
