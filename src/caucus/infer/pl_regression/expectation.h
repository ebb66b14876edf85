// The sums over rows that EM and the variational updates share.
#pragma once

#include "caucus/base/workers.h"
#include "caucus/model/pl_regression.h"

namespace caucus::pl_regression {

struct Expectation {
  RowMatrix gain;  // K x p: sum over stages won by k of w_ij / s_ik, so n_kj = lambda_kj gain_kj
  RowMatrix rate;  // labels: 1 x p, rankings: K x p: sum over stages that k takes part in of <z_it> w_ij
  double loglik = 0.0;

  // The row of `rate` that belongs to class k.
  auto rate_of(Eigen::Index k) const { return rate.row(rate.rows() == 1 ? 0 : k); }
};

// Strengths of winners from `win`, rates of the race from `run`, both K x p: the same matrix for EM, Archambeau & Caron (2012), eq.
// (10); exp<ln lambda> and <lambda> for the variational updates, eq. (18). loglik is the weighted sum of ln(w'win_k) - ln(sum_l
// w'run_l). O(n p) for labels, O(n p K) for rankings. The same bits for any number of threads and processes.
Expectation expectation(const RegressionData& data, const RowMatrix& win, const RowMatrix& run, const Workers& workers);

}  // namespace caucus::pl_regression
