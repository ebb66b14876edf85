// Observed information of a fitted mixture, and what follows from it.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "caucus/infer/pl_mixture/objective.h"
#include "caucus/infer/pl_mixture/pieces.h"

namespace caucus::pl_mixture {

// Rough number of multiplications observed_information takes.
double information_cost(const Objective& objective);

// Minus the Hessian of the objective in (utilities of all components, logits of the weights, logs of tie strengths): by Louis
// (1982) from complete-data curvature and scores for strict rankings, by central differences of the exact gradient with ties, but
// for battles of one group, where it is a sum over pairs (battles.h). The weights' block is there for K > 1 only. O(m (K n)^2).
Eigen::MatrixXd observed_information(const Objective& objective, const Parameters& parameters);

struct Uncertainty {
  std::vector<double> utilities;  // standard errors [k * n + i], of utilities centered on their reference; NaN outside it
  std::vector<double> quasi;      // quasi-standard errors [k * n + i]; NaN where they do not exist
  // The same of each group's other blocks, of utilities centered on their own block; NaN outside these.
  std::vector<double> block_utilities, block_quasi;
  std::vector<double> weights;   // [k]
  std::vector<double> log_ties;  // of log delta
  Eigen::MatrixXd covariance;    // of centered utilities, weights, log delta
  bool usable = false;           // false: the information matrix is singular or not positive definite
};
// `pieces` are those of find_pieces; items whose error says that the data do not bound them leave their reference.
Uncertainty uncertainty(const Objective& objective, const Parameters& parameters, const Eigen::MatrixXd& information,
                        bool fixed_weights, std::vector<Pieces>& pieces);

// Quasi-variances (Firth & de Menezes 2004): q_i + q_j as near as possible to var(u_i - u_j), in relative terms. Empty for fewer
// than three items or where no positive solution is found.
std::vector<double> quasi_variances(const Eigen::MatrixXd& covariance);

// One Newton step of the objective with the given information; false if it does not raise the objective.
bool newton_step(const Objective& objective, const Eigen::MatrixXd& information, Parameters& parameters, bool fixed_weights,
                 const std::vector<Pieces>& pieces);

}  // namespace caucus::pl_mixture
