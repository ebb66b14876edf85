// A formula over columns, "age + region + log(income)", as the columns of a linear predictor. Learned once, stored in the model
// file, applied to new tables by name.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/column.h"
#include "caucus/model/pl_regression_features.h"

namespace caucus {

// One part of the formula: a numeric column, a categorical one (its levels but the first, which is the reference), or arithmetic on
// numeric columns (pl_regression_formula.h).
struct DesignTerm {
  std::string name;
  std::vector<std::string> levels;  // empty: a number
  bool arithmetic = false;
  double mean = 0.0;                 // of the training values: stands for missing ones
  std::size_t first = 0, count = 1;  // its columns of the design
};

class CovariateDesign {
 public:
  // Terms are separated by +. A column of text is categorical, and so is factor(column); the reference is the level most rows have.
  // Names with odd characters stand in `backquotes`. Columns that are constant are left out with a warning. With an intercept the
  // first column is 1. `who` opens messages. Throws UsageError, DataError.
  static CovariateDesign learn(std::span<const Column> columns, std::string_view formula, MissingValues missing, bool intercept,
                               std::string_view who, std::vector<std::string>& warnings);
  static CovariateDesign from_parts(std::vector<DesignTerm> terms, bool intercept, MissingValues missing);

  struct Encoded {
    RowMatrix x;                 // one row per row of the table; zeros where it is not complete
    std::vector<char> complete;  // 0: a value is missing and the rule is to drop such rows
    std::vector<std::string> warnings;
  };
  // `row_name` names a row in messages. A level that was not seen counts as the reference, and a warning says so. Throws DataError.
  Encoded encode(std::span<const Column> columns, const std::function<std::string(std::size_t)>& row_name) const;

  const std::vector<DesignTerm>& terms() const { return terms_; }
  MissingValues missing() const { return missing_; }
  std::size_t num_columns() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }  // "(intercept)", "age", "region=south"
  std::string formula() const;

 private:
  void number_columns();

  std::vector<DesignTerm> terms_;
  std::vector<std::string> names_;
  bool intercept_ = true;
  MissingValues missing_ = MissingValues::error;
};

}  // namespace caucus
