// Ranking files: text -> Dataset and back.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

enum class Format {
  automatic,     // guessed from content, then extension
  preflib,       // .soc .soi .toc .toi .cat with "# KEY: value" headers
  preflib_old,   // the headerless style before September 2022
  csv_wide,      // one column per rank, cells are item names: cast-vote records
  csv_matrix,    // one column per item, cells are ranks
  csv_long,      // voter, item, rank
  csv_pairwise,  // a, b, winner (ties allowed), or a, b, counts
  csv_ratings,   // user, item, rating
  jsonl,         // one JSON object or array per line
  blt,           // Scottish / OpaVote ballots
};
template <>
inline constexpr std::array<std::string_view, 10> enum_names<Format>{
    "auto", "preflib", "preflib-old", "csv-wide", "csv-matrix", "csv-long", "csv-pairwise", "csv-ratings", "jsonl", "blt"};

// How a .cat file lists its categories. Files differ, and only the names of the categories tell.
enum class CategoryOrder { automatic, best_first, worst_first };
template <>
inline constexpr std::array<std::string_view, 3> enum_names<CategoryOrder>{"auto", "best-first", "worst-first"};

struct ReadOptions {
  Format format = Format::automatic;
  std::optional<Unranked> unranked;  // default: what the format means (pairwise and ratings: absent; others: last)
  std::vector<std::string> drop;     // CSV wide: cells that name no item, besides skipped, overvote, ...; * is any text
  std::vector<std::string> keep;     // CSV wide: cells kept as items although they look like such words; * is any text
  std::string weight_column;         // CSV: a column of counts; empty: one named count or weight; "none": no such column
  std::vector<std::string> columns;  // CSV: the columns to use, in the order the format names them; empty: guessed
  std::size_t top = 0;               // ratings: keep the t best-rated (ties broken by item order); 0: all, with ties
  CategoryOrder categories = CategoryOrder::automatic;
};

// Reads a file ("-" is standard input), gzip or zstd by their magic bytes. Throws NoInputError, DataError
// with up to 20 diagnostics, IoError.
Dataset read_dataset(const std::string& path, const ReadOptions& options = {});
// The same from text in memory; `name` stands in messages and gives the extension.
Dataset parse_dataset(std::string_view text, const std::string& name, const ReadOptions& options = {});

struct WriteOptions {
  Format format = Format::automatic;  // automatic: by the extension
};
// Writes to a temporary name, syncs, renames ("-" is standard output). Returns what the format could not hold, in
// plain words ("voter covariates", "weights that are not whole numbers", ...).
std::vector<std::string> write_dataset(const Dataset& data, const std::string& path, const WriteOptions& options = {});

// JSON lines written piece by piece, for rankings that are never in memory at once: the same bytes as write_dataset gives for all
// of them. (The heads of the other formats count rankings or items that are still to come.) Without commit() no file appears.
class RankingWriter {
 public:
  // `head` gives the items and the meaning of unlisted ones; no covariates.
  RankingWriter(const std::string& path, const Dataset& head);
  ~RankingWriter();
  void add(const Dataset& piece);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The same as text in memory. `name` gives the extension where the format is automatic, and stands in the file's own header.
std::string format_dataset(const Dataset& data, const std::string& name, const WriteOptions& options = {},
                           std::vector<std::string>* lost = nullptr);

// The format that a file of this name gets, with gz and zst taken off; what the data need where the name is .csv.
Format format_for_writing(const std::string& path, const Dataset& data);

// For help texts: every format with its file extensions and one line about it.
struct FormatInfo {
  Format format;
  std::vector<std::string_view> extensions;
  std::string_view summary;
};
const std::vector<FormatInfo>& formats();

// Any text, safely: temporary name, sync, rename. Shared by everything that writes a file.
void write_file(const std::string& path, std::string_view content);

}  // namespace caucus
