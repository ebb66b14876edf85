// 'caucus help' and 'caucus man': the same tables that parse the command line, as text and as pages of the manual. And what a
// mistyped word may have meant.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "caucus/base/error.h"
#include "commands.h"

namespace caucus::cli {

namespace {

// Insertions, deletions, exchanges and swaps of neighbours that turn one word into the other (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  std::iota(cost[0].begin(), cost[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  return cost[a.size()][b.size()];
}

// The words that one mistake in three letters, or a word cut short, could have been: the nearest ones.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  std::vector<std::string> best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3);
  for (const std::string& candidate : known) {
    const bool cut = word.size() >= 3 && candidate.starts_with(word);
    const std::size_t distance = cut ? std::min<std::size_t>(1, least) : edit_distance(word, candidate);
    if (distance > least) continue;
    if (distance < least) best.clear();
    least = distance;
    best.push_back(candidate);
  }
  return best;
}

std::string did_you_mean(const std::vector<std::string>& words, std::string_view before = "") {
  if (words.empty()) return "";
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < words.size(); ++i) text += fmt::format("{}{}{}", i > 0 ? " or " : "", before, words[i]);
  return text + "?";
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  return names;
}

const CLI::App& find_command(const CLI::App& app, const std::string& name) {
  const auto commands = commands_of(app);
  const auto found = std::ranges::find_if(commands, [&](const CLI::App* command) { return command->get_name() == name; });
  if (found == commands.end())
    throw UsageError(fmt::format("there is no command '{}'{}", name, did_you_mean(nearest(name, names_of(commands)))));
  return **found;
}

// Text in a page of the manual: hyphens that are typed, backslashes, and no line that looks like a request.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n'))
      result += std::string("\\&") + c;
    else
      result += c;
  }
  return result;
}

std::string roff_option(const CLI::Option& option) {
  std::vector<std::string> names;
  if (option.get_positional()) {
    names.push_back(fmt::format("\\fI{}\\fR", roff(option.get_type_name())));
  } else {
    for (const std::string& name : option.get_snames()) names.push_back(fmt::format("\\fB\\-{}\\fR", roff(name)));
    for (const std::string& name : option.get_lnames()) names.push_back(fmt::format("\\fB\\-\\-{}\\fR", roff(name)));
  }
  std::string value = option.get_positional() || option.get_items_expected_max() == 0 ? "" : option.get_type_name();
  value = value.substr(0, value.find(':'));  // choices stand in the help
  std::string text = fmt::format(".TP\n{}{}\n{}", fmt::join(names, ", "),
                                 value.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(value)), roff(option.get_description()));
  if (!option.get_default_str().empty()) text += roff(fmt::format(" [{}]", option.get_default_str()));
  return text + "\n";
}

std::string roff_options(const CLI::App& command) {
  std::vector<std::string> groups;
  for (const CLI::Option* option : command.get_options())
    if (std::ranges::find(groups, option->get_group()) == groups.end()) groups.push_back(option->get_group());
  std::string text = ".SH OPTIONS\n";
  for (const std::string& group : groups) {
    if (groups.size() > 1 && group != "Options") text += fmt::format(".SS {}\n", roff(group));
    for (const CLI::Option* option : command.get_options())
      if (option->get_group() == group) text += roff_option(*option);
  }
  return text;
}

// "Examples:" and lines of them, as they stand.
std::string roff_examples(const CLI::App& command) {
  std::string footer = command.get_footer();
  if (!footer.starts_with("Examples:")) return "";
  return fmt::format(".SH EXAMPLES\n.nf\n{}.fi\n", roff(footer.substr(footer.find('\n') + 1)));
}

std::string page(const CLI::App& app, const CLI::App* command) {
  const std::string name = command == nullptr ? "caucus" : "caucus-" + command->get_name();
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text =
      fmt::format(".TH {} 1 \"\" \"caucus {}\" \"caucus manual\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n", roff(upper), CAUCUS_VERSION,
                  roff(name), roff(command == nullptr ? "find the groups in ranked data" : command->get_description()));
  if (command == nullptr) {
    text += ".B caucus\n\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.SH DESCRIPTION\n" + roff(app.get_description()) + "\n.SH COMMANDS\n";
    for (const CLI::App* one : commands_of(app))
      text += fmt::format(".TP\n\\fBcaucus\\-{}\\fR(1)\n{}\n", roff(one->get_name()), roff(one->get_description()));
    text +=
        ".SH EXIT STATUS\n0 success, 64 wrong usage, 65 wrong data, 66 no input, 70 internal error, 74 input or output "
        "failed,\n130 "
        "interrupted: the best result so far was kept.\n";
  } else {
    std::string positionals;
    for (const CLI::Option* option : command->get_options())
      if (option->get_positional()) {
        const std::string word = fmt::format("\\fI{}\\fR", roff(option->get_type_name()));
        positionals += option->get_required() ? " " + word : " [" + word + "]";
      }
    text += fmt::format(".B caucus {}\n[\\fIOPTION\\fR]...{}\n", roff(command->get_name()), positionals);
    text += roff_options(*command);
  }
  text += roff_examples(command == nullptr ? app : *command);
  return text + (command == nullptr ? "" : ".SH SEE ALSO\n.BR caucus (1)\n");
}

}  // namespace

// App::help() would answer for the command that was parsed.
std::string help_text(const CLI::App& app) { return app.get_formatter()->make_help(&app, "caucus", CLI::AppFormatMode::Normal); }

std::string explain_unknown_words(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return "";
  const auto commands = commands_of(app);
  if (!words[0].starts_with("-")) {
    const auto found = std::ranges::find_if(commands, [&](const CLI::App* one) { return one->get_name() == words[0]; });
    if (found == commands.end())
      return fmt::format("there is no command '{}'{}", words[0], did_you_mean(nearest(words[0], names_of(commands))));
    const std::vector<std::string> known = long_options(**found);
    for (const std::string& word : std::span(words).subspan(1)) {
      if (word == "--") break;
      if (!word.starts_with("--")) continue;
      const std::string name = word.substr(2, word.find('=') - 2);
      if (std::ranges::find(known, name) == known.end())
        return fmt::format("caucus {} has no option --{}{}", words[0], name, did_you_mean(nearest(name, known), "--"));
    }
  }
  return "";
}

void add_help(CLI::App& app, Context& context) {
  auto name = std::make_shared<std::string>();
  CLI::App* help = app.add_subcommand("help", "Explain a command, or list them all");
  help->add_option("command", *name, "the command to explain")->type_name("COMMAND");
  help->footer(examples({"caucus help", "caucus help fit"}));
  help->callback([name, &app] { print(name->empty() ? help_text(app) : find_command(app, *name).help("caucus")); });

  auto out = std::make_shared<std::string>();
  CLI::App* man = app.add_subcommand("man", "Print a page of the manual, or write them all");
  man->add_option("command", *name, "the command whose page is wanted")->type_name("COMMAND");
  man->add_option("-o,--out", *out, "folder to write all pages to: caucus.1, caucus-fit.1, ...")->type_name("FOLDER");
  man->footer(examples({"caucus man fit | man -l -", "caucus man --out ~/.local/share/man/man1"}));
  man->callback([name, out, &app, &context] {
    if (out->empty()) return print(page(app, name->empty() ? nullptr : &find_command(app, *name)));
    std::error_code failure;
    std::filesystem::create_directories(*out, failure);
    write_file(*out + "/caucus.1", page(app, nullptr));
    for (const CLI::App* command : commands_of(app))
      write_file(fmt::format("{}/caucus-{}.1", *out, command->get_name()), page(app, command));
    note_written(context, "Manual", *out);
  });
}

}  // namespace caucus::cli
