// Limited-memory BFGS: the inverse of the negative Hessian from the last few steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <vector>

namespace caucus {

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double total = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) total += a[j] * b[j];
  return total;
}

// Two-loop recursion (Nocedal 1980) for a maximum: returns the inverse of the negative Hessian times the gradient.
class LbfgsMemory {
 public:
  void clear() { pairs_.clear(); }
  void add(std::vector<double> step, std::vector<double> drop) {
    const double curvature = dot(step, drop);
    if (!(curvature > 1e-14 * std::sqrt(dot(step, step) * dot(drop, drop)))) return;
    if (pairs_.size() == limit) pairs_.pop_front();
    pairs_.push_back({std::move(step), std::move(drop), 1.0 / curvature});
  }
  bool empty() const { return pairs_.empty(); }
  std::vector<double> apply(std::vector<double> v, const std::vector<double>& metric) const {
    std::vector<double> alpha(pairs_.size());
    for (std::size_t p = pairs_.size(); p-- > 0;) {
      alpha[p] = pairs_[p].rho * dot(pairs_[p].step, v);
      for (std::size_t j = 0; j < v.size(); ++j) v[j] -= alpha[p] * pairs_[p].drop[j];
    }
    double scale = 1.0;
    if (!pairs_.empty()) {
      // Step over metric-weighted drop of the newest pair: how much longer steps should be than the EM step's.
      const auto& last = pairs_.back();
      double weighted = 0.0;
      for (std::size_t j = 0; j < v.size(); ++j) weighted += last.drop[j] * last.drop[j] * metric[j];
      scale = std::clamp(1.0 / (last.rho * weighted), 0.5, 50.0);
    }
    for (std::size_t j = 0; j < v.size(); ++j) v[j] *= scale * metric[j];
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const double beta = pairs_[p].rho * dot(pairs_[p].drop, v);
      for (std::size_t j = 0; j < v.size(); ++j) v[j] += (alpha[p] - beta) * pairs_[p].step[j];
    }
    return v;
  }

 private:
  static constexpr std::size_t limit = 20;
  struct Pair {
    std::vector<double> step, drop;
    double rho;
  };
  std::deque<Pair> pairs_;
};

// Maximises value(x, gradient) from x: a small driver for smooth functions of moderate size. metric: positive diagonal scale of a
// first step. Returns the best value; x holds its place. Stops when the expected gain is below tolerance.
template <class Value>
double lbfgs_maximise(Value&& value, std::vector<double>& x, const std::vector<double>& metric, int max_evaluations,
                      double tolerance) {
  LbfgsMemory memory;
  std::vector<double> g(x.size()), g_next(x.size());
  double here = value(x, g);
  for (int evaluations = 1; evaluations < max_evaluations;) {
    std::vector<double> direction = memory.apply(g, metric);
    double slope = dot(g, direction);
    if (!(slope > 0.0)) {
      memory.clear();
      direction = memory.apply(g, metric);
      slope = dot(g, direction);
    }
    if (!(0.5 * slope > tolerance)) break;
    double step = 1.0;
    bool accepted = false;
    for (int attempt = 0; attempt < 12 && evaluations < max_evaluations; ++attempt, step *= 0.4) {
      std::vector<double> next = x;
      for (std::size_t j = 0; j < x.size(); ++j) next[j] += step * direction[j];
      const double there = value(next, g_next);
      ++evaluations;
      if (!(there >= here + 1e-4 * step * slope)) continue;
      std::vector<double> moved(x.size()), drop(x.size());
      for (std::size_t j = 0; j < x.size(); ++j) moved[j] = next[j] - x[j], drop[j] = g[j] - g_next[j];
      memory.add(std::move(moved), std::move(drop));
      x = std::move(next);
      std::swap(g, g_next);
      here = there;
      accepted = true;
      break;
    }
    if (!accepted) {
      if (memory.empty()) break;
      memory.clear();
    }
  }
  return here;
}

}  // namespace caucus
