// EM for mixtures of Mallows models under any distance, on complete rankings.
#pragma once

#include "caucus/infer/mallows_mixture/engine.h"
#include "caucus/infer/mallows_mixture/mallows_engine.h"
#include "caucus/model/distances.h"

namespace caucus::mallows_mixture {

// The center is exact for Spearman's distance (mean ranks), the footrule and Hamming's distance (an assignment problem); for
// Cayley's and Ulam's it is a local optimum under swaps of two items and moves of one.
class DistanceEngine : public Engine {
 public:
  // `stop`: a search for a center that is asked to end keeps what it has.
  DistanceEngine(const RankingSet& rankings, const DistanceNormalizer& normalizer, std::function<bool()> stop = {});

  std::size_t num_items() const override { return num_items_; }
  std::size_t num_rankings() const override { return rankings_.size(); }
  double total_weight() const override { return plain_.total_weight(); }
  double step(const Parameters& now, bool move_centers, const Workers& workers, Parameters& next) const override;
  std::vector<double> after_swaps(const Parameters& now, const Workers& workers) const override;
  Parameters from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const override;
  void log_joint(const Parameters& now, int threads, std::span<double> out) const override;
  std::vector<double> center_gaps(const Parameters& now, const Workers& workers) const override;
  void derivatives(const Parameters& now, std::size_t k, std::span<double> score, std::span<double> information) const override;

 private:
  std::vector<double> distances(std::span<const ItemId> center, int threads) const;
  void distances(std::span<const ItemId> center, int threads, std::vector<double>& out) const;
  std::size_t place_of(std::size_t item, std::size_t ranking) const;
  double share_out(const Parameters& now, std::span<const std::vector<double>> d, std::span<std::vector<double>> mass) const;
  std::vector<ItemId> by_mean_rank(std::span<const double> mass) const;
  std::vector<ItemId> by_assignment(std::span<const double> mass) const;
  std::vector<ItemId> by_moves(std::span<const double> mass, std::span<const ItemId> now, int threads) const;
  std::vector<ItemId> best_center(std::span<const double> mass, std::span<const ItemId> now, int threads) const;

  const RankingSet& rankings_;
  const DistanceNormalizer& normalizer_;
  std::function<bool()> stop_;
  std::size_t num_items_;
  MallowsEngine plain_;               // starts
  std::vector<std::uint32_t> ranks_;  // of all rankings, at place_of(item, ranking)
};

}  // namespace caucus::mallows_mixture
