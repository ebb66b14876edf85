// Ranking files: text -> Dataset and back.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

enum class Format {
  automatic,      // guessed from content, then extension
  preflib,        // .soc .soi .toc .toi .cat with "# KEY: value" headers
  preflib_old,    // the headerless style before September 2022
  csv_wide,       // one column per rank, cells are item names: cast-vote records
  csv_matrix,     // one column per item, cells are ranks
  csv_long,       // voter, item, rank
  csv_pairwise,   // a, b, winner (ties allowed), or a, b, counts
  csv_ratings,    // user, item, rating
  jsonl,          // one JSON object or array per line
  blt,            // Scottish / OpaVote ballots
};
template <>
inline constexpr std::array<std::string_view, 10> enum_names<Format>{"auto",     "preflib",      "preflib-old", "csv-wide", "csv-matrix",
                                                                     "csv-long", "csv-pairwise", "csv-ratings", "jsonl",    "blt"};

struct ReadOptions {
  Format format = Format::automatic;
  std::optional<Unranked> unranked;   // default: what the format means (pairwise and ratings: absent; others: last)
  std::vector<std::string> drop;      // CSV wide: cells that name no item, besides skipped, overvote and empty
  std::vector<std::string> keep;      // CSV wide: cells kept as items although they look like such words
  std::string weight_column;          // CSV: a column of counts
  std::vector<std::string> columns;   // CSV: the columns to use, in the order the format names them; empty: guessed
  std::size_t top = 0;                // ratings: keep the t best-rated (ties broken by item order); 0: all, with ties
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

// Any text, safely: temporary name, sync, rename. Shared by everything that writes a file.
void write_file(const std::string& path, std::string_view content);

}  // namespace caucus
