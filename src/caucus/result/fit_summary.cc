#include "caucus/result/fit_summary.h"

#include <cmath>

namespace caucus {

double FitSummary::bic() const {
  return -2.0 * loglik + static_cast<double>(num_parameters) * (num_rankings > 0.0 ? std::log(num_rankings) : 0.0);
}

}  // namespace caucus
