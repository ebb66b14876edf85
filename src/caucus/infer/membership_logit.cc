#include "caucus/infer/membership_logit.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <tuple>

#include "caucus/base/numeric.h"
#include "caucus/data/dataset.h"
#include "caucus/infer/membership_shares.h"
#include "caucus/model/decompositions.h"
#include "caucus/result/membership_draws.h"

namespace caucus {

namespace {

Eigen::Index at(std::size_t i) { return static_cast<Eigen::Index>(i); }

}  // namespace

MembershipLogit::MembershipLogit(const RowMatrix& x, std::vector<double> weights, std::size_t num_groups)
    : x_(x), weights_(std::move(weights)), mean_(num_columns(), 0.0), scale_(num_columns(), 1.0), num_groups_(num_groups) {
  double total = 0.0;
  for (const double weight : weights_) total += weight;
  for (std::size_t j = 1; j < num_columns(); ++j) {
    double sum = 0.0, squares = 0.0;
    for (Eigen::Index v = 0; v < x_.rows(); ++v) sum += weights_[static_cast<std::size_t>(v)] * x_(v, at(j));
    mean_[j] = sum / total;
    for (Eigen::Index v = 0; v < x_.rows(); ++v)
      squares += weights_[static_cast<std::size_t>(v)] * (x_(v, at(j)) - mean_[j]) * (x_(v, at(j)) - mean_[j]);
    if (squares > 0.0) scale_[j] = std::sqrt(squares / total);
    for (Eigen::Index v = 0; v < x_.rows(); ++v) x_(v, at(j)) = (x_(v, at(j)) - mean_[j]) / scale_[j];
  }
}

std::vector<double> MembershipLogit::log_weights(std::span<const double> gamma) const {
  const std::size_t p = num_columns();
  std::vector<double> result(weights_.size() * num_groups_, 0.0);
  for (std::size_t v = 0; v < weights_.size(); ++v) {
    const auto row = std::span(result).subspan(v * num_groups_, num_groups_);
    const double* x = x_.data() + v * p;
    for (std::size_t k = 1; k < num_groups_; ++k)
      for (std::size_t j = 0; j < p; ++j) row[k] += gamma[(k - 1) * p + j] * x[j];
    const double total = log_sum_exp(row);
    for (double& value : row) value -= total;
  }
  return result;
}

double MembershipLogit::penalty(std::span<const double> gamma) const {
  double squares = 0.0;
  for (std::size_t i = 0; i < gamma.size(); ++i)
    if (i % num_columns() != 0) squares += gamma[i] * gamma[i];
  return -0.5 * ridge_ * squares;
}

std::vector<double> MembershipLogit::gradient(std::span<const double> memberships, std::span<const double> gamma) const {
  const std::size_t p = num_columns();
  const std::vector<double> log_prior = log_weights(gamma);
  std::vector<double> result(gamma.size(), 0.0);
  for (std::size_t v = 0; v < weights_.size(); ++v)
    for (std::size_t k = 1; k < num_groups_; ++k) {
      const double gap = weights_[v] * (memberships[v * num_groups_ + k] - std::exp(log_prior[v * num_groups_ + k]));
      for (std::size_t j = 0; j < p; ++j) result[(k - 1) * p + j] += gap * x_.data()[v * p + j];
    }
  for (std::size_t i = 0; i < gamma.size(); ++i)
    if (i % p != 0) result[i] -= ridge_ * gamma[i];
  return result;
}

std::vector<double> MembershipLogit::curvature(std::span<const double> gamma) const {
  const std::size_t p = num_columns();
  const std::vector<double> log_prior = log_weights(gamma);
  std::vector<double> result(gamma.size(), ridge_);
  for (std::size_t v = 0; v < weights_.size(); ++v)
    for (std::size_t k = 1; k < num_groups_; ++k) {
      const double prior = std::exp(log_prior[v * num_groups_ + k]);
      for (std::size_t j = 0; j < p; ++j)
        result[(k - 1) * p + j] += weights_[v] * prior * (1.0 - prior) * x_.data()[v * p + j] * x_.data()[v * p + j];
    }
  return result;
}

double MembershipLogit::value(std::span<const double> memberships, std::span<const double> gamma) const {
  const std::vector<double> log_prior = log_weights(gamma);
  double total = penalty(gamma);
  for (std::size_t v = 0; v < weights_.size(); ++v)
    for (std::size_t k = 0; k < num_groups_; ++k)
      if (const double r = memberships[v * num_groups_ + k]; r > 0.0) total += weights_[v] * r * log_prior[v * num_groups_ + k];
  return total;
}

void MembershipLogit::maximise(std::span<const double> memberships, std::vector<double>& gamma, int steps) const {
  const std::size_t p = num_columns(), groups = num_groups_ - 1;
  double now = value(memberships, gamma);
  for (int step = 0; step < steps; ++step) {
    const std::vector<double> slope = gradient(memberships, gamma), log_prior = log_weights(gamma);
    Eigen::MatrixXd hessian = Eigen::MatrixXd::Zero(at(size()), at(size()));
    std::vector<double> prior(num_groups_);
    for (std::size_t v = 0; v < weights_.size(); ++v) {
      const Eigen::Map<const Eigen::VectorXd> x(x_.data() + v * p, at(p));
      for (std::size_t k = 0; k < num_groups_; ++k) prior[k] = std::exp(log_prior[v * num_groups_ + k]);
      for (std::size_t a = 0; a < groups; ++a)
        for (std::size_t b = 0; b <= a; ++b) {
          const double scale = weights_[v] * prior[a + 1] * ((a == b ? 1.0 : 0.0) - prior[b + 1]);
          hessian.block(at(a * p), at(b * p), at(p), at(p)).noalias() += scale * (x * x.transpose());
        }
    }
    // Directions of which nothing is known do not move.
    hessian.diagonal().array() += ridge_ + 1e-9 * std::max(1.0, hessian.diagonal().maxCoeff());
    const Eigen::Map<const Eigen::VectorXd> g(slope.data(), at(slope.size()));
    const Eigen::VectorXd direction = Cholesky(hessian).solve(g);
    const double gain = 0.5 * g.dot(direction);
    if (!direction.allFinite() || !(gain > 1e-12 * (1.0 + std::abs(now)))) return;
    double length = std::min(1.0, 5.0 / std::max(direction.lpNorm<Eigen::Infinity>(), 1e-300));
    bool risen = false;
    for (int attempt = 0; attempt < 30 && !risen; ++attempt, length *= 0.5) {
      std::vector<double> next = gamma;
      for (std::size_t i = 0; i < next.size(); ++i) next[i] += length * direction[at(i)];
      if (const double there = value(memberships, next); there > now) {
        gamma = std::move(next);
        now = there;
        risen = true;
      }
    }
    if (!risen) return;
  }
}

std::vector<double> MembershipLogit::start(std::span<const double> weights) const {
  std::vector<double> gamma(size(), 0.0);
  for (std::size_t k = 1; k < num_groups_; ++k)
    gamma[(k - 1) * num_columns()] = std::log(std::max(weights[k], 1e-6) / std::max(weights[0], 1e-6));
  return gamma;
}

std::vector<double> MembershipLogit::permuted(std::span<const double> gamma, std::span<const std::size_t> order) const {
  const std::size_t p = num_columns();
  const auto of = [&](std::size_t k, std::size_t j) { return k == 0 ? 0.0 : gamma[(k - 1) * p + j]; };
  std::vector<double> result(gamma.size());
  for (std::size_t k = 1; k < num_groups_; ++k)
    for (std::size_t j = 0; j < p; ++j) result[(k - 1) * p + j] = of(order[k], j) - of(order[0], j);
  return result;
}

std::vector<double> MembershipLogit::coefficients(std::span<const double> gamma) const {
  const std::size_t p = num_columns();
  std::vector<double> result(num_groups_ * p, 0.0);
  for (std::size_t k = 1; k < num_groups_; ++k) {
    result[k * p] = gamma[(k - 1) * p];
    for (std::size_t j = 1; j < p; ++j) {
      result[k * p + j] = gamma[(k - 1) * p + j] / scale_[j];
      result[k * p] -= result[k * p + j] * mean_[j];
    }
  }
  return result;
}

Eigen::MatrixXd MembershipLogit::unstandardised(const Eigen::MatrixXd& covariance) const {
  const std::size_t p = num_columns();
  Eigen::MatrixXd map = Eigen::MatrixXd::Zero(at(size()), at(size()));
  for (std::size_t k = 0; k + 1 < num_groups_; ++k) {
    map(at(k * p), at(k * p)) = 1.0;
    for (std::size_t j = 1; j < p; ++j) {
      map(at(k * p + j), at(k * p + j)) = 1.0 / scale_[j];
      map(at(k * p), at(k * p + j)) = -mean_[j] / scale_[j];
    }
  }
  return map * covariance * map.transpose();
}

MembershipLogit::Largest MembershipLogit::largest(std::span<const double> gamma) const {
  constexpr double most_by_deviation = 8.0, most_by_level = 12.0;
  Largest result;
  for (std::size_t j = 1; j < num_columns(); ++j) {
    const auto column = x_.col(at(j)).array();
    const double low = column.minCoeff(), high = column.maxCoeff();
    const bool level = ((column == low) || (column == high)).all();
    for (std::size_t k = 1; k < num_groups_; ++k) {
      const double size = std::abs(gamma[(k - 1) * num_columns() + j]);
      const double value = std::max(size / most_by_deviation, level ? size * (high - low) / most_by_level : 0.0);
      if (value > result.value) result = {value, k, j};
    }
  }
  return result;
}

MembershipLogit MembershipLogit::without(std::size_t first, std::size_t count) const {
  MembershipLogit part = *this;
  const std::size_t p = num_columns();
  part.x_.resize(x_.rows(), at(p - count));
  part.mean_.clear();
  part.scale_.clear();
  for (std::size_t j = 0, to = 0; j < p; ++j) {
    if (j >= first && j < first + count) continue;
    part.x_.col(at(to++)) = x_.col(at(j));
    part.mean_.push_back(mean_[j]);
    part.scale_.push_back(scale_[j]);
  }
  return part;
}

std::vector<double> MembershipLogit::without(std::span<const double> gamma, std::size_t first, std::size_t count) const {
  std::vector<double> result;
  for (std::size_t i = 0; i < gamma.size(); ++i)
    if (const std::size_t j = i % num_columns(); j < first || j >= first + count) result.push_back(gamma[i]);
  return result;
}

namespace {

// Mean shares of the groups over the voters, with the columns of one term set.
std::vector<double> mean_shares(const Membership& membership, const RowMatrix& x, const std::vector<double>& weights,
                                const DesignTerm& term, std::span<const double> values) {
  std::vector<double> shares(membership.num_groups, 0.0), row(membership.num_columns()), logs(membership.num_groups);
  double total = 0.0;
  for (std::size_t v = 0; v < weights.size(); ++v) {
    std::copy_n(x.data() + v * row.size(), row.size(), row.begin());
    std::ranges::copy(values, row.begin() + static_cast<std::ptrdiff_t>(term.first));
    membership.log_weights(row, logs);
    total += weights[v];
    for (std::size_t k = 0; k < logs.size(); ++k) shares[k] += weights[v] * std::exp(logs[k]);
  }
  for (double& share : shares) share /= total;
  return shares;
}

std::string short_number(double value) { return fmt::format("{:.4g}", value); }

}  // namespace

namespace {

// The voters over whom shares are averaged, and draws of the coefficients.
struct Averaging {
  RowMatrix x;
  std::vector<double> weights;
  std::vector<Membership> draws;
};
Averaging averaging_of(const Membership& membership, const Dataset& data) {
  const std::vector<Column> columns = voter_columns(data);
  const CovariateDesign::Encoded encoded = membership.design.encode(columns, [&](std::size_t v) { return data.voters.name(v); });
  // Of many voters a part is enough for a mean.
  constexpr std::size_t most = 2000;
  const std::size_t count = data.voters.size(), every = (count + most - 1) / most;
  Averaging result{RowMatrix(at((count + every - 1) / every), encoded.x.cols()), {}, draw_coefficients(membership, 200)};
  for (std::size_t v = 0; v < count; v += every) {
    result.x.row(at(result.weights.size())) = encoded.x.row(at(v));
    result.weights.push_back(encoded.complete[v] == 0 ? 0.0 : data.voters.weights[v]);
  }
  return result;
}

// Values of a numeric term among the voters, in order.
std::vector<double> sorted_values(const Averaging& over, const DesignTerm& term) {
  std::vector<double> values;
  for (std::size_t v = 0; v < over.weights.size(); ++v)
    if (over.weights[v] > 0.0) values.push_back(over.x(at(v), at(term.first)));
  std::ranges::sort(values);
  return values;
}

std::vector<double> level_columns(const DesignTerm& term, std::size_t level) {
  std::vector<double> columns(term.levels.size() - 1, 0.0);
  if (level > 0) columns[level - 1] = 1.0;
  return columns;
}

// The 2.5 % and 97.5 % points.
std::pair<double, double> interval_of(std::vector<double> values) {
  std::ranges::sort(values);
  const double last = static_cast<double>(values.size() - 1);
  return {values[static_cast<std::size_t>(0.025 * last)], values[static_cast<std::size_t>(0.975 * last + 0.5)]};
}

}  // namespace

std::vector<MembershipEffect> membership_effects(const Membership& membership, const Dataset& data) {
  const Averaging over = averaging_of(membership, data);
  std::vector<MembershipEffect> effects;
  const auto add = [&](const DesignTerm& term, std::string from, std::span<const double> from_values, std::string to,
                       std::span<const double> to_values) {
    const auto shares = [&](const Membership& of, std::span<const double> values) {
      return mean_shares(of, over.x, over.weights, term, values);
    };
    const std::vector<double> before = shares(membership, from_values), after = shares(membership, to_values);
    std::vector<std::vector<double>> gaps(membership.num_groups);
    for (const Membership& draw : over.draws) {
      const std::vector<double> a = shares(draw, from_values), b = shares(draw, to_values);
      for (std::size_t k = 0; k < gaps.size(); ++k) gaps[k].push_back(b[k] - a[k]);
    }
    for (std::size_t k = 0; k < membership.num_groups; ++k) {
      MembershipEffect effect{term.name, from, to, k, before[k], after[k]};
      if (!gaps[k].empty()) std::tie(effect.low, effect.high) = interval_of(gaps[k]);
      effects.push_back(std::move(effect));
    }
  };
  for (const DesignTerm& term : membership.design.terms()) {
    if (term.levels.empty()) {
      const std::vector<double> values = sorted_values(over, term);
      const double low = values[values.size() / 4], high = values[(3 * values.size()) / 4];
      if (low == high) continue;
      add(term, short_number(low), std::vector<double>{low}, short_number(high), std::vector<double>{high});
      continue;
    }
    for (std::size_t l = 1; l < term.levels.size(); ++l)
      add(term, term.levels[0], level_columns(term, 0), term.levels[l], level_columns(term, l));
  }
  return effects;
}

std::vector<MembershipShare> membership_shares(const Membership& membership, const Dataset& data) {
  const Averaging over = averaging_of(membership, data);
  std::vector<MembershipShare> result;
  const auto add = [&](const DesignTerm& term, std::string value, std::span<const double> columns) {
    const std::vector<double> best = mean_shares(membership, over.x, over.weights, term, columns);
    std::vector<std::vector<double>> drawn(membership.num_groups);
    for (const Membership& draw : over.draws) {
      const std::vector<double> shares = mean_shares(draw, over.x, over.weights, term, columns);
      for (std::size_t k = 0; k < drawn.size(); ++k) drawn[k].push_back(shares[k]);
    }
    for (std::size_t k = 0; k < membership.num_groups; ++k) {
      MembershipShare one{term.name, value, k, best[k], best[k], best[k]};
      if (!drawn[k].empty()) std::tie(one.low, one.high) = interval_of(drawn[k]);
      result.push_back(std::move(one));
    }
  };
  for (const DesignTerm& term : membership.design.terms()) {
    for (std::size_t l = 0; l < term.levels.size(); ++l) add(term, term.levels[l], level_columns(term, l));
    if (!term.levels.empty()) continue;
    std::vector<double> values = sorted_values(over, term), points;
    for (const double q : {0.05, 0.25, 0.5, 0.75, 0.95})
      points.push_back(values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)]);
    points.erase(std::unique(points.begin(), points.end()), points.end());
    for (const double value : points) add(term, short_number(value), std::vector<double>{value});
  }
  return result;
}

LargestEffect largest_effect(std::span<const MembershipEffect> effects, std::size_t begin) {
  const auto gain = [&](std::size_t i) { return effects[i].share_to - effects[i].share_from; };
  LargestEffect found{begin, begin, begin};
  for (std::size_t& i = found.end;
       i < effects.size() && effects[i].term == effects[begin].term && effects[i].to == effects[begin].to; ++i) {
    if (gain(i) > gain(found.best)) found.best = i;
    if (gain(i) < gain(found.worst)) found.worst = i;
  }
  return found;
}

namespace {

// How sure a difference is. Where its interval holds zero, the likelihood ratio of that level has the last word, if there is one.
std::string how_sure(const MembershipEffect& one, const Membership& membership) {
  if (one.low > 0.0) return fmt::format(" (by {:.0f} to {:.0f} points)", 100.0 * one.low, 100.0 * one.high);
  for (const Membership::Test& test : membership.level_tests)
    if (test.term == one.term && test.level == one.to && test.p_value < 0.05)
      return test.p_value < 0.0005 ? std::string(" (clear, p < 0.0005, but the data hardly tell by how much)")
                                   : fmt::format(" (clear, p = {:.3f}, but the data hardly tell by how much)", test.p_value);
  return " (the data do not tell it from no difference)";
}

}  // namespace

std::vector<std::string> effect_sentences(std::span<const MembershipEffect> effects, const Membership& membership) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < effects.size();) {
    const auto [end, best, worst] = largest_effect(effects, i);
    const MembershipEffect& one = effects[best];
    std::string text =
        fmt::format("{} {} instead of {}: group {} rather than group {}, {:.0f} % instead of {:.0f} %", one.term, one.to, one.from,
                    one.group + 1, effects[worst].group + 1, 100.0 * one.share_to, 100.0 * one.share_from);
    if (one.low != one.high) text += how_sure(one, membership);
    sentences.push_back(std::move(text));
    i = end;
  }
  return sentences;
}

}  // namespace caucus
