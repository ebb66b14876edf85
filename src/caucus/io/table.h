// A plain table: a header line and columns of numbers or texts. For covariates and classification data.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

struct Table {
  std::vector<Column> columns;  // all of num_rows values; numbers (missing = NaN) or texts (missing = empty)
  std::size_t num_rows = 0;
  std::string source;  // the file's name, for messages
  std::string digest;  // of the text, unpacked: "xxh128:" and 32 hexadecimal digits
  std::vector<std::string> warnings;

  // nullptr where no column has that name.
  const Column* find(std::string_view name) const;
  // Throws DataError that lists the names there are.
  const Column& column(std::string_view name) const;
};

// Reads comma-, semicolon- or tab-separated text with a header ("-" is standard input, gzip and zstd are unpacked). A column
// whose cells are all numbers or missing is numeric. Missing cells are empty, NA, NaN, null or ?. Rows shorter or longer than
// the header are errors.
Table read_table(const std::string& path);
Table parse_table(std::string_view text, const std::string& name);

// Is this cell a missing value: empty, NA, NaN, null or ?.
bool is_missing_cell(std::string_view cell);
// A column of numbers where every cell is a finite number or missing, of texts otherwise.
Column make_column(std::string name, const std::vector<std::string_view>& cells);
// The same, but numbers that would not come back as written, such as the ids 007 or 12345678901234567890, are texts.
Column make_id_column(std::string name, const std::vector<std::string_view>& cells);

}  // namespace caucus
