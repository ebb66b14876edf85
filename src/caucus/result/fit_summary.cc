#include "caucus/result/fit_summary.h"

#include <cmath>

namespace caucus {

double FitSummary::bic() const {
  return -2.0 * loglik + static_cast<double>(num_parameters) * (num_rankings > 0.0 ? std::log(num_rankings) : 0.0);
}

nlohmann::json json_count(double count) {
  if (count == std::floor(count) && std::abs(count) < 9e15) return static_cast<std::int64_t>(count);
  return count;
}

}  // namespace caucus
