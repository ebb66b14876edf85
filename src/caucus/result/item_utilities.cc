#include "caucus/result/item_utilities.h"

#include <fmt/format.h>

#include <cmath>

#include "caucus/result/design_record.h"
#include "caucus/result/fitted_model.h"

namespace caucus {

const ItemUtilities* item_utilities_of(const FittedModel& model) {
  const auto* known = dynamic_cast<const KnowsItems*>(&model);
  return known != nullptr ? known->item_utilities() : nullptr;
}

Record ItemUtilities::record() const {
  Record result;
  write_design(design, result);
  result.set("center", center).set("coefficients", coefficients).set("standard_errors", errors);
  if (!covariances.empty()) result.set("covariances", covariances);
  if (!bootstrap.error.empty())
    result.set("bootstrap", Record().set("standard_errors", bootstrap.error).set("low", bootstrap.low).set("high", bootstrap.high));
  return result;
}

std::shared_ptr<const ItemUtilities> ItemUtilities::read(const RecordView& record, std::size_t num_groups) {
  auto result = std::make_shared<ItemUtilities>();
  result->design = CovariateDesign::from_parts(read_terms(record), false, MissingValues::error);
  const std::size_t q = result->design.num_columns();
  result->center = record.numbers("center", q);
  result->coefficients = record.matrix("coefficients", num_groups, q);
  if (record.has("covariances")) result->covariances = record.matrix("covariances", num_groups, q * q);
  for (std::size_t k = 0; k < num_groups; ++k) {
    result->errors.emplace_back(q, std::nan(""));
    for (std::size_t j = 0; j < q && !result->covariances.empty(); ++j)
      result->errors[k][j] = std::sqrt(std::max(0.0, result->covariances[k][j * q + j]));
  }
  if (record.has("bootstrap")) {
    const RecordView drawn = record.object("bootstrap");
    result->bootstrap = {drawn.matrix("standard_errors", num_groups, q), drawn.matrix("low", num_groups, q),
                         drawn.matrix("high", num_groups, q)};
  }
  return result;
}

std::vector<std::vector<ItemPrediction>> predict_items(const ItemUtilities& known, const std::vector<Column>& columns,
                                                       const std::string& source, std::vector<std::string>& warnings) {
  const CovariateDesign::Encoded encoded =
      known.design.encode(columns, [&](std::size_t row) { return fmt::format("{}: row {}", source, row + 1); });
  warnings.insert(warnings.end(), encoded.warnings.begin(), encoded.warnings.end());
  const std::size_t q = known.design.num_columns();
  std::vector<std::vector<ItemPrediction>> result;
  std::vector<double> x(q);
  for (std::size_t row = 0; row < encoded.complete.size(); ++row) {
    for (std::size_t j = 0; j < q; ++j)
      x[j] = encoded.x(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(j)) - known.center[j];
    auto& of_row = result.emplace_back();
    for (std::size_t k = 0; k < known.coefficients.size(); ++k) {
      ItemPrediction one;
      double variance = 0.0;
      for (std::size_t j = 0; j < q; ++j) {
        one.utility += known.coefficients[k][j] * x[j];
        for (std::size_t i = 0; i < q && !known.covariances.empty(); ++i) variance += known.covariances[k][j * q + i] * x[j] * x[i];
      }
      one.error = std::sqrt(std::max(0.0, variance));
      of_row.push_back(one);
    }
  }
  return result;
}

}  // namespace caucus
