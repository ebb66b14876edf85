#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "caucus/base/error.h"
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
  command.add_option("--columns", flags.options.columns, "CSV: the columns to use, in the order of the format (see docs/data.md)")
      ->delimiter(',')
      ->group("Data");
  command.add_option("--drop", flags.options.drop, "CSV of ballots: further cells that name no item")
      ->delimiter(',')
      ->group("Data");
  command.add_option("--keep", flags.options.keep, "CSV of ballots: cells to keep as items (write-in, ...)")
      ->delimiter(',')
      ->group("Data");
  command.add_option("--categories", flags.categories, ".cat files: how the file lists its categories; auto goes by their names")
      ->check(CLI::IsMember(names(enum_names<CategoryOrder>)))
      ->group("Data");
  command.add_option("--top", flags.options.top, "ratings: keep the t best-rated items of each user (0: all, with ties)")
      ->group("Data");
}

namespace {

ReadOptions read_options(const DataFlags& flags, std::optional<Unranked> fallback) {
  ReadOptions options = flags.options;
  options.format = *enum_from_name<Format>(flags.format);
  options.categories = *enum_from_name<CategoryOrder>(flags.categories);
  options.unranked = flags.unranked.empty() ? fallback : enum_from_name<Unranked>(flags.unranked);
  return options;
}

}  // namespace

void print_warnings(const Context& context, const Dataset& data) {
  for (const std::string& text : data.warnings) warning(context, fmt::format("{}: {}", data.source, text));
}

Dataset read_data(const Context& context, const DataFlags& flags, std::optional<Unranked> fallback) {
  Dataset data = read_dataset(flags.path, read_options(flags, fallback));
  print_warnings(context, data);
  return data;
}

RankingStream open_stream(const DataFlags& flags) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
  return RankingStream::open(flags.path, read_options(flags, std::nullopt), none ? std::string(".") : folder.string());
}

Dataset read_data_for(const Context& context, const DataFlags& flags, const LoadedModel& loaded, const std::string& model_path) {
  const FittedModel& model = *loaded.model;
  Dataset data = read_data(context, flags, loaded.states_unranked ? std::optional(model.unranked()) : std::nullopt);
  try {
    data = match_items(std::move(data), model.items());
  } catch (const DataError& failure) {
    throw DataError(fmt::format("{} (model file {})", failure.what(), model_path));
  }
  model.check(data);
  return data;
}

}  // namespace caucus::cli
