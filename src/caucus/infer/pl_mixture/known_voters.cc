#include "caucus/infer/pl_mixture/known_voters.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/infer/stopping.h"

namespace caucus::pl_mixture {

KnownVoters know_voters(const Dataset& data, const Options& options) {
  if (options.method == Method::gibbs)
    throw UsageError(
        "--membership does not go with method gibbs: it draws group weights from a Dirichlet distribution, and coefficients of a "
        "logit have none; method em has standard errors, and --bootstrap intervals");
  if (options.method != Method::em && options.method != Method::emm && options.method != Method::em_lsr)
    throw UsageError(
        fmt::format("--membership needs method em, emm or em-lsr, not {}: it groups single rankings, or has no likelihood",
                    name_of(options.method)));
  if (!options.estimate_weights) throw UsageError("--membership and --estimate-weights off exclude each other");
  KnownVoters known{data, {}, {}, {}, {}};
  if (!known.data.voters.given()) make_rows_voters(known.data);
  const auto encode = [&] {
    const std::vector<Column> columns = voter_columns(known.data);
    if (columns.empty())
      throw DataError(
          fmt::format("{}: --membership: nothing is known of the voters; --voters FILE names a table, or columns may stand "
                      "beside the rankings",
                      data.source));
    known.warnings.clear();
    known.design = CovariateDesign::learn(columns, options.membership, options.missing, true, "--membership", known.warnings);
    return known.design.encode(
        columns, [&](std::size_t voter) { return fmt::format("{}: voter {}", data.source, known.data.voters.name(voter)); });
  };
  CovariateDesign::Encoded encoded = encode();
  std::vector<double> weights = known.data.voters.weights;
  std::size_t left_out = 0;
  for (std::size_t v = 0; v < weights.size(); ++v)
    if (encoded.complete[v] == 0) weights[v] = 0.0, ++left_out;
  if (left_out == weights.size())
    throw DataError(fmt::format("{}: --membership: something is missing of every voter; --missing mean keeps them", data.source));
  if (left_out > 0) {
    known.data = with_voter_weights(known.data, weights);
    encoded = encode();
    known.warnings.push_back(fmt::format("{} of {} voters were left out: something that --membership names is missing of them",
                                         left_out, weights.size()));
  }
  known.x = std::move(encoded.x);
  known.logit = std::make_shared<MembershipLogit>(known.x, known.data.voters.weights, static_cast<std::size_t>(options.components));
  return known;
}

std::shared_ptr<MembershipLogit> KnownVoters::logit_of(std::span<const std::size_t> which,
                                                       const std::vector<double>& weights) const {
  RowMatrix rows(static_cast<Eigen::Index>(which.size()), x.cols());
  for (std::size_t v = 0; v < which.size(); ++v)
    rows.row(static_cast<Eigen::Index>(v)) = x.row(static_cast<Eigen::Index>(which[v]));
  auto result = std::make_shared<MembershipLogit>(rows, weights, logit->num_groups());
  result->set_ridge(logit->ridge());
  return result;
}

std::vector<double> weights_of_voters(const MembershipLogit& logit, std::span<const double> gamma) {
  std::vector<double> result = logit.log_weights(gamma);
  for (double& value : result) value = std::exp(value);
  return result;
}

std::vector<double> mean_weights(const MembershipLogit& logit, std::span<const double> gamma, std::span<const double> voters) {
  const std::vector<double> own = weights_of_voters(logit, gamma);
  const std::size_t num = logit.num_groups();
  std::vector<double> mean(num, 0.0);
  for (std::size_t v = 0; v < voters.size(); ++v)
    for (std::size_t k = 0; k < num; ++k) mean[k] += voters[v] * own[v * num + k];
  const double total = sum(mean);
  for (double& weight : mean) weight /= total;
  return mean;
}

namespace {

constexpr double separation_ridge = 0.1;

}  // namespace

std::shared_ptr<MembershipLogit> held_by_ridge(const KnownVoters& known, std::span<const double> gamma, std::string& warning) {
  const auto largest = known.logit->largest(gamma);
  if (known.logit->ridge() > 0.0 || !(largest.value > 1.0)) return nullptr;
  warning = fmt::format(
      "group {} can be told from group 1 almost for certain by '{}': its coefficient has no finite maximum, and a ridge "
      "of {} on standardised coefficients holds it",
      largest.group + 1, known.design.names()[largest.column], separation_ridge);
  auto held = std::make_shared<MembershipLogit>(*known.logit);
  held->set_ridge(separation_ridge);
  return held;
}

void clamp_coefficients(std::vector<double>& gamma) {
  for (double& value : gamma) value = std::clamp(value, -3.0, 3.0);
}

namespace {

Membership::Test test_columns(const KnownVoters& known, std::span<const double> gamma, double best, std::size_t first,
                              std::size_t count, const RefitWithout& refit) {
  const double without =
      refit(std::make_shared<MembershipLogit>(known.logit->without(first, count)), known.logit->without(gamma, first, count));
  Membership::Test test;
  test.statistic = std::max(0.0, 2.0 * (best - without));
  test.degrees = static_cast<int>(count * (known.logit->num_groups() - 1));
  test.p_value = boost::math::gamma_q(0.5 * test.degrees, 0.5 * test.statistic);
  return test;
}

}  // namespace

std::vector<Membership::Test> test_terms(const KnownVoters& known, std::span<const double> gamma, double best, const Run& run,
                                         const RefitWithout& refit) {
  std::vector<Membership::Test> tests;
  const auto& terms = known.design.terms();
  for (const DesignTerm& term : terms) {
    StopReason why = StopReason::converged;
    if (run.report({"tests of terms", static_cast<int>(tests.size()), static_cast<int>(terms.size()), best}, why) == Flow::stop)
      break;
    Membership::Test test = test_columns(known, gamma, best, term.first, term.count, refit);
    if (should_stop(run)) break;  // this one was cut short
    test.term = term.name;
    tests.push_back(std::move(test));
  }
  return tests;
}

std::vector<Membership::Test> test_levels(const KnownVoters& known, std::span<const double> gamma, double best,
                                          std::span<const Membership::Test> terms, std::span<const MembershipEffect> effects,
                                          const Run& run, const RefitWithout& refit) {
  std::vector<Membership::Test> tests;
  for (std::size_t i = 0, end = 0; i < effects.size(); i = end) {
    const LargestEffect largest = largest_effect(effects, i);
    end = largest.end;
    const MembershipEffect& one = effects[largest.best];
    const auto of_term = std::ranges::find(terms, one.term, &Membership::Test::term);
    if (of_term == terms.end() || of_term->p_value >= 0.05 || one.low > 0.0 || one.low == one.high) continue;
    const auto& term = *std::ranges::find(known.design.terms(), one.term, &DesignTerm::name);
    Membership::Test test = *of_term;  // of a term with one column, this is its test
    if (term.count > 1) {
      const auto level = static_cast<std::size_t>(std::ranges::find(term.levels, one.to) - term.levels.begin());
      test = test_columns(known, gamma, best, term.first + level - 1, 1, refit);
      if (should_stop(run)) break;
      test.term = term.name;
    }
    test.level = one.to;
    tests.push_back(std::move(test));
  }
  return tests;
}

std::shared_ptr<Membership> tell_membership(const KnownVoters& known, const Parameters& fitted, const Eigen::MatrixXd& covariance) {
  auto membership = std::make_shared<Membership>();
  membership->design = known.design;
  membership->num_groups = fitted.num_components();
  membership->coefficients = known.logit->coefficients(fitted.gamma);
  membership->mean_weights = fitted.weights;
  membership->ridge = known.logit->ridge();
  if (covariance.size() == 0) return membership;
  const RowMatrix own = known.logit->unstandardised(covariance);
  membership->covariance.assign(own.data(), own.data() + own.size());
  return membership;
}

}  // namespace caucus::pl_mixture
