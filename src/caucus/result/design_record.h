// The terms of a formula in a model file, the same for what is known of voters and of items.
#pragma once

#include <vector>

#include "caucus/model/covariate_design.h"
#include "caucus/result/record.h"

namespace caucus {

// Adds "formula", "columns" and "terms".
void write_design(const CovariateDesign& design, Record& record);
std::vector<DesignTerm> read_terms(const RecordView& record);

// [row * width + column] as rows, and back.
std::vector<std::vector<double>> rows_of(const std::vector<double>& values, std::size_t width);
std::vector<double> flattened(const std::vector<std::vector<double>>& rows);

}  // namespace caucus
