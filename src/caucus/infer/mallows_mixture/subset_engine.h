// EM for mixtures of Mallows models on rankings of subsets of the items (pairs among them) with exact probabilities.
#pragma once

#include "caucus/base/numeric.h"
#include "caucus/infer/mallows_mixture/engine.h"
#include "caucus/model/consensus.h"
#include "caucus/model/mallows_subset.h"

namespace caucus::mallows_mixture {

// Only the groups are missing data: given the memberships, center and dispersion of a group maximise the exact likelihood of its
// ballots, the center by moves of single items, the dispersion by the root of the slope.
class SubsetEngine : public Engine {
 public:
  SubsetEngine(const RankingSet& rankings, std::size_t num_items, ConsensusLimits limits = {});
  // Are the recursions of all ballots together small enough, whatever the center?
  static bool affordable(const RankingSet& rankings, std::size_t num_items);

  std::size_t num_items() const override { return num_items_; }
  std::size_t num_rankings() const override { return rankings_.size(); }
  double total_weight() const override { return rankings_.total_weight(); }
  double step(const Parameters& now, bool move_centers, int threads, Parameters& next) const override;
  Parameters from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const override;
  void log_joint(const Parameters& now, int threads, std::span<double> out) const override;
  std::vector<double> center_gaps(const Parameters& now, int) const override {
    return std::vector<double>(now.weight.size(), infinity);
  }
  void derivatives(const Parameters& now, std::size_t k, std::span<double> score, std::span<double> information) const override;

 private:
  SubsetProbabilities at(double theta) const;
  std::vector<LogProbability> evaluate(std::span<const ItemId> center, double theta, int threads) const;
  double best_theta(std::span<const ItemId> center, std::span<const double> mass, double guess, int threads) const;

  const RankingSet& rankings_;
  std::size_t num_items_;
  ConsensusLimits limits_;
  std::vector<std::size_t> lengths_;                 // that occur
  std::vector<std::vector<std::uint32_t>> ballots_;  // by item: the distinct rankings that list it
  std::size_t reach_;                                // an item is tried at most so many places away
};

// Labels to parameters for ballots of subsets: consensus of the pairs seen, a modest dispersion. A label that is no group's leaves
// a ballot out.
Parameters parameters_from_pairs(const RankingSet& rankings, std::size_t num_items, std::span<const std::uint32_t> labels,
                                 std::size_t num_components, const ConsensusLimits& limits);

}  // namespace caucus::mallows_mixture
