// Voters of whom no ranking is known: to which group they belong and what they prefer, from covariates alone.
#pragma once

#include <string>
#include <vector>

#include "caucus/data/column.h"
#include "caucus/result/fitted_model.h"

namespace caucus {

// A number with the 2.5 % and 97.5 % points of its draws; both are the number itself where the model has no errors.
struct Predicted {
  double value = 0.0, low = 0.0, high = 0.0;
};

struct VoterPrediction {
  std::vector<Predicted> groups;     // P(group)
  std::vector<Predicted> utilities;  // by item: the mean over groups; empty where groups have none
};

// One prediction per row of the columns. Draws of the coefficients come from their covariance, those of utilities from their
// standard errors, item by item. `model` has a membership. Throws DataError where a column or a value is missing.
std::vector<VoterPrediction> predict_voters(const FittedModel& model, const std::vector<Column>& columns, const std::string& source,
                                            std::vector<std::string>& warnings);

}  // namespace caucus
