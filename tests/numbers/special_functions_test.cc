// Every special function of the code against a hundred digits, over the whole of its domain. CAUCUS_ERROR_TABLE=FILE writes the
// errors found as a table.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/expm1.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "caucus/base/log_sum.h"
#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/score.h"
#include "caucus/infer/dp_mallows/stage.h"
#include "caucus/model/distances.h"
#include "caucus/model/mallows.h"
#include "caucus/model/plackett_luce.h"
#include "caucus/model/stage.h"

namespace caucus {
namespace {

using Real = boost::multiprecision::cpp_bin_float_100;
using Quad = boost::multiprecision::cpp_bin_float_quad;

// The worst error of one function. An error is relative to the true value, or to `floor` where that is larger: a logarithm that
// crosses zero has no relative error there.
class Errors {
 public:
  Errors(std::string name, std::string domain, double bound, double floor = 0.0)
      : name_(std::move(name)), domain_(std::move(domain)), bound_(bound), floor_(floor) {}
  Errors(const Errors&) = delete;
  ~Errors() {
    EXPECT_GT(count_, 0U) << name_;
    EXPECT_LE(worst_, bound_) << name_ << " at " << where_;
    if (const char* path = std::getenv("CAUCUS_ERROR_TABLE")) {
      std::ofstream out(path, std::ios::app);
      char line[600];
      std::snprintf(line, sizeof line, "| %s | %s | %zu | %.1e | %s | %.0e |%s\n", name_.c_str(), domain_.c_str(), count_, worst_,
                    where_.c_str(), bound_, floor_ > 0.0 ? " to max(1, value) |" : " relative |");
      out << line;
    }
  }
  template <class Number>
  void add(double got, const Number& want, const std::string& where) {
    ++count_;
    const Number scale = std::max<Number>(abs(want), Number(floor_));
    const double error = scale == 0 ? (got == 0.0 ? 0.0 : infinity) : static_cast<double>(abs(Number(got) - want) / scale);
    if (!(error <= worst_)) worst_ = std::isnan(error) ? infinity : error, where_ = where;
  }

 private:
  std::string name_, domain_;
  double bound_, floor_;
  double worst_ = 0.0;
  std::size_t count_ = 0;
  std::string where_;
};

std::string at(const char* form, double a, double b = 0.0, double c = 0.0) {
  char text[120];
  std::snprintf(text, sizeof text, form, a, b, c);
  return text;
}

// From the smallest theta that is one to where e^-theta is all but gone; thick around one, where series hand over.
std::vector<double> thetas(double smallest = 1e-300) {
  std::vector<double> values;
  for (double exponent = std::log10(smallest); exponent < -3.0; exponent += std::max(0.5, -exponent / 12.0))
    values.push_back(std::pow(10.0, exponent));
  for (double theta = 1e-3; theta < 700.0; theta *= 1.17) values.push_back(theta);
  for (double theta : {1.0 / 3.0, 0.5, 0.6931471805599453, 1.0, 50.0, 699.0}) values.push_back(theta);
  return values;
}
const std::vector<std::size_t> sizes{2, 3, 4, 7, 10, 31, 100, 1000, 100000};

// By the form that loses nothing: a hundred digits do not hold 1 - 1e-106.
Real log1mexp_oracle(const Real& x) { return x > 1 ? Real(log1p(-exp(-x))) : Real(log(-expm1(-x))); }
Real log_z(double theta, std::size_t m) { return log1mexp_oracle(Real(theta) * m) - log1mexp_oracle(Real(theta)); }
Real mean(double theta, std::size_t m) { return 1 / expm1(Real(theta)) - m / expm1(Real(theta) * m); }
Real inverse_square(const Real& x) {
  const Real gap = expm1(-x);
  return exp(-x) / (gap * gap);
}
Real variance(double theta, std::size_t m) { return inverse_square(Real(theta)) - Real(m) * m * inverse_square(Real(theta) * m); }

TEST(SpecialFunctions, LogOfOneMinusExp) {
  Errors errors("log1mexp", "x from 1e-300 to 700", 4e-16);
  for (double x : thetas()) errors.add(log1mexp(x), log1mexp_oracle(Real(x)), at("x = %.3g", x));
}

TEST(SpecialFunctions, LogSumExp) {
  Errors errors("log_sum_exp", "up to 100,000 values from -700 to 700", 1e-13, 1.0);
  Errors sums("LogSum", "up to 100,000 values from 1e-100 to 1e100", 1e-13, 1.0);
  for (std::size_t count : {1U, 2U, 10U, 1000U, 100000U})
    for (double spread : {1e-9, 1.0, 30.0, 700.0}) {
      std::vector<double> values(count);
      LogSum running;
      Quad sum = 0, logs = 0;
      double largest = -infinity;
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = spread * std::sin(1.0 + static_cast<double>(i) * 0.7548776662466927);
        largest = std::max(largest, values[i]);
      }
      for (std::size_t i = 0; i < count; ++i) {
        if (values[i] - largest > -80.0) sum += exp(Quad(values[i]));  // the rest is beyond quadruple precision
        if (count > 1000 && i > 2000) continue;
        const double value = std::exp(values[i] * 230.0 / 700.0);
        running.add(i % 3 == 0 ? 2.5 : 1.0, value);
        logs += (i % 3 == 0 ? 2.5 : 1.0) * log(Quad(value));
      }
      errors.add(log_sum_exp(values), Quad(log(sum)), at("%.0f values, spread %.3g", static_cast<double>(count), spread));
      sums.add(running.total(), logs, at("%.0f values, spread %.3g", static_cast<double>(count), spread));
    }
}

TEST(SpecialFunctions, StagesOfMallows) {
  Errors normalizer("log Z_m of a stage", "theta from 1e-300 to 700, m from 2 to 100,000", 2e-14);
  Errors first("mean of a stage", "theta from 1e-20 to 700, m from 2 to 100,000", 2e-14);
  Errors second("variance of a stage", "theta from 1e-20 to 700, m from 2 to 100,000", 1e-12);
  for (std::size_t m : sizes) {
    const double size = static_cast<double>(m);
    for (double theta : thetas())
      normalizer.add(log_stage_normalizer(theta, m), log_z(theta, m), at("theta = %.3g, m = %.0f", theta, size));
    for (double theta : thetas(1e-20)) {
      first.add(stage_mean(theta, m), mean(theta, m), at("theta = %.3g, m = %.0f", theta, size));
      second.add(stage_variance(theta, m), variance(theta, m), at("theta = %.3g, m = %.0f", theta, size));
    }
    EXPECT_EQ(log_stage_normalizer(0.0, m), std::log(size));
    EXPECT_NEAR(stage_mean(0.0, m), 0.5 * (size - 1.0), 1e-15 * size);
    EXPECT_NEAR(stage_variance(0.0, m), (size * size - 1.0) / 12.0, 1e-15 * size * size);
  }
}

// Solving is judged by what it solves: the mean at the theta found.
TEST(SpecialFunctions, ThetaOfAMean) {
  Errors errors("mean at the theta that solve_stage_theta finds", "means of theta from 1e-3 to 49, m from 2 to 100,000", 1e-12);
  for (std::size_t m : sizes)
    for (double theta : thetas(1e-3)) {
      if (theta > 49.0) continue;
      const double wanted = static_cast<double>(mean(theta, m));
      if (wanted > 0.0)
        errors.add(wanted, mean(solve_stage_theta(wanted, m), m), at("theta = %.3g, m = %.0f", theta, static_cast<double>(m)));
    }
}

TEST(SpecialFunctions, NormalizerOfMallows) {
  Errors whole("log [n]!, Mallows under Kendall's distance", "theta from 1e-20 to 700, n from 2 to 500", 3e-14);
  Errors first("mean distance under Mallows", "theta from 1e-20 to 700, n from 2 to 500", 1e-13);
  Errors second("variance of the distance under Mallows", "theta from 1e-20 to 700, n from 2 to 500", 1e-12);
  std::vector<double> values = thetas(1e-20);
  for (std::size_t i = 0; i < values.size(); i += 4) {  // 499 stages each, in a hundred digits
    const double theta = values[i];
    Real sum = 0, means = 0, variances = 0;
    std::size_t done = 1;
    for (std::size_t n : {2U, 5U, 20U, 100U, 500U}) {
      for (; done < n; ++done)
        sum += log_z(theta, done + 1), means += mean(theta, done + 1), variances += variance(theta, done + 1);
      const std::string where = at("theta = %.3g, n = %.0f", theta, static_cast<double>(n));
      whole.add(log_q_factorial(theta, n), sum, where);
      first.add(mean_distance(theta, n), means, where);
      second.add(variance_distance(theta, n), variances, where);
    }
  }
}

// P(p before q) with d = q - p: (d + 1) / (1 - q^(d + 1)) - d / (1 - q^d). Mallows (1957).
TEST(SpecialFunctions, ProbabilitiesOfMallows) {
  Errors pairs("probability of a pair under Mallows", "theta from 1e-9 to 50, 2 to 400 places apart", 1e-12, 0.5);
  Errors firsts("probability of the first place under Mallows", "theta from 1e-9 to 1.5, n = 401", 1e-12);
  std::vector<ItemId> center(401);
  for (std::size_t i = 0; i < center.size(); ++i) center[i] = static_cast<ItemId>(i);
  for (double theta : thetas(1e-9)) {
    if (theta > 50.0) continue;
    const Mallows model(center, theta);
    for (std::size_t d : {1U, 2U, 3U, 10U, 50U, 400U}) {
      const Real want = Real(d + 1) / -expm1(-Real(theta) * (d + 1)) - Real(d) / -expm1(-Real(theta) * d);
      pairs.add(model.pair_probability(0, d), want, at("theta = %.3g, %.0f apart", theta, static_cast<double>(d)));
      pairs.add(model.pair_probability(d, 0), Real(1 - want),
                at("theta = %.3g, %.0f apart, reversed", theta, static_cast<double>(d)));
      if (theta < 1.5)
        firsts.add(model.first_probability(d), exp(-Real(theta) * d - log_z(theta, center.size())),
                   at("theta = %.3g, p = %.0f", theta, static_cast<double>(d)));
    }
  }
}

TEST(SpecialFunctions, OtherDistances) {
  Errors cayley("log Z, Cayley's distance", "theta from 1e-9 to 700, n from 2 to 500", 1e-13);
  Errors hamming("log Z, Hamming's distance", "theta from 1e-9 to 50, n from 2 to 150", 1e-12, 1.0);
  Errors ulam("log Z, Ulam's distance", "theta from 1e-9 to 50, n from 2 to 24", 1e-12, 1.0);
  Errors means("mean of Cayley's distance", "theta from 1e-9 to 700, n from 2 to 500", 1e-13);
  for (std::size_t n : {2U, 3U, 10U, 100U, 500U}) {
    const DistanceNormalizer normalizer(Distance::cayley, n);
    for (double theta : thetas(1e-9)) {
      Real sum = 0, average = 0;
      for (std::size_t j = 2; j <= n; ++j) {
        const Real odds = (j - 1) * exp(-Real(theta));
        sum += log1p(odds);
        average += odds / (1 + odds);
      }
      cayley.add(normalizer.log_z(theta), sum, at("theta = %.3g, n = %.0f", theta, static_cast<double>(n)));
      means.add(normalizer.mean(theta), average, at("theta = %.3g, n = %.0f", theta, static_cast<double>(n)));
    }
  }
  for (std::size_t n : {2U, 3U, 10U, 40U, 150U}) {
    // n over d, times the derangements of d: D_d = d D_(d-1) + (-1)^d.
    std::vector<Real> counts(n + 1);
    Real derangements = 1, choices = 1;
    for (std::size_t d = 0; d <= n; ++d) {
      if (d > 0) derangements = derangements * d + (d % 2 == 0 ? 1 : -1), choices = choices * (n - d + 1) / d;
      counts[d] = choices * derangements;
    }
    const DistanceNormalizer normalizer(Distance::hamming, n);
    for (double theta : thetas(1e-9)) {
      if (theta > 50.0) continue;
      Real sum = 0;
      for (std::size_t d = 0; d <= n; ++d) sum += counts[d] * exp(-Real(theta) * d);
      hamming.add(normalizer.log_z(theta), Real(log(sum)), at("theta = %.3g, n = %.0f", theta, static_cast<double>(n)));
    }
  }
  for (std::size_t n : {2U, 5U, 12U, 24U}) {
    // Schensted: the rankings with a longest increasing subsequence of k are the squared numbers of tableaux of shapes with first
    // row k.
    std::vector<Real> counts(n, 0);
    Real factorial = 1;
    for (std::size_t i = 2; i <= n; ++i) factorial *= i;
    std::vector<std::size_t> shape;
    const std::function<void(std::size_t, std::size_t)> visit = [&](std::size_t left, std::size_t most) {
      if (left == 0) {
        Real hooks = 1;
        for (std::size_t r = 0; r < shape.size(); ++r)
          for (std::size_t c = 0; c < shape[r]; ++c) {
            std::size_t below = 0;
            while (r + below + 1 < shape.size() && shape[r + below + 1] > c) ++below;
            hooks *= shape[r] - c + below;
          }
        const Real tableaux = factorial / hooks;
        counts[n - shape[0]] += tableaux * tableaux;
        return;
      }
      for (std::size_t part = std::min(left, most); part > 0; --part) {
        shape.push_back(part);
        visit(left - part, part);
        shape.pop_back();
      }
    };
    visit(n, n);
    const DistanceNormalizer normalizer(Distance::ulam, n);
    for (double theta : thetas(1e-9)) {
      if (theta > 50.0) continue;
      Real sum = 0;
      for (std::size_t d = 0; d < n; ++d) sum += counts[d] * exp(-Real(theta) * d);
      ulam.add(normalizer.log_z(theta), Real(log(sum)), at("theta = %.3g, n = %.0f", theta, static_cast<double>(n)));
    }
  }
}

const std::vector<double> arguments{1e-6, 1e-3,  0.02, 0.5,   0.999, 1.0,   1.5, 2.0, 2.7,
                                    7.9,  11.99, 12.0, 12.01, 40.0,  333.3, 1e4, 1e7};

TEST(SpecialFunctions, GammaAndItsRelatives) {
  using boost::math::lgamma;
  Errors ours("log_gamma_positive", "x from 1e-6 to 1e7", 3e-13, 1.0);
  Errors theirs("lgamma as Boost has it", "x from 1e-6 to 1e7", 1e-14, 1.0);
  Errors psi("digamma as Boost has it", "x from 1e-6 to 1e7", 1e-14, 1.0);
  // Differences of log-gammas: of 1.5e8 at 1e7, and of 8e4 at 1e4, a last digit is left.
  Errors beta("log_beta_integral", "a from 1e-3 to 1e7, b from 0 to 1e7", 3e-8, 1.0);
  Errors next("log_beta_predictive", "a from 1e-3 to 1e4, b from 0 to 1e4, s to 1000", 1e-10, 1.0);
  Errors lanes("log-gamma differences in SIMD lanes (dpm, beta-gibbs)", "x from 1e-3 to 1e4, y - x from 2 to 1e4", 1e-11, 1.0);
  for (double x : arguments) {
    ours.add(dp_mallows::log_gamma_positive(x), Real(lgamma(Real(x))), at("x = %.3g", x));
    theirs.add(lgamma(x), Real(lgamma(Real(x))), at("x = %.3g", x));
    psi.add(boost::math::digamma(x), Real(boost::math::digamma(Real(x))), at("x = %.3g", x));
  }
  for (double a : arguments)
    for (double b : {0.0, 0.01, 1.0, 3.5, 20.0, 1000.0, 1e4, 1e7}) {
      if (a < 1e-3) continue;
      beta.add(dp_mallows::log_beta_integral(a, b), Real(lgamma(Real(a)) + lgamma(Real(b) + 1) - lgamma(Real(a) + Real(b) + 1)),
               at("a = %.3g, b = %.3g", a, b));
      if (a > 1e4 || b > 1e4) continue;
      for (double s : {0.0, 1.0, 17.0, 1000.0}) {
        const Real want = lgamma(Real(a) + s) + lgamma(Real(b) + 2) - lgamma(Real(a) + s + Real(b) + 2) - lgamma(Real(a)) -
                          lgamma(Real(b) + 1) + lgamma(Real(a) + Real(b) + 1);
        next.add(dp_mallows::log_beta_predictive(a, b, s), want, at("a = %.3g, b = %.3g, s = %.0f", a, b, s));
      }
      // One stage of one ranking, whose constants are zero: what is left is lgamma(x) - lgamma(y) - (y - x), y = x + nu + 2 +
      // count.
      using dp_mallows::slot_block;
      const std::vector<std::int16_t> position(slot_block, 0);
      const std::vector<double> zero(slot_block, 0.0), prior(slot_block, a), counts(slot_block, b);
      std::vector<std::int16_t> codes(slot_block);
      std::vector<double> out(slot_block);
      dp_mallows::ScoreTable table;
      table.slots = table.stride = slot_block;
      table.position = position.data();
      table.log_size = table.sums = table.constant = zero.data();
      table.prior = prior.data();
      table.counts = counts.data();
      table.nu = 0.0;
      const std::int32_t item = 0;
      dp_mallows::score_slots(dp_mallows::ScoreKind::beta, table, &item, 1, codes.data(), out.data());
      const Real y = Real(a) + 2 + Real(b);
      lanes.add(out[3], Real(lgamma(Real(a)) - lgamma(y) - (y - Real(a))), at("x = %.3g, y - x = %.3g", a, b + 2.0));
    }
}

TEST(SpecialFunctions, TailsAndQuantiles) {
  Errors tail("gamma_q as Boost has it (p-values)", "1 to 100 degrees of freedom, statistics from 1e-3 to 600", 1e-12);
  Errors inverse("erf at the erf_inv of Boost (probits)", "-0.9999999 to 0.9999999", 1e-14);
  for (double degrees : {1.0, 2.0, 5.0, 31.0, 100.0})
    for (double statistic : {1e-3, 0.1, 1.0, 4.0, 31.0, 110.0, 600.0})
      tail.add(boost::math::gamma_q(0.5 * degrees, 0.5 * statistic),
               Real(boost::math::gamma_q(Real(degrees) / 2, Real(statistic) / 2)), at("%.0f degrees, %.3g", degrees, statistic));
  for (double share : {-0.9999999, -0.9, -0.3, -1e-5, 1e-12, 0.02, 0.5, 0.77, 0.95, 0.9999999})
    inverse.add(share, Real(boost::math::erf(Real(boost::math::erf_inv(share)))), at("%.9g", share));
}

// The trapezoid rule in y = log(e^theta - 1), with nodes so close that quadruple precision is what limits it.
struct Integral {
  Quad log_value, mean;
};
Integral stage_integral(std::size_t m, double a, double b) {
  const Quad step = std::min(0.1, 0.25 * std::sqrt(1.0 / a + 1.0 / (b + 1.0)));
  const auto log_term = [&](const Quad& y, Quad& theta) -> Quad {
    const Quad e = exp(y);
    theta = log1p(e);
    const Quad q = -expm1(-theta);
    return -Quad(a) * theta - Quad(b) * log(-expm1(-theta * m) / q) + log(q);
  };
  Quad theta, middle = log(Quad(1.0 + b) / a), top = log_term(middle, theta);
  for (Quad move = 4; move > step; move /= 2)
    for (bool better = true; better;) {
      better = false;
      for (const Quad& y : {Quad(middle - move), Quad(middle + move)})
        if (const Quad value = log_term(y, theta); value > top) top = value, middle = y, better = true;
    }
  Quad sum = 0, weighted = 0;
  for (int direction : {-1, 1})
    for (std::size_t k = direction > 0 ? 0 : 1;; ++k) {
      const Quad value = log_term(middle + direction * static_cast<double>(k) * step, theta);
      if (value < top - 75) break;
      const Quad weight = exp(value - top);
      sum += weight;
      weighted += weight * theta;
    }
  return {top + log(sum * step), weighted / sum};
}

TEST(SpecialFunctions, IntegralsOverTheta) {
  Errors integral("log I_m(a, b), the integral over theta (dpm, exact-gibbs)",
                  "m from 2 to 500, a from 0.2 to 5000, b from 0 to 2000", 1e-10, 1.0);
  Errors average("posterior mean of theta", "m from 2 to 500, a from 0.2 to 5000, b from 0 to 2000", 1e-9);
  for (std::size_t m : {2U, 3U, 10U, 50U, 500U})
    for (double a : {0.2, 1.0, 20.0, 5000.0})
      for (double b : {0.0, 1.0, 30.0, 2000.0}) {
        const Integral want = stage_integral(m, a, b);
        dp_mallows::StageQuadrature quadrature;
        quadrature.build(m, a, b);
        const std::string where = at("m = %.0f, a = %.3g, b = %.3g", static_cast<double>(m), a, b);
        integral.add(quadrature.log_integral(), want.log_value, where);
        average.add(quadrature.mean_theta(), want.mean, where);
      }
}

TEST(SpecialFunctions, PlackettLuce) {
  Errors strict("log-probability under Plackett-Luce", "2 to 200 items, utilities up to 600 apart, whole and top-t", 1e-12, 1.0);
  for (std::size_t n : {2U, 5U, 30U, 200U})
    for (double spread : {1e-6, 1.0, 20.0, 300.0})
      for (std::size_t listed : {std::size_t{1}, n / 2, n}) {
        std::vector<double> utilities(n);
        std::vector<ItemId> order(n);
        for (std::size_t i = 0; i < n; ++i)
          utilities[i] = spread * std::sin(2.0 + static_cast<double>(i) * 1.3247179572447), order[i] = static_cast<ItemId>(i);
        const PlackettLuce model(utilities);
        Quad rest = 0, want = 0;
        for (std::size_t i = n; i-- > 0;) {
          rest += exp(Quad(utilities[i]));
          if (i < listed) want += Quad(utilities[i]) - log(rest);
        }
        strict.add(model.log_prob(RankingView(std::span(order).first(listed)), Unranked::last), want,
                   at("%.0f items, spread %.3g, %.0f listed", static_cast<double>(n), spread, static_cast<double>(listed)));
      }
}

}  // namespace
}  // namespace caucus
