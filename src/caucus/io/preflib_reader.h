// Lines of PrefLib's formats, as both of them have them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "caucus/io/diagnostics.h"
#include "caucus/io/parts.h"
#include "caucus/io/readers.h"
#include "caucus/io/text.h"

namespace caucus::preflib_format {

// Items by the file's own numbers. Where the header names none, a number becomes an item when it first occurs.
class Alternatives {
 public:
  void name(std::uint64_t number, std::string_view name) {
    index_.insert(number, static_cast<ItemId>(numbers_.size()));
    numbers_.push_back(number);
    names_.emplace_back(name);
  }
  ItemId find(std::uint64_t number) const { return index_.find(number); }
  ItemId find_or_add(std::uint64_t number) {
    ItemId id = index_.find(number);
    if (id == NumberIndex::none) {
      id = static_cast<ItemId>(numbers_.size());
      name(number, {});
    }
    return id;
  }
  std::size_t size() const { return numbers_.size(); }
  const std::vector<std::uint64_t>& numbers() const { return numbers_; }
  std::span<const ItemId> dense() const { return index_.dense(); }

  std::vector<std::string> settle(std::vector<std::string>& warnings) const {
    std::vector<std::string> fallback;
    fallback.reserve(numbers_.size());
    for (const std::uint64_t number : numbers_) fallback.push_back(std::to_string(number));
    return settle_names(names_, fallback, warnings);
  }

 private:
  NumberIndex index_;
  std::vector<std::uint64_t> numbers_;
  std::vector<std::string> names_;
};

struct Header {
  std::string data_type;
  std::uint64_t num_alternatives = 0;
  double num_voters = -1.0;
  double num_unique = -1.0;
  std::vector<std::string> categories;
};

// Reads ballot lines "count<separator> 1,2,{3,4}". One pass over the bytes; nothing is allocated per line.
class BallotReader {
 public:
  BallotReader(Diagnostics& diagnostics, Alternatives& alternatives, char separator)
      : diagnostics_(diagnostics), alternatives_(alternatives), separator_(separator) {}

  bool reverse = false;      // categories, worst first
  bool names_given = false;  // the header names the items: no others may occur
  BallotRows rows;
  std::size_t num_lines = 0;

  // Where the text ends that the lines below are in.
  void set_end(const char* end) { end_ = end; }

  // Lines "3: 1,2,3" without anything odd, as most are, as long as they come; counts them into `line`. Every line up to `stop`
  // ends in a line break, so bytes are read without looking for the end. Returns the first byte of the line where it stopped:
  // read_line() takes that one, and says what is wrong with it if anything is.
  const char* read_plain_lines(const char* p, const char* stop, std::size_t& line) {
    if (!names_given || reverse) return p;
    const std::span<const ItemId> ids = alternatives_.dense();
    const char* line_begin = p;
    while (p < stop) {
      std::uint64_t count = 0;
      const char* digits = p;
      while (is_digit(*p)) count = count * 10 + static_cast<std::uint64_t>(*p++ - '0');
      if (p == digits || p - digits > 15 || count == 0 || *p != separator_) return line_begin;
      ++p;
      p += *p == ' ' ? 1 : 0;
      const auto [room, marks, stamp] = rows.begin_strict(alternatives_.size());
      std::size_t length = 0;
      for (;;) {
        unsigned number = static_cast<unsigned char>(*p) - unsigned{'0'};
        if (number > 9) return line_begin;
        for (unsigned digit = 0; (digit = static_cast<unsigned char>(*++p) - unsigned{'0'}) <= 9;) {
          number = number * 10 + digit;
          if (number >= ids.size()) return line_begin;
        }
        if (number >= ids.size()) return line_begin;
        const ItemId item = ids[number];
        if (item == NumberIndex::none || marks[item] == stamp) return line_begin;
        marks[item] = stamp;
        room[length++] = item;
        if (*p == ',') {
          ++p;
          p += *p == ' ' ? 1 : 0;
          continue;
        }
        p += *p == '\r' ? 1 : 0;
        if (*p != '\n') return line_begin;
        break;
      }
      rows.finish_strict(length, static_cast<double>(count));
      ++num_lines;
      ++line;
      line_begin = ++p;
    }
    return p;
  }

  // Any line. `p` is at its first byte; returns the first byte of the next one.
  const char* read_line(const char* p, std::size_t line) {
    line_begin_ = p;
    line_ = line;
    double weight = 0.0;
    if (!read_weight(p, weight)) return next_line(p);
    rows.begin();
    if (!read_groups(p)) return next_line(p);
    ++num_lines;
    if (reverse) rows.reverse_groups();
    rows.finish(weight);
    return p < end_ ? p + 1 : p;
  }

 private:
  const char* next_line(const char* p) const {
    const auto* newline = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end_ - p)));
    return newline == nullptr ? end_ : newline + 1;
  }
  void skip_blanks(const char*& p) const {
    while (p < end_ && (*p == ' ' || *p == '\t' || *p == '\r')) ++p;
  }
  bool complain(const char* p, std::string message) {
    diagnostics_.add(line_, static_cast<std::size_t>(p - line_begin_) + 1, std::move(message));
    return false;
  }
  std::string found(const char* p) const {
    if (p >= end_ || *p == '\n') return "found the end of the line";
    const char* stop = p;
    while (stop < end_ && *stop != '\n' && *stop != ',' && stop - p < 30) ++stop;
    return "found " + show_text({p, static_cast<std::size_t>(std::max<std::ptrdiff_t>(stop - p, 1))});
  }
  // Digits only. False where there are none or too many.
  bool read_integer(const char*& p, std::uint64_t& value) const {
    const char* begin = p;
    value = 0;
    while (p < end_ && is_digit(*p)) value = value * 10 + static_cast<std::uint64_t>(*p++ - '0');
    return p != begin && p - begin <= 18;
  }

  bool read_weight(const char*& p, double& weight) {
    skip_blanks(p);
    const char* begin = p;
    std::uint64_t count = 0;
    if (read_integer(p, count) && p < end_ && (*p == separator_ || is_blank(*p))) {
      weight = static_cast<double>(count);
    } else {
      while (p < end_ && *p != separator_ && *p != '\n' && !is_blank(*p)) ++p;
      const auto number = parse_number(trim({begin, static_cast<std::size_t>(p - begin)}));
      if (!number || *number < 0.0) return complain(begin, found(begin) + ", expected a count");
      weight = *number;
    }
    if (weight > max_weight) return complain(begin, found(begin) + ", expected a count up to 1e15");
    skip_blanks(p);
    if (p >= end_ || *p != separator_) return complain(p, fmt::format("{}, expected '{}' after the count", found(p), separator_));
    ++p;
    return true;
  }

  bool read_item(const char*& p) {
    const char* begin = p;
    std::uint64_t number = 0;
    if (!read_integer(p, number)) {
      p = begin;
      return complain(p, found(p) + ", expected the number of an item");
    }
    ItemId item = alternatives_.find(number);
    if (item == NumberIndex::none) {
      if (names_given)
        return complain(begin,
                        fmt::format("found item {}, expected one of the {} that the header names", number, alternatives_.size()));
      item = alternatives_.find_or_add(number);
    }
    if (!rows.push(item))
      return complain(begin, fmt::format("found item {} a second time, expected each item once in a ranking", number));
    return true;
  }

  // At return `p` is at the line's end. A comma after the last item is accepted.
  bool read_groups(const char*& p) {
    for (;;) {
      skip_blanks(p);
      if (p >= end_ || *p == '\n') return true;
      if (*p == '{') {
        ++p;
        for (;;) {
          skip_blanks(p);
          if (p < end_ && *p == '}') break;
          if (!read_item(p)) return false;
          skip_blanks(p);
          if (p < end_ && *p == ',')
            ++p;
          else if (p >= end_ || *p != '}')
            return complain(p, found(p) + ", expected ',' or '}'");
        }
        ++p;
      } else if (!read_item(p)) {
        return false;
      }
      rows.end_group();
      skip_blanks(p);
      if (p >= end_ || *p == '\n') return true;
      if (*p != ',') return complain(p, found(p) + ", expected ',' or the end of the line");
      ++p;
    }
  }

  const char* end_ = nullptr;
  Diagnostics& diagnostics_;
  Alternatives& alternatives_;
  char separator_;
  const char* line_begin_ = nullptr;
  std::size_t line_ = 0;
};

// A piece of text after which the pages behind can go.
inline constexpr std::size_t piece_bytes = 16 << 20;

// Where a stretch of plain lines ends: behind the last line break.
inline const char* last_break(const char* p, const char* end) {
  while (end > p && end[-1] != '\n') --end;
  return end;
}

// The sense of a category's name, by the words people use: > 0 good, < 0 bad, 0 unknown.
inline int category_sense(std::string_view name) {
  std::string lower = lower_case(name);
  if (lower.starts_with("strongly ")) lower.erase(0, 9);
  const std::string word = lower.substr(0, lower.find_first_of(" -/,_"));
  for (const std::string_view bad :
       {"no", "not", "never", "none", "against", "bad", "worst", "veto", "least", "low", "lowest", "poor", "hate"})
    if (word == bad) return -1;
  for (const std::string_view bad : {"dis", "reject", "oppos", "unaccept", "unfavo"})
    if (word.starts_with(bad)) return -1;
  for (const std::string_view good : {"yes", "for", "good", "best", "like", "vote", "most", "high", "highest", "excellent", "love"})
    if (word == good) return 1;
  for (const std::string_view good : {"approv", "accept", "agree", "select", "support", "favo"})
    if (word.starts_with(good)) return 1;
  return 0;
}

inline bool is_worst_first(const std::vector<std::string>& categories, const ReadOptions& options,
                           std::vector<std::string>& warnings) {
  if (options.categories == CategoryOrder::best_first) return false;
  if (options.categories == CategoryOrder::worst_first) return true;
  if (categories.size() < 2) return false;
  if (category_sense(categories.front()) >= 0 || category_sense(categories.back()) <= 0) return false;
  warnings.push_back(fmt::format("the categories run from {} to {}: taken as worst first and turned round",
                                 show_text(categories.front()), show_text(categories.back())));
  return true;
}

// Rankings that were taken before the end: their total weight, and that nothing else is known of them.
struct Taken {
  bool any = false;
  double weight = 0.0;
};

inline void compare_counts(const Header& header, const Dataset& data, std::size_t num_lines, const Taken& taken,
                           double blank_weight, std::vector<std::string>& warnings) {
  if (header.num_alternatives != 0 && header.num_alternatives != data.num_items())
    warnings.push_back(fmt::format("the header says {} alternatives, the file has {}", header.num_alternatives, data.num_items()));
  const double total = taken.weight + data.rankings.total_weight();
  const auto differs = [&](double count) { return std::fabs(header.num_voters - count) > 1e-9 * count; };
  if (header.num_voters >= 0.0 && differs(total) && differs(total + blank_weight))  // files count blank ballots or do not
    warnings.push_back(fmt::format("the header says {} voters, the file has {}", header.num_voters, total));
  if (taken.any) return;
  const auto distinct = static_cast<double>(data.rankings.size());
  if (header.num_unique >= 0.0 && header.num_unique != distinct && header.num_unique != static_cast<double>(num_lines))
    warnings.push_back(fmt::format("the header says {} unique rankings, the file has {}", header.num_unique, distinct));
}

inline void compare_type(const std::string& type, const Dataset& data, std::vector<std::string>& warnings) {
  const bool strict = type == "soc" || type == "soi";
  const bool full = type == "soc" || type == "toc";
  if (strict && data.rankings.has_ties())
    warnings.push_back(fmt::format("the file says {} (orders without ties), but has ties", type));
  if (!full) return;
  std::size_t num_short = 0;
  for (std::size_t i = 0; i < data.rankings.size(); ++i) num_short += data.rankings.length(i) < data.num_items() ? 1 : 0;
  if (num_short > 0)
    warnings.push_back(fmt::format("the file says {} (complete orders), but {} rankings do not list all items", type, num_short));
}

// Items that the header counts but nobody names or lists. A header's word is taken only as far as the file is long: a claim of
// a billion items in a file of a hundred bytes allocates nothing.
inline void add_unnamed(Alternatives& alternatives, const Header& header, std::size_t text_bytes) {
  if (header.num_alternatives <= alternatives.size()) return;
  if (header.num_alternatives > std::max<std::size_t>(1000, text_bytes)) return;
  const bool from_zero = alternatives.find(0) != NumberIndex::none;
  for (std::uint64_t i = 0; i < header.num_alternatives; ++i) alternatives.find_or_add(from_zero ? i : i + 1);
}

inline bool is_graph_type(std::string_view type) { return type == "pwg" || type == "tog" || type == "mjg" || type == "wmg"; }

struct FileName {
  std::string name;
  std::string extension;
};

inline Dataset finish(const FileName& file, std::size_t num_bytes, const ReadOptions& options, const Header& header,
                      Alternatives& alternatives, BallotReader& ballots, const Taken& taken, std::vector<std::string> warnings) {
  if (ballots.num_lines == 0) throw DataError(file.name + ": found no rankings, expected lines of the form '3: 1,2,3'");
  Dataset data;
  data.warnings = std::move(warnings);
  if (!ballots.names_given) add_unnamed(alternatives, header, num_bytes);
  ballots.rows.build(data);
  data.items = alternatives.settle(data.warnings);
  if (!ballots.names_given) sort_items(data);
  const std::string type = header.data_type.empty() ? file.extension : lower_case(header.data_type);
  data.unranked = options.unranked.value_or(is_graph_type(type) ? Unranked::absent : Unranked::last);
  warn_blank_ballots(ballots.rows, blank_ballots, data.warnings);
  if (data.rankings.empty() && taken.weight == 0.0) throw DataError(file.name + ": every ranking is empty");
  compare_counts(header, data, ballots.num_lines, taken, ballots.rows.blank_weight(), data.warnings);
  if (!taken.any) compare_type(type, data, data.warnings);
  return data;
}

inline std::string_view line_at(const char* p, const char* end) {
  const auto* newline = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
  return {p, static_cast<std::size_t>((newline == nullptr ? end : newline) - p)};
}

inline bool is_blank_line(std::string_view line) { return trim(line).empty(); }

// One "# KEY: value" line.
inline void read_header_line(std::string_view line, std::size_t number, Header& header, Alternatives& alternatives,
                             Diagnostics& diagnostics) {
  std::string_view rest = trim(line.substr(line.find('#') + 1));
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos) return;  // a comment
  const std::string_view key = trim(rest.substr(0, colon));
  const std::string_view value = trim(rest.substr(colon + 1));
  const auto column = [&](std::string_view part) { return static_cast<std::size_t>(part.data() - line.data()) + 1; };
  constexpr std::string_view alternative = "ALTERNATIVE NAME ";
  constexpr std::string_view category = "CATEGORY NAME ";
  const auto count = [&](double& target) {
    if (const auto parsed = parse_number(value)) target = *parsed;
  };
  if (key.starts_with(alternative)) {
    const std::string_view digits = trim(key.substr(alternative.size()));
    const auto parsed = parse_count(digits);
    if (!parsed)
      diagnostics.add(number, column(digits), "found " + show_text(digits) + ", expected the number of an alternative");
    else if (alternatives.find(*parsed) != NumberIndex::none)
      diagnostics.add(number, column(digits),
                      fmt::format("found alternative {} a second time, expected each number once", *parsed));
    else
      alternatives.name(*parsed, value);
  } else if (key.starts_with(category)) {
    header.categories.emplace_back(value);
  } else if (key == "NUMBER ALTERNATIVES") {
    if (const auto parsed = parse_count(value)) header.num_alternatives = *parsed;
  } else if (key == "NUMBER VOTERS") {
    count(header.num_voters);
  } else if (key == "NUMBER UNIQUE ORDERS" || key == "NUMBER UNIQUE PREFERENCES") {
    count(header.num_unique);
  } else if (key == "DATA TYPE") {
    header.data_type = lower_case(value);
  }
}

class PreflibReader final : public LineReader {
 public:
  PreflibReader(const Source& start, const ReadOptions& options)
      : file_{start.name(), start.extension()},
        options_(options),
        diagnostics_(start.name()),
        ballots_(diagnostics_, alternatives_, ':') {
    ballots_.rows = BallotRows(options.scratch);
  }

  void feed(std::string_view text) override {
    num_bytes_ += text.size();
    const char* p = text.data();
    const char* const end = p + text.size();
    ballots_.set_end(end);
    for (; in_header_ && p < end; ++line_number_) {
      const std::string_view line = line_at(p, end);
      const std::string_view content = trim(line);
      if (!content.empty() && content[0] != '#') {
        end_header();
        break;
      }
      if (!content.empty()) read_header_line(line, line_number_, header_, alternatives_, diagnostics_);
      p = std::min(end, p + line.size() + 1);
    }
    const char* const stop = last_break(p, end);
    for (; p < end; ++line_number_) {
      p = ballots_.read_plain_lines(p, stop, line_number_);
      if (p >= end) break;
      // Between ballots: blank lines and comments.
      if (!is_digit(*p)) {
        const std::string_view line = line_at(p, end);
        if (is_blank_line(line) || trim(line)[0] == '#') {
          p = std::min(end, p + line.size() + 1);
          continue;
        }
      }
      p = ballots_.read_line(p, line_number_);
    }
  }

  // What was fed so far is this share of the text: the rest has about as many rows per byte.
  void expect_share(double share) {
    ballots_.rows.builder().expect_rows(static_cast<std::size_t>(static_cast<double>(ballots_.num_lines) / share));
  }

  // Lines of rankings follow.
  void close_header() {
    if (in_header_) end_header();
    header_bytes_ = num_bytes_;
  }
  bool sound() const { return diagnostics_.empty(); }
  void save(Saver& saver) {
    saver(alternatives_.numbers(), std::uint64_t{ballots_.num_lines}, std::uint64_t{num_bytes_ - header_bytes_});
    save_rows(ballots_.rows, saver);
  }
  void absorb(Loader& loader) {
    std::vector<std::uint64_t> numbers;
    std::uint64_t lines = 0, bytes = 0;
    loader(numbers, lines, bytes);
    std::vector<ItemId> ids;
    for (const std::uint64_t number : numbers) ids.push_back(alternatives_.find_or_add(number));
    ballots_.num_lines += lines;
    num_bytes_ += bytes;
    absorb_rows(ballots_.rows, loader, ids);
  }

  bool header_ended() const override { return !in_header_; }
  bool items_known() const override { return !in_header_ && ballots_.names_given; }
  std::size_t num_items() const override { return alternatives_.size(); }
  RankingSet take() override {
    RankingSet rankings = ballots_.rows.take();
    taken_.any = true;
    taken_.weight += rankings.total_weight();
    return rankings;
  }

  Dataset finish() override {
    if (in_header_) end_header();
    diagnostics_.throw_if_any();
    return preflib_format::finish(file_, num_bytes_, options_, header_, alternatives_, ballots_, taken_, std::move(warnings_));
  }

 private:
  void end_header() {
    in_header_ = false;
    if (header_.data_type == "wmd")
      throw DataError(file_.name +
                      ": found weighted matching data (wmd), a graph of compatible pairs; expected rankings or comparisons");
    ballots_.names_given = alternatives_.size() > 0;
    const std::string type = header_.data_type.empty() ? file_.extension : header_.data_type;
    if (type == "cat") ballots_.reverse = is_worst_first(header_.categories, options_, warnings_);
  }

  FileName file_;
  ReadOptions options_;
  Diagnostics diagnostics_;
  Header header_;
  Alternatives alternatives_;
  BallotReader ballots_;
  std::vector<std::string> warnings_;
  Taken taken_;
  std::size_t line_number_ = 1;
  std::size_t num_bytes_ = 0, header_bytes_ = 0;
  bool in_header_ = true;
};

}  // namespace caucus::preflib_format
