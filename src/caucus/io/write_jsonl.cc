#include <cmath>

#include "caucus/io/json_cursor.h"
#include "caucus/io/text.h"
#include "caucus/io/writers.h"

namespace caucus {

namespace {

// Every name in quotes once, then copied.
std::vector<std::string> quote(const std::vector<std::string>& items) {
  std::vector<std::string> names;
  names.reserve(items.size());
  for (const std::string& item : items) append_json_string(names.emplace_back(), item);
  return names;
}

void write_head(const Dataset& data, const std::vector<std::string>& names, TextSink& sink) {
  std::string& out = sink.buffer();
  out += "{\"schema\":\"caucus.rankings/1\",\"items\":[";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += ',';
    out += names[i];
  }
  out += "],\"unranked\":\"";
  out += name_of(data.unranked);
  out += '"';
  if (!data.covariates.empty()) {
    out += ",\"covariates\":[";
    for (std::size_t i = 0; i < data.covariates.size(); ++i) {
      out += i == 0 ? "{\"name\":" : ",{\"name\":";
      append_json_string(out, data.covariates[i].name);
      out += data.covariates[i].is_numeric() ? ",\"type\":\"number\"}" : ",\"type\":\"text\"}";
    }
    out += ']';
  }
  if (!data.voters.column.empty()) {
    out += ",\"voter\":";
    append_json_string(out, data.voters.column);
  }
  out += "}\n";
}

// What follows the ranking in a row: its weight and covariates. True where a value could not be written.
bool write_rest(double weight, const std::vector<Column>& covariates, std::size_t row, std::string& out) {
  bool infinite = false;
  if (weight != 1.0) {
    out += ",\"weight\":";
    append_number(out, weight);
  }
  if (!covariates.empty()) {
    out += ",\"covariates\":[";
    for (std::size_t i = 0; i < covariates.size(); ++i) {
      if (i > 0) out += ',';
      const Column& column = covariates[i];
      if (!column.is_numeric() && !column.texts[row].empty()) {
        append_json_string(out, column.texts[row]);
      } else if (column.is_numeric() && std::isfinite(column.numbers[row])) {
        append_number(out, column.numbers[row]);
      } else {
        infinite = infinite || (column.is_numeric() && std::isinf(column.numbers[row]));
        out += "null";
      }
    }
    out += ']';
  }
  out += "}\n";
  return infinite;
}

void write_rows(const Dataset& data, const std::vector<std::string>& names, TextSink& sink, Lost& lost) {
  const RankingSet& rankings = data.rankings;
  std::string& out = sink.buffer();
  bool infinite = false;
  const auto write_ranking = [&](std::size_t, std::size_t row) {
    out += "{\"ranking\":[";
    bool first = true;
    rankings[rankings.row_ranking(row)].for_each_group([&](std::span<const ItemId> group) {
      if (!first) out += ',';
      first = false;
      if (group.size() > 1) out += '[';
      for (std::size_t i = 0; i < group.size(); ++i) {
        if (i > 0) out += ',';
        out += names[group[i]];
      }
      if (group.size() > 1) out += ']';
    });
    out += ']';
    infinite = write_rest(rankings.row_weight(row), data.covariates, row, out) || infinite;
    sink.checkpoint();
  };
  const auto write_blank = [&](std::size_t, std::size_t row) {
    out += "{\"ranking\":[]";
    infinite = write_rest(data.blanks[row].weight, data.blank_covariates, row, out) || infinite;
    sink.checkpoint();
  };
  for_each_file_row(data, write_ranking, write_blank);
  if (infinite) lost.emplace_back("infinite covariate values (written as missing)");
}

}  // namespace

void write_jsonl(const Dataset& data, TextSink& sink, Lost& lost) {
  const std::vector<std::string> names = quote(data.items);
  write_head(data, names, sink);
  write_rows(data, names, sink, lost);
}

struct RankingWriter::State {
  State(const std::string& path, const Dataset& head) : file(path), names(quote(head.items)) { write_head(head, names, file); }
  FileWriter file;
  std::vector<std::string> names;
};

RankingWriter::RankingWriter(const std::string& path, const Dataset& head) : state_(std::make_unique<State>(path, head)) {}
RankingWriter::~RankingWriter() = default;

void RankingWriter::add(const Dataset& piece) {
  Lost lost;  // rankings and weights are all written
  write_rows(piece, state_->names, state_->file, lost);
}

void RankingWriter::commit() { state_->file.commit(); }

}  // namespace caucus
