// One EM iteration of a mixture, for the driver in em.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/base/workers.h"
#include "caucus/data/ranking.h"

namespace caucus::mallows_mixture {

struct Parameters {
  std::vector<double> weight;               // K, sums to one
  std::vector<std::vector<ItemId>> center;  // K orders
  std::vector<std::vector<double>> theta;   // K; one number (Mallows) or n - 1 (generalized)
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::size_t num_items() const = 0;
  virtual std::size_t num_rankings() const = 0;  // distinct
  virtual double total_weight() const = 0;

  // Log-likelihood of the parameters given, and in `next` one EM step from them. Centers stay when move_centers is false, which is
  // cheaper. Safe to call from several threads.
  virtual double step(const Parameters& now, bool move_centers, const Workers& workers, Parameters& next) const = 0;
  // Log-likelihoods after a swap of neighbours in one center, the rest as it is: [k * (n - 1) + p] for places p and p + 1 of center
  // k. Empty where they would take as long as steps.
  virtual std::vector<double> after_swaps(const Parameters& /*now*/, const Workers& /*workers*/) const { return {}; }
  // Parameters that maximise the likelihood of labelled rankings (label < K for each distinct ranking).
  virtual Parameters from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const = 0;
  // out[i * K + k] = log weight_k + log P_k(ranking i).
  virtual void log_joint(const Parameters& now, int threads, std::span<double> out) const = 0;
  // How far each center may be from the best for the memberships these parameters give, in units of the cost (weighted distance, or
  // log-likelihood for the generalized model): 0 is a proof, infinity that no bound is known.
  virtual std::vector<double> center_gaps(const Parameters& now, const Workers& workers) const = 0;
  // First and minus second derivatives of log P_k(ranking i) by the dispersions of component k (the second are diagonal), for
  // all i: score[i * T + j], information[i * T + j], T numbers per ranking.
  virtual void derivatives(const Parameters& now, std::size_t k, std::span<double> score, std::span<double> information) const = 0;
};

}  // namespace caucus::mallows_mixture
