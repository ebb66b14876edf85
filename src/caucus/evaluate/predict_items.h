// Items that nobody has ranked: what they are worth in every group, from what is known of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/column.h"
#include "caucus/evaluate/predict_voters.h"

namespace caucus {

// One utility per group for each row of the columns, on the scale on which the mean of the model's items is zero, with 95 %
// intervals that take the coefficients as independent. `model_text` is the model file of a fit with utilities that follow from what
// is known of the items; `model_name` stands in messages. Throws DataError where it is none, or a column or a value is missing.
std::vector<std::vector<Predicted>> predict_items(std::string_view model_text, const std::string& model_name,
                                                  const std::vector<Column>& columns, const std::string& source,
                                                  std::vector<std::string>& warnings);

}  // namespace caucus
