// Which kind of ranking table a CSV file is, and which of its columns mean what.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/io/io.h"

namespace caucus {

struct CsvLayout {
  Format format = Format::automatic;
  // wide: the rank columns in order; matrix: the item columns; long: voter, item, rank; ratings: user, item, rating, or the item
  // columns where `ratings_matrix`; pairwise: a, b, winner, or winner, loser where `winner_loser`, or a, b, wins of a, wins of b
  // and any number of tie counts where `counts`.
  std::vector<std::size_t> columns;
  bool winner_loser = false;
  bool counts = false;
  bool ratings_matrix = false;
  std::vector<std::string> items;     // matrix: the item of each column
  std::optional<std::size_t> weight;  // a column of counts
  bool weight_guessed_by_loose_name = false;
};

using CsvSample = std::vector<std::vector<std::string>>;  // the first rows, without the header

// Finds the layout from names, then from the first rows. `format` may be automatic. Throws UsageError for columns that are not
// there, DataError where no ranking can be found; the message says how to state the columns.
CsvLayout find_layout(const std::vector<std::string>& header, const CsvSample& sample, const ReadOptions& options, Format format,
                      const std::string& file);

}  // namespace caucus
