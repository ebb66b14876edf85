// Several files read as one.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "caucus/base/error.h"
#include "caucus/io/io.h"
#include "caucus/io/items.h"
#include "caucus/io/row_table.h"
#include "caucus/io/voters.h"

namespace caucus {

namespace {

class Joined {
 public:
  void add(const Dataset& part) {
    if (num_rows_ == 0) data_.unranked = part.unranked;
    if (part.unranked != data_.unranked)
      throw DataError(fmt::format("{}: unlisted items are {} here and {} in {}; --unranked says what they mean in all files",
                                  part.source, name_of(part.unranked), name_of(data_.unranked), data_.source));
    for (const std::string& text : part.warnings) data_.warnings.push_back(fmt::format("{}: {}", part.source, text));
    sorted_ = sorted_ && std::ranges::is_sorted(part.items, natural_less);
    std::vector<ItemId> ids;
    for (const std::string& item : part.items) ids.push_back(index_.insert(item));
    for_each_file_row(
        part,
        [&](std::size_t, std::size_t row) {
          rows_.begin();
          part.rankings[part.rankings.row_ranking(row)].for_each_group([&](std::span<const ItemId> group) {
            for (const ItemId item : group) rows_.push(ids[item]);
            rows_.end_group();
          });
          rows_.finish(part.rankings.row_weight(row));
          add_cells(part.covariates, row, part.source);
        },
        [&](std::size_t, std::size_t row) {
          rows_.blank(part.blanks[row].weight);
          add_cells(part.blank_covariates, row, part.source);
        });
    data_.facts.overvoted += part.facts.overvoted;
    data_.facts.skipped += part.facts.skipped;
    data_.facts.seats = std::max(data_.facts.seats, part.facts.seats);
    data_.source += (data_.source.empty() ? "" : ", ") + part.source;
  }

  Dataset finish() {
    data_.items = index_.take_names();
    rows_.build(data_);
    if (sorted_) sort_items(data_);
    for (Input& input : columns_) {
      input.texts.resize(num_rows_);
      input.numbers.resize(num_rows_, std::numeric_limits<double>::quiet_NaN());
      Column column{std::move(input.name), {}, {}};
      (input.numeric ? column.numbers.swap(input.numbers) : column.texts.swap(input.texts));
      data_.covariates.push_back(std::move(column));
    }
    split_blank_rows(data_);
    return std::move(data_);
  }

 private:
  // Both forms are kept until all files have said of what kind the column is.
  struct Input {
    std::string name;
    bool numeric = true;
    std::vector<double> numbers;
    std::vector<std::string> texts;
  };

  void add_cells(const std::vector<Column>& columns, std::size_t row, const std::string& source) {
    for (const Column& column : columns) {
      Input& input = input_named(column.name);
      input.numeric = input.numeric && column.is_numeric();
      input.numbers.resize(num_rows_, std::numeric_limits<double>::quiet_NaN());
      input.texts.resize(num_rows_);
      input.numbers.push_back(column.is_numeric() ? column.numbers[row] : std::numeric_limits<double>::quiet_NaN());
      input.texts.push_back(covariate_text(column, row));
    }
    Input& file = input_named("file");
    if (file.texts.size() == num_rows_) file.texts.push_back(source.substr(source.find_last_of('/') + 1));
    file.numeric = false;
    ++num_rows_;
  }

  Input& input_named(const std::string& name) {
    const auto found = std::ranges::find(columns_, name, &Input::name);
    if (found != columns_.end()) return *found;
    columns_.push_back({name, true, {}, {}});
    return columns_.back();
  }

  Dataset data_;
  ItemIndex index_;
  BallotRows rows_;
  std::vector<Input> columns_;
  std::size_t num_rows_ = 0;
  bool sorted_ = true;
};

}  // namespace

Dataset read_datasets(const std::vector<std::string>& paths, const ReadOptions& options) {
  if (paths.size() == 1) return read_dataset(paths[0], options);
  // A voter may stand in several files, so voters are looked for when all are one.
  ReadOptions each = options;
  each.voters_file.clear();
  each.rows_are_voters = false;
  Joined joined;
  std::string column;
  for (const std::string& path : paths) {
    const Dataset part = read_dataset(path, each);
    if (column.empty()) column = part.voters.column;
    joined.add(part);
  }
  Dataset data = joined.finish();
  data.voters.column = column;
  add_voters(data, options);
  return data;
}

}  // namespace caucus
