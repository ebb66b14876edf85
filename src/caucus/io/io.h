// Ranking files: text -> Dataset and back.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/base/workers.h"
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
  csv_order,     // one column holds the whole ranking: A>B=C
  jsonl,         // one JSON object or array per line
  blt,           // Scottish / OpaVote ballots
  columnar,      // .cds: the arrays of a data set, mapped and not read
};
template <>
inline constexpr std::array<std::string_view, 12> enum_names<Format>{"auto",       "preflib",  "preflib-old",  "csv-wide",
                                                                     "csv-matrix", "csv-long", "csv-pairwise", "csv-ratings",
                                                                     "csv-order",  "jsonl",    "blt",          "cds"};

// How a .cat file lists its categories. Files differ, and only the names of the categories tell.
enum class CategoryOrder { automatic, best_first, worst_first };
template <>
inline constexpr std::array<std::string_view, 3> enum_names<CategoryOrder>{"auto", "best-first", "worst-first"};

struct ReadOptions {
  Format format = Format::automatic;
  std::optional<Unranked> unranked;  // default: what the format means (pairwise and ratings: absent; others: last)
  std::string weight_column;         // CSV: a column of counts; empty: one named count or weight; "none": no such column
  std::vector<std::string> columns;  // CSV: the columns to use, in the order the format names them; empty: guessed
  std::string contest;               // CSV with one column per rank and contest: a part of the contest's name, * is any text
  std::size_t top = 0;               // ratings: keep the t best-rated (ties broken by item order); 0: all, with ties
  CategoryOrder categories = CategoryOrder::automatic;
  std::string voter;             // a column beside the rankings: who cast them. Empty: as the file says, else nobody
  std::string voters_file;       // a table with one line per voter, matched by that column
  bool rows_are_voters = false;  // without such a column every row is a voter, so that columns beside it are the voter's

  // Items, in every format. Patterns: * is any text, case does not matter, commas separate several.
  std::vector<std::string> drop;        // names that name nobody, besides skipped, overvote, ...
  std::vector<std::string> keep;        // names that are items although they look like such words
  std::vector<std::string> merge;       // "Write-in*=Write-in": all that match become one item
  std::vector<std::string> rename;      // "old=new"
  std::vector<std::string> exclude;     // items that are left out
  std::vector<std::string> items_only;  // where given, all others are left out

  Collective* ranks = nullptr;  // processes that read the same data: each its own part, and all get all. Null: this one alone
  Scratch scratch;              // where rankings lie that are many: in memory, unless it names a folder

  // These options come from a model file: format, columns and contest are used where the file has them, and guessed otherwise.
  bool recalled = false;
};

// Reads a file ("-" is standard input), gzip or zstd by their magic bytes. Throws NoInputError, DataError
// with up to 20 diagnostics, IoError.
Dataset read_dataset(const std::string& path, const ReadOptions& options = {});
// A folder stands for the files in it whose names end as those of data files do, in their natural order: parts of one data set.
std::vector<std::string> files_of(const std::vector<std::string>& paths);
// Several files as one: rankings in the order of the files, all their items, and a covariate "file" with the files' names. Throws
// DataError where the meaning of unlisted items differs.
Dataset read_datasets(const std::vector<std::string>& paths, const ReadOptions& options = {});
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

// The folder that a file of this name is in.
std::string folder_of(const std::string& path);

// Any text, safely: temporary name, sync, rename. Shared by everything that writes a file.
void write_file(const std::string& path, std::string_view content);

}  // namespace caucus
