// One function per command: each adds its subcommand to the app. The list is in main.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "caucus/infer/journal.h"
#include "caucus/io/io.h"
#include "caucus/service/model_file.h"
#include "console.h"

namespace caucus::cli {

void add_fit(CLI::App& app, Context& context);
void add_score(CLI::App& app, Context& context);
void add_assign(CLI::App& app, Context& context);
void add_sample(CLI::App& app, Context& context);
void add_generate(CLI::App& app, Context& context);
void add_distance(CLI::App& app, Context& context);
void add_info(CLI::App& app, Context& context);
void add_convert(CLI::App& app, Context& context);
void add_select(CLI::App& app, Context& context);
void add_compare(CLI::App& app, Context& context);
void add_check(CLI::App& app, Context& context);
#ifdef CAUCUS_REPORT
void add_report(CLI::App& app, Context& context);
#endif
void add_name(CLI::App& app, Context& context);
void add_families(CLI::App& app, Context& context);
void add_regress(CLI::App& app, Context& context);
void add_predict(CLI::App& app, Context& context);
void add_completion(CLI::App& app, Context& context);
void add_help(CLI::App& app, Context& context);  // help, and the pages of the manual
std::string help_text(const CLI::App& app);
// What was not understood and, where one is near, the word that was meant.
std::string explain_unknown_words(const CLI::App& app, const std::vector<std::string>& words);

// Flags about how to read a data file, shared by all commands that take one.
struct DataFlags {
  std::string path;
  std::vector<std::string> more;  // further files, read as one with the first
  std::string format = "auto";
  std::string unranked;
  std::string categories = "auto";
  ReadOptions options;
};
void add_data_flags(CLI::App& command, DataFlags& flags, const char* format_flag = "--format,--from");
// The argument DATA: one file or several.
CLI::Option* add_data_argument(CLI::App& command, DataFlags& flags);
// The flags as the library takes them; `fallback` is used where --unranked is not given.
ReadOptions read_options(const DataFlags& flags, std::optional<Unranked> fallback = std::nullopt);
std::vector<std::string> data_paths(const DataFlags& flags);
// Reads the files and prints their warnings. `fallback` is used where --unranked is not given.
Dataset read_data(const Context& context, const DataFlags& flags, std::optional<Unranked> fallback = std::nullopt);
std::string temporary_folder();  // TMPDIR
void print_warnings(const Context& context, const Dataset& data);
// The flags with what a model file remembers of how its data were read, and a note that says so.
DataFlags recall(const Context& context, const DataFlags& flags, const std::optional<ReadOptions>& remembered);
// Reads a data file for a model: read as the model's data were, unlisted items as the model says, items matched by name, kind
// checked.
Dataset read_data_for(const Context& context, const DataFlags& flags, const LoadedModel& loaded, const std::string& model_path);

// --checkpoint, --checkpoint-every, --resume.
void add_checkpoint_flags(CLI::App& command, JournalPlan& plan);
// Throws UsageError where the flags do not go together.
void check_checkpoint_flags(const JournalPlan& plan);
// What every command that fits has in common.
Run make_run(const Context& context, std::uint64_t seed, double time_limit, Observer& observer);

// Where these ballots cannot tell groups apart: says so, and returns the words.
std::optional<std::string> warn_no_groups(const Context& context, const Dataset& data);

// An example block for --help.
std::string examples(std::initializer_list<const char*> lines);

// The fitted model as a person wants to read it.
std::string show_fit(const FittedModel& model, const FitSummary& summary, const Context& context,
                     std::span<const std::string> group_names = {});

}  // namespace caucus::cli
