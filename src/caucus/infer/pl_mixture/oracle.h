// The likelihood by its definition, for the tests: every choice set is written out, and every number may be complex, so that the
// imaginary step f(x + ih) / h gives derivatives to the last digits, without differences (Squire & Trapp 1998).
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus::pl_mixture::testing {

// What a mixture says of voters: [k][i], [v][k], and of later choices [k][s] (empty: exponent 1).
template <class T>
struct OracleModel {
  std::vector<std::vector<T>> utilities, log_weights, exponents;
  std::vector<int> tie_orders;
  std::vector<T> log_delta;
};

// log of the chance of a set among those left: by the sum over all sets of an order that can be chosen.
template <class T>
T oracle_choice(const OracleModel<T>& model, std::size_t k, const std::vector<ItemId>& left, std::span<const ItemId> chosen,
                std::size_t stage) {
  using std::exp, std::log;
  T alpha = 1.0;
  if (stage > 0 && !model.exponents.empty()) alpha = model.exponents[k][std::min(stage, model.exponents[k].size()) - 1];
  const auto log_weight = [&](std::span<const ItemId> set) {
    T value = 0.0;
    for (const ItemId item : set) value += model.utilities[k][item] / static_cast<double>(set.size());
    value *= alpha;
    for (std::size_t o = 0; o < model.tie_orders.size(); ++o)
      if (model.tie_orders[o] == static_cast<int>(set.size())) value += model.log_delta[o];
    return value;
  };
  T total = 0.0;
  std::vector<ItemId> set;
  for (std::uint32_t bits = 1; bits < (1U << left.size()); ++bits) {
    set.clear();
    for (std::size_t i = 0; i < left.size(); ++i)
      if ((bits >> i & 1U) != 0) set.push_back(left[i]);
    bool possible = set.size() == 1;
    for (const int order : model.tie_orders) possible = possible || order == static_cast<int>(set.size());
    if (possible) total += exp(log_weight(set));
  }
  return log_weight(chosen) - log(total);
}

template <class T>
T oracle_log_prob(const OracleModel<T>& model, std::size_t k, RankingView ranking, Unranked unranked) {
  std::vector<ItemId> left;
  if (unranked == Unranked::last)
    for (std::size_t i = 0; i < model.utilities[k].size(); ++i) left.push_back(static_cast<ItemId>(i));
  else
    left.assign(ranking.items().begin(), ranking.items().end());
  T value = 0.0;
  std::size_t stage = 0;
  ranking.for_each_group([&](std::span<const ItemId> group) {
    if (left.size() > 1) value += oracle_choice(model, k, left, group, stage++);
    for (const ItemId item : group) std::erase(left, item);
  });
  return value;
}

// Voter by voter: log of the sum over groups; a voter of weight w counts w times.
template <class T>
T oracle_loglik(const OracleModel<T>& model, const Dataset& data) {
  using std::exp, std::log;
  const std::size_t num = model.utilities.size();
  T result = 0.0;
  for (std::size_t v = 0; v < data.voters.size(); ++v) {
    T total = 0.0;
    for (std::size_t k = 0; k < num; ++k) {
      T joint = model.log_weights[v][k];
      for (std::size_t row = 0; row < data.voters.of_row.size(); ++row)
        if (data.voters.of_row[row] == v)
          joint += oracle_log_prob(model, k, data.rankings[data.rankings.row_ranking(row)], data.unranked);
      total += exp(joint);
    }
    result += data.voters.weights[v] * log(total);
  }
  return result;
}

template <class T>
std::vector<T> oracle_log_softmax(std::vector<T> logits) {
  using std::exp, std::log;
  T total = 0.0;
  for (const T& one : logits) total += exp(one);
  for (T& one : logits) one -= log(total);
  return logits;
}

// P(group | x) from coefficients gamma of groups 2 to K and the rows of a design.
template <class T, class Matrix>
std::vector<std::vector<T>> oracle_logit(std::span<const T> gamma, const Matrix& x, std::size_t num) {
  std::vector<std::vector<T>> result;
  const auto p = static_cast<std::size_t>(x.cols());
  for (Eigen::Index v = 0; v < x.rows(); ++v) {
    std::vector<T> logits(num, T(0.0));
    for (std::size_t k = 1; k < num; ++k)
      for (std::size_t j = 0; j < p; ++j) logits[k] += gamma[(k - 1) * p + j] * x(v, static_cast<Eigen::Index>(j));
    result.push_back(oracle_log_softmax(std::move(logits)));
  }
  return result;
}

// The gradient of f, a function of a vector of complex numbers.
template <class F>
std::vector<double> oracle_gradient(F&& f, const std::vector<double>& at) {
  constexpr double h = 1e-100;
  std::vector<double> gradient;
  for (std::size_t j = 0; j < at.size(); ++j) {
    std::vector<std::complex<double>> moved(at.begin(), at.end());
    moved[j] += std::complex<double>(0.0, h);
    gradient.push_back(f(moved).imag() / h);
  }
  return gradient;
}

// Column j of the Hessian: differences of the sixth order of that gradient, good to 1e-11 of the scale of its derivatives.
template <class F>
std::vector<double> oracle_hessian_column(F&& f, const std::vector<double>& at, std::size_t j) {
  constexpr double h = 1e-2;
  std::vector<double> result(at.size(), 0.0);
  const double weights[] = {45.0, -9.0, 1.0};
  for (int step = 1; step <= 3; ++step)
    for (const double sign : {1.0, -1.0}) {
      std::vector<double> moved = at;
      moved[j] += sign * step * h;
      const std::vector<double> gradient = oracle_gradient(f, moved);
      for (std::size_t i = 0; i < at.size(); ++i) result[i] += sign * weights[step - 1] * gradient[i] / (60.0 * h);
    }
  return result;
}

}  // namespace caucus::pl_mixture::testing
