// PrefLib's two text formats.
//
// Current:                              Before September 2022:
//   # NUMBER ALTERNATIVES: 3              3
//   # ALTERNATIVE NAME 1: anago           1,anago
//   ...                                   ...
//   12: 1,{2,3}                           voters,sum,unique
//                                         12,1,{2,3}
#include "caucus/io/preflib_reader.h"

namespace caucus {

using namespace preflib_format;  // NOLINT

std::unique_ptr<LineReader> make_preflib_reader(const Source& start, const ReadOptions& options) {
  return std::make_unique<PreflibReader>(start, options);
}

namespace {

class PreflibParts final : public PartReader {
 public:
  PreflibParts(const Source& source, const ReadOptions& options) : source_(source), reader_(source, options) {
    const std::string_view text = source.text();
    while (body_ < text.size()) {
      const std::string_view line = line_at(text.data() + body_, text.data() + text.size());
      if (!is_blank_line(line) && trim(line)[0] != '#') break;
      body_ = std::min(text.size(), body_ + line.size() + 1);
    }
    reader_.feed(text.substr(0, body_));
    reader_.close_header();
  }
  std::size_t body() const override { return body_; }
  bool read(std::size_t begin, std::size_t end) override {
    for (std::size_t position = begin; position < end;) {
      const std::size_t next = end_of_piece(source_.text().substr(0, end), position, piece_bytes);
      reader_.feed(source_.text().substr(position, next - position));
      position = next;
      reader_.expect_share(static_cast<double>(position - begin) / static_cast<double>(end - begin));
    }
    return reader_.sound();
  }
  void save(Saver& saver) override { reader_.save(saver); }
  void absorb(Loader& loader) override { reader_.absorb(loader); }
  Dataset finish() override { return reader_.finish(); }

 private:
  const Source& source_;
  PreflibReader reader_;
  std::size_t body_ = 0;
};

}  // namespace

std::unique_ptr<PartReader> make_preflib_parts(const Source& source, const ReadOptions& options) {
  auto parts = std::make_unique<PreflibParts>(source, options);
  return parts;
}

Dataset read_preflib(const Source& source, const ReadOptions& options) {
  PreflibReader reader(source, options);
  const std::string_view text = source.text();
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t end = end_of_piece(text, position, piece_bytes);
    reader.feed(text.substr(position, end - position));
    position = end;
    reader.expect_share(static_cast<double>(position) / static_cast<double>(text.size()));
    source.release(position);
  }
  return reader.finish();
}

namespace {

// The lines of a text that are not blank, with their numbers.
class Lines {
 public:
  explicit Lines(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}
  std::string_view next() {
    while (at_ < end_) {
      const std::string_view line = line_at(at_, end_);
      at_ = std::min(end_, at_ + line.size() + 1);
      ++number_;
      if (!is_blank_line(line)) return line;
    }
    return {};
  }
  const char* at() const { return at_; }
  std::size_t number() const { return number_; }

 private:
  const char *at_, *end_;
  std::size_t number_ = 0;
};

// Numbers between commas; nothing where one of them is none.
std::vector<double> numbers_in(std::string_view line) {
  std::vector<double> numbers;
  while (!line.empty()) {
    const std::size_t comma = std::min(line.find(','), line.size());
    const auto number = parse_number(trim(line.substr(0, comma)));
    if (!number) return {};
    numbers.push_back(*number);
    line.remove_prefix(std::min(line.size(), comma + 1));
  }
  return numbers;
}

// The number of alternatives, a line for each, then "voters,sum,unique".
Header read_old_header(Lines& lines, Alternatives& alternatives, Diagnostics& diagnostics) {
  const auto fail = [&](std::string text) {
    diagnostics.add(std::max<std::size_t>(lines.number(), 1), 1, std::move(text));
    diagnostics.throw_if_any();
  };
  const std::string_view first = lines.next();
  const auto claimed = parse_count(trim(first));
  if (!claimed) fail("found " + show_text(trim(first)) + ", expected the number of alternatives");

  // Name lines count up from 0 or 1; the first that does not is "voters,sum,unique".
  std::string_view line;
  std::uint64_t expected = 0;
  while (!(line = lines.next()).empty()) {
    const std::size_t comma = line.find(',');
    const auto number = parse_count(trim(line.substr(0, comma)));
    if (alternatives.size() == *claimed || comma == std::string_view::npos || !number) break;
    if (alternatives.size() == 0 ? *number > 1 : *number != expected) break;
    alternatives.name(*number, trim(line.substr(comma + 1)));
    expected = *number + 1;
  }
  const std::vector<double> sums = numbers_in(line);
  if (sums.size() != 3)
    fail(fmt::format("found {}, expected the line 'voters,sum,unique' after {} alternatives", show_text(trim(line)),
                     alternatives.size()));
  Header header;
  header.num_alternatives = *claimed;
  header.num_voters = sums[1];
  header.num_unique = sums[2];
  return header;
}

}  // namespace

Dataset read_preflib_old(const Source& source, const ReadOptions& options) {
  const std::string_view text = source.text();
  Diagnostics diagnostics(source.name());
  Alternatives alternatives;
  Lines lines(text);
  const Header header = read_old_header(lines, alternatives, diagnostics);
  const char* p = lines.at();
  const char* const end = text.data() + text.size();
  std::size_t line_number = lines.number();

  BallotReader ballots(diagnostics, alternatives, ',');
  ballots.rows = BallotRows(options.scratch);
  ballots.set_end(end);
  ballots.names_given = alternatives.size() > 0;
  while (p < end) {
    const auto position = static_cast<std::size_t>(p - text.data());
    p = ballots.read_plain_lines(p, last_break(p, text.data() + end_of_piece(text, position, piece_bytes)), line_number);
    source.release(static_cast<std::size_t>(p - text.data()));
    if (p >= end) break;
    ++line_number;
    const std::string_view ahead = is_digit(*p) ? std::string_view("x") : line_at(p, end);
    if (is_blank_line(ahead)) {
      p = std::min(end, p + ahead.size() + 1);
      continue;
    }
    p = ballots.read_line(p, line_number);
  }
  diagnostics.throw_if_any();
  return finish({source.name(), source.extension()}, text.size(), options, header, alternatives, ballots, {}, {});
}

}  // namespace caucus
