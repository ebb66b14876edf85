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

nlohmann::json FitSummary::to_json() const {
  nlohmann::json json = details;
  json["loglik"] = loglik;
  json["num_rankings"] = json_count(num_rankings);
  json["num_parameters"] = num_parameters;
  json["aic"] = aic();
  json["bic"] = bic();
  json["icl"] = icl();
  json["iterations"] = iterations;
  json["stop_reason"] = name_of(stop_reason);
  json["seconds"] = seconds;
  json["seed"] = seed;
  json["threads"] = threads;
  json["trace"] = trace;
  json["options"] = options;
  if (entropy) json["entropy"] = *entropy;
  if (!warnings.empty()) json["warnings"] = warnings;
  return json;
}

}  // namespace caucus
