// Which writer a file gets, and the formats that number their items: PrefLib and blt.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "caucus/base/error.h"
#include "caucus/io/readers.h"
#include "caucus/io/text.h"
#include "caucus/io/writers.h"

namespace caucus {

const std::vector<FormatInfo>& formats() {
  static const std::vector<FormatInfo> list{
      {Format::preflib, {"soc", "soi", "toc", "toi", "cat"}, "PrefLib: '# KEY: value' header, then 'count: 1,2,{3,4}'"},
      {Format::preflib_old, {}, "PrefLib before September 2022: names, 'voters,sum,unique', then 'count,1,2,{3,4}'"},
      {Format::csv_wide, {"csv", "tsv"}, "one row per ballot, one column per rank, cells are item names"},
      {Format::csv_matrix, {}, "one row per ballot, one column per item, cells are ranks"},
      {Format::csv_long, {}, "voter, item, rank"},
      {Format::csv_pairwise, {}, "two items and the winner, or two items and counts"},
      {Format::csv_ratings, {}, "user, item, rating; or one column of ratings per item"},
      {Format::csv_order, {}, "one column holds the whole ranking: A>B=C"},
      {Format::jsonl, {"jsonl", "ndjson"}, "JSON lines: holds everything"},
      {Format::blt, {"blt"}, "ballots of the single transferable vote, as OpaVote and Scottish councils write them"},
      {Format::columnar, {"cds"}, "binary: holds everything, is mapped instead of read, and may be larger than memory"},
  };
  return list;
}

bool all_rankings_complete(const Dataset& data) {
  for (std::size_t i = 0; i < data.rankings.size(); ++i)
    if (data.rankings.length(i) != data.num_items()) return false;
  return true;
}

bool has_fractional_weights(const Dataset& data) {
  for (std::size_t row = 0; row < data.rankings.num_rows(); ++row)
    if (data.rankings.row_weight(row) != std::floor(data.rankings.row_weight(row))) return true;
  return false;
}

void lose_covariates(const Dataset& data, Lost& lost) {
  if (!data.covariates.empty()) lost.push_back(fmt::format("voter covariates ({} columns)", data.covariates.size()));
}

void lose_unranked(const Dataset& data, Format format, Lost& lost) {
  if (data.unranked == default_unranked(format) || all_rankings_complete(data)) return;
  lost.push_back(
      fmt::format("that unlisted items are {} (read the file with --unranked {})", name_of(data.unranked), name_of(data.unranked)));
}

namespace {

// A name as a line of a header can hold it: no line breaks, no blanks at its ends, not empty.
std::string line_name(const std::string& name, std::size_t& num_changed) {
  std::string result;
  for (const char c : name) result += c == '\n' || c == '\r' ? ' ' : c;
  result = std::string(trim(result));
  if (result != name) ++num_changed;
  return result;
}

void lose_names(std::size_t num_changed, std::string_view what, Lost& lost) {
  if (num_changed > 0) lost.push_back(fmt::format("{} in {} item names", what, num_changed));
}

// "1,{2,3}" with the numbers of the file, from 1.
void append_groups(std::string& out, RankingView ranking) {
  bool first = true;
  ranking.for_each_group([&](std::span<const ItemId> group) {
    if (!first) out += ',';
    first = false;
    if (group.size() > 1) out += '{';
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (i > 0) out += ',';
      append_count(out, group[i] + std::uint64_t{1});
    }
    if (group.size() > 1) out += '}';
  });
}

// Rows of weight, separator and items. The numbers of the items stand ready with the comma before them, and are copied eight bytes
// at a time into a piece of text of its own.
class NumberedRows {
 public:
  // `before_first`: what stands in the place of the first item's comma; `separator` before that.
  NumberedRows(TextSink& sink, std::size_t num_items, std::string separator, char before_first)
      : sink_(sink), separator_(std::move(separator)), before_first_(before_first) {
    for (std::size_t i = 0; i < std::min(num_items, most_ready); ++i) {
      Ready& ready = ready_.emplace_back();
      ready[0] = ',';
      ready[7] = static_cast<char>(std::to_chars(&ready[1], &ready[7], i + 1).ptr - ready.data());
    }
  }

  void add(double weight, RankingView ranking) {
    if (ranking.has_ties() || ranking.size() == 0) return add_slowly(weight, ranking);
    if (const std::size_t longest = longest_weight + separator_.size() + ranking.size() * longest_item + 8;
        piece_.size() - used_ < longest) {
      flush();
      if (piece_.size() < longest) piece_.resize(std::max(least_piece, longest));
    }
    put_weight(weight);
    used_ = static_cast<std::size_t>(std::ranges::copy(separator_, piece_.data() + used_).out - piece_.data());
    char *const begin = piece_.data() + used_, *at = begin;
    for (const ItemId item : ranking.items()) {
      if (item < ready_.size()) [[likely]] {
        std::memcpy(at, ready_[item].data(), sizeof(Ready));
        at += ready_[item][7];
      } else {
        *at = ',';
        at = std::to_chars(at + 1, at + longest_item, item + std::uint64_t{1}).ptr;
      }
    }
    *begin = before_first_;
    *at++ = '\n';
    used_ = static_cast<std::size_t>(at - piece_.data());
  }
  // Everything added so far is in the sink.
  void flush() {
    sink_.buffer().append(piece_.data(), used_);
    used_ = 0;
    sink_.checkpoint();
  }

 private:
  using Ready = std::array<char, 8>;  // the text, and its length in the last byte
  static constexpr std::size_t most_ready = 100'000, longest_item = 12, longest_weight = 40, least_piece = std::size_t{1} << 16;

  void put_weight(double weight) {
    if (weight == 1.0) {
      piece_[used_++] = '1';
      return;
    }
    number_.clear();
    append_number(number_, weight);
    std::ranges::copy(number_, piece_.data() + used_);
    used_ += number_.size();
  }
  void add_slowly(double weight, RankingView ranking) {
    flush();
    std::string& out = sink_.buffer();
    append_number(out, weight);
    out += separator_;
    out += before_first_;
    append_groups(out, ranking);
    out += '\n';
  }

  TextSink& sink_;
  std::string separator_, number_;
  char before_first_;
  std::vector<Ready> ready_;
  std::vector<char> piece_;
  std::size_t used_ = 0;
};

void write_rows(const RankingSet& rankings, std::size_t num_items, std::string separator, char before_first, TextSink& sink) {
  NumberedRows rows(sink, num_items, std::move(separator), before_first);
  for (std::size_t row = 0; row < rankings.num_rows(); ++row)
    rows.add(rankings.row_weight(row), rankings[rankings.row_ranking(row)]);
  rows.flush();
}

std::size_t count_groups(RankingView ranking) {
  std::size_t count = 0;
  ranking.for_each_group([&](std::span<const ItemId>) { ++count; });
  return count;
}

void lose_fractions(const Dataset& data, Lost& lost) {
  if (has_fractional_weights(data))
    lost.emplace_back("nothing, but weights that are not whole numbers, which other programs may refuse here");
}

std::string fitting_type(const Dataset& data) {
  return std::string(data.rankings.has_ties() ? "to" : "so") + (all_rankings_complete(data) ? "c" : "i");
}

std::string without_packing(std::string path) {
  for (const std::string_view packed : {".gz", ".zst"})
    if (path.ends_with(packed)) path.resize(path.size() - packed.size());
  return path;
}

std::string extension_of(const std::string& path) {
  const std::string plain = lower_case(without_packing(path));
  const std::size_t slash = plain.find_last_of('/');
  const std::size_t dot = plain.find_last_of('.');
  return dot == std::string::npos || (slash != std::string::npos && dot < slash) ? std::string() : plain.substr(dot + 1);
}

void write_any(const Dataset& data, const std::string& path, const WriteOptions& options, TextSink& sink, Lost& lost) {
  const Format format = options.format == Format::automatic ? format_for_writing(path, data) : options.format;
  if (format != Format::jsonl && format != Format::columnar && !data.blanks.empty())
    lost.push_back(fmt::format("the places of {} blank ballots", data.blanks.size()));
  switch (format) {
    case Format::preflib:
      write_preflib(data, sink, path, extension_of(path), lost);
      break;
    case Format::preflib_old:
      write_preflib_old(data, sink, lost);
      break;
    case Format::blt:
      write_blt(data, sink, lost);
      break;
    case Format::jsonl:
      write_jsonl(data, sink, lost);
      break;
    case Format::columnar:
      write_columnar(data, sink, lost);
      break;
    default:
      write_csv(data, sink, format, extension_of(path) == "tsv" ? '\t' : ',', lost);
      break;
  }
}

}  // namespace

void write_preflib(const Dataset& data, TextSink& sink, const std::string& file_name, std::string extension, Lost& lost) {
  const std::string fitting = fitting_type(data);
  const bool known = extension == "soc" || extension == "soi" || extension == "toc" || extension == "toi" || extension == "cat";
  if (!known) extension = fitting;
  const bool categories = extension == "cat";
  if (!categories && ((extension[0] == 's' && fitting[0] == 't') || (extension[2] == 'c' && fitting[2] == 'i')))
    lost.push_back(
        fmt::format("nothing, but .{} promises more than the data hold: .{} is the fitting extension", extension, fitting));
  lose_covariates(data, lost);
  lose_unranked(data, Format::preflib, lost);
  lose_fractions(data, lost);

  const RankingSet& rankings = data.rankings;
  std::string& out = sink.buffer();
  std::size_t num_changed = 0;
  const std::string plain = without_packing(file_name);
  std::size_t ignored = 0;
  out += "# FILE NAME: " + line_name(plain.substr(plain.find_last_of('/') + 1), ignored) + "\n";
  out += "# DATA TYPE: " + extension + "\n";
  out += fmt::format("# NUMBER ALTERNATIVES: {}\n# NUMBER VOTERS: ", data.num_items());
  append_number(out, rankings.total_weight());
  out += fmt::format("\n# NUMBER UNIQUE {}: {}\n", categories ? "PREFERENCES" : "ORDERS", rankings.size());
  std::size_t num_categories = 1;
  if (categories) {
    for (std::size_t i = 0; i < rankings.size(); ++i) num_categories = std::max(num_categories, count_groups(rankings[i]));
    out += fmt::format("# NUMBER CATEGORIES: {}\n", num_categories);
    for (std::size_t i = 1; i <= num_categories; ++i) out += fmt::format("# CATEGORY NAME {}: Category {}\n", i, i);
  }
  for (std::size_t i = 0; i < data.num_items(); ++i) {
    out += fmt::format("# ALTERNATIVE NAME {}: {}\n", i + 1, line_name(data.items[i], num_changed));
    sink.checkpoint();
  }
  lose_names(num_changed, "line breaks or blanks at the ends", lost);
  if (!categories) return write_rows(rankings, data.num_items(), ":", ' ', sink);
  for (std::size_t row = 0; row < rankings.num_rows(); ++row) {
    const RankingView ranking = rankings[rankings.row_ranking(row)];
    append_number(out, rankings.row_weight(row));
    out += ": ";
    append_groups(out, ranking);
    for (std::size_t i = count_groups(ranking); i < num_categories; ++i) out += i == 0 ? "{}" : ",{}";
    out += '\n';
    sink.checkpoint();
  }
}

void write_preflib_old(const Dataset& data, TextSink& sink, Lost& lost) {
  lose_covariates(data, lost);
  lose_unranked(data, Format::preflib_old, lost);
  lose_fractions(data, lost);
  const RankingSet& rankings = data.rankings;
  std::string& out = sink.buffer();
  std::size_t num_changed = 0;
  out += fmt::format("{}\n", data.num_items());
  for (std::size_t i = 0; i < data.num_items(); ++i) {
    out += fmt::format("{},{}\n", i + 1, line_name(data.items[i], num_changed));
    sink.checkpoint();
  }
  lose_names(num_changed, "line breaks or blanks at the ends", lost);
  append_number(out, rankings.total_weight());
  out += ',';
  append_number(out, rankings.total_weight());
  out += fmt::format(",{}\n", rankings.size());
  write_rows(rankings, data.num_items(), "", ',', sink);
}

void write_blt(const Dataset& data, TextSink& sink, Lost& lost) {
  lose_covariates(data, lost);
  lose_unranked(data, Format::blt, lost);
  lose_fractions(data, lost);
  const RankingSet& rankings = data.rankings;
  std::string& out = sink.buffer();
  out += fmt::format("{} 1\n", data.num_items());
  for (std::size_t row = 0; row < rankings.num_rows(); ++row) {
    append_number(out, rankings.row_weight(row));
    rankings[rankings.row_ranking(row)].for_each_group([&](std::span<const ItemId> group) {
      for (std::size_t i = 0; i < group.size(); ++i) {
        out += i == 0 ? ' ' : '=';
        append_count(out, group[i] + std::uint64_t{1});
      }
    });
    out += " 0\n";
    sink.checkpoint();
  }
  out += "0\n";
  std::size_t num_changed = 0;
  for (const std::string& item : data.items) {
    std::string name = line_name(item, num_changed);
    if (name.find('"') != std::string::npos) ++num_changed;
    std::ranges::replace(name, '"', '\'');
    out += '"' + name + "\"\n";
    sink.checkpoint();
  }
  lose_names(num_changed, "quotes, line breaks or blanks at the ends", lost);
  out += "\"Written by caucus\"\n";
}

Format format_for_writing(const std::string& path, const Dataset& data) {
  const std::string extension = extension_of(path);
  for (const FormatInfo& info : formats())
    if (std::ranges::find(info.extensions, extension) != info.extensions.end() && info.format != Format::csv_wide)
      return info.format;
  if (path == "-") return Format::jsonl;
  if (extension != "csv" && extension != "tsv")
    throw UsageError(
        fmt::format("{}: the extension names no format; state it with --to, or use .soi, .csv, .jsonl, .blt, ...", path));
  // The flavour of CSV that loses least.
  const bool ties = data.rankings.has_ties();
  bool pairs = !data.rankings.empty();
  for (std::size_t i = 0; i < data.rankings.size() && pairs; ++i) pairs = data.rankings.length(i) == 2;
  if (pairs && data.unranked == Unranked::absent) return Format::csv_pairwise;
  if (!ties) return Format::csv_wide;
  return data.num_items() <= 1000 ? Format::csv_matrix : Format::csv_long;
}

std::vector<std::string> write_dataset(const Dataset& data, const std::string& path, const WriteOptions& options) {
  Lost lost;
  FileWriter writer(path);
  write_any(data, path, options, writer, lost);
  writer.commit();
  return lost;
}

std::string format_dataset(const Dataset& data, const std::string& name, const WriteOptions& options,
                           std::vector<std::string>* lost) {
  Lost unheard;
  TextSink sink;
  write_any(data, name, options, sink, lost != nullptr ? *lost : unheard);
  return std::move(sink.buffer());
}

}  // namespace caucus
