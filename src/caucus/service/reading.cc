#include "caucus/service/reading.h"

#include <fmt/format.h>

#include <array>

namespace caucus {

namespace {

struct ListOption {
  const char* key;
  const char* flag;
  std::vector<std::string> ReadOptions::*member;
};
constexpr std::array<ListOption, 6> item_options{{{"drop", "--drop", &ReadOptions::drop},
                                                  {"keep", "--keep", &ReadOptions::keep},
                                                  {"merge", "--merge", &ReadOptions::merge},
                                                  {"rename", "--rename", &ReadOptions::rename},
                                                  {"exclude", "--exclude", &ReadOptions::exclude},
                                                  {"items_only", "--items-only", &ReadOptions::items_only}}};
struct TextOption {
  const char* key;
  const char* flag;
  std::string ReadOptions::*member;
};
constexpr std::array<TextOption, 3> text_options{{{"weight_column", "--weight-column", &ReadOptions::weight_column},
                                                  {"contest", "--contest", &ReadOptions::contest},
                                                  {"voter", "--voter", &ReadOptions::voter}}};

void add_words(std::string& words, std::string_view flag, std::string_view value) {
  words += fmt::format("{}{} '{}'", words.empty() ? "" : " ", flag, value);
}

}  // namespace

Record reading_record(const ReadOptions& options, Unranked unranked) {
  Record reading;
  if (options.format != Format::automatic) reading.set("format", name_of(options.format));
  reading.set("unranked", name_of(unranked));
  if (!options.columns.empty()) reading.set("columns", options.columns);
  for (const TextOption& one : text_options)
    if (!(options.*one.member).empty()) reading.set(one.key, options.*one.member);
  if (options.top > 0) reading.set("top", options.top);
  if (options.rows_are_voters) reading.set("rows_are_voters", true);
  for (const ListOption& one : item_options)
    if (!(options.*one.member).empty()) reading.set(one.key, options.*one.member);
  return reading;
}

ReadOptions reading_of(const RecordView& reading) {
  ReadOptions options;
  if (const std::string name = reading.text("format", ""); !name.empty()) {
    const auto format = enum_from_name<Format>(name);
    if (!format) reading.fail("format", "a format that 'caucus fit --format' knows");
    options.format = *format;
  }
  if (reading.has("columns")) options.columns = reading.texts("columns");
  for (const TextOption& one : text_options) options.*one.member = reading.text(one.key, "");
  options.rows_are_voters = reading.flag("rows_are_voters", false);
  if (reading.has("top")) options.top = static_cast<std::size_t>(reading.non_negative("top"));
  for (const ListOption& one : item_options)
    if (reading.has(one.key)) options.*one.member = reading.texts(one.key);
  return options;
}

Recalled recall_reading(const std::optional<ReadOptions>& remembered, const ReadOptions& stated) {
  Recalled recalled{stated, {}};
  if (!remembered) return recalled;
  ReadOptions& options = recalled.options;
  const bool layout_stated = stated.format != Format::automatic || !stated.columns.empty() || !stated.weight_column.empty() ||
                             !stated.contest.empty() || stated.top > 0;
  options.rows_are_voters = options.rows_are_voters || remembered->rows_are_voters;
  if (!layout_stated) {
    options.recalled = true;
    options.format = remembered->format;
    if (options.format != Format::automatic) add_words(recalled.words, "--format", name_of(options.format));
    options.columns = remembered->columns;
    for (const std::string& name : options.columns) add_words(recalled.words, "--columns", name);
    for (const TextOption& one : text_options) {
      if (!(options.*one.member).empty()) continue;  // --voter alone states no layout
      options.*one.member = (*remembered).*one.member;
      if (!(options.*one.member).empty()) add_words(recalled.words, one.flag, options.*one.member);
    }
    options.top = remembered->top;
    if (options.top > 0) add_words(recalled.words, "--top", std::to_string(options.top));
  }
  for (const ListOption& one : item_options) {
    if (!(options.*one.member).empty()) continue;
    options.*one.member = (*remembered).*one.member;
    for (const std::string& value : options.*one.member) add_words(recalled.words, one.flag, value);
  }
  return recalled;
}

}  // namespace caucus
