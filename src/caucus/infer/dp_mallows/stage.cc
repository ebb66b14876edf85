#include "caucus/infer/dp_mallows/stage.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/score.h"

namespace caucus::dp_mallows {

namespace {
constexpr double negligible_node = 42.0;  // nodes whose weight is below e^-42 of the largest are left out,
constexpr double reach = 18.0;            // so a tilt of the density by e^-18 still leaves them below 4e-11
}  // namespace

void StageQuadrature::build(std::size_t m, double a, double b) {
  m_ = m, a_ = a, b_ = b;
  // With u = e^-theta the mode in y solves (1 - u)(b mean(theta) - a) + u = 0, which has one root: where the first
  // term is negative it decreases in theta, and so does u. 0 <= (1 - u) mean <= u brackets it.
  double low = std::log1p(1.0 / a), high = std::log1p((1.0 + b) / a);
  double theta = high;
  for (int i = 0; i < 60 && high > low * (1.0 + 1e-9); ++i) {
    const double u = std::exp(-theta), gap = -std::expm1(-theta);
    const double excess = b * stage_mean(theta, m) - a;
    const double value = gap * excess + u;
    (value > 0.0 ? low : high) = theta;
    const double derivative = u * excess - gap * b * stage_variance(theta, m) - u;
    double next = derivative < 0.0 ? theta - value / derivative : 0.0;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    const bool close = std::abs(next - theta) <= 1e-3 * theta / std::sqrt(1.0 + b);
    theta = next;
    if (close) break;
  }
  const double gap = -std::expm1(-theta);
  const double width = 1.0 / std::sqrt(1.0 - gap + gap * gap * b * stage_variance(theta, m));
  // Near chance the density, cut off at theta = 0, is steep on one side: with the wider step the integral is off by up to 4e-8
  // there.
  const double most = static_cast<double>(m) - 1.0, spread = std::sqrt(b * most * (most + 2.0) / 12.0);
  const bool near_chance = std::abs(0.5 * b * most - a) < 5.0 * spread;
  const double step = std::min(0.25, (near_chance ? 0.25 : 0.5) * width);

  tilt_theta_.clear();
  theta_.clear();
  log_z_.clear();
  log_weight_.clear();
  double largest = -infinity;
  const auto push = [&](double y) {
    const double node = y > 36.0 ? y : std::log1p(std::exp(y));
    const double log_jacobian = y < -36.0 ? y : -std::log1p(std::exp(-y));  // d theta / d y = 1 - e^-theta
    const double log_z = (m == 1 ? 0.0 : log1mexp(static_cast<double>(m) * node) - log_jacobian);
    const double log_value = -a * node - b * log_z + log_jacobian;
    theta_.push_back(node);
    log_z_.push_back(log_z);
    log_weight_.push_back(log_value);
    largest = std::max(largest, log_value);
    return log_value >= largest - negligible_node;
  };
  const double center = theta + std::log(gap);  // y = log(e^theta - 1)
  // The weights fall by e^-42 within a few dozen steps unless a is so small that the prior hardly ends.
  constexpr std::size_t most_nodes = 100'000;
  for (double y = center; theta_.size() < most_nodes && push(y);) y += step;
  for (double y = center - step; theta_.size() < 2 * most_nodes && push(y);) y -= step;
  double total = 0.0;
  for (double value : log_weight_) total += std::exp(value - largest);
  const double log_total = largest + std::log(total);
  log_integral_ = log_total + std::log(step);
  for (double& value : log_weight_) value -= log_total;
}

double StageQuadrature::mean_theta() const {
  double mean = 0.0;
  for (std::size_t q = 0; q < theta_.size(); ++q) mean += std::exp(log_weight_[q]) * theta_[q];
  return mean;
}

double StageQuadrature::log_predictive_at(double s) const {
  term_.resize(theta_.size());
  for (std::size_t q = 0; q < theta_.size(); ++q) term_[q] = log_weight_[q] - theta_[q] * s - log_z_[q];
  const double value = log_sum_exp(term_);
  // Far codes weigh values of theta that the nodes leave out.
  return value > -reach ? value : log_stage_integral(m_, a_ + s, b_ + 1.0) - log_integral_;
}

void StageQuadrature::log_predictive(std::span<double> out) const {
  const StageQuadrature* nodes = this;
  StageQuadrature tilted;
  double log_base = 0.0;
  for (std::size_t s = 0; s < out.size();) {
    const std::size_t count = nodes->theta_.size();
    term_.resize(count);
    factor_.resize(count);
    for (std::size_t q = 0; q < count; ++q) {
      term_[q] = std::exp(nodes->log_weight_[q] - (nodes == this ? log_z_[q] : 0.0));
      factor_[q] = std::exp(-nodes->theta_[q]);
    }
    const std::size_t first = s;
    for (; s < out.size(); ++s) {
      double total = 0.0;
      for (std::size_t q = 0; q < count; ++q) {
        total += term_[q];
        term_[q] *= factor_[q];
      }
      const double value = std::log(total);
      if (value < -reach && (s > first || nodes == this)) break;
      out[s] = log_base + value;
    }
    if (s == out.size()) return;
    // p(s + d) = p(s) E[e^(-theta d)] under the density tilted to s: nodes of its own, before these run out.
    tilted.build(m_, a_ + static_cast<double>(s), b_ + 1.0);
    log_base = tilted.log_integral_ - log_integral_;
    nodes = &tilted;
  }
}

void StageQuadrature::make_factors() {
  const std::size_t count = theta_.size(), padded = (count + slot_block - 1) / slot_block * slot_block;
  tilt_theta_.assign(padded, 0.0);
  tilt_log_z_.assign(padded, 0.0);
  tilt_log_weight_.assign(padded, -1e6);
  tilt_factor_.assign(padded, 1.0);
  tilt_inverse_z_.assign(padded, 0.0);
  for (std::size_t q = 0; q < count; ++q) {
    tilt_theta_[q] = theta_[q];
    tilt_log_z_[q] = log_z_[q];
    tilt_log_weight_[q] = log_weight_[q];
    tilt_factor_[q] = std::exp(-theta_[q]);
    tilt_inverse_z_[q] = std::exp(-log_z_[q]);
  }
}

void StageQuadrature::log_predictive_of(double a, double b, std::span<double> out) {
  if (tilt_theta_.empty()) make_factors();
  term_.resize(tilt_theta_.size());
  log_tilted_sums({.count = tilt_theta_.size(),
                   .theta = tilt_theta_.data(),
                   .log_z = tilt_log_z_.data(),
                   .log_weight = tilt_log_weight_.data(),
                   .factor = tilt_factor_.data(),
                   .inverse_z = tilt_inverse_z_.data()},
                  a - a_, b - b_, term_.data(), out.data(), out.size());
}

std::optional<NearNodes> near_nodes(std::size_t m, double a, double b) {
  // The variance of a code: of a geometric one, at most of a uniform one; in between it is less than either by a third.
  const double mean = a / b, most = static_cast<double>(m) - 1.0;
  const double variance = 0.6 * std::min(mean * (1.0 + mean), most * (most + 2.0) / 12.0);
  const double deviation = std::sqrt(b * variance);
  if (most + 1.0 > 2.0 * deviation) return std::nullopt;
  // Steps are powers of two, so that neighbours share their places. Another b moves the mode as another a does that is mean times
  // as large, and makes it narrower.
  const auto nearest = [](double value, double step_at_most) {
    const double step = std::exp2(std::floor(std::log2(step_at_most)));
    return std::round(value / step) * step;
  };
  return NearNodes{nearest(a, 0.5 * deviation), nearest(b, std::min(0.5 * deviation / mean, 0.2 * b))};
}

double log_stage_integral(std::size_t m, double a, double b) {
  StageQuadrature quadrature;
  quadrature.build(m, a, b);
  return quadrature.log_integral();
}

double log_gamma_positive(double x) {
  double shift = 0.0;
  if (x < 12.0) {
    double product = 1.0;
    for (; x < 12.0; x += 1.0) product *= x;
    shift = std::log(product);
  }
  constexpr double half_log_2pi = 0.91893853320467274178;
  const double inverse = 1.0 / x, square = inverse * inverse;
  const double series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
  return (x - 0.5) * std::log(x) - x + half_log_2pi + series - shift;
}

double log_beta_integral(double a, double b) {
  return log_gamma_positive(a) + log_gamma_positive(b + 1.0) - log_gamma_positive(a + b + 1.0);
}

double log_beta_predictive(double a, double b, double s) {
  return std::log(b + 1.0) + log_gamma_positive(a + s) - log_gamma_positive(a) - log_gamma_positive(a + b + s + 2.0) +
         log_gamma_positive(a + b + 1.0);
}

double draw_theta(std::size_t m, double a, double b, RandomStream& rng) {
  if (m == 1 || b <= 0.0) return rng.exponential() / a;
  const auto log_density = [&](double theta) { return -a * theta - b * log_stage_normalizer(theta, m); };
  const auto slope = [&](double theta) { return b * stage_mean(theta, m) - a; };
  // The mode: 0 where even theta = 0 has too small a mean, else where b mean(theta) = a.
  double mode = 0.0;
  if (slope(0.0) > 0.0) {
    double low = 0.0, high = (1.0 + b) / a;
    mode = std::log1p(b / a);  // the infinite stage's
    for (int i = 0; i < 100; ++i) {
      const double value = slope(mode);
      (value > 0.0 ? low : high) = mode;
      double next = mode + value / (b * stage_variance(mode, m));
      if (!(next > low && next < high)) next = 0.5 * (low + high);
      if (std::abs(next - mode) < 1e-10 * (1.0 + mode)) break;
      mode = next;
    }
  }
  double width = 1.0 / std::sqrt(b * stage_variance(mode, m));
  if (mode == 0.0) width = std::min(width, 1.0 / std::max(-slope(0.0), 1e-300));
  const double top = log_density(mode);
  // Right tangent at mode + width, left tangent at mode - width where that is positive; flat in between. Concavity
  // puts the density below all three.
  const double right = mode + width, right_slope = slope(right);
  const double right_edge = right + (top - log_density(right)) / right_slope;  // where the tangent meets the top
  const double left = mode - width;
  double left_edge = 0.0, left_slope = 0.0, left_mass = 0.0;
  if (left > 0.0) {
    left_slope = slope(left);
    left_edge = std::clamp(left + (top - log_density(left)) / left_slope, 0.0, mode);
    left_mass = -std::expm1(-left_slope * left_edge) / left_slope;
  }
  const double flat_mass = right_edge - left_edge, right_mass = -1.0 / right_slope;
  // The envelope holds at most a few times the mass of the density, so thousands of refusals in a row mean numbers beyond
  // double precision: then the density is a spike at its mode.
  for (int attempt = 0; attempt < 10'000; ++attempt) {
    const double pick = rng.uniform() * (left_mass + flat_mass + right_mass);
    double theta = 0.0, log_envelope = 0.0;
    if (pick < left_mass) {
      // Density e^(left_slope (theta - left_edge)) on [0, left_edge].
      theta = left_edge + std::log1p(rng.uniform() * std::expm1(-left_slope * left_edge)) / left_slope;
      log_envelope = left_slope * (theta - left_edge);
    } else if (pick < left_mass + flat_mass) {
      theta = left_edge + flat_mass * rng.uniform();
    } else {
      const double jump = rng.exponential();
      theta = right_edge - jump / right_slope;
      log_envelope = -jump;
    }
    theta = std::max(theta, 0.0);
    if (std::log(rng.uniform_open()) + log_envelope <= log_density(theta) - top) return theta;
  }
  return mode;
}

double sample_theta_slice(std::size_t m, double a, double b, double theta, int steps, RandomStream& rng) {
  const auto log_density = [&](double x) { return -a * x - b * log_stage_normalizer(x, m); };
  const double width = 1.0 / std::sqrt(1.0 + b * stage_variance(1.0, m));  // a constant of the target, so still a valid slice
  for (int step = 0; step < steps; ++step) {
    const double level = log_density(theta) - rng.exponential();
    double low = theta - width * rng.uniform(), high = low + width;
    // Neal (2003) allows a limit on the steps out, fixed beforehand.
    constexpr int most_steps_out = 10'000;
    for (int out = 0; out < most_steps_out && low > 0.0 && log_density(low) > level; ++out) low -= width;
    for (int out = 0; out < most_steps_out && log_density(high) > level; ++out) high += width;
    low = std::max(low, 0.0);
    // Each refusal shrinks the interval; after a thousand theta is where it was, to the last bit.
    for (int shrink = 0; shrink < 1000; ++shrink) {
      const double proposal = low + (high - low) * rng.uniform();
      if (log_density(proposal) > level || !(high > low)) {
        theta = proposal;
        break;
      }
      (proposal < theta ? low : high) = proposal;
    }
  }
  return theta;
}

double draw_theta_beta(double a, double b, RandomStream& rng) {
  const double log_odds = rng.log_gamma(b + 1.0) - rng.log_gamma(a);
  return log_odds > 30.0 ? log_odds + std::exp(-log_odds) : std::log1p(std::exp(log_odds));
}

}  // namespace caucus::dp_mallows
