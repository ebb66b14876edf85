#include "caucus/infer/dp_mallows/stage_tables.h"

#include <algorithm>
#include <cmath>

#include "caucus/infer/dp_mallows/score.h"

namespace caucus::dp_mallows {

StageTables::StageTables(StageCache& cache, Method method)
    : cache_(cache), prior_(cache.prior()), method_(method), num_stages_(prior_.num_stages()) {
  for (std::size_t j = 0; j < num_stages_; ++j) {
    first_.push_back(width_);
    width_ += (prior_.stage_size(j) + code_block - 1) / code_block * code_block;
  }
}

void StageTables::grow(std::size_t slots) {
  table_.resize(slots * width_);
  if (method_ != Method::slice_gibbs) stages_.resize(slots * num_stages_);
}

void StageTables::set_theta(std::size_t slot, std::size_t stage, double theta, double log_z) {
  double* const out = &table_[slot * width_ + first_[stage]];
  for (std::size_t s = 0; s < prior_.stage_size(stage); ++s) out[s] = std::exp(-theta * static_cast<double>(s) - log_z);
}

void StageTables::set(std::size_t slot, std::size_t j, double a, double b) {
  Stage& stage = stages_[slot * num_stages_ + j];
  stage.a = a, stage.b = b;
  stage.rule = nullptr;
  if (method_ == Method::exact_gibbs) {
    TabledRule* const rule = cache_.rule(j, a, b);
    if (rule != nullptr) {
      const std::size_t m = prior_.stage_size(j);
      if (rule->stride == 0) rule->make_tables(m);
      const double deviation = sum_deviation(m, rule->rule.a(), rule->rule.b());
      stage.rule = rule;
      stage.mean = rule->rule.a() / rule->rule.b();
      // A rule is good for a tilt by 2.25 deviations, of which a code may take the part that is left out here.
      stage.reach = deviation * std::min(1.0, 2.25 - static_cast<double>(m) / deviation);
      rule->rule.weigh(a, b, stage.weight);
      stage.total = 1.0;
    }
  }
  fill(slot, j);
}

void StageTables::fill(std::size_t slot, std::size_t j) {
  const Stage& stage = stages_[slot * num_stages_ + j];
  const std::size_t m = prior_.stage_size(j);
  double* const out = &table_[slot * width_ + first_[j]];
  if (method_ == Method::beta_gibbs) {  // B(a + s, b + 2) / B(a, b + 1)
    double value = (stage.b + 1.0) / (stage.a + stage.b + 1.0);
    for (std::size_t s = 0; s < m; ++s) {
      out[s] = value;
      value *= (stage.a + static_cast<double>(s)) / (stage.a + stage.b + 2.0 + static_cast<double>(s));
    }
  } else if (stage.rule != nullptr) {
    weighted_rows(stage.weight.data(), stage.rule->rows.data(), stage.rule->stride, 1.0 / stage.total, out);
  } else {
    const double* const logs = cache_.log_predictive(j, stage.a, stage.b);
    for (std::size_t s = 0; s < m; ++s) out[s] = std::exp(logs[s]);
  }
}

void StageTables::shift(std::size_t slot, std::size_t j, std::size_t code, double sign) {
  if (method_ == Method::slice_gibbs) return;
  Stage& stage = stages_[slot * num_stages_ + j];
  const double a = stage.a + sign * static_cast<double>(code), b = stage.b + sign;
  if (stage.rule == nullptr) return set(slot, j, a, b);
  const double more = b - stage.rule->rule.b();
  if (std::abs(a - stage.rule->rule.a() - stage.mean * more) > stage.reach || std::abs(more) > 0.15 * b) return set(slot, j, a, b);
  stage.a = a, stage.b = b;
  const std::vector<double>& factors = sign > 0.0 ? stage.rule->forth : stage.rule->back;
  stage.total = tilt_weights(stage.weight.data(), factors.data() + code * StageRule::size, 1.0 / stage.total);
  fill(slot, j);
}

double StageTables::among(std::size_t slot, std::size_t j, std::size_t code) {
  if (method_ == Method::slice_gibbs) return next(slot)[first_[j] + code];
  const Stage& stage = stages_[slot * num_stages_ + j];
  const double s = static_cast<double>(code), a = stage.a - s, b = stage.b - 1.0;
  if (method_ == Method::beta_gibbs) {
    double value = (b + 1.0) / (a + b + 1.0);
    for (double i = 0.0; i < s; i += 1.0) value *= (a + i) / (a + b + 2.0 + i);
    return value;
  }
  if (stage.rule != nullptr) return stage.total / dot_nodes(stage.weight.data(), stage.rule->back.data() + code * StageRule::size);
  return std::exp(cache_.log_predictive(j, a, b)[code]);
}

}  // namespace caucus::dp_mallows
