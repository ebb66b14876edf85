#include "caucus/infer/pl_regression/family.h"

#include "caucus/infer/pl_regression/options.h"

namespace caucus::pl_regression {

std::vector<FamilyInfo> families() {
  const Accepts rankings{.complete = true, .top_t = true, .subset = true, .ties = false}, classes{.complete = false};
  FamilyInfo regression{
      .name = "pl-regression",
      .title = "Plackett-Luce regression",
      .summary = "what covariates say about classes or ballots",
      .words =
          "Every feature gives every outcome a share; the larger an outcome's total, the likelier it comes first. A coefficient "
          "of zero means the feature says nothing for that outcome.",
      .methods = {{"em", "most probable weights, some of them exactly zero", rankings},
                  {"gibbs", "the whole posterior by sampling", rankings},
                  {"variational", "the posterior by independent Gamma factors", rankings}},
      .options = describe_options<Options>()};
  FamilyInfo rival{
      .name = "logit-lasso",
      .title = "Multinomial logit with lasso prior",
      .summary = "the rival of Plackett-Luce regression, for classes",
      .words =
          "Every feature pulls towards or away from every outcome, compared with the last one; the prior keeps small pulls near "
          "zero.",
      .methods = {{"logit-lasso", "the whole posterior by sampling", classes}},
      .options = regression.options};
  return {std::move(regression), std::move(rival)};
}

}  // namespace caucus::pl_regression
