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
constexpr std::array<TextOption, 2> text_options{
    {{"weight_column", "--weight-column", &ReadOptions::weight_column}, {"contest", "--contest", &ReadOptions::contest}}};

// A hand-written file may hold anything: what is no list of texts is nothing.
std::vector<std::string> list_at(const nlohmann::json& reading, const char* key) {
  std::vector<std::string> list;
  if (const auto found = reading.find(key); found != reading.end() && found->is_array())
    for (const nlohmann::json& one : *found)
      if (one.is_string()) list.push_back(one.get<std::string>());
  return list;
}
std::string text_at(const nlohmann::json& reading, const char* key) {
  const auto found = reading.find(key);
  return found != reading.end() && found->is_string() ? found->get<std::string>() : std::string();
}

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
  for (const ListOption& one : item_options)
    if (!(options.*one.member).empty()) reading.set(one.key, options.*one.member);
  return reading;
}

Recalled recall_reading(const nlohmann::json& model, const ReadOptions& stated) {
  Recalled recalled{stated, {}};
  const auto reading = model.find("reading");
  if (reading == model.end() || !reading->is_object()) return recalled;
  ReadOptions& options = recalled.options;
  const bool layout_stated = stated.format != Format::automatic || !stated.columns.empty() || !stated.weight_column.empty() ||
                             !stated.contest.empty() || stated.top > 0;
  if (!layout_stated) {
    options.recalled = true;
    if (const auto format = enum_from_name<Format>(text_at(*reading, "format"))) {
      options.format = *format;
      add_words(recalled.words, "--format", name_of(*format));
    }
    for (const std::string& name : options.columns = list_at(*reading, "columns")) add_words(recalled.words, "--columns", name);
    for (const TextOption& one : text_options) {
      options.*one.member = text_at(*reading, one.key);
      if (!(options.*one.member).empty()) add_words(recalled.words, one.flag, options.*one.member);
    }
    if (const auto top = reading->find("top"); top != reading->end() && top->is_number_unsigned()) {
      options.top = top->get<std::size_t>();
      add_words(recalled.words, "--top", std::to_string(options.top));
    }
  }
  for (const ListOption& one : item_options) {
    if (!(options.*one.member).empty()) continue;
    options.*one.member = list_at(*reading, one.key);
    for (const std::string& value : options.*one.member) add_words(recalled.words, one.flag, value);
  }
  return recalled;
}

}  // namespace caucus
