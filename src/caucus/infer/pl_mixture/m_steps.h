// M-steps of the paper and of its rivals: one component, given how much of each ranking belongs to it.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>
#include <vector>

#include "caucus/infer/pl_mixture/objective.h"
#include "caucus/infer/pl_mixture/options.h"
#include "caucus/infer/pl_mixture/pair_bits.h"

namespace caucus::pl_mixture {

// Share of component k in distinct ranking i of the data set: posterior[i * K + k], times the ranking's weight. by_place: the same
// for the rankings in the order of a pass.
struct Shares {
  std::span<const double> posterior;
  std::size_t num_components = 1;
  std::size_t component = 0;
  bool by_place = false;

  double weight(const Batch& batch, std::size_t r) const {
    return batch.weights[r] * posterior[(by_place ? r : batch.source[r]) * num_components + component];
  }
};

// Weighted Luce spectral ranking (Algorithm 4): up to max_steps chains, until the gradient of the weighted log-likelihood, relative
// to the number of choices, is below tolerance. The explicit chain takes O(total length^2 / m) per step and an n x n solve, the
// implicit product O(total length) per iteration. utilities holds the start and the answer.
void weighted_lsr(const Objective& objective, const Shares& shares, Chain chain, int max_steps, double tolerance,
                  std::span<double> utilities);

// Several processes share the sums over rankings; whose memberships each of them needs.
Objective::Whose memberships_for_lsr(const Objective& objective, Chain chain);

// Wins minus expected wins of the weighted log-likelihood, pseudo-comparisons included: its gradient.
std::vector<double> weighted_gradient(const Objective& objective, const Shares& shares, std::span<const double> utilities);

// above(i, j): weight with which i was ranked above j, for every component.
std::vector<Eigen::MatrixXd> pair_counts(const Objective& objective, std::span<const double> posterior, std::size_t num_components);

// The same for many posteriors over the same rankings: where ballots are long the pairs are kept as bits and eight are counted at a
// time.
class PairCounter {
 public:
  explicit PairCounter(const Objective& objective);
  std::vector<Eigen::MatrixXd> count(std::span<const double> posterior) const;
  bool by_bits() const { return bits_.has_value(); }

 private:
  const Objective& objective_;
  std::optional<PairBits> bits_;
};

// Maximises sum_ij above_ij log sigma(u_i - u_j) (composite marginal likelihood), by Newton in n variables.
void composite_step(const Eigen::MatrixXd& above, double strength, std::span<double> utilities);
// Minimises sum_ij (share_ij - sigma(u_i - u_j))^2 (generalized method of moments), by Levenberg-Marquardt in n variables.
void moment_step(const Eigen::MatrixXd& above, std::span<double> utilities);
// The two objectives themselves, for tests.
double composite_objective(const Eigen::MatrixXd& above, double strength, std::span<const double> utilities);
double moment_objective(const Eigen::MatrixXd& above, std::span<const double> utilities);

}  // namespace caucus::pl_mixture
