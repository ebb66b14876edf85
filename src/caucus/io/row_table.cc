#include "caucus/io/row_table.h"

#include <algorithm>
#include <cmath>

#include "caucus/io/csv.h"
#include "caucus/io/text.h"

namespace caucus {

std::string covariate_text(const Column& column, std::size_t row) {
  if (!column.is_numeric()) return column.texts[row];
  std::string text;
  if (!std::isnan(column.numbers[row])) append_number(text, column.numbers[row]);
  return text;
}

void write_row_table(const Dataset& data, const std::vector<std::string>& heads,
                     const std::function<void(std::string& out, std::size_t row)>& append, TextSink& sink) {
  std::string& out = sink.buffer();
  out += "row,weight";
  for (const std::string& head : heads) out += ',' + head;
  for (const Column& column : data.covariates) {
    const bool taken = column.name == "row" || column.name == "weight" || std::ranges::find(heads, column.name) != heads.end();
    out += ',';
    append_csv_cell(out, (taken ? "data." : "") + column.name, ',');
  }
  out += '\n';
  const auto begin_line = [&](std::size_t file_row, double weight) {
    append_count(out, file_row + 1);
    out += ',';
    append_number(out, weight);
  };
  const auto end_line = [&](const std::vector<Column>& covariates, std::size_t row) {
    for (const Column& column : covariates) {
      out += ',';
      append_csv_cell(out, covariate_text(column, row), ',');
    }
    out += '\n';
    sink.checkpoint();
  };
  for_each_file_row(
      data,
      [&](std::size_t file_row, std::size_t row) {
        begin_line(file_row, data.rankings.row_weight(row));
        append(out, row);
        end_line(data.covariates, row);
      },
      [&](std::size_t file_row, std::size_t blank) {
        begin_line(file_row, data.blanks[blank].weight);
        out.append(heads.size(), ',');
        end_line(data.blank_covariates, blank);
      });
}

void write_voter_table(const Dataset& data, const std::vector<std::string>& heads,
                       const std::function<void(std::string& out, std::size_t voter)>& append, TextSink& sink) {
  const std::vector<Column> columns = voter_columns(data);
  std::string& out = sink.buffer();
  out += "voter,weight";
  for (const std::string& head : heads) out += ',' + head;
  for (const Column& column : columns) {
    const bool taken = column.name == "voter" || column.name == "weight" || std::ranges::find(heads, column.name) != heads.end();
    out += ',';
    append_csv_cell(out, (taken ? "data." : "") + column.name, ',');
  }
  out += '\n';
  for (std::size_t v = 0; v < data.voters.size(); ++v) {
    append_csv_cell(out, data.voters.names[v], ',');
    out += ',';
    append_number(out, data.voters.weights[v]);
    append(out, v);
    for (const Column& column : columns) {
      out += ',';
      append_csv_cell(out, covariate_text(column, v), ',');
    }
    out += '\n';
    sink.checkpoint();
  }
  for (const std::string& name : data.voters.silent) {
    append_csv_cell(out, name, ',');
    out.append(1 + heads.size() + columns.size(), ',');
    out += '\n';
  }
}

}  // namespace caucus
