// What is known of the items, for utilities that follow from it: u_k = Z beta_k, columns of Z centered over the items.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "caucus/model/covariate_design.h"

namespace caucus::pl_mixture {

// In the order of the data's items.
struct ItemDesign {
  CovariateDesign design;
  RowMatrix x;  // in the columns' own units
  std::vector<std::string> warnings;
};
// Throws DataError that names items without a line, or with several.
ItemDesign read_item_design(const std::string& path, std::string_view formula, const std::vector<std::string>& items);

}  // namespace caucus::pl_mixture
