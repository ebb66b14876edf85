#include "caucus/io/csv_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>

#include "caucus/io/text.h"

namespace caucus {

namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

// Lower case without anything but letters and digits: "User ID" and "user_id" are "userid".
std::string plain(std::string_view name) {
  std::string result;
  for (const char c : lower_case(name))
    if (is_digit(c) || (c >= 'a' && c <= 'z')) result += c;
  return result;
}

struct Finder {
  const std::vector<std::string>& header;
  const CsvSample& sample;
  const ReadOptions& options;
  const std::string& file;
  std::vector<std::string> names;  // plain

  std::size_t named(std::initializer_list<std::string_view> candidates) const {
    for (const std::string_view candidate : candidates)
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == candidate) return i;
    return none;
  }
  std::size_t voter() const {
    return named({"voter", "voterid", "user", "userid", "ballot", "ballotid", "judge", "judgeid", "assessor", "rater", "respondent",
                  "respondentid", "subject", "participant", "race", "raceid", "id"});
  }
  std::size_t item() const {
    return named({"item", "itemid", "candidate", "candidateid", "alternative", "choice", "movie", "movieid", "product", "productid",
                  "option", "name", "object", "driver", "team", "player", "model"});
  }

  // A column that numbers a rank: "rank1", "Choice 2", "3rd choice", "pos10". 0 where it is none.
  static std::uint64_t rank_number(std::string_view name) {
    static constexpr std::string_view words[] = {"rank",       "ranking", "choice", "pos", "position",
                                                 "preference", "pref",    "place",  "vote"};
    const std::string text = plain(name);
    std::size_t begin = 0;
    while (begin < text.size() && !is_digit(text[begin])) ++begin;
    std::size_t end = begin;
    while (end < text.size() && is_digit(text[end])) ++end;
    const auto number = parse_count(std::string_view(text).substr(begin, end - begin));
    if (!number) return 0;
    const std::string_view before = std::string_view(text).substr(0, begin);
    std::string_view after = std::string_view(text).substr(end);
    for (const std::string_view ordinal : {"st", "nd", "rd", "th"})
      if (before.empty() && after.starts_with(ordinal)) after.remove_prefix(2);
    const auto is_word = [](std::string_view word) { return std::ranges::find(words, word) != std::end(words); };
    return (is_word(before) && after.empty()) || (before.empty() && is_word(after)) ? *number : 0;
  }

  // Columns rank1..rankT in order of their numbers; empty where they do not run 1, 2, ..., T.
  std::vector<std::size_t> rank_columns() const {
    std::vector<std::pair<std::uint64_t, std::size_t>> found;
    for (std::size_t i = 0; i < header.size(); ++i)
      if (const std::uint64_t number = rank_number(header[i]); number > 0) found.emplace_back(number, i);
    std::ranges::sort(found);
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i].first != i + 1) return {};
      columns.push_back(found[i].second);
    }
    return columns;
  }

  // Columns "rank_Adam" or "rank:Adam"; with "rank:" the rest may be a number too.
  std::vector<std::size_t> prefixed_columns(std::vector<std::string>& items) const {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < header.size(); ++i) {
      const std::string_view name = header[i];
      if (name.size() < 6 || !equal_ignoring_case(name.substr(0, 4), "rank")) continue;
      const char mark = name[4];
      const std::string_view rest = name.substr(5);
      if (mark != ':' && !(mark == '_' || mark == '.' || mark == ' ')) continue;
      if (mark != ':' && parse_count(rest)) continue;
      columns.push_back(i);
      items.emplace_back(rest);
    }
    return columns;
  }

  bool is_other(std::size_t column, const CsvLayout& layout) const {
    return header[column].empty() || (layout.weight && *layout.weight == column) || column == voter();
  }

  // Every row of these columns is a permutation of 1..k, empty cells aside, and some row ranks at least two.
  bool rows_are_permutations(const std::vector<std::size_t>& columns) const {
    bool any = false;
    for (const auto& row : sample) {
      std::vector<std::uint64_t> ranks;
      for (const std::size_t column : columns) {
        const std::string_view cell = column < row.size() ? std::string_view(row[column]) : std::string_view();
        if (cell.empty() || cell == "NA") continue;
        const auto rank = parse_count(cell);
        if (!rank) return false;
        ranks.push_back(*rank);
      }
      std::ranges::sort(ranks);
      for (std::size_t i = 0; i < ranks.size(); ++i)
        if (ranks[i] != i + 1) return false;
      any = any || ranks.size() >= 2;
    }
    return any;
  }

  // Columns whose names share a stem and end in a number: j1, j2, ..., j100.
  bool share_a_stem(const std::vector<std::size_t>& columns) const {
    const auto stem = [](std::string_view name) {
      while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
      return name;
    };
    return columns.size() >= 2 && std::ranges::all_of(columns, [&](std::size_t column) {
             return stem(header[column]) == stem(header[columns[0]]) && is_digit(header[column].back());
           });
  }

  bool all_numbers(const std::vector<std::size_t>& columns) const {
    for (const auto& row : sample)
      for (const std::size_t column : columns)
        if (column < row.size() && !row[column].empty() && row[column] != "NA" && !parse_number(row[column])) return false;
    return !sample.empty();
  }

  bool pairwise(CsvLayout& layout) const {
    std::size_t a =
        named({"modela", "itema", "a", "playera", "teama", "left", "item1", "player1", "team1", "model1", "optiona", "option1"});
    std::size_t b =
        named({"modelb", "itemb", "b", "playerb", "teamb", "right", "item2", "player2", "team2", "model2", "optionb", "option2"});
    const std::size_t winner = named({"winner", "preferred", "chosen", "won"});
    const std::size_t loser = named({"loser", "notpreferred", "rejected", "lost"});
    if (a != none && b != none) {
      const std::size_t result = winner != none ? winner : named({"result", "outcome", "preference", "vote", "label"});
      if (result != none) {
        layout.columns = {a, b, result};
        return true;
      }
      const std::size_t wins_a = named({"wina", "winsa", "awins", "wins1", "win1"});
      const std::size_t wins_b = named({"winb", "winsb", "bwins", "wins2", "win2"});
      if (wins_a == none || wins_b == none) return false;
      layout.columns = {a, b, wins_a, wins_b};
      layout.counts = true;
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i].starts_with("tie") || names[i].starts_with("draw") || names[i].starts_with("bothbad"))
          layout.columns.push_back(i);
      return true;
    }
    if (winner == none || loser == none) return false;
    layout.columns = {winner, loser};
    layout.winner_loser = true;
    return true;
  }

  bool triple(CsvLayout& layout, std::size_t value) const {
    const std::size_t who = voter();
    const std::size_t what = item();
    if (who == none || what == none || value == none) return false;
    layout.columns = {who, what, value};
    return true;
  }
  bool long_form(CsvLayout& layout) const { return triple(layout, named({"rank", "ranking", "position", "place", "pos"})); }
  bool ratings(CsvLayout& layout) const { return triple(layout, named({"rating", "score", "stars", "value", "utility"})); }

  std::vector<std::size_t> remaining(const CsvLayout& layout) const {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < header.size(); ++i)
      if (!is_other(i, layout)) columns.push_back(i);
    return columns;
  }

  void find_weight(CsvLayout& layout) const {
    if (options.weight_column.empty()) {
      for (std::size_t i = 0; i < header.size() && !layout.weight; ++i) {
        if (names[i] == "count" || names[i] == "ballotweight") layout.weight = i;
        if (names[i] == "weight") {
          layout.weight = i;
          layout.weight_guessed_by_loose_name = true;
        }
      }
    } else if (options.weight_column != "none" || std::ranges::find(header, "none") != header.end()) {
      layout.weight = column_named(options.weight_column);
    }
  }

  std::size_t column_named(std::string_view name) const {
    for (std::size_t i = 0; i < header.size(); ++i)
      if (header[i] == name) return i;
    for (std::size_t i = 0; i < header.size(); ++i)
      if (equal_ignoring_case(header[i], name)) return i;
    throw UsageError(fmt::format("{}: no column {}; there are: {}", file, show_text(name), list_header()));
  }

  std::string list_header() const {
    std::string text;
    for (const std::string& name : header) {
      if (text.size() > 200) return text + ", ...";
      text += (text.empty() ? "" : ", ") + name;
    }
    return text;
  }

  void use_stated_columns(CsvLayout& layout) const {
    for (const std::string& name : options.columns) layout.columns.push_back(column_named(name));
    const std::size_t count = layout.columns.size();
    const auto need = [&](bool met, std::string_view what) {
      if (!met) throw UsageError(fmt::format("columns: {} needs {}, not {} names", name_of(layout.format), what, count));
    };
    switch (layout.format) {
      case Format::csv_long:
        need(count == 3, "voter,item,rank");
        break;
      case Format::csv_ratings:
        need(count >= 2, "user,item,rating, or two or more item columns");
        layout.ratings_matrix = count != 3;
        break;
      case Format::csv_pairwise:
        need(count >= 2, "a,b,winner, or winner,loser, or a,b,wins of a,wins of b[,ties...]");
        layout.winner_loser = count == 2;
        layout.counts = count >= 4;
        break;
      case Format::csv_matrix:
        need(count >= 2, "two or more item columns");
        for (const std::string& name : options.columns) layout.items.push_back(name);
        break;
      default:
        need(count >= 1, "one column per rank");
        break;
    }
    if (layout.ratings_matrix)
      for (const std::string& name : options.columns) layout.items.push_back(name);
  }

  void name_items(CsvLayout& layout) const {
    for (const std::size_t column : layout.columns) layout.items.push_back(header[column]);
  }

  bool wide(CsvLayout& layout) const {
    layout.columns = rank_columns();
    return !layout.columns.empty();
  }
  bool prefixed_matrix(CsvLayout& layout) const {
    layout.columns = prefixed_columns(layout.items);
    if (layout.columns.size() >= (layout.format == Format::csv_matrix ? 1U : 2U)) return true;
    layout.columns.clear();
    layout.items.clear();
    return false;
  }

  CsvLayout guess(CsvLayout layout) const {
    const auto as = [&](Format format) {
      layout.format = format;
      return layout;
    };
    if (pairwise(layout)) return as(Format::csv_pairwise);
    if (long_form(layout)) return as(Format::csv_long);
    if (ratings(layout)) return as(Format::csv_ratings);
    if (wide(layout)) return as(Format::csv_wide);
    if (prefixed_matrix(layout)) return as(Format::csv_matrix);
    layout.columns = remaining(layout);
    if (layout.columns.size() >= 2 && rows_are_permutations(layout.columns)) {
      name_items(layout);
      return as(Format::csv_matrix);
    }
    if (voter() == 0 && share_a_stem(layout.columns) && all_numbers(layout.columns)) {
      name_items(layout);
      layout.ratings_matrix = true;
      return as(Format::csv_ratings);
    }
    throw DataError(
        fmt::format("{}: found a table with the columns {}, but no ranking in it; state the format and the columns, as in "
                    "--from csv-wide --columns first,second,third or --from csv-ratings --columns user,item,rating",
                    file, list_header()));
  }

  CsvLayout for_format(CsvLayout layout) const {
    bool found = false;
    switch (layout.format) {
      case Format::csv_pairwise:
        found = pairwise(layout);
        break;
      case Format::csv_long:
        found = long_form(layout);
        break;
      case Format::csv_ratings:
        found = ratings(layout);
        break;
      case Format::csv_wide:
        found = wide(layout);
        break;
      default:
        found = prefixed_matrix(layout);
        break;
    }
    if (found) return layout;
    // The names tell nothing: the columns count in the order the format names them.
    layout.columns = remaining(layout);
    switch (layout.format) {
      case Format::csv_wide:
        break;
      case Format::csv_matrix:
        name_items(layout);
        break;
      case Format::csv_ratings:
        if (header.size() != 3 || share_a_stem(layout.columns)) {
          name_items(layout);
          layout.ratings_matrix = true;
          break;
        }
        [[fallthrough]];
      default:
        layout.columns.clear();
        for (std::size_t i = 0; i < header.size() && layout.columns.size() < 3; ++i)
          if (!(layout.weight && *layout.weight == i)) layout.columns.push_back(i);
        if (layout.columns.size() == 2 && layout.format == Format::csv_pairwise) layout.winner_loser = true;
        if (layout.columns.size() < 3 && !layout.winner_loser)
          throw DataError(
              fmt::format("{}:1:1: found {} columns, expected the three of {}", file, header.size(), name_of(layout.format)));
        break;
    }
    if (layout.columns.empty()) throw DataError(fmt::format("{}:1:1: found no column to rank by in: {}", file, list_header()));
    return layout;
  }
};

}  // namespace

CsvLayout find_layout(const std::vector<std::string>& header, const CsvSample& sample, const ReadOptions& options, Format format,
                      const std::string& file) {
  Finder finder{header, sample, options, file, {}};
  for (const std::string& name : header) finder.names.push_back(plain(name));
  CsvLayout layout;
  layout.format = format;
  finder.find_weight(layout);
  if (!options.columns.empty()) {
    if (format == Format::automatic) {
      // Columns alone say how the rows look only where the rest of the header does.
      try {
        layout.format = finder.guess(layout).format;
      } catch (const DataError&) {
        throw UsageError(fmt::format("{}: --columns needs the format too, as in --from csv-wide", file));
      }
    }
    finder.use_stated_columns(layout);
    return layout;
  }
  return format == Format::automatic ? finder.guess(layout) : finder.for_format(layout);
}

}  // namespace caucus
