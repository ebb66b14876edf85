// What is known of the voters, as the columns of a logit of their group (membership_logit.h): made before a fit, told after it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caucus/infer/membership_logit.h"
#include "caucus/infer/pl_mixture/objective.h"
#include "caucus/infer/pl_mixture/options.h"
#include "caucus/infer/run.h"

namespace caucus::pl_mixture {

struct KnownVoters {
  Dataset data;  // of the voters of whom enough is known
  CovariateDesign design;
  RowMatrix x;  // a row per voter in the columns' own units
  std::shared_ptr<MembershipLogit> logit;
  std::vector<std::string> warnings;

  // The same columns of other voters, each like one of these, with their own scale.
  std::shared_ptr<MembershipLogit> logit_of(std::span<const std::size_t> which, const std::vector<double>& weights) const;
};
// P(group | x) of every voter, K numbers each, and its mean over them.
std::vector<double> weights_of_voters(const MembershipLogit& logit, std::span<const double> gamma);
std::vector<double> mean_weights(const MembershipLogit& logit, std::span<const double> gamma, std::span<const double> voters);

// Throws UsageError, DataError.
KnownVoters know_voters(const Dataset& data, const Options& options);

// Where a coefficient has no maximum in sight: a logit with a ridge that holds it, and a warning that names it. Else nothing.
std::shared_ptr<MembershipLogit> held_by_ridge(const KnownVoters& known, std::span<const double> gamma, std::string& warning);
// Coefficients to go on from under that ridge.
void clamp_coefficients(std::vector<double>& gamma);

// The objective of a fit without a term: that of the logit given, from the coefficients given.
using RefitWithout = std::function<double(std::shared_ptr<const MembershipLogit>, std::vector<double> gamma)>;
// Twice the log-likelihood that a fit without the term loses, from where the fit with it ended.
std::vector<Membership::Test> test_terms(const KnownVoters& known, std::span<const double> gamma, double best, const Run& run,
                                         const RefitWithout& refit);
// The same of single levels, of terms that matter, whose interval says nothing.
std::vector<Membership::Test> test_levels(const KnownVoters& known, std::span<const double> gamma, double best,
                                          std::span<const Membership::Test> terms, std::span<const MembershipEffect> effects,
                                          const Run& run, const RefitWithout& refit);

// covariance: of gamma, or empty.
std::shared_ptr<Membership> tell_membership(const KnownVoters& known, const Parameters& fitted, const Eigen::MatrixXd& covariance);

}  // namespace caucus::pl_mixture
