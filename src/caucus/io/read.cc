// Which reader a file gets.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "caucus/io/columnar.h"
#include "caucus/io/csv.h"
#include "caucus/io/descriptor.h"
#include "caucus/io/item_edits.h"
#include "caucus/io/one_copy.h"
#include "caucus/io/order_text.h"
#include "caucus/io/parts.h"
#include "caucus/io/readers.h"
#include "caucus/io/text.h"
#include "caucus/io/unpack.h"
#include "caucus/io/voters.h"

namespace caucus {

namespace {

// The first lines that are not blank, without their ends.
std::vector<std::string_view> first_lines(std::string_view text, std::size_t count) {
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < count) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!trim(line).empty()) lines.push_back(trim(line));
  }
  return lines;
}

// "12: 1,2" or "12: {1,2}"
bool is_preflib_ballot(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !parse_number(trim(line.substr(0, colon)))) return false;
  const std::string_view rest = trim(line.substr(colon + 1));
  if (has_order_mark(rest)) return false;  // "12: A > B" names its items
  return rest.empty() || is_digit(rest[0]) || rest[0] == '{';
}

// Two whole numbers, by blanks or commas, and nothing more.
bool is_two_counts(std::string_view line) {
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < line.size();) {
    if (is_digit(line[i])) {
      ++numbers;
      while (i < line.size() && is_digit(line[i])) ++i;
    } else if (is_blank(line[i]) || line[i] == ',') {
      ++i;
    } else {
      return false;
    }
  }
  return numbers == 2 && is_digit(line[0]);
}

// A ballot of a blt file: starts with a digit, a sign or an id, and holds nothing but numbers and marks.
bool is_blt_line(std::string_view line) {
  if (line.starts_with('(')) line.remove_prefix(std::min(line.size(), line.find(')') + 1));
  return !line.empty() && std::ranges::all_of(line, [](char c) {
    return is_digit(c) || std::string_view(" \t,=-.").find(c) != std::string_view::npos;
  });
}

bool is_preflib_extension(std::string_view extension) {
  for (const std::string_view known : {"soc", "soi", "toc", "toi", "cat", "wmd", "pwg", "tog", "mjg", "wmg", "dat"})
    if (extension == known) return true;
  return false;
}

}  // namespace

Format guess_format(const Source& source) {
  if (columnar::is_columnar(source.text()) || source.extension() == "cds") return Format::columnar;
  const std::vector<std::string_view> lines = first_lines(source.text(), 12);
  const std::string extension = source.extension();
  if (lines.empty()) throw DataError(source.name() + ": is empty, expected rankings");
  const std::string_view first = lines[0];
  if (first[0] == '{' || first[0] == '[') return Format::jsonl;
  if (first[0] == '#' && extension != "blt") {
    for (const std::string_view line : lines)
      if (line[0] == '#' ? line.find(':') != std::string_view::npos : is_preflib_ballot(line)) return Format::preflib;
  }
  if (is_preflib_ballot(first)) return Format::preflib;
  if (parse_count(first)) {
    // The number of alternatives alone on its line. Then "1,name", which a table of one column never has.
    if (is_preflib_extension(extension) || (lines.size() > 1 && lines[1].find(',') != std::string_view::npos))
      return Format::preflib_old;
  }
  if (is_two_counts(first)) {
    const bool comma = first.find(',') != std::string_view::npos;
    bool ballots = lines.size() > 1;
    std::size_t shortest = first.size();
    std::size_t longest = 0;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const bool last_of_few = lines.size() < 12;  // then names are among them
      if (!is_blt_line(lines[i]) && !last_of_few) ballots = false;
      const auto commas = static_cast<std::size_t>(std::ranges::count(lines[i], ','));
      shortest = std::min(shortest, commas);
      longest = std::max(longest, commas);
    }
    // With commas it could be a table of numbers without a header: ballots are ragged, tables are not.
    if (ballots && is_blt_line(lines[1]) && (!comma || shortest != longest || extension == "blt")) return Format::blt;
  }
  if (extension == "blt") return Format::blt;
  if (extension == "jsonl" || extension == "ndjson") return Format::jsonl;
  if (is_preflib_extension(extension)) return Format::preflib;
  return Format::automatic;  // a table: the header tells which
}

Unranked default_unranked(Format format) {
  return format == Format::csv_pairwise || format == Format::csv_ratings ? Unranked::absent : Unranked::last;
}

void warn_blank_ballots(const BallotRows& rows, std::string_view what, std::vector<std::string>& warnings) {
  if (rows.blank_weight() > 0.0) warnings.push_back(fmt::format("{} {} take no part", rows.blank_weight(), what));
  if (rows.num_zero() > 0) warnings.push_back(fmt::format("{} rows of weight 0 take no part", rows.num_zero()));
}

std::size_t end_of_piece(std::string_view text, std::size_t position, std::size_t limit) {
  if (text.size() - position <= limit) return text.size();
  const std::size_t last = text.rfind('\n', position + limit - 1);
  if (last != std::string_view::npos && last >= position) return last + 1;
  const std::size_t next = text.find('\n', position + limit);
  return next == std::string_view::npos ? text.size() : next + 1;
}

namespace {

bool is_table(Format format) {
  return format != Format::preflib && format != Format::preflib_old && format != Format::blt && format != Format::jsonl &&
         format != Format::columnar;
}

// The format that is stated; where a model file remembers it, only as far as the content does not say otherwise.
Format format_of(const Source& source, const ReadOptions& options) {
  if (options.format == Format::automatic) return guess_format(source);
  if (!options.recalled) return options.format;
  const Format guessed = guess_format(source);
  return is_table(guessed) && is_table(options.format) ? options.format : guessed;
}

// keeper: false where others keep the data, and this process reads a part for them.
Dataset read_source(const Source& source, const ReadOptions& options, bool keeper = true) {
  const Format format = format_of(source, options);
  Dataset data;
  const bool in_parts = read_in_parts(source, options, format, keeper ? &data : nullptr);
  if (!keeper) return data;
  if (!in_parts) switch (format) {
      case Format::preflib:
        data = read_preflib(source, options);
        break;
      case Format::preflib_old:
        data = read_preflib_old(source, options);
        break;
      case Format::blt:
        data = read_blt(source, options);
        break;
      case Format::jsonl:
        data = read_jsonl(source, options);
        break;
      case Format::columnar:
        data = read_columnar(source, options);
        break;
      default:
        data = read_csv(source, options, format);
        break;
    }
  data.source = source.name();
  edit_items(data, options);
  question_items(data, options);
  return data;
}

}  // namespace

namespace {

// What the first bytes of a file and its size tell. Below a certain size a copy for all is not worth the talk; a .cds file is one.
struct Peek {
  bool packed = false, worth_sharing = false;
};
Peek peek(const std::string& path) {
  constexpr std::size_t least = 64 << 10;
  Peek seen;
  if (path == "-") return seen;
  const Descriptor file = open_input(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || static_cast<std::size_t>(status.st_size) < least)
    return seen;
  char head[16] = {};
  if (read_full(file.get(), head, sizeof head) != sizeof head) return seen;
  const std::string_view start(head, sizeof head);
  seen.packed = is_packed(start);
  seen.worth_sharing = seen.packed || !columnar::is_columnar(start);
  return seen;
}

Dataset with_voters(Dataset data, const ReadOptions& options) {
  add_voters(data, options);
  // A .cds file remembers what was said of its original, some of which has just been said again.
  std::vector<std::string> once;
  for (std::string& text : data.warnings)
    if (std::ranges::find(once, text) == once.end()) once.push_back(std::move(text));
  data.warnings = std::move(once);
  return data;
}

}  // namespace

Dataset read_dataset(const std::string& path, const ReadOptions& options) {
  const Peek seen = options.ranks != nullptr && options.ranks->size() > 1 ? peek(path) : Peek{};
  if (!seen.worth_sharing) return with_voters(read_source(Source::open(path), options), options);
  const auto read = [&](bool keeper) {
    if (seen.packed && !keeper) return Dataset{};
    ReadOptions own = options;
    if (seen.packed) own.ranks = nullptr;
    if (own.scratch.folder.empty()) own.scratch.folder = folder_of(path);
    return read_source(Source::open(path), own, keeper);
  };
  const auto alone = [&] {
    ReadOptions own = options;
    own.ranks = nullptr;
    return read_source(Source::open(path), own);
  };
  return with_voters(read_one_copy(path, options, read, alone), options);
}

Dataset parse_dataset(std::string_view text, const std::string& name, const ReadOptions& options) {
  return with_voters(read_source(Source::from_text(text, name), options), options);
}

}  // namespace caucus
