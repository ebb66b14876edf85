// The rival: sparse Bayesian multinomial logit. Holmes & Held (2006) with the corrected offset, the Bayesian lasso of
// Archambeau & Caron (2012), appendix A. See README.md for what was put right.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/infer/checkpoint.h"
#include "caucus/model/pl_regression_features.h"

namespace caucus::pl_regression {

struct LogitData {
  Eigen::MatrixXd x;  // n x p with the intercept as last column
  std::vector<std::uint32_t> labels;
  std::size_t num_classes = 0;
};

struct LogitOptions {
  double shape = 1.0, rate = 1.0;  // of the Gamma prior of theta
  double intercept_variance = 100.0;
};

// lambda with sqrt(lambda) N(0, 1) = r in absolute value a posteriori, where a priori it is logistic: the squared doubled
// Kolmogorov-Smirnov variable given the residual. Holmes & Held (2006), appendix A4.
double sample_logistic_scale(double r, RandomStream& stream);
// Logistic(location, 1) above 0 (or, with `above` false, below).
double sample_truncated_logistic(double location, bool above, RandomStream& stream);
// Inverse Gaussian (Michael, Schucany & Haas 1976), without cancellation for large means.
double sample_inverse_gaussian(double mean, double shape, RandomStream& stream);

class LogitChain {
 public:
  // Keeps a reference to `data`, whose labels may change between sweeps.
  LogitChain(const LogitData& data, const LogitOptions& options, RandomStream stream);

  // O(K min(n p^2 + p^3, n^2 p + n^3)).
  void sweep(bool adapt);

  const RowMatrix& coefficients() const { return beta_; }  // (K - 1) x p; the last class is the baseline
  double hyper() const { return theta_; }
  double loglik() const { return loglik_; }  // at the current coefficients
  void set_state(const RowMatrix& beta, const RowMatrix& tau, double theta);
  const RowMatrix& tau() const { return tau_; }

  void save(Saver& state) const;
  void load(Loader& state);

 private:
  void draw_coefficients(Eigen::Index k, const Eigen::VectorXd& target, const Eigen::VectorXd& scale);
  void refresh();

  const LogitData& data_;
  LogitOptions options_;
  RandomStream stream_;
  RowMatrix beta_, tau_;  // tau of the intercept is its fixed prior variance
  double theta_ = 1.0;
  double loglik_ = 0.0;
  Eigen::MatrixXd eta_;  // n x K, last column 0
};

// Softmax of x'beta with the last class at 0: n x K.
RowMatrix logit_probabilities(const Eigen::MatrixXd& x, const RowMatrix& beta);

}  // namespace caucus::pl_regression
