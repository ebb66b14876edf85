// CSV in its ranking forms. Names are turned into cells once; rows are then copies.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "caucus/base/error.h"
#include "caucus/io/csv.h"
#include "caucus/io/csv_header.h"
#include "caucus/io/items.h"
#include "caucus/io/nobody.h"
#include "caucus/io/table.h"
#include "caucus/io/text.h"
#include "caucus/io/writers.h"

namespace caucus {

namespace {

class CsvWriter {
 public:
  CsvWriter(const Dataset& data, TextSink& sink, Format format, char delimiter, Lost& lost)
      : data_(data),
        rankings_(data.rankings),
        sink_(sink),
        out_(sink.buffer()),
        format_(format),
        delimiter_(delimiter),
        lost_(lost) {
    names_.reserve(data.num_items());
    for (const std::string& item : data.items) append_csv_cell(names_.emplace_back(), item, delimiter);
    for (std::size_t row = 0; row < rankings_.num_rows() && !weighted_; ++row) weighted_ = rankings_.row_weight(row) != 1.0;
    fractional_ = has_fractional_weights(data);
  }

  void write() {
    lose_unranked(data_, format_, lost_);
    if (format_ != Format::csv_matrix) lose_items();
    switch (format_) {
      case Format::csv_wide:
        write_wide();
        break;
      case Format::csv_matrix:
        write_matrix();
        break;
      case Format::csv_pairwise:
        write_pairs();
        break;
      case Format::csv_order:
        write_orders();
        break;
      default:
        write_triples();
        break;
    }
  }

 private:
  void lose_items() {
    std::vector<std::uint8_t> listed(data_.num_items(), 0);
    for (const ItemId item : rankings_.items()) listed[item] = 1;
    std::vector<std::string> never;
    for (std::size_t i = 0; i < listed.size(); ++i)
      if (listed[i] == 0) never.push_back(data_.items[i]);
    if (!never.empty()) {
      std::string names;
      for (std::size_t i = 0; i < std::min<std::size_t>(never.size(), 5); ++i) names += (i > 0 ? ", " : "") + show_text(never[i]);
      lost_.push_back(fmt::format("{} items that no ranking lists: {}{}", never.size(), names, never.size() > 5 ? ", ..." : ""));
    }
    if (!std::ranges::is_sorted(data_.items, [](const std::string& a, const std::string& b) { return natural_less(a, b); }))
      lost_.emplace_back("the order of the items (it will be that of their names)");
    for (const std::string& item : data_.items) {
      if (names_nobody(item))
        lost_.push_back(
            fmt::format("the item {}, which reads as a cell without an item (read the file with --keep {})", item, item));
      if (is_import_cell(item)) lost_.push_back(fmt::format("the item {}, which reads as part of a header", show_text(item)));
    }
  }

  // Covariates of which a CSV reader would make something else.
  void lose_looks() {
    for (const Column& column : data_.covariates) {
      if (column.name.empty()) lost_.emplace_back("a covariate without a name");
      if (column.is_numeric()) continue;
      bool text = false;
      for (const std::string& value : column.texts) {
        text = text || (!is_missing_cell(value) && !parse_number(value));
        if (!value.empty() && is_missing_cell(value))
          lost_.push_back(fmt::format("the text {} in covariate {}, which reads as missing", value, column.name));
      }
      if (!text) lost_.push_back(fmt::format("that covariate {} is text, not numbers", column.name));
    }
  }

  void header_of_covariates(std::size_t skip = static_cast<std::size_t>(-1)) {
    for (std::size_t i = 0; i < data_.covariates.size(); ++i) {
      if (i == skip) continue;
      append_csv_cell(out_, data_.covariates[i].name, delimiter_);
      out_ += delimiter_;
    }
    if (weighted_) {
      out_ += fractional_ ? "ballot_weight" : "count";
      out_ += delimiter_;
    }
  }
  void covariates_of(std::size_t row, std::size_t skip = static_cast<std::size_t>(-1)) {
    for (std::size_t i = 0; i < data_.covariates.size(); ++i) {
      if (i == skip) continue;
      append_value(data_.covariates[i], row);
      out_ += delimiter_;
    }
    if (weighted_) {
      append_number(out_, rankings_.row_weight(row));
      out_ += delimiter_;
    }
  }
  void append_value(const Column& column, std::size_t row) {
    if (!column.is_numeric())
      append_csv_cell(out_, column.texts[row], delimiter_);
    else if (std::isfinite(column.numbers[row]))
      append_number(out_, column.numbers[row]);
  }

  void write_wide() {
    lose_looks();
    if (rankings_.has_ties()) lost_.emplace_back("ties (the items of a tie stand in the order of the items)");
    std::size_t longest = 1;
    for (std::size_t i = 0; i < rankings_.size(); ++i) longest = std::max(longest, rankings_.length(i));
    header_of_covariates();
    for (std::size_t i = 1; i <= longest; ++i) out_ += fmt::format("{}rank{}", i > 1 ? std::string(1, delimiter_) : "", i);
    out_ += '\n';
    for (std::size_t row = 0; row < rankings_.num_rows(); ++row) {
      const RankingView ranking = rankings_[rankings_.row_ranking(row)];
      covariates_of(row);
      for (std::size_t i = 0; i < longest; ++i) {
        if (i > 0) out_ += delimiter_;
        if (i < ranking.size()) out_ += names_[ranking[i]];
      }
      out_ += '\n';
      sink_.checkpoint();
    }
  }

  void write_matrix() {
    lose_looks();
    header_of_covariates();
    // "rank_7" would read as the seventh rank; "rank:7" is the rank of the item called 7.
    const bool numbers =
        std::ranges::any_of(data_.items, [](const std::string& item) { return parse_count(trim(item)).has_value(); });
    for (std::size_t i = 0; i < data_.num_items(); ++i) {
      if (i > 0) out_ += delimiter_;
      append_csv_cell(out_, (numbers ? "rank:" : "rank_") + data_.items[i], delimiter_);
    }
    out_ += '\n';
    std::vector<std::size_t> ranks(data_.num_items());
    for (std::size_t row = 0; row < rankings_.num_rows(); ++row) {
      std::ranges::fill(ranks, 0);
      std::size_t rank = 1;
      rankings_[rankings_.row_ranking(row)].for_each_group([&](std::span<const ItemId> group) {
        for (const ItemId item : group) ranks[item] = rank;
        rank += group.size();
      });
      covariates_of(row);
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (i > 0) out_ += delimiter_;
        if (ranks[i] > 0) append_count(out_, ranks[i]);
      }
      out_ += '\n';
      sink_.checkpoint();
    }
  }

  // voter,item,rank or user,item,rating. A covariate called voter (or user) names the rows if it tells them apart.
  void write_triples() {
    lose_looks();
    const bool ratings = format_ == Format::csv_ratings;
    const std::string_view who = ratings ? "user" : "voter";
    std::size_t id_column = static_cast<std::size_t>(-1);
    for (std::size_t i = 0; i < data_.covariates.size(); ++i)
      if (data_.covariates[i].name == who && tells_rows_apart(data_.covariates[i])) id_column = i;
    header_of_covariates(id_column);
    out_ += fmt::format("{1}{0}item{0}{2}\n", delimiter_, who, ratings ? "rating" : "rank");
    std::size_t most_groups = 0;
    if (ratings) {
      lost_.emplace_back("nothing, but the ratings are made up: the number of groups below, plus one");
      most_groups = 1;
    }
    std::string prefix;
    for (std::size_t row = 0; row < rankings_.num_rows(); ++row) {
      const RankingView ranking = rankings_[rankings_.row_ranking(row)];
      const std::size_t begin = out_.size();
      covariates_of(row, id_column);
      if (id_column != static_cast<std::size_t>(-1))
        append_value(data_.covariates[id_column], row);
      else
        append_count(out_, row + 1);
      out_ += delimiter_;
      prefix.assign(out_, begin);
      out_.resize(begin);
      std::size_t groups = 0;
      if (most_groups > 0) ranking.for_each_group([&](std::span<const ItemId>) { ++groups; });
      std::size_t rank = 1;
      ranking.for_each_group([&](std::span<const ItemId> group) {
        for (const ItemId item : group) {
          out_ += prefix;
          out_ += names_[item];
          out_ += delimiter_;
          append_count(out_, ratings ? groups : rank);
          out_ += '\n';
        }
        rank += group.size();
        --groups;
      });
      sink_.checkpoint();
    }
  }

  bool tells_rows_apart(const Column& column) const {
    std::unordered_set<std::string> seen;
    for (std::size_t row = 0; row < rankings_.num_rows(); ++row) {
      std::string value;
      if (column.is_numeric())
        append_number(value, column.numbers[row]);
      else
        value = column.texts[row];
      if (value.empty() || (column.is_numeric() && !std::isfinite(column.numbers[row])) || !seen.insert(value).second) return false;
    }
    return true;
  }

  void write_orders() {
    lose_looks();
    for (const std::string& item : data_.items)
      if (item.find_first_of(">=") != std::string::npos || is_blank(item.front()) || is_blank(item.back()) ||
          is_digit(item.front()))
        lost_.push_back(fmt::format("the item {}, whose name does not stand in a line such as A>B=C", show_text(item)));
    header_of_covariates();
    out_ += "ranking\n";
    for (std::size_t row = 0; row < rankings_.num_rows(); ++row) {
      covariates_of(row);
      std::string order;
      rankings_[rankings_.row_ranking(row)].for_each_group([&](std::span<const ItemId> group) {
        if (!order.empty()) order += '>';
        for (std::size_t i = 0; i < group.size(); ++i) order += (i > 0 ? "=" : "") + data_.items[group[i]];
      });
      append_csv_cell(out_, order, delimiter_);
      out_ += '\n';
      sink_.checkpoint();
    }
  }

  void write_pairs() {
    lose_looks();
    bool longer = false;
    for (std::size_t i = 0; i < rankings_.size(); ++i) longer = longer || rankings_.length(i) != 2;
    if (longer)
      lost_.emplace_back("which comparisons belong to one ranking (longer rankings were broken into pairs of listed items)");
    header_of_covariates();
    out_ += fmt::format("item_a{0}item_b{0}winner\n", delimiter_);
    std::vector<std::size_t> group_of;
    for (std::size_t row = 0; row < rankings_.num_rows(); ++row) {
      const RankingView ranking = rankings_[rankings_.row_ranking(row)];
      group_of.clear();
      for (std::size_t i = 0, group = 0; i < ranking.size(); ++i) {
        group_of.push_back(group);
        if (ranking.ends_group(i)) ++group;
      }
      for (std::size_t i = 0; i < ranking.size(); ++i)
        for (std::size_t j = i + 1; j < ranking.size(); ++j) {
          covariates_of(row);
          out_ += names_[ranking[i]];
          out_ += delimiter_;
          out_ += names_[ranking[j]];
          out_ += delimiter_;
          out_ += group_of[i] == group_of[j] ? "tie\n" : "item_a\n";
          sink_.checkpoint();
        }
    }
  }

  const Dataset& data_;
  const RankingSet& rankings_;
  TextSink& sink_;
  std::string& out_;
  Format format_;
  char delimiter_;
  Lost& lost_;
  std::vector<std::string> names_;
  bool weighted_ = false;
  bool fractional_ = false;
};

}  // namespace

void write_csv(const Dataset& data, TextSink& sink, Format format, char delimiter, Lost& lost) {
  CsvWriter(data, sink, format, delimiter, lost).write();
}

}  // namespace caucus
