// One stage of a Mallows model: a truncated geometric variable v in {0, .., m - 1}, P(v) = exp(-theta v) / Z_m(theta),
// Z_m = 1 + q + .. + q^(m-1), q = exp(-theta). Fligner & Verducci (1986). Everything here is free of cancellation for
// theta from 0 to the hundreds, and O(1) unless said otherwise.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace caucus {

// The largest dispersion an estimate returns: exp(-50) is below the rounding of any probability near one.
inline constexpr double max_theta = 50.0;

// log Z_m(theta).
double log_stage_normalizer(double theta, std::size_t m);
// E v = -d/dtheta log Z_m and Var v = d^2/dtheta^2 log Z_m.
double stage_mean(double theta, std::size_t m);
double stage_variance(double theta, std::size_t m);

// The theta in [0, max_theta] with stage_mean(theta, m) = mean: the maximum-likelihood estimate. 0 if mean >= (m-1)/2.
double solve_stage_theta(double mean, std::size_t m);
// h_m(mean) = min over theta in [0, max_theta] of theta mean + log Z_m(theta): minus the maximal log-likelihood per ranking of
// a stage. Increasing and concave in mean.
double stage_cost(double mean, std::size_t m);

// log [n]! = sum_{m<=n} log Z_m: the normaliser of the Mallows model of n items under Kendall's distance; its mean distance and
// the variance of the distance. O(n).
double log_q_factorial(double theta, std::size_t n);
double mean_distance(double theta, std::size_t n);
double variance_distance(double theta, std::size_t n);
// The same for all sizes 0..n at once: out[m] for m <= n.
std::vector<double> log_q_factorials(double theta, std::size_t n);
std::vector<double> mean_distances(double theta, std::size_t n);
std::vector<double> variance_distances(double theta, std::size_t n);

// The theta in [0, max_theta] that maximises the likelihood of `total` (weight of the rankings) bucket orders of n items, whose
// strict pairs disagree with the center with weight `distance` in sum, and whose tie-groups of size s (the unlisted items
// among them) weigh group_weight[s], s = 0..n (may be empty: no ties). methods 5.1: the log-likelihood is concave in theta.
double solve_mallows_theta(double distance, double total, std::size_t n, std::span<const double> group_weight, double guess = 0.5);

}  // namespace caucus
