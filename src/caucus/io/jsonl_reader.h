// JSON lines, one after the other.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "caucus/io/battle.h"
#include "caucus/io/diagnostics.h"
#include "caucus/io/json_cursor.h"
#include "caucus/io/nobody.h"
#include "caucus/io/parts.h"
#include "caucus/io/readers.h"
#include "caucus/io/text.h"

namespace caucus::jsonl_format {

// A covariate on its way in. Numbers and texts are kept apart until the column's kind is known.
struct ColumnInput {
  std::string name;
  bool declared_number = false;
  bool declared_text = false;
  bool any_text = false;
  std::vector<double> numbers;     // NaN where the value is missing or a text
  std::vector<std::string> texts;  // as long as numbers from the first text on
};

class JsonlReader final : public LineReader {
 public:
  JsonlReader(const std::string& name, const ReadOptions& options, bool keep_covariates)
      : name_(name), options_(options), keep_covariates_(keep_covariates), diagnostics_(name), rows_(options.scratch) {}

  void feed(std::string_view text) override {
    num_bytes_ += text.size();
    for (std::size_t position = 0; position < text.size();) {
      const std::size_t newline = std::min(text.find('\n', position), text.size());
      const std::string_view line = text.substr(position, newline - position);
      ++line_number_;
      position = newline + 1;
      if (trim(line).empty()) continue;
      try {
        JsonCursor cursor(line);
        read_line(cursor, !any_);
        cursor.expect_end();
        commit_row();
      } catch (const JsonCursor::Failure& failure) {
        diagnostics_.add(line_number_, failure.at() + 1, failure.message());
      }
      any_ = true;
    }
  }

  // The objects of one array, over any number of lines.
  void feed_array(std::string_view text) {
    num_bytes_ += text.size();
    std::size_t begin = text.find('[') + 1, counted = 0;
    line_number_ = 1;
    bool first = true;
    try {
      JsonCursor cursor(text);
      cursor.expect('[', "an array of objects");
      while (cursor.next_member(']', first)) {
        cursor.peek();
        begin = cursor.position();
        line_number_ += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                                            text.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
        counted = begin;
        JsonCursor element = cursor;
        cursor.skip();
        read_line(element, !any_);
        commit_row();
        any_ = true;
      }
      cursor.expect_end();
    } catch (const JsonCursor::Failure& failure) {
      const std::string_view before = text.substr(0, std::min(failure.at(), text.size()));
      const std::size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
      diagnostics_.add(static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1, before.size() - line_begin + 1,
                       failure.message());
    }
  }

  // After the first line: was it a head, and no ranking?
  bool had_head() const { return any_ && num_rows_ == 0 && diagnostics_.empty(); }
  void end_head() {
    any_ = true;
    head_bytes_ = num_bytes_;
    head_converted_ = num_converted_;
  }
  bool sound() const { return diagnostics_.empty(); }
  void save(Saver& saver) {
    saver(index_.names(), any_ranking_, any_battle_, std::uint64_t{num_rows_}, std::uint64_t{num_dropped_},
          std::uint64_t{num_converted_ - head_converted_}, std::uint64_t{num_bytes_ - head_bytes_}, std::uint64_t{columns_.size()});
    for (const ColumnInput& column : columns_) saver(column.name, column.any_text, column.numbers, column.texts);
    save_rows(rows_, saver);
  }
  void absorb(Loader& loader) {
    std::vector<std::string> names;
    bool rankings = false, battles = false;
    std::uint64_t rows = 0, dropped = 0, converted = 0, bytes = 0, columns = 0;
    loader(names, rankings, battles, rows, dropped, converted, bytes, columns);
    any_ = true;
    any_ranking_ = any_ranking_ || rankings;
    any_battle_ = any_battle_ || battles;
    num_dropped_ += dropped;
    num_converted_ += converted;
    num_bytes_ += bytes;
    for (std::uint64_t i = 0; i < columns; ++i) {
      ColumnInput column;
      loader(column.name, column.any_text, column.numbers, column.texts);
      try {
        const std::size_t own = column_of(column.name);
        append(columns_[own], std::move(column));
      } catch (const JsonCursor::Failure&) {
        throw BadState{};
      }
    }
    num_rows_ += rows;
    std::vector<ItemId> ids;
    for (const std::string& name : names) ids.push_back(index_.insert(name));
    absorb_rows(rows_, loader, ids);
  }

  bool header_ended() const override { return any_; }
  bool items_known() const override { return items_given_; }
  std::size_t num_items() const override { return index_.size(); }
  RankingSet take() override { return rows_.take(); }

  Dataset finish() override {
    diagnostics_.throw_if_any();
    Dataset data;
    if (!any_ranking_) throw DataError(name_ + (rows_.any_blank() ? ": every ranking is empty" : ": found no rankings"));
    rows_.build(data);
    data.items = index_.take_names();
    if (!items_given_) sort_items(data);
    data.unranked = options_.unranked.value_or(stated_unranked_.value_or(any_battle_ ? Unranked::absent : Unranked::last));
    warn_blank_ballots(rows_, any_battle_ ? undecided : blank_ballots, data.warnings);
    // A key "voter" says who: nothing else needs to.
    const bool keyed = std::ranges::any_of(columns_, [](const ColumnInput& column) { return column.name == "voter"; });
    data.voters.column = !voter_column_.empty() ? voter_column_ : keyed && keep_covariates_ ? "voter" : "";
    if (keep_covariates_) finish_covariates(data);
    if (any_battle_ && data.voters.column.empty() && options_.voter.empty())
      for (const Column& column : data.covariates)
        if (tells_who_compared(column.name)) data.warnings.push_back(warning_of_judges(column.name));
    if (num_dropped_ > 0) data.warnings.push_back(fmt::format("{} names that name no item were dropped", num_dropped_));
    if (num_converted_ > 0)
      data.warnings.push_back(fmt::format("{} names are not UTF-8 and were read as Windows-1252", num_converted_));
    return data;
  }

 private:
  void read_line(JsonCursor& cursor, bool first_line) {
    has_row_ = false;
    weight_ = 1.0;
    cells_.clear();
    sides_.clear();
    if (cursor.peek() == '[') {
      read_ranking(cursor);
      return;
    }
    cursor.expect('{', "an object or an array");
    bool first = true;
    bool is_header = false;
    const std::size_t begin = cursor.position();
    while (cursor.next_member('}', first)) {
      const std::size_t at = cursor.position();
      const std::string key(cursor.string("a key"));
      cursor.expect(':', "':'");
      if (key == "ranking") {
        if (has_row_) JsonCursor::fail_at(at, "found a second 'ranking' in one line, expected one");
        read_ranking(cursor);
      } else if (key == "weight" || key == "count") {
        read_weight(cursor);
      } else if (key == "covariates" && cursor.peek() == '{') {
        read_named_covariates(cursor);
      } else if (key == "covariates" && !cells_open(cursor)) {
        read_listed_covariates(cursor);
      } else if (first_line && key == "items") {
        is_header = true;
        read_items(cursor);
      } else if (first_line && key == "covariates") {
        is_header = true;
        read_columns(cursor);
      } else if (first_line && key == "unranked") {
        is_header = true;
        read_unranked(cursor);
      } else if (first_line && is_header && key == "voter") {
        voter_column_ = cursor.string("the name of the covariate that names voters");
      } else if (first_line && key == "schema") {
        is_header = true;
        const std::size_t value_at = cursor.position();
        const std::string_view schema = cursor.string("the schema's name");
        if (!schema.starts_with("caucus.rankings/1"))
          JsonCursor::fail_at(value_at, fmt::format("found schema {}, expected caucus.rankings/1", show_text(schema)));
      } else {
        read_other(cursor, key);
      }
    }
    if (!has_row_ && !is_header && !read_battle(begin))
      JsonCursor::fail_at(begin,
                          "found no 'ranking' in the object, expected one such as [\"a\",[\"b\",\"c\"]], or the keys model_a, "
                          "model_b and winner");
    if (has_row_ && is_header) JsonCursor::fail_at(begin, "found a header and a ranking in one line, expected two lines");
  }

  // One of the keys of a battle, its value as text.
  struct Side {
    std::string key, name, value;
  };
  const Side* side(std::span<const std::string_view> keys) const {
    for (const std::string_view key : keys)
      for (const Side& one : sides_)
        if (one.name == key) return &one;
    return nullptr;
  }
  static bool is_side(std::string_view name) {
    const auto has = [&](const auto& keys) { return std::ranges::find(keys, name) != keys.end(); };
    return has(battle::first) || has(battle::second) || has(battle::winner) || has(battle::loser) || has(battle::result);
  }

  // The object as a battle; false where it is none.
  bool read_battle(std::size_t at) {
    const Side *a = side(battle::first), *b = side(battle::second), *winner = side(battle::winner);
    const Side* loser = side(battle::loser);
    if (winner == nullptr && a != nullptr && b != nullptr) winner = side(battle::result);
    const bool three = a != nullptr && b != nullptr && winner != nullptr;
    if (!three && (winner == nullptr || loser == nullptr)) return false;
    if (!three) {
      a = winner;
      b = loser;
    }
    has_row_ = any_battle_ = true;
    rows_.begin();
    const bool undecided_here = three && names_nobody(winner->value) && winner->value != a->value && winner->value != b->value;
    if (!undecided_here && is_item(a->value) && is_item(b->value)) {
      const auto outcome = three ? battle_outcome(winner->value, a->value, b->value, a->key, b->key) : std::optional(1);
      if (!outcome)
        JsonCursor::fail_at(at, fmt::format("found {} as the winner, expected {}, {}, one of the two items, or tie",
                                            show_text(winner->value), a->key, b->key));
      const ItemId id_a = item_named(a->value, at), id_b = item_named(b->value, at);
      if (id_a == id_b) JsonCursor::fail_at(at, fmt::format("found {} against itself, expected two items", show_text(a->value)));
      rows_.push(*outcome >= 0 ? id_a : id_b);
      if (*outcome != 0) rows_.end_group();
      rows_.push(*outcome >= 0 ? id_b : id_a);
      rows_.end_group();
    }
    // Keys that play no part in it are covariates after all.
    std::erase_if(sides_, [&](const Side& one) { return &one == a || &one == b || &one == winner; });
    return true;
  }

  bool is_item(std::string_view name) const {
    return !name.empty() && (items_given_ || matches_any(name, options_.keep) || !names_nobody(name));
  }

  ItemId item_named(std::string_view raw, std::size_t at) {
    bool converted = false;
    std::string copy;
    std::string_view name = raw;
    if (!is_utf8(raw)) {
      copy = to_utf8(raw, converted);
      name = copy;
      ++num_converted_;
    }
    const ItemId item = items_given_ ? index_.find(name) : index_.insert(name);
    if (item == ItemIndex::none)
      JsonCursor::fail_at(
          at, fmt::format("found item {}, expected one of the {} that the first line names", show_text(name), index_.size()));
    return item;
  }

  // Is the array after "covariates" a list of column descriptions (a header)? Decided by its first value.
  static bool cells_open(JsonCursor& cursor) {
    JsonCursor ahead = cursor;
    return ahead.take('[') && ahead.peek() == '{';
  }

  void read_ranking(JsonCursor& cursor) {
    has_row_ = true;
    rows_.begin();
    cursor.expect('[', "a ranking: an array of items, best first");
    bool first = true;
    while (cursor.next_member(']', first)) {
      if (cursor.take('[')) {
        bool first_in_group = true;
        while (cursor.next_member(']', first_in_group)) read_item(cursor);
      } else {
        read_item(cursor);
      }
      rows_.end_group();
    }
  }

  void read_item(JsonCursor& cursor) {
    const char next = cursor.peek();
    const std::size_t at = cursor.position();
    ItemId item = ItemIndex::none;
    if (next == '"') {
      const std::string_view raw = cursor.string("an item");
      if (raw.empty()) JsonCursor::fail_at(at, "found an empty name, expected an item");
      if (!is_item(raw)) {
        ++num_dropped_;
        return;
      }
      item = item_named(raw, at);
    } else if (cursor.take_word("null")) {
      return;
    } else {
      const double number = cursor.number("an item: a name or a number");
      if (number < 0.0 || number != std::floor(number) || number > 4e9)
        JsonCursor::fail_at(at, fmt::format("found {}, expected the whole number of an item", number));
      if (items_given_) {
        if (number >= static_cast<double>(index_.size()))
          JsonCursor::fail_at(at, fmt::format("found item {}, expected a position from 0 to {}", number, index_.size() - 1));
        item = static_cast<ItemId>(number);
      } else {
        std::string name;
        append_number(name, number);
        item = index_.insert(name);
      }
    }
    if (!rows_.push(item))
      JsonCursor::fail_at(
          at, fmt::format("found item {} a second time, expected each item once in a ranking", show_text(index_.names()[item])));
  }

  void read_weight(JsonCursor& cursor) {
    cursor.peek();
    const std::size_t at = cursor.position();
    weight_ = cursor.number("a weight");
    if (!(weight_ >= 0.0) || weight_ > max_weight)
      JsonCursor::fail_at(at, fmt::format("found weight {}, expected one from 0 to 1e15", weight_));
  }

  void read_items(JsonCursor& cursor) {
    cursor.expect('[', "an array of item names");
    bool first = true;
    while (cursor.next_member(']', first)) {
      cursor.peek();
      const std::size_t at = cursor.position();
      bool converted = false;
      const std::string name = to_utf8(cursor.string("an item's name"), converted);
      num_converted_ += converted ? 1 : 0;
      if (name.empty()) JsonCursor::fail_at(at, "found an empty name, expected an item");
      if (index_.find(name) != ItemIndex::none)
        JsonCursor::fail_at(at, fmt::format("found item {} a second time", show_text(name)));
      index_.insert(name);
    }
    items_given_ = true;
  }

  void read_unranked(JsonCursor& cursor) {
    cursor.peek();
    const std::size_t at = cursor.position();
    const std::string_view name = cursor.string("last or absent");
    stated_unranked_ = enum_from_name<Unranked>(name);
    if (!stated_unranked_) JsonCursor::fail_at(at, fmt::format("found {}, expected last or absent", show_text(name)));
  }

  void read_columns(JsonCursor& cursor) {
    cursor.expect('[', "an array of columns");
    bool first = true;
    while (cursor.next_member(']', first)) {
      cursor.expect('{', "a column such as {\"name\":\"age\",\"type\":\"number\"}");
      ColumnInput column;
      bool first_key = true;
      while (cursor.next_member('}', first_key)) {
        const std::string key(cursor.string("a key"));
        cursor.expect(':', "':'");
        if (key == "name") {
          bool converted = false;
          column.name = to_utf8(cursor.string("a name"), converted);
        } else if (key == "type") {
          const std::string_view type = cursor.string("number or text");
          column.declared_number = type == "number";
          column.declared_text = type == "text";
        } else {
          cursor.skip();
        }
      }
      columns_.push_back(std::move(column));
    }
  }

  // A value for the row's cells: number, text, or missing (null). true and false are texts.
  struct Cell {
    std::size_t column;
    double number;
    std::string text;
    bool is_text;
  };
  void read_cell(JsonCursor& cursor, std::size_t column) {
    Cell cell{column, std::numeric_limits<double>::quiet_NaN(), {}, false};
    if (cursor.peek() == '"') {
      bool converted = false;
      cell.text = to_utf8(cursor.string("a value"), converted);
      cell.is_text = !cell.text.empty();
    } else if (cursor.take_word("true")) {
      cell.text = "true";
      cell.is_text = true;
    } else if (cursor.take_word("false")) {
      cell.text = "false";
      cell.is_text = true;
    } else if (!cursor.take_word("null")) {
      cell.number = cursor.number("a number, a text or null");
    }
    if (columns_[column].declared_number && cell.is_text)
      JsonCursor::fail_at(cursor.position() - 1, fmt::format("found a text for the number {}", show_text(columns_[column].name)));
    cells_.push_back(std::move(cell));
  }

  std::size_t column_of(const std::string& name) {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].name == name) return i;
    if (columns_.size() >= 10000)
      JsonCursor::fail_at(0, "found more than 10000 different keys, expected covariates that the lines share");
    columns_.emplace_back();
    columns_.back().name = name;
    return columns_.size() - 1;
  }

  void read_named_covariates(JsonCursor& cursor) {
    cursor.expect('{', "an object");
    bool first = true;
    while (cursor.next_member('}', first)) {
      bool converted = false;
      const std::string key = to_utf8(cursor.string("a key"), converted);
      cursor.expect(':', "':'");
      read_cell(cursor, column_of(key));
    }
  }

  void read_listed_covariates(JsonCursor& cursor) {
    cursor.expect('[', "an array or an object");
    bool first = true;
    for (std::size_t i = 0; cursor.next_member(']', first); ++i) {
      if (i >= columns_.size())
        cursor.fail(fmt::format("the end of the list: the first line names {} covariates", columns_.size()));
      read_cell(cursor, i);
    }
  }

  // Other keys of a row are covariates where they hold a plain value, and nothing otherwise.
  void read_other(JsonCursor& cursor, const std::string& key) {
    const char next = cursor.peek();
    if (next == '{' || next == '[') {
      cursor.skip();
    } else if (std::string name = plain_name(key); is_side(name)) {
      std::string value;
      if (next == '"')
        value = cursor.string("a value");
      else if (next == '-' || is_digit(next))
        append_number(value, cursor.number("a value"));
      else
        cursor.skip();
      sides_.push_back({key, std::move(name), std::move(value)});
    } else {
      bool converted = false;
      read_cell(cursor, column_of(to_utf8(key, converted)));
    }
  }

  void commit_row() {
    if (!has_row_) return;
    for (Side& one : sides_) {
      bool converted = false;
      const std::size_t column = column_of(to_utf8(one.key, converted));
      const auto number = parse_number(one.value);
      cells_.push_back({column, number ? *number : std::numeric_limits<double>::quiet_NaN(),
                        number ? "" : to_utf8(one.value, converted), !number && !one.value.empty()});
    }
    any_ranking_ = any_ranking_ || (rows_.size() > 0 && weight_ > 0.0);
    rows_.finish(weight_);
    ++num_rows_;
    if (!keep_covariates_) return;
    for (Cell& cell : cells_) {
      ColumnInput& column = columns_[cell.column];
      fill(column, num_rows_ - 1);
      if (column.numbers.size() >= num_rows_) continue;  // a key given twice: the first counts
      column.numbers.push_back(cell.number);
      if (cell.is_text && !column.any_text) {
        column.any_text = true;
        column.texts.resize(num_rows_ - 1);
        for (std::size_t i = 0; i + 1 < num_rows_; ++i)
          if (!std::isnan(column.numbers[i])) append_number(column.texts[i], column.numbers[i]);
      }
      if (!column.any_text) continue;
      if (!cell.is_text && !std::isnan(cell.number)) append_number(cell.text, cell.number);
      column.texts.push_back(std::move(cell.text));
    }
  }

  // The values of later rows.
  void append(ColumnInput& column, ColumnInput more) {
    if (more.numbers.empty()) return;
    fill(column, num_rows_);
    if (more.any_text && !column.any_text) {
      column.any_text = true;
      column.texts.resize(num_rows_);
      for (std::size_t i = 0; i < num_rows_; ++i)
        if (!std::isnan(column.numbers[i])) append_number(column.texts[i], column.numbers[i]);
    }
    for (std::size_t i = 0; i < more.numbers.size(); ++i) {
      column.numbers.push_back(more.numbers[i]);
      if (!column.any_text) continue;
      std::string text = more.any_text && i < more.texts.size() ? std::move(more.texts[i]) : std::string();
      if (!more.any_text && !std::isnan(more.numbers[i])) append_number(text, more.numbers[i]);
      column.texts.push_back(std::move(text));
    }
  }

  // Pads a column with missing values. Lines that share few keys would pad without measure: a small file must not fill the memory.
  void fill(ColumnInput& column, std::size_t num_rows) {
    if (column.numbers.size() < num_rows) num_padded_ += num_rows - column.numbers.size();
    if (num_padded_ > 4'000'000 + 16 * num_bytes_)
      throw DataError(name_ + ": found covariates that few lines share, expected the same keys in most lines");
    if (column.numbers.size() < num_rows) column.numbers.resize(num_rows, std::numeric_limits<double>::quiet_NaN());
    if (column.any_text && column.texts.size() < num_rows) column.texts.resize(num_rows);
  }

  void finish_covariates(Dataset& data) {
    for (ColumnInput& input : columns_) {
      fill(input, num_rows_);
      Column column;
      column.name = std::move(input.name);
      if (input.any_text || input.declared_text) {
        column.texts = std::move(input.texts);
        if (!input.any_text) {
          column.texts.resize(num_rows_);
          for (std::size_t i = 0; i < num_rows_; ++i)
            if (!std::isnan(input.numbers[i])) append_number(column.texts[i], input.numbers[i]);
        }
      } else {
        column.numbers = std::move(input.numbers);
      }
      data.covariates.push_back(std::move(column));
    }
    split_blank_rows(data);
  }

  std::string name_;
  ReadOptions options_;
  std::string voter_column_;
  bool keep_covariates_;
  Diagnostics diagnostics_;
  std::size_t line_number_ = 0;
  std::size_t num_bytes_ = 0;
  bool any_ = false;
  ItemIndex index_;
  bool items_given_ = false;
  std::optional<Unranked> stated_unranked_;
  std::vector<ColumnInput> columns_;
  BallotRows rows_;
  bool has_row_ = false;
  double weight_ = 1.0;
  std::vector<Cell> cells_;
  std::size_t num_rows_ = 0;  // blank ones too
  bool any_ranking_ = false;
  bool any_battle_ = false;
  std::vector<Side> sides_;  // of the line at hand
  std::size_t num_dropped_ = 0;
  std::size_t num_padded_ = 0;
  std::size_t num_converted_ = 0;
  std::size_t head_bytes_ = 0, head_converted_ = 0;
};

}  // namespace caucus::jsonl_format
