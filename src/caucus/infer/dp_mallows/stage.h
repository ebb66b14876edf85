// One stage of the generalized Mallows model and its conjugate prior.
//
// At a stage with m values the code s is 0..m-1 with probability e^(-theta s) / Z_m(theta). With prior and data
// collected in (a, b) the posterior of theta is proportional to e^(-a theta) Z_m(theta)^(-b): a = nu r_j + S_j,
// b = nu + N_j. In the paper's notation m = n - j + 1 and B~eta(a, b + 1, n - j) = I_m(a, b) below.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/model/stage.h"

namespace caucus::dp_mallows {

// I_m(a, b) = integral over theta >= 0 of e^(-a theta) Z_m(theta)^(-b), a > 0, b >= 0, and expectations under the
// density it normalises. In y = log(e^theta - 1) the integrand is analytic in |Im y| < pi/2, has one mode and decays
// exponentially, so the trapezoid rule with a step below the width of the mode converges geometrically: some 30
// nodes give 1e-11.
// Keeps its buffers, so one object serves many calls. Not thread-safe.
class StageQuadrature {
 public:
  void build(std::size_t m, double a, double b);

  double log_integral() const { return log_integral_; }
  double mean_theta() const;
  // log p(s), s = 0..m-1, of the next code given the stage's data: I_m(a + s, b + 1) / I_m(a, b).
  // By Lemma 5 these sum to one.
  void log_predictive(std::span<double> out) const;
  double log_predictive_at(double s) const;
  // The nodes: theta, log Z and the log weights of the normalised density.
  std::span<const double> theta() const { return theta_; }
  std::span<const double> log_z() const { return log_z_; }
  std::span<const double> log_weight() const { return log_weight_; }

 private:
  void make_nodes(double center, double step);
  double normalise();

  std::size_t m_ = 1;
  double a_ = 1.0, b_ = 1.0;
  double log_integral_ = 0.0;
  std::vector<double> theta_;
  std::vector<double> log_z_;
  std::vector<double> log_weight_;  // of the normalised density: log-sum 0
  mutable std::vector<double> term_;
  mutable std::vector<double> factor_;
};

// The quadrature about data (a, b) in as few nodes as serve data near them: Gauss's rule for the density it normalises (Golub &
// Welsch 1969). What is asked of it, e^(-s theta) / Z and a tilt to the data at hand, is smooth where the data are many, and 16
// nodes give 1e-11 up to a tilt by 2.25 standard deviations.
class StageRule {
 public:
  static constexpr std::size_t size = 16;
  using Nodes = std::array<double, size>;

  StageRule(std::size_t m, double a, double b);

  // Weights of the nodes under other data, which sum to one; answers log I(a, b).
  double weigh(double a, double b, Nodes& weight) const;
  void log_predictive(double a, double b, std::span<double> out) const;

  double a() const { return a_; }
  double b() const { return b_; }
  const Nodes& theta() const { return theta_; }
  const Nodes& log_z() const { return log_z_; }

 private:
  double a_, b_, log_integral_;
  Nodes theta_, log_z_, log_weight_, factor_, inverse_z_;
};

// Places (a, b) of rules so close to each other that every (a, b) is near one of them: within half a standard deviation of the
// stage's sum, and a tenth of b. None where the next codes, up to m - 1, reach beyond 1.75 deviations: small clusters, whose few
// sums and counts come back again and again.
struct NearNodes {
  double a, b;
};
std::optional<NearNodes> near_nodes(std::size_t m, double a, double b);

// The standard deviation of the sum of b codes with sum a, from what these say; at most a third off.
double sum_deviation(std::size_t m, double a, double b);

double log_stage_integral(std::size_t m, double a, double b);

// The infinite stage, which beta-gibbs puts in place of the finite one (Meila & Bao 2008): B(a, b + 1).
double log_gamma_positive(double x);  // x > 0; reentrant, 1e-13 relative to max(1, value)
double log_beta_integral(double a, double b);
// log of B(a + s, b + 2) / B(a, b + 1).
double log_beta_predictive(double a, double b, double s);

// Draws of theta from e^(-a theta) Z_m(theta)^(-b).
// Exact: rejection under a three-piece exponential envelope of the log-concave density; about 1.4 tries each. The envelope is most
// of the work, and serves again where the data are the same.
class ThetaEnvelope {
 public:
  void build(std::size_t m, double a, double b);
  bool is_of(std::size_t m, double a, double b) const { return m == m_ && a == a_ && b == b_; }
  double draw(RandomStream& rng) const;

 private:
  double log_density(double theta) const;

  std::size_t m_ = 0;
  double a_ = 0.0, b_ = 0.0, mode_ = 0.0, top_ = 0.0;
  double left_edge_ = 0.0, left_slope_ = 0.0, left_mass_ = 0.0, right_edge_ = 0.0, right_slope_ = 0.0;
};
double draw_theta(std::size_t m, double a, double b, RandomStream& rng);
// Sample-theta-Slice (Figure 3): `steps` slice steps with stepping out from `theta` (Neal 2003).
double sample_theta_slice(std::size_t m, double a, double b, double theta, int steps, RandomStream& rng);
// Lemma 4, eq. (12): e^-theta ~ Beta(a, b + 1), the infinite stage.
double draw_theta_beta(double a, double b, RandomStream& rng);

}  // namespace caucus::dp_mallows
