#include <fmt/format.h>

#include "caucus/service/families.h"
#include "commands.h"

namespace caucus::cli {

namespace {

struct CommandWords {
  std::string name, summary;
  std::vector<std::string> flags;
};

std::vector<CommandWords> words_of(const CLI::App& app) {
  std::vector<CommandWords> all;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandWords words{command->get_name(), command->get_description(), {}};
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) words.flags.push_back("--" + name);
    all.push_back(std::move(words));
  }
  return all;
}

std::string family_names() {
  std::string names;
  for (const auto& family : families()) names += (names.empty() ? "" : " ") + family->info().name;
  return names;
}

// zsh reads the same script through bashcompinit.
std::string bash_script(const CLI::App& app) {
  std::string commands, cases;
  for (const CommandWords& words : words_of(app)) {
    commands += (commands.empty() ? "" : " ") + words.name;
    cases += fmt::format("    {}) words=\"{}\" ;;\n", words.name, fmt::join(words.flags, " "));
  }
  return fmt::format(R"(_caucus() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$current"))
    return
  fi
  case "$previous" in
    --family) COMPREPLY=($(compgen -W "{}" -- "$current")); return ;;
    --unranked) COMPREPLY=($(compgen -W "last absent" -- "$current")); return ;;
    --format|--from|--to) COMPREPLY=($(compgen -W "{}" -- "$current")); return ;;
  esac
  case "${{COMP_WORDS[1]}}" in
{}  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}}
complete -o filenames -F _caucus caucus
)",
                     commands, family_names(), fmt::join(enum_names<Format>, " "), cases);
}

std::string fish_script(const CLI::App& app) {
  std::string text;
  for (const CommandWords& words : words_of(app)) {
    text += fmt::format("complete -c caucus -n __fish_use_subcommand -a {} -d '{}'\n", words.name, words.summary);
    for (const std::string& flag : words.flags)
      text += fmt::format("complete -c caucus -n '__fish_seen_subcommand_from {}' -l {}\n", words.name, flag.substr(2));
  }
  return text + fmt::format("complete -c caucus -l family -xa '{}'\n", family_names());
}

}  // namespace

void add_completion(CLI::App& app, Context&) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print a completion script for your shell");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  command->footer(
      examples({"source <(caucus completion bash)", "caucus completion fish > ~/.config/fish/completions/caucus.fish"}));
  command->callback([shell, &app] {
    if (*shell == "fish") return print(fish_script(app));
    print((*shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "") + bash_script(app));
  });
}

}  // namespace caucus::cli
