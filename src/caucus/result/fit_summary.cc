#include "caucus/result/fit_summary.h"

#include <cmath>

namespace caucus {

// Of as many ballots as the data are worth (data/weights.h), so that a choice by it does not depend on the scale of weights.
double FitSummary::bic() const {
  const double total = num_voters > 0.0 ? num_voters : num_rankings;
  const double size = details.view().number("effective_size", total);
  if (!(size > 0.0 && total > 0.0)) return -2.0 * loglik;
  return -2.0 * loglik * (size / total) + static_cast<double>(num_parameters) * std::log(size);
}

}  // namespace caucus
