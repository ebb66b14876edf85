#include "caucus/infer/pl_mixture/item_design.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "caucus/base/error.h"
#include "caucus/io/row_table.h"
#include "caucus/io/table.h"

namespace caucus::pl_mixture {

ItemDesign read_item_design(const std::string& path, std::string_view formula, const std::vector<std::string>& items) {
  const Table table = read_table(path);
  // The column that names the items: the one that has most of them.
  const Column* names = nullptr;
  std::size_t best = 0;
  std::map<std::string, std::size_t> line_of;
  for (const Column& column : table.columns) {
    std::map<std::string, std::size_t> lines;
    for (std::size_t row = 0; row < table.num_rows; ++row) lines.try_emplace(covariate_text(column, row), row);
    const auto found =
        static_cast<std::size_t>(std::ranges::count_if(items, [&](const std::string& item) { return lines.contains(item); }));
    if (found > best) best = found, names = &column, line_of = std::move(lines);
  }
  if (names == nullptr)
    throw DataError(fmt::format("{}: no column holds the names of the items, such as '{}'", table.source, items[0]));
  std::vector<std::size_t> rows;
  std::vector<std::string> lacking;
  for (const std::string& item : items) {
    const auto found = line_of.find(item);
    if (found == line_of.end())
      lacking.push_back("'" + item + "'");
    else
      rows.push_back(found->second);
  }
  if (!lacking.empty()) {
    const std::size_t shown = std::min<std::size_t>(lacking.size(), 5);
    throw DataError(fmt::format("{}: column '{}' has no line for {} of {} items: {}{}; add them, or leave them out with --exclude",
                                table.source, names->name, lacking.size(), items.size(),
                                fmt::join(lacking.begin(), lacking.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                                lacking.size() > shown ? ", ..." : ""));
  }
  for (std::size_t row = 0; row < table.num_rows; ++row)
    if (const auto first = line_of.find(covariate_text(*names, row));
        first->second != row && std::ranges::count(items, first->first) > 0)
      throw DataError(fmt::format("{}: column '{}' has two lines for item '{}', rows {} and {}; each item may have one",
                                  table.source, names->name, first->first, first->second + 1, row + 1));
  std::vector<Column> columns;
  for (const Column& column : table.columns)
    if (&column != names) columns.push_back(column.select(rows));
  ItemDesign result;
  result.design = CovariateDesign::learn(columns, formula, MissingValues::error, false, "--utilities", result.warnings);
  if (result.design.num_columns() == 0) throw DataError("--utilities: nothing is left that tells the items apart");
  result.x =
      result.design.encode(columns, [&](std::size_t row) { return fmt::format("{}: item '{}'", table.source, items[row]); }).x;
  return result;
}

}  // namespace caucus::pl_mixture
