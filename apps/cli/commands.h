// One function per command: each adds its subcommand to the app. The list is in main.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "caucus/io/io.h"
#include "caucus/io/stream.h"
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
void add_families(CLI::App& app, Context& context);
void add_regress(CLI::App& app, Context& context);
void add_predict(CLI::App& app, Context& context);
void add_completion(CLI::App& app, Context& context);

// Flags about how to read a data file, shared by all commands that take one.
struct DataFlags {
  std::string path;
  std::string format = "auto";
  std::string unranked;
  std::string categories = "auto";
  ReadOptions options;
};
void add_data_flags(CLI::App& command, DataFlags& flags, const char* format_flag = "--format,--from");
// Reads the file and prints its warnings. `fallback` is used where --unranked is not given.
Dataset read_data(const Context& context, const DataFlags& flags, std::optional<Unranked> fallback = std::nullopt);
// The file's or pipe's rankings piece by piece; what has gone by waits in the folder for temporary files (TMPDIR).
RankingStream open_stream(const DataFlags& flags);
void print_warnings(const Context& context, const Dataset& data);
// Reads a data file for a model: unlisted items as the model says, items matched by name, kind checked.
Dataset read_data_for(const Context& context, const DataFlags& flags, const LoadedModel& loaded, const std::string& model_path);

// An example block for --help.
std::string examples(std::initializer_list<const char*> lines);

// The fitted model as a person wants to read it.
std::string show_fit(const nlohmann::ordered_json& model, const Context& context);

}  // namespace caucus::cli
