// One chain of the Gibbs sampler, Archambeau & Caron (2012), eqs. (11)-(13), with a Metropolis step on log a.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/infer/checkpoint.h"
#include "caucus/infer/pl_regression/options.h"
#include "caucus/model/pl_regression.h"

namespace caucus::pl_regression {

struct GibbsOptions {
  std::optional<double> a;  // empty: learned under p(a) = 1/a on [a_min, a_max]
  double a_min = 1e-4;
  double a_max = 100.0;
  ShapeStep step = ShapeStep::collapsed;
};

class GibbsChain {
 public:
  // Keeps a reference to `data`, whose outcomes may change between sweeps. Throws UsageError for weights that are not whole.
  GibbsChain(const RegressionData& data, const GibbsOptions& options, RandomStream stream);

  // O(n p + K p) for labels, O(n p K) for rankings. `adapt` tunes the Metropolis step: burn-in only.
  void sweep(bool adapt);

  const RowMatrix& coefficients() const { return lambda_; }  // normalised: sum 1. b has no part in it.
  double hyper() const { return a_; }
  double loglik() const { return loglik_; }  // at the weights before the last sweep
  void set_state(const RowMatrix& lambda, double a) { lambda_ = lambda / lambda.sum(), a_ = a; }

  void save(Saver& state) const;
  void load(Loader& state);

 private:
  double winner_strength(const double* w, const double* lambda);
  void pick_runner(const double* w, const double* lambda, double own, std::size_t winner);
  void update_a(double sum_log_ratio, bool adapt);
  void update_a_given_weights(double sum_log, bool adapt);
  template <class LogTarget>
  void metropolis(const LogTarget& log_target, bool adapt);

  const RegressionData& data_;
  GibbsOptions options_;
  RandomStream stream_;
  RowMatrix lambda_;
  double a_ = 1.0;
  double log_step_ = 0.0;
  double loglik_ = 0.0;
  std::int64_t adaptations_ = 0;

  // Scratch of a sweep.
  RowMatrix rate_;
  Eigen::RowVectorXd total_;
  std::vector<std::uint32_t> counts_;
  std::vector<std::size_t> won_;  // coefficients with a count, each once
  std::vector<double> block_sums_, strength_, share_;
  std::vector<std::uint8_t> running_;
};

}  // namespace caucus::pl_regression
