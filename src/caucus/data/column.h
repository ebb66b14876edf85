// One column that stands beside rankings or voters.
#pragma once

#include <string>
#include <vector>

namespace caucus {

// One covariate, one value per row. Either numbers (missing = NaN) or texts (missing = empty).
struct Column {
  std::string name;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  bool is_numeric() const { return texts.empty(); }
  std::size_t size() const { return is_numeric() ? numbers.size() : texts.size(); }
  bool is_missing(std::size_t row) const;
  // The values of the given rows.
  Column select(const std::vector<std::size_t>& rows) const;
};

}  // namespace caucus
