// The log-likelihood of a mixture, its gradient, and what the update steps need, in one pass over the data.
#pragma once

#include <memory>
#include <vector>

#include "caucus/infer/pl_mixture/batch.h"
#include "caucus/infer/pl_mixture/parameters.h"
#include "caucus/infer/pl_mixture/tie_batch.h"

namespace caucus::pl_mixture {

// Utilities of one component stay within this distance of its largest: beyond it products of worths would underflow, and a
// maximum that lies further out is at infinity for every purpose.
inline constexpr double max_spread = 80.0;

struct Evaluation {
  double loglik = 0.0;                 // log P(data), no penalty
  double penalty = 0.0;                // log of the pseudo-comparisons' likelihood; objective = loglik + penalty
  std::vector<double> responsibility;  // [k]: expected number of rankings
  std::vector<double> wins;            // [k * n + i]: expected number of choices of i (1/|T| of a tie), pseudo-wins included
  std::vector<double> expected;        // [k * n + i]: the same under the model, given who was there; gradient = wins - expected
  std::vector<double> tie_expected;    // [order]
  double objective() const { return loglik + penalty; }
};

class Objective {
 public:
  // strength: each item wins and loses that many pseudo-comparisons with an item of utility 0, in every component.
  Objective(const Dataset& data, std::size_t num_components, double strength, int threads);
  // The same data under another number of components or threads.
  Objective(const Objective& other, std::size_t num_components, int threads);

  const Batch& batch() const { return *batch_; }
  const Dataset& data() const { return *data_; }
  std::size_t num_items() const { return data_->num_items(); }
  std::size_t num_components() const { return num_components_; }
  double strength() const { return strength_; }
  double total_weight() const { return total_weight_; }  // of rankings that say something
  double silent_weight() const { return silent_weight_; }
  int threads() const { return threads_; }
  bool has_ties() const { return !tie_orders_.empty(); }
  const std::vector<int>& tie_orders() const { return tie_orders_; }
  const std::vector<double>& tie_counts() const { return tie_counts_; }

  // What a pass touches for one component: items, with ties times 1 + tie_cost for each symmetric polynomial they enter.
  double stored_numbers(double tie_cost) const;

  // posterior, if given, receives the memberships: K numbers per distinct ranking of the data set.
  Evaluation evaluate(const Parameters& parameters, std::vector<double>* posterior = nullptr) const;
  // log P of every distinct ranking.
  std::vector<double> row_logliks(const Parameters& parameters) const;

 private:
  Evaluation evaluate_ties(const Parameters& parameters, std::vector<double>* posterior, std::vector<double>* rows) const;
  Evaluation evaluate_strict(const Parameters& parameters, std::vector<double>* posterior, std::vector<double>* rows) const;
  void add_penalty(const Parameters& parameters, Evaluation& evaluation) const;

  const Dataset* data_;
  std::size_t num_components_;
  double strength_;
  int threads_;
  std::shared_ptr<const Batch> batch_;  // strict rankings only, else empty
  std::shared_ptr<const TieBatch> tie_batch_;
  std::vector<int> tie_orders_;
  std::vector<double> tie_counts_;
  double total_weight_ = 0.0;
  double silent_weight_ = 0.0;
};

}  // namespace caucus::pl_mixture
