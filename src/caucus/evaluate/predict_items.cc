#include "caucus/evaluate/predict_items.h"

#include <fmt/format.h>

#include <cmath>

#include "caucus/base/error.h"
#include "caucus/model/covariate_design.h"
#include "caucus/result/model_record.h"

namespace caucus {

std::vector<std::vector<Predicted>> predict_items(std::string_view model_text, const std::string& model_name,
                                                  const std::vector<Column>& columns, const std::string& source,
                                                  std::vector<std::string>& warnings) {
  const ModelDocument document = ModelDocument::parse(model_text, model_name);
  if (!document.record().model.has("item_utilities"))
    throw DataError(fmt::format(
        "{}: the utilities of this model do not follow from anything known of an item; fit it with --utilities", model_name));
  const RecordView known = document.record().model.object("item_utilities");
  std::vector<DesignTerm> terms;
  for (const RecordView& one : known.objects("terms")) {
    DesignTerm& term = terms.emplace_back();
    term.name = one.text("name");
    if (one.has("levels")) term.levels = one.texts("levels");
    term.arithmetic = one.flag("arithmetic", false);
  }
  const CovariateDesign design = CovariateDesign::from_parts(std::move(terms), false, MissingValues::error);
  const std::size_t q = design.num_columns(), num_groups = document.record().components.size();
  const std::vector<double> center = known.numbers("center", q);
  const std::vector<std::vector<double>> coefficients = known.matrix("coefficients", num_groups, q),
                                         errors = known.matrix("standard_errors", num_groups, q);
  const CovariateDesign::Encoded encoded =
      design.encode(columns, [&](std::size_t row) { return fmt::format("{}: row {}", source, row + 1); });
  warnings.insert(warnings.end(), encoded.warnings.begin(), encoded.warnings.end());
  std::vector<std::vector<Predicted>> rows;
  for (std::size_t row = 0; row < encoded.complete.size(); ++row) {
    std::vector<Predicted>& groups = rows.emplace_back();
    for (std::size_t k = 0; k < num_groups; ++k) {
      double utility = 0.0, variance = 0.0;
      for (std::size_t j = 0; j < q; ++j) {
        const double x = encoded.x(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(j)) - center[j];
        utility += coefficients[k][j] * x;
        if (std::isfinite(errors[k][j])) variance += errors[k][j] * errors[k][j] * x * x;
      }
      const double reach = 1.96 * std::sqrt(variance);
      groups.push_back({utility, utility - reach, utility + reach});
    }
  }
  return rows;
}

}  // namespace caucus
