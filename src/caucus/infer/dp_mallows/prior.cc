#include "caucus/infer/dp_mallows/prior.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/center.h"

namespace caucus::dp_mallows {

namespace {

std::vector<double> cumulate(std::span<const double> logs) {
  const double largest = *std::max_element(logs.begin(), logs.end());
  std::vector<double> result;
  double total = 0.0;
  for (double value : logs) result.push_back(total += std::exp(value - largest));
  for (double& value : result) value /= total;
  return result;
}

}  // namespace

Prior::Prior(PriorParameters parameters, std::size_t num_items, std::size_t num_stages, bool beta)
    : parameters_(std::move(parameters)), num_items_(num_items), num_stages_(std::max(num_stages, parameters_.center.size())) {
  log_new_.assign(num_items_ + 1, 0.0);
  for (std::size_t t = 0; t < num_items_; ++t) log_new_[t + 1] = log_new_[t] - std::log(static_cast<double>(num_items_ - t));
  StageQuadrature quadrature;
  std::vector<double> logs;
  for (std::size_t j = 0; j < num_stages_; ++j) {
    log_empty_.push_back(log_stage_integral(stage_size(j), a(j), nu()));
    logs.assign(stage_size(j), 0.0);
    if (beta) {
      for (std::size_t v = 0; v < logs.size(); ++v) logs[v] = log_beta_predictive(a(j), nu(), static_cast<double>(v));
    } else {
      quadrature.build(stage_size(j), a(j), nu());
      quadrature.log_predictive(logs);
    }
    first_code_.push_back(cumulate(logs));
  }
  if (!informative()) return;
  // P^0(sigma) is proportional to the product over j of the integral over theta_j with a_j = nu r_j + weight V_j, and
  // the V_j range freely: the same code as of a single ranking.
  for (std::size_t j = 0; j < parameters_.center.size(); ++j) {
    logs.assign(stage_size(j), 0.0);
    for (std::size_t v = 0; v < logs.size(); ++v) {
      const double value = a(j) + parameters_.center_weight * static_cast<double>(v);
      logs[v] = beta ? log_beta_integral(value, nu()) : log_stage_integral(stage_size(j), value, nu());
    }
    const double total = log_sum_exp(logs);
    center_code_.push_back(cumulate(logs));
    for (double& value : logs) value -= total;
    log_center_code_.push_back(logs);
  }
}

void Prior::stage_priors(const Center& center, std::span<double> out) const {
  for (std::size_t j = 0; j < num_stages_; ++j) out[j] = a(j);
  if (!informative()) return;
  std::vector<std::int32_t> s(parameters_.center.size());
  codes(
      parameters_.center, [&](Item item) { return static_cast<std::int32_t>(center.position[static_cast<std::size_t>(item)]); }, s);
  for (std::size_t j = 0; j < s.size(); ++j) out[j] += parameters_.center_weight * s[j];
}

void Prior::draw_center(Center& center, RandomStream& rng) const {
  if (informative())
    sample_sigma_n1(parameters_.center, num_items_, center_code_, center, rng);
  else
    sample_uniform(num_items_, center, rng);
}

double Prior::log_center(const Center& center) const {
  if (!informative()) return log_new_[num_items_];
  std::vector<std::int32_t> s(parameters_.center.size());
  codes(
      parameters_.center, [&](Item item) { return static_cast<std::int32_t>(center.position[static_cast<std::size_t>(item)]); }, s);
  double value = log_new_[num_items_] - log_new_[s.size()];  // the other items' order is uniform
  for (std::size_t j = 0; j < s.size(); ++j) value += log_center_code_[j][static_cast<std::size_t>(s[j])];
  return value;
}

double Prior::log_empty(std::size_t stage, double value, bool beta) const {
  if (beta) return log_beta_integral(value, nu());
  return value == a(stage) ? log_empty_[stage] : log_stage_integral(stage_size(stage), value, nu());
}

void Prior::draw_center_given(std::span<const Item> ranking, Center& center, RandomStream& rng) const {
  sample_sigma_n1(ranking, num_items_, first_code_, center, rng);
}

}  // namespace caucus::dp_mallows
