// Which kind of ranking table a CSV file is, and which of its columns mean what.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/io/csv_header.h"
#include "caucus/io/io.h"

namespace caucus {

struct CsvLayout {
  Format format = Format::automatic;
  // wide: the rank columns in order; matrix: the item columns; long: voter, item, rank; ratings: user, item, rating, or the item
  // columns where `ratings_matrix`; pairwise: a, b, winner, or winner, loser where `winner_loser`, or a, b, wins of a, wins of b
  // and any number of tie counts where `counts`; order: the column.
  std::vector<std::size_t> columns;
  bool winner_loser = false;
  bool counts = false;
  bool ratings_matrix = false;
  std::vector<std::string> items;     // matrix: the item of each column
  std::optional<std::size_t> weight;  // a column of counts
  bool weight_guessed_by_loose_name = false;
};

// The first lines of a table.
struct CsvHead {
  std::vector<std::string> header;
  std::vector<std::string> labels;  // better names of columns that are items; empty ones say nothing
  CsvSample sample;                 // the first rows of ballots
  std::size_t first_line = 2;       // of the sample
};

// Finds the layout from names, then from the first rows. `format` may be automatic. Throws UsageError for columns that are not
// there, DataError where no ranking can be found; the message says what each layout would need.
CsvLayout find_layout(const CsvHead& head, const ReadOptions& options, Format format, const std::string& file);

// The columns that are meant: each text is a name, or a list of names with commas; names may have commas themselves. Throws
// UsageError.
std::vector<std::size_t> find_columns(const std::vector<std::string>& names, const std::vector<std::string>& header,
                                      const std::string& file);

}  // namespace caucus
