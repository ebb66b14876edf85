// The Dirichlet process and its base distribution P^0(sigma, theta; nu, r), eq. (7), with an optional central ranking.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/infer/dp_mallows/points.h"
#include "caucus/infer/dp_mallows/stage.h"

namespace caucus::dp_mallows {

struct PriorParameters {
  double alpha = 1.0;
  double nu = 1.0;
  std::vector<double> r{1.0};  // the last value stands for all later stages
  std::vector<Item> center;    // R^0: at most n - 1 items; empty: sigma is uniform
  double center_weight = 0.0;  // nu times the strength
};

// What of the prior does not change during a run: tables of the first code of an empty cluster, and of sigma itself
// where there is a central ranking. `beta` puts the infinite stage in place of the finite one.
class Prior {
 public:
  Prior(PriorParameters parameters, std::size_t num_items, std::size_t num_stages, bool beta);

  double nu() const { return parameters_.nu; }
  bool informative() const { return !parameters_.center.empty() && parameters_.center_weight > 0.0; }
  const PriorParameters& parameters() const { return parameters_; }
  std::size_t num_items() const { return num_items_; }
  std::size_t num_stages() const { return num_stages_; }  // of data and central ranking
  double a(std::size_t stage) const { return parameters_.nu * parameters_.r[std::min(stage, parameters_.r.size() - 1)]; }
  std::size_t stage_size(std::size_t stage) const { return num_items_ - stage; }

  // a_j of an empty cluster with this sigma: nu r_j, plus the weight of the central ranking's code.
  void stage_priors(const Center& center, std::span<double> out) const;
  void draw_center(Center& center, RandomStream& rng) const;
  double log_center(const Center& center) const;
  // sigma given one ranking (uninformative prior only).
  void draw_center_given(std::span<const Item> ranking, Center& center, RandomStream& rng) const;
  // log of (n - t)! / n!, the probability of a ranking of length t in a new cluster (Lemma 1).
  double log_new(std::size_t length) const { return log_new_[length]; }
  // log I(a, nu) of an empty cluster's stage, finite or as the samplers approximate it.
  double log_empty(std::size_t stage, double a, bool beta) const;

 private:
  PriorParameters parameters_;
  std::size_t num_items_;
  std::size_t num_stages_;
  std::vector<std::vector<double>> first_code_;   // cumulative
  std::vector<std::vector<double>> center_code_;  // cumulative
  std::vector<std::vector<double>> log_center_code_;
  std::vector<double> log_new_;
  std::vector<double> log_empty_;  // at a = nu r_j, finite stage
};

}  // namespace caucus::dp_mallows
