// Group weights that depend on what is known of a voter: log P(group k | x) = gamma_k . x - log sum_h exp(gamma_h . x), gamma_1 = 0
// (Gormley & Murphy 2008, section 2.2; Jacobs et al. 1991).
//
// In an EM step the expected log-likelihood of the memberships is concave in gamma: Newton steps with a line search, never lower.
// Columns are standardised, so that one ridge suits all; where groups could be told apart for certain by a covariate the likelihood
// has no maximum and the ridge holds the coefficients.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "caucus/model/covariate_design.h"
#include "caucus/result/membership.h"

namespace caucus {

struct Dataset;

class MembershipLogit {
 public:
  // x: one row per voter in the columns' own units, the first of ones.
  MembershipLogit(const RowMatrix& x, std::vector<double> weights, std::size_t num_groups);

  std::size_t num_groups() const { return num_groups_; }
  std::size_t num_columns() const { return static_cast<std::size_t>(x_.cols()); }
  std::size_t size() const { return (num_groups_ - 1) * num_columns(); }  // of gamma: groups 2 to K, group by group
  double ridge() const { return ridge_; }
  void set_ridge(double ridge) { ridge_ = ridge; }

  // log P(group | x) of every voter, K numbers each. O(voters K p).
  std::vector<double> log_weights(std::span<const double> gamma) const;
  // -ridge/2 times the squares of all but the intercepts.
  double penalty(std::span<const double> gamma) const;
  // The gradient of the log-likelihood less the ridge, where the voters belong to groups like this: sum_v w_v (r_vk - p_vk) x_v.
  std::vector<double> gradient(std::span<const double> memberships, std::span<const double> gamma) const;
  // The diagonal of the complete-data information.
  std::vector<double> curvature(std::span<const double> gamma) const;
  // The M-step: Newton until it gains next to nothing, at most `steps`.
  void maximise(std::span<const double> memberships, std::vector<double>& gamma, int steps = 5) const;
  // Weights of the groups alone as a start.
  std::vector<double> start(std::span<const double> weights) const;
  // After the groups changed places: new group k was order[k].
  std::vector<double> permuted(std::span<const double> gamma, std::span<const std::size_t> order) const;

  // In the columns' own units: [k * p + j] for all K groups, the first zero; and the covariance of those of groups 2 to K from that
  // of gamma.
  std::vector<double> coefficients(std::span<const double> gamma) const;
  Eigen::MatrixXd unstandardised(const Eigen::MatrixXd& covariance) const;
  // The coefficient that is furthest on its way to infinity, 1 where no maximum is in sight. One standard deviation would change
  // the odds by a factor of 3000, or a level by one of 160,000: no data of so many voters tell that.
  struct Largest {
    double value = 0.0;
    std::size_t group = 0, column = 0;
  };
  Largest largest(std::span<const double> gamma) const;
  // Without some columns, for tests of terms.
  MembershipLogit without(std::size_t first, std::size_t count) const;
  std::vector<double> without(std::span<const double> gamma, std::size_t first, std::size_t count) const;

 private:
  double value(std::span<const double> memberships, std::span<const double> gamma) const;

  RowMatrix x_;  // standardised
  std::vector<double> weights_, mean_, scale_;
  std::size_t num_groups_;
  double ridge_ = 0.0;
};

// How the shares of the groups change with a term: all voters given one value and then another, the rest of them as it is.
struct MembershipEffect {
  std::string term, from, to;
  std::size_t group = 0;
  double share_from = 0.0, share_to = 0.0;
  double low = 0.0, high = 0.0;  // of the difference, 95 %, from draws of the coefficients; both 0 where there is no covariance
};
// Categories against the reference; numbers at their upper against their lower quartile.
std::vector<MembershipEffect> membership_effects(const Membership& membership, const Dataset& data);
// Of the effects of one pair of values, which are adjacent: the group that gains most. [begin, end) of the pair that begins there.
struct LargestEffect {
  std::size_t end, best, worst;
};
LargestEffect largest_effect(std::span<const MembershipEffect> effects, std::size_t begin);
// "Area = rural instead of city: group 2 31 % instead of 18 % (+6 to +20 points)": the clearest difference of each pair.
std::vector<std::string> effect_sentences(std::span<const MembershipEffect> effects, const Membership& membership);

}  // namespace caucus
