// From the columns of a table to the non-negative features W(x) of Plackett-Luce regression, and to the standardised
// covariates of the logit. Learned once from the training rows, stored in the model file, applied to new tables by name.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/data/dataset.h"
#include "caucus/model/pl_regression_formula.h"

namespace caucus {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

enum class MissingValues { error, drop, mean };
template <>
inline constexpr std::array<std::string_view, 3> enum_names<MissingValues>{"error", "drop", "mean"};

enum class FeatureKind { exp, exp_minus, indicator, formula, offset };
template <>
inline constexpr std::array<std::string_view, 5> enum_names<FeatureKind>{"exp", "exp-minus", "indicator", "formula", "offset"};

struct Feature {
  std::string name;  // "exp(age)", "exp(-age)", "area=city", "exp(age + income)", "offset"
  FeatureKind kind = FeatureKind::offset;
  std::string covariate;  // exp, exp-minus, indicator: which; formula: empty
  double mean = 0.0;      // of the covariate before standardising; 0 and 1 where there is none
  double scale = 1.0;
};

// One entry of the vector x: a standardised number, or 1 where a categorical column has this level.
struct Covariate {
  std::string name;  // the column, or "column=level"
  std::string column;
  bool categorical = false;
  std::string level;
  double mean = 0.0;
  double scale = 1.0;
};

struct FeatureRequest {
  std::vector<std::string> categorical;  // besides columns that hold any text
  std::vector<std::string> formulas;     // see Formula; "bumps(x, m)" and "bumps(all, m)" stand for m Gaussian bumps at quantiles
  MissingValues missing = MissingValues::error;
};

struct EncodedRows {
  RowMatrix x;                    // one row per kept row of the table, one column per covariate
  std::vector<std::size_t> rows;  // which rows of the table were kept
  std::vector<std::string> warnings;
};

class FeatureMap {
 public:
  // Means, standard deviations (divisor n) and levels from the columns given: neither target nor ignored columns.
  // Throws DataError, UsageError.
  static FeatureMap learn(std::span<const Column> columns, const FeatureRequest& request, std::vector<std::string>& warnings);
  // From the parts a model file holds. Formulas are parsed again.
  static FeatureMap from_parts(std::vector<Covariate> covariates, std::vector<std::string> most_common_levels,
                               const std::vector<std::string>& formulas, MissingValues missing);

  // Finds the columns by name; other columns are ignored. Throws DataError for a missing column or a missing value.
  EncodedRows encode(std::span<const Column> columns, std::optional<MissingValues> missing = std::nullopt) const;
  // W, each row divided by its largest entry. `rows` are the table's row numbers for messages. O(n p).
  RowMatrix features(const RowMatrix& x, std::span<const std::size_t> rows = {}) const;

  const std::vector<Covariate>& covariates() const { return covariates_; }
  const std::vector<Feature>& list() const { return features_; }
  const std::vector<std::string>& formulas() const { return formula_texts_; }
  const std::vector<std::string>& most_common_levels() const { return most_common_; }
  MissingValues missing() const { return missing_; }
  std::size_t num_features() const { return features_.size(); }
  std::size_t num_covariates() const { return covariates_.size(); }

 private:
  void finish(const std::vector<std::string>& formulas);
  std::vector<std::string> covariate_names() const;

  std::vector<Covariate> covariates_;     // levels of one column are adjacent
  std::vector<std::string> most_common_;  // by covariate: the level that stands for a missing one; "" for numbers
  std::vector<Feature> features_;
  std::vector<std::string> formula_texts_;
  std::vector<Formula> formulas_;
  MissingValues missing_ = MissingValues::error;
};

}  // namespace caucus
