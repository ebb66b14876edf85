// Ballots for the single transferable vote, first described by Hill, Wichmann & Woodall, "Algorithm 123 - Single Transferable
// Vote by Meek's method", The Computer Journal 30 (1987); as OpenSTV, OpaVote and the Scottish councils write them.
//
//   4 2                  items and seats
//   -2                   withdrawn (kept: the ballots still say what voters wanted)
//   3 1 3=4 0            count, items best first, = for a tie, - for a skipped rank, 0 at the end
//   0                    end of ballots
//   "Adam" ...           names, with or without quotes, or "# ALTERNATIVE NAME 1: Adam"; then a title
//
// Separators may be blanks or commas, and the 0 after a ballot may be missing, but then in all of them; councils publish both. Such
// a comma file may give names as "Candidate 1","Adam","Party".
#include <fmt/format.h>

#include <algorithm>

#include "caucus/io/csv.h"
#include "caucus/io/diagnostics.h"
#include "caucus/io/readers.h"
#include "caucus/io/text.h"

namespace caucus {

namespace {

class BltReader {
 public:
  BltReader(const Source& source, const ReadOptions& options) : source_(source), options_(options), diagnostics_(source.name()) {}

  Dataset read() {
    read_counts();
    read_ballots();
    // A file that ends its ballots with 0 ends all of them so: one without may have been cut.
    if (ends_with_zero_ && unclosed_line_ > 0)
      diagnostics_.add(unclosed_line_, 1,
                       "found a ballot without a 0 at its end, expected one as in the other ballots of the file");
    read_names();
    diagnostics_.throw_if_any();
    return finish();
  }

 private:
  // The next line that is not empty, without a comment; false at the end. Name lines in PrefLib's style are no comments.
  bool next_line() {
    while (position_ < source_.text().size()) {
      const std::string_view rest = source_.text().substr(position_);
      line_ = rest.substr(0, rest.find('\n'));
      position_ += std::min(rest.size(), line_.size() + 1);
      ++line_number_;
      content_ = trim(line_);
      if (content_.starts_with('#') && !content_.starts_with("# ALTERNATIVE NAME")) continue;
      while (content_.ends_with(',')) content_ = trim(content_.substr(0, content_.size() - 1));
      if (!content_.empty()) return true;
    }
    line_ = content_ = {};
    return false;
  }

  std::size_t column(std::string_view part) const { return static_cast<std::size_t>(part.data() - line_.data()) + 1; }

  // The next piece between blanks or commas; empty at the end.
  static std::string_view next_token(std::string_view& rest) {
    const auto separates = [](char c) { return is_blank(c) || c == ',' || c == '\r'; };
    while (!rest.empty() && separates(rest.front())) rest.remove_prefix(1);
    std::size_t size = 0;
    while (size < rest.size() && !separates(rest[size])) ++size;
    const std::string_view token = rest.substr(0, size);
    rest.remove_prefix(size);
    return token;
  }

  void read_counts() {
    if (!next_line())
      throw DataError(source_.name() + ": is empty, expected a blt file: a line with the numbers of candidates and seats");
    std::string_view rest = content_;
    const auto items = parse_count(next_token(rest));
    const auto seats = parse_count(next_token(rest));
    if (!items || !seats) {
      diagnostics_.add(line_number_, 1, "found " + show_text(content_) + ", expected the numbers of candidates and of seats");
      diagnostics_.throw_if_any();
    }
    claimed_ = *items;
    seats_ = *seats;
  }

  void read_ballots() {
    while (next_line()) {
      if (content_ == "0") return;
      const char first = content_.front();
      // Without an end mark the names begin where a line is no ballot.
      if (!(is_digit(first) || first == '(' || first == '-' || first == '.')) {
        pending_ = true;
        return;
      }
      if (first == '-' && rows_.builder().num_rows() == 0 && !rows_.any_blank()) {
        read_withdrawn();
        continue;
      }
      std::string_view rest = content_.substr(0, content_.find('#'));
      while (!rest.empty() && read_ballot(rest)) {
      }
      if (ended_) return;
    }
  }

  void read_withdrawn() {
    std::string_view rest = content_;
    for (std::string_view token = next_token(rest); !token.empty(); token = next_token(rest)) {
      if (!token.starts_with('-') || !parse_count(token.substr(1))) {
        diagnostics_.add(line_number_, column(token), "found " + show_text(token) + ", expected a withdrawn candidate such as -2");
        return;
      }
      ++num_withdrawn_;
    }
  }

  // One ballot; several may stand on a line, each ended by 0. False where the line is done or wrong.
  bool read_ballot(std::string_view& rest) {
    std::string_view token = next_token(rest);
    if (token.starts_with('(')) {  // OpenSTV: the ballot's id
      while (!token.empty() && !token.ends_with(')')) token = next_token(rest);
      token = next_token(rest);
    }
    if (token.empty()) return false;
    const auto weight = parse_number(token);
    if (!weight || *weight < 0.0 || *weight > max_weight) {
      diagnostics_.add(line_number_, column(token), "found " + show_text(token) + ", expected a count of ballots");
      return false;
    }
    std::string_view ahead = rest;
    if (*weight == 0.0 && next_token(ahead).empty()) {
      // "... 0 0": the end of all ballots on the last ballot's line.
      ended_ = true;
      return false;
    }
    rows_.begin();
    for (token = next_token(rest); !token.empty() && token != "0"; token = next_token(rest)) {
      if (token == "-") continue;
      if (!read_group(token)) return false;
    }
    if (token == "0") {
      ends_with_zero_ = true;
    } else if (unclosed_line_ == 0) {
      unclosed_line_ = line_number_;
    }
    rows_.finish(*weight);
    return true;
  }

  bool read_group(std::string_view token) {
    for (std::string_view rest = token;;) {
      const std::string_view digits = rest.substr(0, rest.find('='));
      const auto number = parse_count(digits);
      if (!number || *number == 0 || *number > claimed_) {
        diagnostics_.add(line_number_, column(digits.empty() ? token : digits),
                         fmt::format("found {}, expected a candidate from 1 to {}", show_text(digits), claimed_));
        return false;
      }
      if (!rows_.push(id_of(*number))) {
        diagnostics_.add(line_number_, column(digits),
                         fmt::format("found candidate {} a second time, expected each once in a ballot", *number));
        return false;
      }
      if (digits.size() == rest.size()) break;
      rest.remove_prefix(digits.size() + 1);
    }
    rows_.end_group();
    return true;
  }

  ItemId id_of(std::uint64_t number) {
    ItemId id = index_.find(number);
    if (id != NumberIndex::none) return id;
    id = static_cast<ItemId>(numbers_.size());
    index_.insert(number, id);
    numbers_.push_back(number);
    return id;
  }

  // Names by position; more than the claimed number are the title and what some programs put after it.
  void read_names() {
    for (bool more = pending_ || next_line(); more; more = next_line()) {
      constexpr std::string_view preflib = "# ALTERNATIVE NAME";
      std::string_view rest = content_;
      if (rest.starts_with(preflib)) {
        const std::size_t colon = rest.find(':');
        add_name(colon == std::string_view::npos ? trim(rest.substr(preflib.size())) : trim(rest.substr(colon + 1)));
        continue;
      }
      if (!rest.starts_with('"')) {
        add_name(rest);
        continue;
      }
      CsvReader reader(rest, rest.find("\",") != std::string_view::npos ? ',' : ' ');
      if (!reader.next()) continue;
      std::vector<std::string_view> cells;
      for (const CsvCell& cell : reader.cells())
        if (!cell.text.empty()) cells.push_back(cell.text);
      if (cells.size() > 1 && lower_case(cells[0]).starts_with("candidate "))
        add_name(cells[1]);
      else
        for (const std::string_view cell : cells) add_name(cell);
    }
  }

  void add_name(std::string_view name) {
    if (names_.size() < claimed_) names_.emplace_back(trim(name));
  }

  Dataset finish() {
    Dataset data;
    data.facts.seats = seats_;
    if (rows_.builder().num_rows() == 0 && !rows_.any_blank())
      throw DataError(source_.name() + ": found no ballots, expected lines such as '3 1 2 0'");
    rows_.build(data);
    if (data.rankings.empty()) throw DataError(source_.name() + ": every ballot is empty");
    // Items in the order of their numbers: those with a name, and those that ballots list.
    std::vector<std::uint64_t> numbers = numbers_;
    for (std::uint64_t i = 1; i <= names_.size(); ++i)
      if (index_.find(i) == NumberIndex::none) numbers.push_back(i);
    std::ranges::sort(numbers);
    std::vector<ItemId> new_ids(numbers_.size());
    std::vector<std::string> names;
    std::vector<std::string> fallback;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const ItemId id = index_.find(numbers[i]);
      if (id != NumberIndex::none) new_ids[id] = static_cast<ItemId>(i);
      names.push_back(numbers[i] <= names_.size() ? names_[numbers[i] - 1] : std::string());
      fallback.push_back("Candidate " + std::to_string(numbers[i]));
    }
    data.rankings.renumber(new_ids);
    data.items = settle_names(names, fallback, data.warnings);
    data.unranked = options_.unranked.value_or(Unranked::last);
    warn_blank_ballots(rows_, blank_ballots, data.warnings);
    if (names_.size() != claimed_)
      data.warnings.push_back(fmt::format("the first line says {} candidates, the file names {}", claimed_, names_.size()));
    if (num_withdrawn_ > 0)
      data.warnings.push_back(fmt::format("{} candidates are marked as withdrawn; they were kept", num_withdrawn_));
    return data;
  }

  const Source& source_;
  const ReadOptions& options_;
  Diagnostics diagnostics_;
  std::size_t position_ = 0;
  std::size_t line_number_ = 0;
  std::string_view line_;
  std::string_view content_;  // the line without blanks and commas at its ends
  std::uint64_t claimed_ = 0;
  std::size_t seats_ = 0;
  bool pending_ = false;  // the current line is a name already
  bool ended_ = false;
  bool ends_with_zero_ = false;    // some ballot does
  std::size_t unclosed_line_ = 0;  // the first one that does not; 0: none
  BallotRows rows_;
  NumberIndex index_;
  std::vector<std::uint64_t> numbers_;  // of ids, in order of first sight
  std::vector<std::string> names_;
  std::size_t num_withdrawn_ = 0;
};

}  // namespace

Dataset read_blt(const Source& source, const ReadOptions& options) { return BltReader(source, options).read(); }

}  // namespace caucus
