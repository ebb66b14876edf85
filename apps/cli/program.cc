#include "program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <set>
#include <stdexcept>

#include "caucus/base/error.h"
#include "caucus/base/renamed_options.h"
#include "commands.h"

namespace {

using namespace caucus;
using namespace caucus::cli;

// The first word that names an option by an old name, and its new one.
std::string explain_old_words(const CLI::App& command, int argc, char** argv) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back(name);
  for (int i = 2; i < argc; ++i) {
    std::string_view word = argv[i];
    if (!word.starts_with("--")) continue;
    word = word.substr(2, word.find('=') - 2);
    if (const std::string_view now = renamed_option(word, known); !now.empty())
      return fmt::format("--{} is now called --{}", word, now);
  }
  return "";
}

// 'caucus X' runs the program caucus-X that lies beside this one. Returns where there is none.
void become_neighbor(std::string_view name, char** argv) {
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string_view::npos) return;
  std::error_code unknown;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
  if (!unknown) execv((here / fmt::format("caucus-{}", name)).c_str(), argv + 1);
}

// What a command writes must not be a file that it reads: the ballots would be gone.
void refuse_own_input(const CLI::App& command) {
  static const std::set<std::string, std::less<>> writes{"out",           "report",       "labels", "draws", "draw-assignments",
                                                         "draws-cmdstan", "co-clustering"};
  std::vector<std::string> read, written;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    const std::string name = option->get_lnames().empty() ? option->get_name() : option->get_lnames().front();
    const bool output = writes.contains(name);
    for (const std::string& value : option->results()) (output ? written : read).push_back(value);
  }
  std::error_code ignored;
  for (const std::string& target : written)
    for (const std::string& source : read)
      if (std::filesystem::is_regular_file(target, ignored) && std::filesystem::equivalent(target, source, ignored))
        throw IoError(fmt::format("{}: is read by this very command; name another file to write", target));
}

struct Command {
  std::string_view name;
  void (*add)(CLI::App& app, Context& context);
};
constexpr Command commands[] = {
    {"fit", add_fit},           {"score", add_score},       {"assign", add_assign},     {"sample", add_sample},
    {"generate", add_generate}, {"info", add_info},         {"convert", add_convert},   {"select", add_select},
    {"compare", add_compare},   {"check", add_check},       {"distance", add_distance},
#ifdef CAUCUS_REPORT
    {"report", add_report},
#endif
    {"name", add_name},         {"families", add_families}, {"regress", add_regress},   {"predict", add_predict},
};

// Describing all commands takes longer than the shortest of them: only the one that is named, where there is one of that name. What
// explains the others needs all.
void add_commands(CLI::App& app, Context& context, std::string_view only) {
  for (const Command& command : commands)
    if (only.empty() || command.name == only) command.add(app, context);
  if (!only.empty()) return;
  add_completion(app, context);
  add_help(app, context);
}

// The command that the first word names; empty: none of those above. The version is said without any.
std::string_view command_named(int argc, char** argv) {
  if (argc < 2) return {};
  if (argc == 2 && std::string_view(argv[1]) == "--version") return argv[1];
  const auto* const found = std::ranges::find(commands, argv[1], &Command::name);
  return found == std::end(commands) ? std::string_view() : found->name;
}

int run(int argc, char** argv, Context& context, std::string_view only) {
  CLI::App app{"caucus finds the groups in ranked data: which groups there are, what each prefers, how sure we may be.", "caucus"};
  app.set_version_flag("--version", std::string("caucus ") + CAUCUS_VERSION);
  app.require_subcommand(0, 1);  // so that the words after 'help' and 'man' are theirs
  app.footer(examples({"caucus info votes.soi                         what is in the file",
                       "caucus fit votes.soi -k 3 --out model.json    three groups of voters",
                       "caucus assign model.json votes.soi --out m.csv   who belongs to which group",
                       "caucus serve                                  a page to explore in, in your browser",
                       "caucus COMMAND --help                         more on a command"}));
  add_commands(app, context, only);
  for (CLI::App* command : app.get_subcommands({})) {
    command->parse_complete_callback([command] { refuse_own_input(*command); });
    command
        ->add_flag("-q,--quiet", context.quiet,
                   "nothing on stderr but errors; nothing on stdout either where the result goes to a file")
        ->group("Output");
    command->add_flag("--no-color", context.no_color, "no colours, even on a terminal")->group("Output");
  }

  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return print(help_text(app)), Exit::ok;
  if (app.get_subcommands([&](const CLI::App* command) { return command->get_name() == words[0]; }).empty())
    become_neighbor(words[0], argv);
  if (words[0] == "serve")
    throw UsageError("this build of caucus has no page: build it with -DCAUCUS_SERVE=ON, as 'make serve' does");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& parse_error) {
    if (parse_error.get_exit_code() == 0) return app.exit(parse_error);  // --help, --version
    if (!only.empty()) return run(argc, argv, context, {});              // the words may be another command's
    std::string where;
    for (const CLI::App* command : app.get_subcommands()) {
      where = " " + command->get_name();
      if (const std::string now = explain_old_words(*command, argc, argv); !now.empty()) {
        error(context, now);
        return Exit::usage;
      }
    }
    const std::string unknown = explain_unknown_words(app, words);
    error(context, fmt::format("{}\nsee 'caucus{} --help'", unknown.empty() ? parse_error.what() : unknown, where));
    return Exit::usage;
  }
  return context.exit_code;
}

}  // namespace

int caucus::cli::run_program(int argc, char** argv, Context& context) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the user's limit is an error of writing, not the end
  context.arguments.assign(argv + 1, argv + std::max(argc, 1));
  for (int i = 0; i < argc; ++i) context.command_line += (i > 0 ? " " : "") + std::string(i > 0 ? argv[i] : "caucus");
  try {
    return run(argc, argv, context, command_named(argc, argv));
  } catch (const UsageError& failure) {
    error(context, failure.what());
    return Exit::usage;
  } catch (const DataError& failure) {
    error(context, failure.what());
    return Exit::data;
  } catch (const NoInputError& failure) {
    error(context, failure.what());
    return Exit::no_input;
  } catch (const UnfinishedError& failure) {
    error(context, failure.what());
    return InterruptGuard::requested() ? Exit::interrupted : Exit::unfinished;
  } catch (const IoError& failure) {
    error(context, failure.what());
    return Exit::io;
  } catch (const std::bad_alloc&) {
    error(context,
          "out of memory: these are too many items or rankings for this method here; choose another --family or --method, or take "
          "a part of the data");
    return Exit::data;
  } catch (const std::length_error&) {  // a table that no machine could hold
    error(context, "too many items for this method; choose another --family or --method");
    return Exit::data;
  } catch (const std::exception& failure) {
    error(context, fmt::format("internal error: {} (please report this with the command and the data)", failure.what()));
    return Exit::internal;
  }
}
