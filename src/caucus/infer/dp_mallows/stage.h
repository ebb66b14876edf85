// One stage of the generalized Mallows model and its conjugate prior.
//
// At a stage with m values the code s is 0..m-1 with probability e^(-theta s) / Z_m(theta). With prior and data
// collected in (a, b) the posterior of theta is proportional to e^(-a theta) Z_m(theta)^(-b): a = nu r_j + S_j,
// b = nu + N_j. In the paper's notation m = n - j + 1 and B~eta(a, b + 1, n - j) = I_m(a, b) below.
#pragma once

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
  // The same as log_predictive for other data (a, b) of the stage, near those of the nodes (near_nodes): no quadrature of its own,
  // a multiplication per node and code.
  void log_predictive_of(double a, double b, std::span<double> out);

 private:
  void make_factors();

  std::size_t m_ = 1;
  double a_ = 1.0, b_ = 1.0;
  double log_integral_ = 0.0;
  std::vector<double> theta_;
  std::vector<double> log_z_;
  std::vector<double> log_weight_;  // of the normalised density: log-sum 0
  mutable std::vector<double> term_;
  mutable std::vector<double> factor_;
  std::vector<double> tilt_theta_, tilt_log_z_, tilt_log_weight_, tilt_factor_, tilt_inverse_z_;  // filled up to whole vectors
};

// Places (a, b) of quadratures so close to each other that every (a, b) is near one of them: within a quarter of the standard
// deviation of the stage's sum. None where the next codes themselves, up to m - 1, reach beyond two of them: small clusters, whose
// few sums and counts come back again and again.
struct NearNodes {
  double a, b;
};
std::optional<NearNodes> near_nodes(std::size_t m, double a, double b);

double log_stage_integral(std::size_t m, double a, double b);

// The infinite stage, which beta-gibbs puts in place of the finite one (Meila & Bao 2008): B(a, b + 1).
double log_gamma_positive(double x);  // x > 0; reentrant, 1e-13 relative to max(1, value)
double log_beta_integral(double a, double b);
// log of B(a + s, b + 2) / B(a, b + 1).
double log_beta_predictive(double a, double b, double s);

// Draws of theta from e^(-a theta) Z_m(theta)^(-b).
// Exact: rejection under a three-piece exponential envelope of the log-concave density; about 1.4 tries each.
double draw_theta(std::size_t m, double a, double b, RandomStream& rng);
// Sample-theta-Slice (Figure 3): `steps` slice steps with stepping out from `theta` (Neal 2003).
double sample_theta_slice(std::size_t m, double a, double b, double theta, int steps, RandomStream& rng);
// Lemma 4, eq. (12): e^-theta ~ Beta(a, b + 1), the infinite stage.
double draw_theta_beta(double a, double b, RandomStream& rng);

}  // namespace caucus::dp_mallows
