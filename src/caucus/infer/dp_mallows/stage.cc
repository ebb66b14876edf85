#include "caucus/infer/dp_mallows/stage.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/score.h"
#include "caucus/model/decompositions.h"

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

  const double center = theta + std::log(gap);  // y = log(e^theta - 1)
  make_nodes(center, step);
  log_integral_ = normalise() + std::log(step);
}

// From the mode upwards, then from there downwards, whole vectors at a time, as far as the nodes have weight.
void StageQuadrature::make_nodes(double center, double step) {
  // The weights fall by e^-42 within a few dozen steps unless a is so small that the prior hardly ends.
  constexpr std::size_t most_nodes = 100'000;
  theta_.clear(), log_z_.clear(), log_weight_.clear();
  double largest = -infinity;
  for (const double direction : {step, -step}) {
    const std::size_t begin = theta_.size();
    for (bool ends = false; !ends && theta_.size() < begin + most_nodes;) {
      const std::size_t from = theta_.size();
      const double y = center + direction * static_cast<double>(from - begin + (direction < 0.0 ? 1 : 0));
      theta_.resize(from + slot_block), log_z_.resize(from + slot_block), log_weight_.resize(from + slot_block);
      node_values(static_cast<double>(m_), a_, b_, y, direction, slot_block, {&theta_[from], &log_z_[from], &log_weight_[from]});
      for (std::size_t q = from; q < from + slot_block && !ends; ++q) {
        largest = std::max(largest, log_weight_[q]);
        if (log_weight_[q] >= largest - negligible_node) continue;
        theta_.resize(q + 1), log_z_.resize(q + 1), log_weight_.resize(q + 1);
        ends = true;
      }
    }
  }
}

// Makes the log-sum of the weights 0; answers what it was.
double StageQuadrature::normalise() {
  const std::size_t count = log_weight_.size(), padded = (count + slot_block - 1) / slot_block * slot_block;
  log_weight_.resize(padded, -infinity);
  term_.resize(padded);
  const double largest = largest_of(log_weight_.data(), padded);
  const double log_total = largest + std::log(exp_weights(log_weight_.data(), padded, largest, term_.data()));
  log_weight_.resize(count);
  for (double& value : log_weight_) value -= log_total;
  return log_total;
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

namespace {

// Nodes and weights of Gauss's rule for weights at points: the nodes are the roots of the polynomial after the last, which are the
// eigenvalues of the recurrence's matrix, and a weight is the inverse of the sum of squares of all polynomials there.
void gauss_rule(std::span<const double> x, std::span<const double> weight, StageRule::Nodes& nodes, StageRule::Nodes& weights) {
  const std::size_t count = x.size();
  const double first = 1.0 / std::sqrt(sum(weight));
  std::vector<double> now(count, first), before(count, 0.0);
  Eigen::VectorXd alpha(StageRule::size), beta(StageRule::size);  // beta: of a polynomial and the next
  for (Eigen::Index k = 0; k < alpha.size(); ++k) {
    const Recurrence next = next_polynomial(x.data(), weight.data(), count, k == 0 ? 0.0 : beta[k - 1], now.data(), before.data());
    alpha[k] = next.alpha;
    beta[k] = std::sqrt(next.square_norm);
    std::swap(now, before);
    for (double& value : now) value /= beta[k];
  }
  const Eigen::VectorXd roots = tridiagonal_eigenvalues(alpha, beta.head(alpha.size() - 1));
  for (std::size_t q = 0; q < StageRule::size; ++q) {
    nodes[q] = roots[static_cast<Eigen::Index>(q)];
    double here = first, last = 0.0, squares = 0.0;
    for (Eigen::Index k = 0; k < alpha.size(); ++k) {
      squares += here * here;
      const double next = ((nodes[q] - alpha[k]) * here - (k == 0 ? 0.0 : beta[k - 1] * last)) / beta[k];
      last = here;
      here = next;
    }
    weights[q] = 1.0 / squares;
  }
}

}  // namespace

StageRule::StageRule(std::size_t m, double a, double b) : a_(a), b_(b) {
  StageQuadrature fine;
  fine.build(m, a, b);
  log_integral_ = fine.log_integral();
  const std::size_t count = fine.theta().size(), padded = (count + slot_block - 1) / slot_block * slot_block;
  std::vector<double> x(padded, 0.0), weight(padded, -infinity);
  std::ranges::copy(fine.log_weight(), weight.begin());
  exp_weights(weight.data(), padded, 0.0, weight.data());
  double mean = 0.0, variance = 0.0;
  for (std::size_t q = 0; q < count; ++q) mean += weight[q] * fine.theta()[q];
  for (std::size_t q = 0; q < count; ++q) variance += weight[q] * (fine.theta()[q] - mean) * (fine.theta()[q] - mean);
  const double deviation = std::sqrt(variance);
  for (std::size_t q = 0; q < count; ++q) x[q] = (fine.theta()[q] - mean) / deviation;
  Nodes roots, weights;
  gauss_rule(x, weight, roots, weights);
  for (std::size_t q = 0; q < size; ++q) {
    theta_[q] = mean + deviation * roots[q];
    log_z_[q] = log_stage_normalizer(theta_[q], m);
    log_weight_[q] = std::log(weights[q]);
    factor_[q] = std::exp(-theta_[q]);
    inverse_z_[q] = std::exp(-log_z_[q]);
  }
}

double StageRule::weigh(double a, double b, Nodes& weight) const {
  return log_integral_ + log_tilted_weights({.theta = theta_.data(), .log_z = log_z_.data(), .log_weight = log_weight_.data()},
                                            a - a_, b - b_, weight.data());
}

void StageRule::log_predictive(double a, double b, std::span<double> out) const {
  Nodes weight;
  weigh(a, b, weight);
  for (std::size_t q = 0; q < size; ++q) weight[q] *= inverse_z_[q];
  log_moments(weight.data(), factor_.data(), out.data(), out.size());
}

double sum_deviation(std::size_t m, double a, double b) {
  // The variance of a code: of a geometric one, at most of a uniform one; in between it is less than either by a third.
  const double mean = a / b, most = static_cast<double>(m) - 1.0;
  return std::sqrt(0.6 * b * std::min(mean * (1.0 + mean), most * (most + 2.0) / 12.0));
}

std::optional<NearNodes> near_nodes(std::size_t m, double a, double b) {
  const double mean = a / b, most = static_cast<double>(m) - 1.0, deviation = sum_deviation(m, a, b);
  if (most + 1.0 > 1.75 * deviation) return std::nullopt;
  // Steps are powers of two, so that neighbours share their places. Another b with a in proportion leaves the mode where it is and
  // makes it wider or narrower, which rules bear better.
  const auto nearest = [](double value, double step_at_most) {
    const double step = std::exp2(std::floor(std::log2(step_at_most)));
    return std::round(value / step) * step;
  };
  const double near_b = nearest(b, 0.2 * b);
  return NearNodes{nearest(mean * near_b, deviation), near_b};
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

double ThetaEnvelope::log_density(double theta) const { return -a_ * theta - b_ * log_stage_normalizer(theta, m_); }

void ThetaEnvelope::build(std::size_t m, double a, double b) {
  m_ = m, a_ = a, b_ = b;
  if (m == 1 || b <= 0.0) return;
  const auto slope = [&](double theta) { return b * stage_mean(theta, m) - a; };
  // The mode: 0 where even theta = 0 has too small a mean, else where b mean(theta) = a.
  mode_ = 0.0;
  if (slope(0.0) > 0.0) {
    double low = 0.0, high = (1.0 + b) / a;
    mode_ = std::log1p(b / a);  // the infinite stage's
    for (int i = 0; i < 100; ++i) {
      const double value = slope(mode_);
      (value > 0.0 ? low : high) = mode_;
      double next = mode_ + value / (b * stage_variance(mode_, m));
      if (!(next > low && next < high)) next = 0.5 * (low + high);
      if (std::abs(next - mode_) < 1e-10 * (1.0 + mode_)) break;
      mode_ = next;
    }
  }
  double width = 1.0 / std::sqrt(b * stage_variance(mode_, m));
  if (mode_ == 0.0) width = std::min(width, 1.0 / std::max(-slope(0.0), 1e-300));
  top_ = log_density(mode_);
  // Right tangent at mode + width, left tangent at mode - width where that is positive; flat in between. Concavity
  // puts the density below all three.
  const double right = mode_ + width;
  right_slope_ = slope(right);
  right_edge_ = right + (top_ - log_density(right)) / right_slope_;  // where the tangent meets the top
  const double left = mode_ - width;
  left_edge_ = left_slope_ = left_mass_ = 0.0;
  if (left > 0.0) {
    left_slope_ = slope(left);
    left_edge_ = std::clamp(left + (top_ - log_density(left)) / left_slope_, 0.0, mode_);
    left_mass_ = -std::expm1(-left_slope_ * left_edge_) / left_slope_;
  }
}

double ThetaEnvelope::draw(RandomStream& rng) const {
  if (m_ == 1 || b_ <= 0.0) return rng.exponential() / a_;
  const double flat_mass = right_edge_ - left_edge_, right_mass = -1.0 / right_slope_;
  // The envelope holds at most a few times the mass of the density, so thousands of refusals in a row mean numbers beyond
  // double precision: then the density is a spike at its mode.
  for (int attempt = 0; attempt < 10'000; ++attempt) {
    const double pick = rng.uniform() * (left_mass_ + flat_mass + right_mass);
    double theta = 0.0, log_envelope = 0.0;
    if (pick < left_mass_) {
      // Density e^(left_slope (theta - left_edge)) on [0, left_edge].
      theta = left_edge_ + std::log1p(rng.uniform() * std::expm1(-left_slope_ * left_edge_)) / left_slope_;
      log_envelope = left_slope_ * (theta - left_edge_);
    } else if (pick < left_mass_ + flat_mass) {
      theta = left_edge_ + flat_mass * rng.uniform();
    } else {
      const double jump = rng.exponential();
      theta = right_edge_ - jump / right_slope_;
      log_envelope = -jump;
    }
    theta = std::max(theta, 0.0);
    if (std::log(rng.uniform_open()) + log_envelope <= log_density(theta) - top_) return theta;
  }
  return mode_;
}

double draw_theta(std::size_t m, double a, double b, RandomStream& rng) {
  ThetaEnvelope envelope;
  envelope.build(m, a, b);
  return envelope.draw(rng);
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
