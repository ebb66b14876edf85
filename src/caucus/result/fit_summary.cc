#include "caucus/result/fit_summary.h"

#include <cmath>

namespace caucus {

double FitSummary::bic() const {
  const double size = num_voters > 0.0 ? num_voters : num_rankings;
  return -2.0 * loglik + static_cast<double>(num_parameters) * (size > 0.0 ? std::log(size) : 0.0);
}

}  // namespace caucus
