// What the tests and fuzz targets of this layer share.
#pragma once

#include <cmath>
#include <string>

#include "caucus/data/dataset.h"

namespace caucus::io_testing {

inline std::string difference_of_columns(const std::vector<Column>& a, const std::vector<Column>& b) {
  if (a.size() != b.size()) return "number of covariates";
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Column& left = a[i];
    const Column& right = b[i];
    if (left.name != right.name) return "name of covariate " + std::to_string(i + 1);
    if (left.texts != right.texts || left.numbers.size() != right.numbers.size()) return "values of covariate " + left.name;
    for (std::size_t row = 0; row < left.numbers.size(); ++row)
      if (left.numbers[row] != right.numbers[row] && !(std::isnan(left.numbers[row]) && std::isnan(right.numbers[row])))
        return "values of covariate " + left.name;
  }
  return {};
}

// The first difference between two data sets in words; empty where they are the same in everything a file can hold. Where every
// ranking is complete, the meaning of unlisted items means nothing.
inline std::string difference(const Dataset& a, const Dataset& b) {
  if (a.items != b.items) return "items";
  if (a.rankings.num_rows() != b.rankings.num_rows()) return "number of rows";
  if (a.rankings.size() != b.rankings.size()) return "number of distinct rankings";
  if (a.rankings.total_weight() != b.rankings.total_weight()) return "total weight";
  bool complete = true;
  for (std::size_t row = 0; row < a.rankings.num_rows(); ++row) {
    const RankingView left = a.rankings[a.rankings.row_ranking(row)];
    if (!(left == b.rankings[b.rankings.row_ranking(row)])) return "ranking of row " + std::to_string(row + 1);
    if (a.rankings.row_weight(row) != b.rankings.row_weight(row)) return "weight of row " + std::to_string(row + 1);
    complete = complete && left.size() == a.num_items();
  }
  if (a.unranked != b.unranked && !complete) return "meaning of unlisted items";
  if (a.blanks.size() != b.blanks.size()) return "number of blank rows";
  for (std::size_t i = 0; i < a.blanks.size(); ++i)
    if (a.blanks[i].row != b.blanks[i].row || a.blanks[i].weight != b.blanks[i].weight) return "blank row " + std::to_string(i + 1);
  const std::string listed = difference_of_columns(a.covariates, b.covariates);
  return listed.empty() ? difference_of_columns(a.blank_covariates, b.blank_covariates) : listed;
}

}  // namespace caucus::io_testing
