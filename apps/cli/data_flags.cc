#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "caucus/base/error.h"
#include "caucus/evaluate/identifiable.h"
#include "caucus/service/reading.h"
#include "commands.h"

namespace caucus::cli {

std::string examples(std::initializer_list<const char*> lines) {
  std::string text = "Examples:";
  for (const char* line : lines) text += std::string("\n  ") + line;
  return text + "\n";
}

void add_data_flags(CLI::App& command, DataFlags& flags, const char* format_flag) {
  const auto names = [](const auto& array) { return std::vector<std::string>(array.begin(), array.end()); };
  command.add_option(format_flag, flags.format, "format of the data file; auto guesses it from content and extension")
      ->check(CLI::IsMember(names(enum_names<Format>)))
      ->group("Data");
  command.add_option("--unranked", flags.unranked, "what unlisted items mean: last (below the listed) or absent (took no part)")
      ->check(CLI::IsMember(names(enum_names<Unranked>)))
      ->group("Data");
  command.add_option("--weight-column", flags.options.weight_column, "CSV: column that holds how often a row counts")
      ->group("Data");
  // Lists are taken apart where the names are known: a name may have a comma.
  const auto add_list = [&](const char* flag, std::vector<std::string>& list, const char* help, const char* group) {
    command.add_option(flag, list, help)->allow_extra_args(false)->group(group);
  };
  add_list("--columns", flags.options.columns, "CSV: the columns to use, in the order of the format (see docs/data.md)", "Data");
  command.add_option("--contest", flags.options.contest, "CSV of several contests: a part of the name of the one to read")
      ->group("Data");
  command.add_option("--categories", flags.categories, ".cat files: how the file lists its categories; auto goes by their names")
      ->check(CLI::IsMember(names(enum_names<CategoryOrder>)))
      ->group("Data");
  command
      .add_option("--voter", flags.options.voter, "column that tells who cast each ranking: all of one voter's belong to one group")
      ->type_name("COLUMN")
      ->group("Data");
  command.add_option("--voters", flags.options.voters_file, "table with one line per voter: what is known of them (needs --voter)")
      ->type_name("FILE")
      ->group("Data");
  add_list("--drop", flags.options.drop, "names that name nobody, besides skipped, overvote, ...; * is any text", "Items");
  add_list("--keep", flags.options.keep, "names that are items although they read like skipped, overvote, ...", "Items");
  add_list("--merge", flags.options.merge, "PATTERN=NAME: items that become one, as in \"Write-in*=Write-in\"", "Items");
  add_list("--rename", flags.options.rename, "OLD=NEW: another name for an item", "Items");
  add_list("--exclude", flags.options.exclude, "items to leave out; * is any text", "Items");
  add_list("--items-only", flags.options.items_only, "items to keep: all others are left out", "Items");
  command.add_option("--top", flags.options.top, "ratings: keep the t best-rated items of each user (0: all, with ties)")
      ->group("Data");
}

CLI::Option* add_data_argument(CLI::App& command, DataFlags& flags) {
  const auto take = [&flags](const std::vector<std::string>& paths) {
    flags.path = paths.front();
    flags.more.assign(paths.begin() + 1, paths.end());
  };
  return command
      .add_option_function<std::vector<std::string>>(
          "data", take, "ranking file, folder of such, or - for standard input; several are read as one")
      ->type_name("DATA");
}

ReadOptions read_options(const DataFlags& flags, std::optional<Unranked> fallback) {
  ReadOptions options = flags.options;
  options.format = *enum_from_name<Format>(flags.format);
  options.categories = *enum_from_name<CategoryOrder>(flags.categories);
  options.unranked = flags.unranked.empty() ? fallback : enum_from_name<Unranked>(flags.unranked);
  return options;
}

void print_warnings(const Context& context, const Dataset& data) {
  for (const std::string& text : data.warnings) warning(context, fmt::format("{}: {}", data.source, text));
}

std::vector<std::string> data_paths(const DataFlags& flags) {
  std::vector<std::string> paths{flags.path};
  paths.insert(paths.end(), flags.more.begin(), flags.more.end());
  return paths;
}

Dataset read_data(const Context& context, const DataFlags& flags, std::optional<Unranked> fallback) {
  ReadOptions options = read_options(flags, fallback);
  options.ranks = context.ranks;
  Dataset data = read_datasets(data_paths(flags), options);
  print_warnings(context, data);
  return data;
}

std::optional<std::string> warn_no_groups(const Context& context, const Dataset& data) {
  std::optional<std::string> why = why_no_groups(data);
  if (why) warning(context, *why);
  return why;
}

void add_checkpoint_flags(CLI::App& command, JournalPlan& plan) {
  command.add_option("--checkpoint", plan.path, "keep what was done in this file, so that --resume goes on from there")
      ->type_name("FILE")
      ->group("Checkpoints");
  command.add_option("--checkpoint-every", plan.every, "seconds between two writes")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group("Checkpoints");
  command
      .add_flag("--resume", plan.resume, "go on from the checkpoint if there is one; the result is that of a run without a break")
      ->group("Checkpoints");
}

void check_checkpoint_flags(const JournalPlan& plan) {
  if (plan.resume && plan.path.empty()) throw UsageError("--resume needs --checkpoint FILE, the file to go on from");
}

Run make_run(const Context& context, std::uint64_t seed, double time_limit, Observer& observer) {
  Run run;
  run.seed = seed;
  run.threads = context.threads;
  run.observer = &observer;
  run.ranks = context.ranks;
  if (time_limit > 0.0) run.time_limit = time_limit;
  return run;
}

std::string temporary_folder() {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
  return none ? std::string(".") : folder.string();
}

DataFlags recall(const Context& context, const DataFlags& flags, const std::optional<ReadOptions>& remembered) {
  DataFlags now = flags;
  const Recalled recalled = recall_reading(remembered, read_options(flags));
  now.options = recalled.options;
  now.format = std::string(name_of(recalled.options.format));
  if (!recalled.words.empty()) note(context, fmt::format("Read as the model's data were: {}", recalled.words));
  return now;
}

Dataset read_data_for(const Context& context, const DataFlags& flags, const LoadedModel& loaded, const std::string& model_path) {
  const FittedModel& model = *loaded.model;
  Dataset data = read_data(context, recall(context, flags, loaded.reading),
                           loaded.facts.states_unranked ? std::optional(model.unranked()) : std::nullopt);
  try {
    data = match_items(std::move(data), model.items());
  } catch (const DataError& failure) {
    throw DataError(
        fmt::format("{} (model file {}); read the data as for the fit: --drop, --exclude, --merge and --rename change items",
                    failure.what(), model_path));
  }
  model.check(data);
  return data;
}

}  // namespace caucus::cli
