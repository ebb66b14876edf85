// The log-likelihood of a mixture, its gradient, and what the update steps need, in one pass over the data.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "caucus/infer/membership_logit.h"
#include "caucus/infer/pl_mixture/batch.h"
#include "caucus/infer/pl_mixture/parameters.h"
#include "caucus/infer/pl_mixture/tie_batch.h"
#include "caucus/model/plackett_luce_ties.h"

namespace caucus::pl_mixture {

// Utilities of one component stay within this distance of its largest: beyond it the square of a worth would underflow. A component
// that is all but one order of n items has them n - 1 gaps apart, and each gap costs its members e^-gap a stage: with less room
// where such a run ends depends on how it got there.
inline constexpr double max_spread = 340.0;
// With ties it is tie_spread (model/plackett_luce_ties.h).
// The log of the strength of a tie of so many: with all worths one, the sets of that size must not overflow.
double max_log_delta(std::size_t num_items, int order);
// The same where eight worths are multiplied before a logarithm is taken.
inline constexpr double narrow_spread = 80.0;

struct Evaluation {
  double loglik = 0.0;                 // log P(data), no penalty
  double penalty = 0.0;                // log of the pseudo-comparisons' likelihood; objective = loglik + penalty
  std::vector<double> responsibility;  // [k]: expected number of rankings
  std::vector<double> wins;            // [k * n + i]: expected number of choices of i (1/|T| of a tie), pseudo-wins included
  std::vector<double> expected;        // [k * n + i]: the same under the model, given who was there; gradient = wins - expected
  std::vector<double> tie_expected;    // [order]
  std::vector<double> memberships;     // K per voter, where weights depend on the voter
  double objective() const { return loglik + penalty; }
};

auto parts(IsA<Evaluation> auto& e) {
  return std::tie(e.loglik, e.penalty, e.responsibility, e.wins, e.expected, e.tie_expected, e.memberships);
}

// exp(utility - the component's largest), and the weights: all components side by side as the batch kernels want them.
std::vector<double> lane_worths(const Parameters& parameters);
std::vector<double> lane_prior(const Parameters& parameters);
// What a pass adds up, component by component.
Evaluation evaluation_of(const PassSums& sums, std::span<const double> worths, std::size_t num_components);

class Objective {
 public:
  // strength: each item wins and loses that many pseudo-comparisons with an item of utility 0, in every component.
  Objective(const Dataset& data, std::size_t num_components, double strength, const Workers& workers);
  // The same data under another number of components or by others.
  Objective(const Objective& other, std::size_t num_components, const Workers& workers);

  // Of the own blocks where several processes share the passes (Batch::first), else of all.
  const Batch& batch() const { return workers_.several() ? *batch_ : whole_batch(); }
  // Laid out when it is first asked for, where batch() has a part.
  const Batch& whole_batch() const;
  // Counts and groups, whatever part there is.
  const Batch& layout() const { return *batch_; }
  const Dataset& data() const { return *data_; }
  std::size_t num_items() const { return data_->num_items(); }
  std::size_t num_components() const { return num_components_; }
  double strength() const { return strength_; }
  double total_weight() const { return total_weight_; }  // of rankings that say something, or of voters
  double silent_weight() const { return silent_weight_; }
  int threads() const { return workers_.threads; }
  const Workers& workers() const { return workers_; }
  bool has_ties() const { return !tie_orders_.empty(); }
  const std::vector<int>& tie_orders() const { return tie_orders_; }
  const std::vector<double>& tie_counts() const { return tie_counts_; }

  // What a pass touches for one component: items, with ties times 1 + tie_cost for each symmetric polynomial they enter.
  double stored_numbers(double tie_cost) const;

  // Rankings that say something are passed over in an order of their own, cut into blocks; sources()[r] is the r-th of them.
  Blocks blocks() const;
  std::span<const std::uint32_t> sources() const;

  // posterior, if given, receives the memberships: K numbers per distinct ranking of the data set; rows log P of each.
  Evaluation evaluate(const Parameters& parameters, std::vector<double>* posterior = nullptr,
                      std::vector<double>* rows = nullptr) const;
  // The same into an array that lies where the rankings do (data/scratch.h): they may be too many for memory. Of the own blocks;
  // memberships_by_place(): of the r-th ranking of a pass, else of distinct ranking sources()[r] of the data set.
  enum class Whose { all, own };
  Evaluation evaluate_all(const Parameters& parameters, Buffer<double>& posterior) const;
  bool memberships_by_place() const { return !by_voter_ && !has_ties(); }
  std::size_t membership_of(std::size_t r) const { return memberships_by_place() ? r : sources()[r]; }
  // log P of every distinct ranking.
  std::vector<double> row_logliks(const Parameters& parameters) const;

  // Voters who cast several rankings (voters.h). Responsibilities and total_weight() are of voters then, and the posterior of a
  // ranking is the mean membership of those who cast it.
  bool by_voter() const { return by_voter_; }
  // Weights that depend on what is known of a voter; the data have voters then.
  void use_membership(std::shared_ptr<const MembershipLogit> logit);
  const MembershipLogit* membership() const { return by_voter_ ? logit_.get() : nullptr; }
  // Gives the parameters coefficients that say what their weights say, where they have none.
  void complete(Parameters& parameters) const;
  // The weights of an M-step from an evaluation.
  void update_weights(const Evaluation& at, Parameters& parameters) const;
  // The variables that weights have: their logits, or the coefficients; and the gradient and curvature of the objective by them.
  std::size_t num_weight_variables() const;
  std::vector<double> weight_gradient(const Evaluation& at, const Parameters& parameters) const;
  std::vector<double> weight_curvature(const Evaluation& at, const Parameters& parameters) const;
  struct VoterStep {
    double loglik = 0.0;
    std::vector<double> memberships;     // K per voter
    std::vector<double> responsibility;  // [k]
  };
  // log P_k of every distinct ranking, K numbers each.
  std::vector<double> ranking_logs(const Parameters& parameters) const;
  // The E-step of the voters; log_weights: K, or K for each voter.
  VoterStep voter_step(std::span<const double> logs, std::span<const double> log_weights) const;
  // The weight with which each distinct ranking belongs to each group.
  std::vector<double> shares_of_rankings(std::span<const double> memberships) const;
  // Wins and what is expected of them, where rankings belong to groups with these weights.
  void add_ranking_shares(const Parameters& parameters, std::span<const double> shares, Evaluation& evaluation) const;
  // K memberships per voter.
  std::vector<double> voter_memberships(const Parameters& parameters) const;

  // The E-step and sums of voters in one pass, the rankings of a voter together, or in steps over the distinct rankings: the same
  // numbers. memberships: K per voter, kept where given.
  Evaluation pass_over_voters(const Parameters& parameters, std::vector<double>* memberships) const;
  Evaluation steps_over_voters(const Parameters& parameters, std::vector<double>* memberships) const;

 private:
  // Where voters cast the same few rankings (battles), what is done once for each is cheaper than one pass.
  bool in_steps() const;
  Evaluation evaluate_voters(const Parameters& parameters, std::vector<double>* posterior) const;
  Evaluation evaluate_ties(const Parameters& parameters, std::vector<double>* posterior, std::vector<double>* rows) const;
  // Of rankings with ties, or with `voters` of those who cast them, by weights of their own where given.
  Evaluation tie_pass(const Parameters& parameters, const CastRankings* voters, const double* voter_log_prior, double* posterior,
                      double* rows) const;
  // posterior: K numbers per distinct ranking, or for the own blocks per ranking of the batch.
  Evaluation evaluate_strict(const Parameters& parameters, std::span<double> posterior, std::vector<double>* rows,
                             Whose whose = Whose::all) const;
  void count_voters();
  void add_penalty(const Parameters& parameters, Evaluation& evaluation) const;

  const Dataset* data_;
  std::size_t num_components_;
  double strength_;
  Workers workers_;
  std::shared_ptr<const Batch> batch_;  // strict rankings only, else empty
  struct WholeBatch;
  std::shared_ptr<WholeBatch> whole_batch_;  // where batch_ is a part
  std::shared_ptr<const TieBatch> tie_batch_;
  std::shared_ptr<const CastRankings> cast_;  // by voter only
  std::vector<int> tie_orders_;
  std::vector<double> tie_counts_;
  double telling_weight_ = 0.0;  // of rankings that say something
  double total_weight_ = 0.0;
  double silent_weight_ = 0.0;
  bool by_voter_ = false;
  std::shared_ptr<const MembershipLogit> logit_;
};

}  // namespace caucus::pl_mixture
