#include "caucus/result/fit_summary.h"

#include <cmath>

namespace caucus {

double FitSummary::bic() const {
  const double size = effective_size();
  return -2.0 * loglik / one_ballot + static_cast<double>(num_parameters) * (size > 0.0 ? std::log(size) : 0.0);
}

}  // namespace caucus
