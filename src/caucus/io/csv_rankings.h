// CSV in its ranking forms, row by row.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <unordered_map>

#include "caucus/io/battle.h"
#include "caucus/io/csv.h"
#include "caucus/io/csv_layout.h"
#include "caucus/io/diagnostics.h"
#include "caucus/io/known_lines.h"
#include "caucus/io/nobody.h"
#include "caucus/io/order_text.h"
#include "caucus/io/parts.h"
#include "caucus/io/readers.h"
#include "caucus/io/table.h"
#include "caucus/io/text.h"

namespace caucus::csv_format {

class CsvRankings {
 public:
  CsvRankings(const Source& source, const ReadOptions& options)
      : source_(source),
        options_(options),
        diagnostics_(source.name()),
        reader_(source.text(), guess_delimiter(source.text())),
        rows_(options.scratch) {}

  Dataset read(Format format) {
    read_header(format);
    read_body();
    diagnostics_.throw_if_any();
    return finish();
  }

  // By parts (parts.h).
  bool begin_parts(Format format) {
    read_header(format);
    const bool by_voter = layout_.format == Format::csv_ratings ? !layout_.ratings_matrix : layout_.format == Format::csv_long;
    return !by_voter;  // rows of one voter may stand anywhere
  }
  std::size_t body() const { return reader_.position(); }
  bool read_part(std::size_t begin, std::size_t end) {
    reader_ = CsvReader(source_.text(), guess_delimiter(source_.text()), begin, end);
    read_body();
    return diagnostics_.empty() && !fractions_counted_;
  }
  void save(Saver& saver) {
    saver(cells_seen_.names(), index_.names(), std::uint64_t{num_dropped_cells_}, std::uint64_t{num_padded_},
          std::uint64_t{num_repeated_}, std::uint64_t{rows_repeated_}, facts_.overvoted, facts_.skipped);
    for (const auto& cells : kept_) {
      std::vector<std::uint32_t> lengths;
      std::string all;
      for (const std::string_view text : cells) {
        lengths.push_back(static_cast<std::uint32_t>(text.size()));
        all += text;
      }
      saver(lengths, all);
    }
    save_rows(rows_, saver);
  }
  void absorb(Loader& loader) {
    std::vector<std::string> cells, names;
    std::uint64_t dropped = 0, padded = 0, repeated = 0, rows = 0;
    double overvoted = 0.0, skipped = 0.0;
    loader(cells, names, dropped, padded, repeated, rows, overvoted, skipped);
    num_dropped_cells_ += dropped;
    num_padded_ += padded;
    num_repeated_ += repeated;
    rows_repeated_ += rows;
    facts_.overvoted += overvoted;
    facts_.skipped += skipped;
    for (const std::string& text : cells) see_cell(text);
    std::vector<ItemId> ids;
    for (const std::string& name : names) ids.push_back(index_.insert(name));
    for (std::size_t i = 0; i < layout_.items.size(); ++i) ids.push_back(static_cast<ItemId>(i));
    for (auto& column : kept_) {
      std::vector<std::uint32_t> lengths;
      std::string& all = texts_.emplace_back();
      loader(lengths, all);
      std::size_t begin = 0;
      for (const std::uint32_t length : lengths) {
        if (length > all.size() - begin) throw BadState{};
        column.push_back(std::string_view(all).substr(begin, length));
        begin += length;
      }
    }
    absorb_rows(rows_, loader, ids);
  }
  Dataset finish_parts() { return finish(); }

 private:
  void read_body() {
    switch (layout_.format) {
      case Format::csv_wide:
        read_wide();
        break;
      case Format::csv_matrix:
        read_matrix();
        break;
      case Format::csv_pairwise:
        layout_.counts ? read_pair_counts() : read_pairs();
        break;
      case Format::csv_ratings:
        layout_.ratings_matrix ? read_rating_matrix() : read_triples();
        break;
      case Format::csv_order:
        read_orders();
        break;
      default:
        read_triples();
        break;
    }
  }

  void read_header(Format format) {
    CsvReader ahead(source_.text(), guess_delimiter(source_.text()));
    if (!ahead.next()) throw DataError(source_.name() + ": is empty, expected a table with a header line");
    CsvHead head;
    for (const CsvCell& cell : ahead.cells()) head.header.emplace_back(cell.text);
    const bool orders = format == Format::automatic || format == Format::csv_order;
    const bool headless = orders && std::ranges::any_of(head.header, has_order_mark);
    if (headless) {
      // "12,A>B>C" from the first line on: a number is a count, the rest have no names.
      for (std::string& name : head.header) name = parse_number(name) ? "count" : has_order_mark(name) ? "ranking" : "";
      ahead = CsvReader(source_.text(), guess_delimiter(source_.text()));
    }
    // The first rows, for guessing.
    head.first_line = 0;
    for (std::size_t bytes = 0; head.sample.size() < 200 && bytes < (1U << 20) && ahead.next();) {
      if (head.first_line == 0) head.first_line = ahead.line();
      auto& row = head.sample.emplace_back();
      for (const CsvCell& cell : ahead.cells()) {
        row.emplace_back(cell.text);
        bytes += cell.text.size() + 1;
      }
    }
    HeaderLines lines = find_header_lines(head.header, head.sample);
    head.sample.erase(head.sample.begin(), head.sample.begin() + static_cast<std::ptrdiff_t>(lines.count));
    head.labels = std::move(lines.labels);
    for (std::size_t i = 0; i < lines.count + (headless ? 0 : 1); ++i) reader_.next();
    // Commas at the ends of lines make nameless columns.
    while (head.header.size() > 1 && head.header.back().empty()) head.header.pop_back();
    layout_ = find_layout(head, fitting_options(head.header), format, source_.name());
    header_ = std::move(head.header);
    std::vector<bool> used(header_.size(), false);
    for (const std::size_t column : layout_.columns) used[column] = true;
    if (layout_.weight) used[*layout_.weight] = true;
    for (std::size_t i = 0; i < header_.size(); ++i) {
      if (used[i] || header_[i].empty()) continue;
      kept_columns_.push_back(i);
      kept_.emplace_back();
    }
    if (layout_.weight_guessed_by_loose_name)
      warnings_.emplace_back("the column 'weight' was taken as the rows' weights; --weight-column none keeps it as a covariate");
  }

  // What a model file remembers of columns holds for files that have them.
  ReadOptions fitting_options(const std::vector<std::string>& header) const {
    ReadOptions fitting = options_;
    if (!options_.recalled) return fitting;
    const auto has = [&](const std::vector<std::string>& names) {
      try {
        find_columns(names, header, source_.name());
        return true;
      } catch (const UsageError&) {
        return false;
      }
    };
    if (!has(options_.columns)) fitting.columns.clear();
    if (!options_.voter.empty() && !has({options_.voter})) fitting.voter.clear();
    if (options_.weight_column != "none" && !options_.weight_column.empty() && !has({options_.weight_column}))
      fitting.weight_column.clear();
    return fitting;
  }

  // The next record; complains about rows that are too long or never end.
  bool next() {
    if (!reader_.next()) return false;
    if (reader_.unterminated()) complain(reader_.cells().back(), "found a quote that is never closed, expected a closing quote");
    const auto cells = reader_.cells();
    for (std::size_t i = header_.size(); i < cells.size(); ++i)
      if (!cells[i].text.empty()) {
        complain(cells[i], fmt::format("found {} in cell {}, expected the {} columns of the header", show_text(cells[i].text),
                                       i + 1, header_.size()));
        break;
      }
    return true;
  }
  CsvCell cell(std::size_t column) const {
    const auto cells = reader_.cells();
    if (column < cells.size()) return cells[column];
    return {std::string_view(), cells.back().column + cells.back().text.size(), false};
  }
  void complain(const CsvCell& where, std::string message) { diagnostics_.add(reader_.line(), where.column, std::move(message)); }

  // The row's weight; 0 where it is wrong, which has been said.
  double weight() {
    if (!layout_.weight) return 1.0;
    const CsvCell found = cell(*layout_.weight);
    const auto number = parse_number(found.text);
    if (!number || *number < 0.0 || *number > max_weight) {
      complain(found, "found " + show_text(found.text) + ", expected a weight from 0 to 1e15");
      return 0.0;
    }
    return *number;
  }

  // A ranking that is counted `count` times. One voter's are so many rankings; a weight would make so many voters of the one.
  std::size_t copies_of(double count, const CsvCell& where) {
    if (options_.voter.empty() || count == 0.0) return 1;
    if (count == std::floor(count) && count <= 1e6) return static_cast<std::size_t>(count);
    complain(where, fmt::format("found the count {}, expected a whole number up to a million for rankings of one voter", count));
    return 1;
  }

  void blank_row(double row_weight) {
    rows_.blank(row_weight);
    keep_row();
  }

  // The covariates of a row, blank or not.
  void keep_row() {
    for (std::size_t i = 0; i < kept_columns_.size(); ++i) kept_[i].push_back(cell(kept_columns_[i]).text);
    if (reader_.cells().size() < header_.size()) {
      // Short rows are padded; a small file must not fill the memory that way.
      num_padded_ += kept_columns_.size();
      if (num_padded_ > 4'000'000 + 16 * source_.text().size())
        throw DataError(source_.name() + ": found a header far wider than the rows, expected rows of its length");
    }
  }

  // Is this cell an item? Its own name may be one of those that name nobody only where the user says so.
  bool is_item(std::string_view text) const {
    return !text.empty() && (matches_any(text, options_.keep) || !(names_nobody(text) || matches_any(text, options_.drop)));
  }
  // A cell where a rank, a rating or a winner should be, and nothing is.
  bool is_nothing(std::string_view text) const { return names_nobody(text) || matches_any(text, options_.drop); }

  std::size_t see_cell(std::string_view text) {
    const std::size_t seen = cells_seen_.insert(text);
    if (seen == item_of_.size()) item_of_.push_back(is_item(text) ? index_.insert(text) : ItemIndex::none);
    if (seen == named_.size()) named_.push_back(named_in(text));
    return seen;
  }

  // The item of a cell, decided once per distinct cell; none where it names nobody, which is counted, or somebody who is left out.
  ItemId item_in(std::string_view text) {
    const std::size_t seen = see_cell(text);
    if (item_of_[seen] == ItemIndex::none && named_[seen] != Named::somebody) {
      if (!text.empty()) ++num_dropped_cells_;
      (named_[seen] == Named::too_many ? overvoted_ : place_left_) = true;
    } else {
      skipped_ = skipped_ || place_left_;
    }
    return item_of_[seen];
  }
  // What the cells of a ballot told, place after place; to be called around them.
  void begin_ballot() { overvoted_ = place_left_ = skipped_ = false; }
  void end_ballot(double ballot_weight) {
    // Parts of such sums would add up to other bits.
    if ((overvoted_ || skipped_) && ballot_weight != std::floor(ballot_weight)) fractions_counted_ = true;
    if (overvoted_) facts_.overvoted += ballot_weight;
    if (skipped_) facts_.skipped += ballot_weight;
  }

  void read_wide() {
    while (next()) {
      const double row_weight = weight();
      if (counts_nothing(row_weight)) continue;
      rows_.begin();
      begin_ballot();
      bool repeated = false;
      for (const std::size_t column : layout_.columns) {
        const std::string_view text = cell(column).text;
        if (text.empty()) {
          place_left_ = true;
          continue;
        }
        const ItemId item = item_in(text);
        if (item != ItemIndex::none && !rows_.push(item)) {
          ++num_repeated_;
          repeated = true;
        }
      }
      rows_repeated_ += repeated ? 1 : 0;
      end_ballot(row_weight);
      rows_.finish(row_weight);
      keep_row();
    }
  }

  // One cell per ballot: "A > B = C", perhaps with its count before it.
  void read_orders() {
    while (next()) {
      std::string_view order = cell(layout_.columns[0]).text;
      double row_weight = weight();
      const double count = take_count(order);
      const std::size_t copies = copies_of(count, cell(layout_.columns[0]));
      if (copies == 1) row_weight *= count;
      if (counts_nothing(row_weight)) continue;
      rows_.begin();
      begin_ballot();
      for_each_in_order(order, [&](std::string_view name, bool ends_group) {
        const ItemId item = item_in(name);
        if (item != ItemIndex::none && !rows_.push(item)) ++num_repeated_;
        if (ends_group) rows_.end_group();
      });
      end_ballot(row_weight * static_cast<double>(copies));
      for (std::size_t c = 0; c < copies; ++c) {
        rows_.finish(row_weight);
        keep_row();
      }
    }
  }

  // Said when all rows are there.
  void warn_of_rows() {
    if (num_repeated_ > 0 && layout_.format == Format::csv_wide)
      warnings_.push_back(fmt::format("{} rows list an item more than once; its first place counts ({} cells ignored)",
                                      rows_repeated_, num_repeated_));
    if (num_repeated_ > 0 && layout_.format == Format::csv_order)
      warnings_.push_back(fmt::format("{} times a ballot lists an item again; its first place counts", num_repeated_));
    if (layout_.format == Format::csv_pairwise && !layout_.counts) warn_of_judges();
  }

  // The row's values in the given columns, sorted by `better`, equal values tied, into rows_.
  // A row of weight 0 keeps its place among the blank ones.
  bool counts_nothing(double row_weight) {
    if (row_weight == 0.0) blank_row(0.0);
    return row_weight == 0.0;
  }

  template <class Better>
  void push_sorted(std::vector<std::pair<double, ItemId>>& values, Better better) {
    std::ranges::stable_sort(values, [&](const auto& a, const auto& b) { return better(a.first, b.first); });
    for (std::size_t i = 0; i < values.size(); ++i) {
      rows_.push(values[i].second);
      if (i + 1 == values.size() || values[i + 1].first != values[i].first) rows_.end_group();
    }
  }

  // One row a ranking, one column an item. take(cell, number) says whether the number counts or complains; push(values) lists them.
  template <class Take, class Push>
  void read_rows_of_numbers(Take take, Push push) {
    std::vector<std::pair<double, ItemId>> values;
    while (next()) {
      const double row_weight = weight();
      if (counts_nothing(row_weight)) continue;
      values.clear();
      for (std::size_t i = 0; i < layout_.columns.size(); ++i) {
        const CsvCell found = cell(layout_.columns[i]);
        if (is_nothing(found.text)) continue;
        if (const auto number = parse_number(found.text); take(found, number)) values.emplace_back(*number, static_cast<ItemId>(i));
      }
      push(values);
      rows_.finish(row_weight);
      keep_row();
    }
  }

  void read_matrix() {
    read_rows_of_numbers(
        [&](const CsvCell& found, std::optional<double> rank) {
          if (rank && *rank >= 0.0) return *rank > 0.0;  // 0 is how rank tables write "not ranked"
          complain(found, "found " + show_text(found.text) + ", expected a rank, or nothing for an item that is not ranked");
          return false;
        },
        [&](auto& values) { push_ranks(values); });
  }

  void push_ranks(std::vector<std::pair<double, ItemId>>& values) {
    rows_.begin();
    push_sorted(values, std::less<>{});
  }
  void push_ratings(std::vector<std::pair<double, ItemId>>& values) {
    rows_.begin();
    if (options_.top == 0) {
      push_sorted(values, std::greater<>{});
      return;
    }
    std::ranges::stable_sort(
        values, [&](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : earlier(a.second, b.second); });
    for (std::size_t i = 0; i < std::min(values.size(), options_.top); ++i) rows_.push(values[i].second);
  }
  // The order of items in the finished data set: by column in a matrix, by name otherwise.
  bool earlier(ItemId a, ItemId b) const {
    return layout_.items.empty() ? natural_less(index_.names()[a], index_.names()[b]) : a < b;
  }

  void read_rating_matrix() {
    read_rows_of_numbers(
        [&](const CsvCell& found, std::optional<double> rating) {
          if (!rating)
            complain(found, "found " + show_text(found.text) + ", expected a rating, or nothing for an item that is not rated");
          return rating.has_value();
        },
        [&](auto& values) { push_ratings(values); });
  }

  ItemId item_at(const CsvCell& found) {
    if (!found.text.empty()) return index_.insert(found.text);
    complain(found, "found an empty cell, expected an item");
    return ItemIndex::none;
  }

  void read_pairs() {
    if (kept_columns_.empty()) read_known_pairs();
    while (next()) read_pair();
  }

  void read_known_pairs();
  void read_pair() {
    const double row_weight = weight();
    if (counts_nothing(row_weight)) return;
    const CsvCell cell_a = cell(layout_.columns[0]);
    const CsvCell cell_b = cell(layout_.columns[1]);
    const CsvCell cell_winner = layout_.winner_loser ? cell_a : cell(layout_.columns[2]);
    const bool no_winner =
        !layout_.winner_loser && is_nothing(cell_winner.text) && cell_winner.text != cell_a.text && cell_winner.text != cell_b.text;
    const auto nobody = [&](const CsvCell& one) { return !one.text.empty() && !is_item(one.text); };
    if (no_winner || nobody(cell_a) || nobody(cell_b)) {
      blank_row(row_weight);
      return;
    }
    const ItemId a = item_at(cell_a);
    const ItemId b = item_at(cell_b);
    if (a == ItemIndex::none || b == ItemIndex::none) return;
    if (a == b) {
      complain(cell_b, "found " + show_text(cell_b.text) + " against itself, expected two items");
      return;
    }
    const std::string &name_a = header_[layout_.columns[0]], &name_b = header_[layout_.columns[1]];
    const auto outcome =
        layout_.winner_loser ? std::optional(1) : battle_outcome(cell_winner.text, cell_a.text, cell_b.text, name_a, name_b);
    if (outcome)
      add_pair(a, b, *outcome, row_weight);
    else
      complain(cell_winner,
               fmt::format("found {}, expected {}, {}, one of the two items, or tie", show_text(cell_winner.text), name_a, name_b));
  }

  // Every comparison is a ballot of its own: that some come from one judge should be known.
  void warn_of_judges() {
    for (const std::size_t column : kept_columns_)
      if (tells_who_compared(header_[column]) && options_.voter.empty()) warnings_.push_back(warning_of_judges(header_[column]));
  }

  void add_pair(ItemId a, ItemId b, int outcome, double pair_weight) {
    rows_.begin();
    rows_.push(outcome >= 0 ? a : b);
    if (outcome != 0) rows_.end_group();
    rows_.push(outcome >= 0 ? b : a);
    rows_.end_group();
    rows_.finish(pair_weight);
    last_battle_ = {{outcome >= 0 ? a : b, outcome >= 0 ? b : a}, outcome == 0, pair_weight};
    keep_row();
  }

  void read_pair_counts() {
    while (next()) {
      const double row_weight = weight();
      if (row_weight == 0.0) continue;  // no ranking, as with counts of 0
      const CsvCell cell_b = cell(layout_.columns[1]);
      const ItemId a = item_at(cell(layout_.columns[0]));
      const ItemId b = item_at(cell_b);
      if (a == ItemIndex::none || b == ItemIndex::none) continue;
      if (a == b) {
        complain(cell_b, "found " + show_text(cell_b.text) + " against itself, expected two items");
        continue;
      }
      double counts[3] = {0.0, 0.0, 0.0};  // wins of a, of b, ties
      bool good = true;
      for (std::size_t i = 2; i < layout_.columns.size(); ++i) {
        const CsvCell found = cell(layout_.columns[i]);
        if (is_nothing(found.text)) continue;
        const auto number = parse_number(found.text);
        if (number && *number >= 0.0 && *number <= max_weight) {
          counts[std::min<std::size_t>(i - 2, 2)] += *number;
        } else {
          complain(found, "found " + show_text(found.text) + ", expected a count");
          good = false;
        }
      }
      if (!good) continue;
      constexpr int outcomes[3] = {1, -1, 0};
      for (std::size_t i = 0; i < 3; ++i) {
        if (!(counts[i] > 0.0)) continue;
        const std::size_t copies = copies_of(counts[i], cell(layout_.columns[2]));
        for (std::size_t c = 0; c < copies; ++c) add_pair(a, b, outcomes[i], copies == 1 ? counts[i] * row_weight : row_weight);
      }
    }
  }

  // voter,item,rank and user,item,rating: rows of one voter may stand anywhere.
  void read_triples();
  void keep_voter_columns(const std::vector<std::string_view>& voter_names, const std::vector<std::uint8_t>& varies, bool numbered);

  Dataset finish() {
    Dataset data;
    warn_of_rows();
    rows_.build(data);
    if (data.rankings.empty())
      throw DataError(source_.name() + (data.blanks.empty() ? ": found a header but no rankings" : ": every ranking is empty"));
    data.warnings = std::move(warnings_);
    data.facts = facts_;
    const bool by_column = !layout_.items.empty();
    std::vector<std::string> names = by_column ? layout_.items : index_.take_names();
    std::vector<std::string> fallback;
    for (std::size_t i = 0; i < names.size(); ++i) fallback.push_back(fmt::format("item {}", i + 1));
    data.items = settle_names(names, fallback, data.warnings);
    if (!by_column) sort_items(data);
    data.unranked = options_.unranked.value_or(default_unranked(layout_.format));
    bool converted = false;
    std::vector<std::string> titles;
    for (const std::size_t column : kept_columns_) titles.push_back(to_utf8(header_[column], converted));
    std::vector<std::string> title_warnings;
    titles = settle_names(titles, titles, title_warnings);
    for (std::size_t i = 0; i < kept_columns_.size(); ++i) {
      data.covariates.push_back(make_id_column(titles[i], kept_[i]));
      kept_[i] = {};
    }
    split_blank_rows(data);
    warn_of_cells(data);
    warn_blank_ballots(rows_, layout_.format == Format::csv_pairwise ? undecided : blank_ballots, data.warnings);
    return data;
  }

  void warn_of_cells(Dataset& data) const {
    if (num_dropped_cells_ > 0) {
      std::vector<std::string> words;
      for (std::size_t i = 0; i < item_of_.size() && words.size() < 5; ++i)
        if (item_of_[i] == ItemIndex::none && named_[i] != Named::somebody && !cells_seen_.names()[i].empty())
          words.push_back(show_text(cells_seen_.names()[i]));
      data.warnings.push_back(
          fmt::format("{} cells that name no item were dropped: {}", num_dropped_cells_, fmt::join(words, ", ")));
    }
    if (layout_.items.empty()) return;
    for (const std::string& item : data.items)
      if (is_demographic(item))
        data.warnings.push_back(fmt::format(
            "is the column {} an item? If not, --exclude {} leaves it out, or --columns names the items", show_text(item), item));
  }

  const Source& source_;
  const ReadOptions& options_;
  Diagnostics diagnostics_;
  CsvReader reader_;
  std::vector<std::string> header_;
  CsvLayout layout_;
  std::vector<std::size_t> kept_columns_;  // covariates
  std::vector<std::vector<std::string_view>> kept_;
  ItemIndex index_;
  ItemIndex cells_seen_;  // distinct cells where items are named
  std::vector<ItemId> item_of_;
  BallotRows rows_;
  std::vector<std::string> warnings_;
  std::vector<Named> named_;                                       // of each distinct cell
  bool overvoted_ = false, place_left_ = false, skipped_ = false;  // of the ballot that is read
  BallotFacts facts_;
  std::size_t num_dropped_cells_ = 0;
  std::size_t num_padded_ = 0;
  KnownLines::Row last_battle_;
  std::size_t num_repeated_ = 0, rows_repeated_ = 0;
  bool fractions_counted_ = false;
  std::deque<std::string> texts_;  // of covariates that others have read
};

}  // namespace caucus::csv_format
