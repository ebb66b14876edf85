#include "caucus/io/csv_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>

#include "caucus/io/battle.h"
#include "caucus/io/nobody.h"
#include "caucus/io/order_text.h"
#include "caucus/io/text.h"

namespace caucus {

namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

// A part of the text, in any case; * in it is any text.
bool contains_ignoring_case(std::string_view text, std::string_view part) {
  return matches_pattern(text, fmt::format("*{}*", part));
}

std::string list_header(const std::vector<std::string>& header) {
  std::string text;
  for (const std::string& name : header) {
    if (text.size() > 200) return text + ", ...";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

struct Finder {
  const CsvHead& head;
  const std::vector<std::string>& header;
  const CsvSample& sample;
  const ReadOptions& options;
  const std::string& file;
  std::vector<std::string> names;  // plain

  std::size_t named(std::span<const std::string_view> candidates) const {
    for (const std::string_view candidate : candidates)
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == candidate) return i;
    return none;
  }
  std::size_t named(std::initializer_list<std::string_view> candidates) const {
    return named(std::span(candidates.begin(), candidates.size()));
  }
  std::size_t voter() const {
    return named({"voter", "voterid", "user", "userid", "ballot", "ballotid", "judge", "judgeid", "assessor", "rater", "respondent",
                  "respondentid", "subject", "participant", "race", "raceid", "id"});
  }
  std::size_t item() const {
    return named({"item", "itemid", "candidate", "candidateid", "alternative", "choice", "movie", "movieid", "product", "productid",
                  "option", "name", "object", "driver", "team", "player", "model"});
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
    return header[column].empty() || (layout.weight && *layout.weight == column) || column == voter() ||
           header[column] == options.voter;
  }

  // The rank in a cell: 0 for none, nothing for a cell that is no rank.
  std::optional<std::uint64_t> rank_in(std::size_t row, std::size_t column) const {
    const std::string_view cell = column < sample[row].size() ? std::string_view(sample[row][column]) : std::string_view();
    if (names_nobody(cell)) return 0;
    const auto rank = parse_count(cell);
    return rank && *rank <= header.size() ? rank : std::nullopt;
  }

  // Can these cells be ranks? The row where they cannot is told.
  bool holds_ranks(std::size_t column, std::size_t* bad_row = nullptr) const {
    bool any = false;
    for (std::size_t row = 0; row < sample.size(); ++row) {
      const auto rank = rank_in(row, column);
      if (!rank && bad_row != nullptr) *bad_row = row;
      if (!rank) return false;
      any = any || *rank > 0;
    }
    return any;
  }

  bool of_contest(std::size_t column) const {
    if (options.contest.empty()) return true;
    return contains_ignoring_case(header[column], options.contest) ||
           (column < head.labels.size() && contains_ignoring_case(head.labels[column], options.contest));
  }

  // The longest run of neighbouring columns whose rows are permutations of 1..k, empty cells aside: all rows, or but for a share of
  // them that voters got wrong. Most rows must rank two or more.
  std::vector<std::size_t> longest_run(const CsvLayout& layout, double share_wrong, const std::vector<std::size_t>& besides) const {
    const auto allowed = static_cast<std::size_t>(share_wrong * static_cast<double>(sample.size()));
    std::vector<bool> fits(header.size());
    for (std::size_t i = 0; i < header.size(); ++i)
      fits[i] = !is_other(i, layout) && of_contest(i) && std::ranges::find(besides, i) == besides.end() && holds_ranks(i);
    std::size_t best_begin = 0, best_size = 0;
    for (std::size_t begin = 0; begin < header.size(); ++begin) {
      if (header.size() - begin <= best_size) break;
      std::vector<std::vector<bool>> seen(sample.size(), std::vector<bool>(header.size() + 1, false));
      std::vector<std::uint64_t> count(sample.size(), 0), largest(sample.size(), 0);
      std::vector<bool> twice(sample.size(), false);
      for (std::size_t end = begin; end < header.size() && fits[end]; ++end) {
        std::size_t num_wrong = 0, num_twice = 0, num_listed = 0, num_long = 0;
        for (std::size_t row = 0; row < sample.size(); ++row) {
          if (const std::uint64_t rank = *rank_in(row, end); rank > 0) {
            twice[row] = twice[row] || seen[row][rank];
            seen[row][rank] = true;
            largest[row] = std::max(largest[row], rank);
            ++count[row];
          }
          num_twice += twice[row] ? 1 : 0;
          num_wrong += twice[row] || largest[row] != count[row] ? 1 : 0;
          num_listed += count[row] > 0 ? 1 : 0;
          num_long += count[row] > 1 ? 1 : 0;
        }
        if (num_twice > allowed) break;  // no further column mends that
        const std::size_t size = end + 1 - begin;
        if (num_wrong <= allowed && 2 * num_long >= num_listed && num_long > 0 && size > best_size) {
          best_begin = begin;
          best_size = size;
        }
      }
    }
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < best_size; ++i) columns.push_back(best_begin + i);
    return columns;
  }

  // Columns of ranks among ids and demographics: three or more, or all there are.
  std::vector<std::size_t> rank_run(const CsvLayout& layout) const {
    if (header.size() > 3000) return {};
    for (const double share_wrong : {0.0, 0.1}) {
      std::vector<std::size_t> run = longest_run(layout, share_wrong, {});
      if (run.size() < 2 || (run.size() < 3 && run.size() < remaining(layout).size())) continue;
      const std::vector<std::size_t> other = longest_run(layout, share_wrong, run);
      if (other.size() >= 3)
        throw DataError(
            fmt::format("{}: found two rankings, in the columns {} to {} and {} to {}; choose one with --contest (a part of "
                        "its columns' names) or --from csv-matrix --columns NAME,NAME,...",
                        file, show_text(header[run.front()]), show_text(header[run.back()]), show_text(header[other.front()]),
                        show_text(header[other.back()])));
      return run;
    }
    return {};
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
    const std::size_t a = named(battle::first), b = named(battle::second);
    const std::size_t winner = named(battle::winner), loser = named(battle::loser);
    if (a != none && b != none) {
      const std::size_t result = winner != none ? winner : named(battle::result);
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
  std::size_t rank_column() const { return named({"rank", "ranking", "position", "place", "pos"}); }
  std::size_t rating_column() const { return named({"rating", "score", "stars", "value", "utility"}); }
  bool long_form(CsvLayout& layout) const { return triple(layout, rank_column()); }
  bool ratings(CsvLayout& layout) const { return triple(layout, rating_column()); }

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
      layout.weight = find_columns({options.weight_column}, header, file).front();
    }
  }

  void use_stated_columns(CsvLayout& layout) const {
    layout.columns = find_columns(options.columns, header, file);
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
        name_items(layout);
        break;
      case Format::csv_order:
        need(count == 1, "the column that holds the ranking");
        break;
      default:
        need(count >= 1, "one column per rank");
        break;
    }
    if (layout.ratings_matrix) name_items(layout);
  }

  void name_items(CsvLayout& layout) const {
    for (const std::size_t column : layout.columns)
      layout.items.push_back(column < head.labels.size() && !head.labels[column].empty() ? head.labels[column] : header[column]);
  }

  bool wide(CsvLayout& layout) const {
    std::vector<Contest> contests = find_contests(header);
    std::erase_if(contests, [](const Contest& one) {
      return one.missing > 0 || (one.columns.size() < 2 && !one.name.empty());  // "first name" alone is no contest
    });
    const auto longest_first = [](const Contest& a, const Contest& b) { return a.columns.size() > b.columns.size(); };
    if (!options.contest.empty() && !contests.empty()) {
      std::vector<Contest> chosen;
      for (const Contest& one : contests)
        if (contains_ignoring_case(one.name, options.contest)) chosen.push_back(one);
      if (chosen.size() == 1 || !(options.recalled && chosen.empty())) {
        if (chosen.size() != 1)
          throw UsageError(fmt::format("{}: --contest {} names {} contests; there are: {}", file, show_text(options.contest),
                                       chosen.empty() ? "none of the" : "several", list_contests(contests)));
        contests = std::move(chosen);
      }
    }
    // Columns called by their rank alone come before those of some contest.
    if (std::ranges::any_of(contests, [](const Contest& one) { return one.name.empty(); }))
      std::erase_if(contests, [](const Contest& one) { return !one.name.empty(); });
    if (contests.empty()) return false;
    std::ranges::stable_sort(contests, longest_first);
    if (contests.size() > 1 && !contests[0].name.empty())
      throw DataError(fmt::format("{}: found {} contests; choose one with --contest, as in --contest {}: {}", file, contests.size(),
                                  show_text(contests[0].name), list_contests(contests)));
    layout.columns = contests[0].columns;
    return true;
  }
  static std::string list_contests(const std::vector<Contest>& contests) {
    std::vector<std::string> shown;
    for (const Contest& one : contests) shown.push_back(show_text(one.name));
    return fmt::format("{}", fmt::join(shown, ", "));
  }

  // The column of whole rankings, "A>B=C".
  bool order(CsvLayout& layout) const {
    std::size_t best = none, most = 0;
    for (std::size_t i = 0; i < header.size(); ++i) {
      std::size_t marked = 0, filled = 0;
      for (const auto& row : sample) {
        const std::string_view cell = i < row.size() ? std::string_view(row[i]) : std::string_view();
        filled += names_nobody(cell) ? 0 : 1;
        marked += has_order_mark(cell) ? 1 : 0;
      }
      if (2 * marked < filled || marked <= most) continue;
      best = i;
      most = marked;
    }
    if (best == none) return false;
    layout.columns = {best};
    return true;
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
    if (order(layout)) return as(Format::csv_order);
    layout.columns = rank_run(layout);
    if (!layout.columns.empty()) {
      name_items(layout);
      return as(Format::csv_matrix);
    }
    layout.columns = remaining(layout);
    if (voter() == 0 && share_a_stem(layout.columns) && all_numbers(layout.columns)) {
      name_items(layout);
      layout.ratings_matrix = true;
      return as(Format::csv_ratings);
    }
    throw DataError(explain(layout));
  }

  std::string found_of(std::initializer_list<std::pair<std::string_view, std::size_t>> wanted) const {
    std::string there, missing;
    for (const auto& [what, column] : wanted) {
      if (column == none)
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", what);
      else
        there += fmt::format("{}{} {}", there.empty() ? "" : ", ", what, show_text(header[column]));
    }
    return there.empty() ? "found none of them" : fmt::format("found {}, but no {}", there, missing);
  }

  // What each layout would need, and what stood in the way.
  std::string explain(const CsvLayout& layout) const {
    std::string text = fmt::format(
        "{}: found a table with the columns {}, but no ranking in it. What each layout would need:", file, list_header(header));
    std::string ranks = "found none";
    for (const Contest& one : find_contests(header))
      if (one.missing > 0)
        ranks = fmt::format("found {}, but no column for rank {}", show_text(header[one.columns.front()]), one.missing);
    text += fmt::format("\n  csv-wide: columns such as rank1, rank2 or First Choice, Second Choice with names in them; {}", ranks);
    std::string cells = "no column holds ranks";
    for (const std::size_t column : remaining(layout)) {
      std::size_t row = 0;
      if (holds_ranks(column, &row) || sample.empty()) continue;
      cells = fmt::format("column {} has {} in line {}", show_text(header[column]),
                          show_text(column < sample[row].size() ? sample[row][column] : std::string()), head.first_line + row);
      break;
    }
    text += fmt::format("\n  csv-matrix: neighbouring columns named after items with ranks 1, 2, ... in each row; {}", cells);
    text += fmt::format("\n  csv-long: columns voter, item, rank; {}",
                        found_of({{"voter", voter()}, {"item", item()}, {"rank", rank_column()}}));
    text += fmt::format("\n  csv-ratings: columns user, item, rating; {}",
                        found_of({{"user", voter()}, {"item", item()}, {"rating", rating_column()}}));
    text += fmt::format("\n  csv-pairwise: columns a, b, winner or winner, loser; {}",
                        found_of({{"a", named(battle::first)}, {"b", named(battle::second)}, {"winner", named(battle::winner)}}));
    text += "\n  csv-order: a column with rankings such as A>B=C; found none";
    return text + "\nState the format and the columns, as in --from csv-wide --columns first,second,third";
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
      case Format::csv_order:
        found = order(layout);
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
      case Format::csv_order:
        if (layout.columns.size() > 1) layout.columns = {layout.columns.back()};
        break;
      case Format::csv_matrix:
        if (const std::vector<std::size_t> run = rank_run(layout); !run.empty()) layout.columns = run;
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
    if (layout.columns.empty())
      throw DataError(fmt::format("{}:1:1: found no column to rank by in: {}", file, list_header(header)));
    return layout;
  }
};

}  // namespace

std::vector<std::size_t> find_columns(const std::vector<std::string>& names, const std::vector<std::string>& header,
                                      const std::string& file) {
  const auto find = [&](std::string_view name) {
    for (std::size_t i = 0; i < header.size(); ++i)
      if (header[i] == name) return i;
    for (std::size_t i = 0; i < header.size(); ++i)
      if (equal_ignoring_case(header[i], name)) return i;
    return none;
  };
  std::vector<std::size_t> columns;
  for (const std::string& text : names) {
    if (const std::size_t whole = find(text); whole != none) {
      columns.push_back(whole);
      continue;
    }
    // The longest name from here on that is a column, again and again: names may hold commas.
    const std::vector<std::string> parts = split_list(text);
    for (std::size_t begin = 0; begin < parts.size();) {
      std::size_t found = none, end = parts.size();
      for (; end > begin && found == none; --end) {
        std::vector<std::string> piece(parts.begin() + static_cast<std::ptrdiff_t>(begin),
                                       parts.begin() + static_cast<std::ptrdiff_t>(end));
        found = find(fmt::format("{}", fmt::join(piece, ",")));
        if (found == none) found = find(fmt::format("{}", fmt::join(piece, ", ")));
      }
      if (found == none) {
        throw UsageError(fmt::format("{}: no column {}; there are: {}", file, show_text(parts[begin]), list_header(header)));
      }
      columns.push_back(found);
      begin = end + 1;
    }
  }
  return columns;
}

CsvLayout find_layout(const CsvHead& head, const ReadOptions& options, Format format, const std::string& file) {
  Finder finder{head, head.header, head.sample, options, file, {}};
  for (const std::string& name : head.header) finder.names.push_back(plain_name(name));
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
