#include "caucus/model/generalized_mallows.h"

#include <algorithm>
#include <cmath>

namespace caucus {

GeneralizedMallows::GeneralizedMallows(std::vector<ItemId> center, std::vector<double> theta, Code code)
    : center_(std::move(center)), position_(inverse_order(center_)), theta_(std::move(theta)), log_z_(1, 0.0), code_(code) {
  for (std::size_t j = 0; j < theta_.size(); ++j)
    log_z_.push_back(log_z_.back() + log_stage_normalizer(theta_[j], num_items() - j));
}

double GeneralizedMallows::log_prob(std::span<const ItemId> ranking) const {
  const std::size_t n = num_items();
  std::vector<std::uint32_t> code(n);
  if (code_ == Code::s)
    code_s(ranking, position_, code);
  else
    code_v(ranking, position_, code);
  const std::size_t stages = std::min(ranking.size(), theta_.size());
  double value = -log_z_[stages];
  for (std::size_t j = 0; j < stages; ++j) value -= theta_[j] * static_cast<double>(code[j]);
  return value;
}

double GeneralizedMallows::first_probability(std::size_t p) const {
  if (num_items() == 1) return 1.0;  // no stage, no theta
  if (code_ == Code::s) return std::exp(-theta_[0] * static_cast<double>(p) - log_stage_normalizer(theta_[0], num_items()));
  return position_probabilities(p)[0];
}

std::vector<double> GeneralizedMallows::position_probabilities(std::size_t p) const {
  const std::size_t n = num_items();
  std::vector<double> out(n, 0.0);
  if (n == 1) return {1.0};
  const auto stage = [&](std::size_t j) {  // P(x_j = v), v < n - j
    std::vector<double> mass(n - j, 1.0);
    if (j + 1 == n) return mass;
    const double log_z = log_stage_normalizer(theta_[j], n - j);
    for (std::size_t v = 0; v < n - j; ++v) mass[v] = std::exp(-theta_[j] * static_cast<double>(v) - log_z);
    return mass;
  };
  if (code_ == Code::s) {
    // ahead[a] = P(not placed yet, and a items before it in the center are left).
    std::vector<double> ahead(n, 0.0), next(n);
    ahead[p] = 1.0;
    for (std::size_t j = 0; j < n; ++j) {
      const std::vector<double> mass = stage(j);
      std::vector<double> less(mass.size() + 1, 0.0);
      for (std::size_t v = 0; v < mass.size(); ++v) less[v + 1] = less[v] + mass[v];
      double more = 0.0;  // P(x > a), summed from the small end
      std::vector<double> above(mass.size(), 0.0);
      for (std::size_t v = mass.size(); v-- > 0; more += mass[v]) above[v] = more;
      std::fill(next.begin(), next.end(), 0.0);
      for (std::size_t a = 0; a < mass.size(); ++a) {
        out[j] += ahead[a] * mass[a];
        next[a] += ahead[a] * above[a];
        if (a > 0) next[a - 1] += ahead[a] * less[a];
      }
      ahead.swap(next);
    }
  } else {
    // Insertion from the last item of the center to the first: item j enters at place V_j, later ones push it back.
    const std::vector<double> own = stage(p);
    std::copy(own.begin(), own.end(), out.begin());
    for (std::size_t j = p; j-- > 0;) {
      const std::vector<double> mass = stage(j);
      std::vector<double> at_most(mass.size());
      double sum = 0.0;
      for (std::size_t v = 0; v < mass.size(); ++v) at_most[v] = sum += mass[v];
      std::vector<double> above(mass.size(), 0.0);
      double more = 0.0;
      for (std::size_t v = mass.size(); v-- > 0; more += mass[v]) above[v] = more;
      for (std::size_t place = mass.size(); place-- > 0;)
        out[place] = out[place] * above[place] + (place > 0 ? out[place - 1] * at_most[place - 1] : 0.0);
    }
  }
  return out;
}

GeneralizedMallowsSampler::GeneralizedMallowsSampler(std::vector<ItemId> center, std::span<const double> theta, Code code)
    : center_(std::move(center)), stages_(theta, center_.size()), code_(code) {}

void GeneralizedMallowsSampler::draw(RandomStream& stream, std::span<ItemId> out) const {
  const std::size_t n = center_.size();
  if (code_ == Code::s) {
    std::vector<std::uint32_t> code(out.size() + StageSampler::beyond);
    stages_.draw(stream, out.size(), code);
    code.resize(out.size());
    decode_s(code, center_, out);
    return;
  }
  std::vector<std::uint32_t> code(n + StageSampler::beyond);
  stages_.draw(stream, n, code);
  code.resize(n);
  if (out.size() == n) {
    decode_v(code, center_, out);
    return;
  }
  std::vector<ItemId> whole(n);
  decode_v(code, center_, whole);
  std::copy_n(whole.begin(), out.size(), out.begin());
}

}  // namespace caucus
