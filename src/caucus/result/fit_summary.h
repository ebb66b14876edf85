// How a fit went: the "fit" object of a model file.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/base/options.h"

namespace caucus {

enum class StopReason { converged, iteration_limit, time_limit, interrupted, closed_form };
template <>
inline constexpr std::array<std::string_view, 5> enum_names<StopReason>{"converged", "iteration_limit", "time_limit", "interrupted",
                                                                        "closed_form"};

struct FitSummary {
  std::string method;
  double loglik = 0.0;        // log P(observed data), natural, weighted by counts, no prior term
  double num_rankings = 0.0;  // sum of weights
  std::int64_t num_parameters = 0;
  std::optional<double> entropy;  // of the memberships: -sum_i w_i sum_k p_ik log p_ik; mixtures only
  int iterations = 0;
  StopReason stop_reason = StopReason::converged;
  double seconds = 0.0;
  std::uint64_t seed = 1;
  int threads = 1;
  std::vector<double> trace;                          // the objective; its last value is that of the returned parameters
  std::vector<std::string> warnings;                  // in plain words
  OptionMap options;                                  // as used
  nlohmann::json details = nlohmann::json::object();  // a family's own keys for the "fit" object

  double aic() const { return -2.0 * loglik + 2.0 * static_cast<double>(num_parameters); }
  double bic() const;                                                 // -2 loglik + p log N: lower is better
  double icl() const { return bic() + 2.0 * entropy.value_or(0.0); }  // Biernacki, Celeux & Govaert 2000

  nlohmann::json to_json() const;
};

// A sum of weights: a whole number where it is one.
nlohmann::json json_count(double count);

}  // namespace caucus
