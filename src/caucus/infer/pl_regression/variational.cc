#include "caucus/infer/pl_regression/variational.h"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/tools/minima.hpp>
#include <cmath>

#include "caucus/infer/pl_regression/expectation.h"

namespace caucus::pl_regression {

RowMatrix VariationalResult::mean() const {
  RowMatrix result = shape.cwiseQuotient(rate);
  return result / result.sum();
}

namespace {

using boost::math::digamma;
using boost::math::lgamma;

// KL(Gam(shape, rate) || Gam(a, b)) summed over all weights.
double divergence(const VariationalResult& q, double b) {
  double sum = 0.0;
  const double log_gamma_a = lgamma(q.a), log_b = std::log(b);
  for (Eigen::Index i = 0; i < q.shape.size(); ++i) {
    const double shape = q.shape.data()[i], rate = q.rate.data()[i];
    sum +=
        (shape - q.a) * digamma(shape) - lgamma(shape) + log_gamma_a + q.a * (std::log(rate) - log_b) + shape * (b - rate) / rate;
  }
  return sum;
}

// The bound as a function of a with q(lambda) at its best for that a, given n and the rates; terms without a are left out.
double integrated_bound(double a, const RowMatrix& counts, double sum_log_rates, double b) {
  double sum = a * (static_cast<double>(counts.size()) * std::log(b) - sum_log_rates) - std::log(a);
  const double log_gamma_a = lgamma(a);
  for (Eigen::Index i = 0; i < counts.size(); ++i)
    if (const double n = counts.data()[i]; n > 0.0) sum += lgamma(a + n) - log_gamma_a;
  return sum;
}

double best_a(double now, const RowMatrix& counts, double sum_log_rates, const VariationalOptions& options) {
  const auto loss = [&](double log_a) { return -integrated_bound(std::exp(log_a), counts, sum_log_rates, options.b); };
  const double low = std::max(std::log(options.a_min), std::log(now) - 2.0),
               high = std::min(std::log(options.a_max), std::log(now) + 2.0);
  const auto [log_a, value] = boost::math::tools::brent_find_minima(loss, low, high, 12);
  return value < loss(std::log(now)) ? std::exp(log_a) : now;  // the bound never falls, whatever the shape of the loss
}

}  // namespace

namespace {

// From shape `start`, where a is learned, or options.a.
VariationalResult fit_from(const RegressionData& data, const VariationalOptions& options, double start, const Run& run) {
  const auto k = static_cast<Eigen::Index>(data.num_classes), p = static_cast<Eigen::Index>(data.num_features());
  const double size = static_cast<double>(k * p);
  VariationalResult q;
  q.a = options.a.value_or(std::clamp(start, options.a_min, options.a_max));
  Eigen::VectorXd wins = Eigen::VectorXd::Zero(k);  // stages won
  {
    std::vector<double> ones(data.num_classes, 1.0);
    std::vector<std::uint8_t> running;
    for (std::size_t i = 0; i < data.num_rows(); ++i)
      for_each_stage(data, i, ones, running, [&](std::size_t, std::uint32_t winner, double) { wins[winner] += data.weight(i); });
  }
  q.shape.resize(k, p);
  for (Eigen::Index c = 0; c < k; ++c) q.shape.row(c).setConstant(q.a + wins[c] / static_cast<double>(p));
  q.rate = RowMatrix::Constant(k, p, q.shape.sum() * options.b / (size * q.a));

  RowMatrix win(k, p);
  q.stop_reason = StopReason::iteration_limit;
  bool a_is_fresh = options.a.has_value(), a_is_due = false;
  for (;;) {
    // exp<ln lambda> up to a factor per class, which n does not see: tiny shapes would underflow otherwise.
    double shift = 0.0;
    for (Eigen::Index c = 0; c < k; ++c) {
      for (Eigen::Index j = 0; j < p; ++j) win(c, j) = digamma(q.shape(c, j)) - std::log(q.rate(c, j));
      const double largest = win.row(c).maxCoeff();
      shift += wins[c] * largest;
      win.row(c) = (win.row(c).array() - largest).exp();
    }
    const Expectation sums = expectation(data, win, q.shape.cwiseQuotient(q.rate), run.workers());  // eq. (18)
    q.bound = sums.loglik + shift - divergence(q, options.b) - (options.a ? 0.0 : std::log(q.a));
    q.trace.push_back(q.bound);
    const std::size_t size_of_trace = q.trace.size();
    if (size_of_trace > 1 && q.bound - q.trace[size_of_trace - 2] <= options.tolerance * data.total_weight()) {
      if (a_is_fresh) {
        q.stop_reason = StopReason::converged;
        break;
      }
      a_is_due = true;
    }
    if (q.steps >= options.max_steps) break;
    if (run.report({"variational", q.steps, options.max_steps, q.bound}, q.stop_reason) == Flow::stop) break;
    ++q.steps;

    const RowMatrix counts = win.cwiseProduct(sums.gain);
    for (Eigen::Index c = 0; c < k; ++c) q.rate.row(c) = sums.rate_of(c).array() + options.b;  // eq. (19)
    // a stays where it starts until q(C) has taken sides: while all features are alike, every a climbs to the maximum of equal
    // classes. The line search costs more than a step does, and a settles early: every step at first, then every tenth.
    if (!options.a) {
      constexpr int hold = 50;
      a_is_fresh = a_is_due || (q.steps > hold && (q.steps < hold + 20 || q.steps % 10 == 0));
      if (a_is_fresh) q.a = best_a(q.a, counts, q.rate.array().log().sum(), options);
      a_is_due = false;
    }
    q.shape = counts.array() + q.a;
    // The scale, which only the prior sees, at its best: <Lambda> = K p a / b.
    q.rate *= q.shape.cwiseQuotient(q.rate).sum() * options.b / (size * q.a);
  }
  return q;
}

}  // namespace

VariationalResult fit_variational(const RegressionData& data, const VariationalOptions& options, const Run& run) {
  if (options.a) return fit_from(data, options, *options.a, run);
  // The bound has maxima at small a (few weights) and at large a (all classes alike). The best of three starts.
  VariationalResult best;
  for (const double start : {1.0, 0.1, 0.01}) {
    VariationalResult q = fit_from(data, options, start, run);
    if (best.shape.size() == 0 || q.bound > best.bound) best = std::move(q);
    if (best.stop_reason == StopReason::interrupted || best.stop_reason == StopReason::time_limit) break;
  }
  return best;
}

}  // namespace caucus::pl_regression
