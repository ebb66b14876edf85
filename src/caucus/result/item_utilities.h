// Utilities that follow from what is known of an item: coefficients of every group, so that items that nobody has ranked have
// utilities too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caucus/data/column.h"
#include "caucus/model/covariate_design.h"
#include "caucus/result/record.h"

namespace caucus {

struct ItemUtilities {
  CovariateDesign design;
  std::vector<double> center;                     // of the columns over the model's items, whose mean utility is zero
  std::vector<std::vector<double>> coefficients;  // [group][column], in the columns' own units
  std::vector<std::vector<double>> errors;        // NaN: none
  std::vector<std::vector<double>> covariances;   // [group][column * q + column]; empty: not estimated
  struct Spread {
    std::vector<std::vector<double>> error, low, high;
  } bootstrap;  // over samples, 95 % intervals; empty: none were drawn

  Record record() const;
  static std::shared_ptr<const ItemUtilities> read(const RecordView& record, std::size_t num_groups);
};

// A model that may have them; nullptr: its utilities follow from nothing.
class KnowsItems {
 public:
  virtual ~KnowsItems() = default;
  virtual const ItemUtilities* item_utilities() const = 0;
};
class FittedModel;
const ItemUtilities* item_utilities_of(const FittedModel& model);

// Of one group. The error is that of the coefficients alone: what else sets an item apart is not known of a new one.
struct ItemPrediction {
  double utility = 0.0, error = 0.0;
};
// [row][group]. `source` opens messages. Throws DataError where a column or a value is missing.
std::vector<std::vector<ItemPrediction>> predict_items(const ItemUtilities& known, const std::vector<Column>& columns,
                                                       const std::string& source, std::vector<std::string>& warnings);

}  // namespace caucus
