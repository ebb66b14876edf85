// Monte Carlo EM for mixtures of Mallows models on rankings of subsets of the items (pairs among them).
#pragma once

#include "caucus/base/numeric.h"
#include "caucus/infer/mallows_mixture/engine.h"
#include "caucus/model/consensus.h"

namespace caucus::mallows_mixture {

// The E-step completes every ballot `completions` times under every component by AMP (Lu & Boutilier 2011) and weights the
// completions by importance; streams are addressed by ballot and component alone, so that steps differ by the parameters, not by
// luck.
class SubsetEngine : public Engine {
 public:
  SubsetEngine(const RankingSet& rankings, std::size_t num_items, ConsensusMethod consensus, int completions, std::uint64_t seed);

  std::size_t num_items() const override { return num_items_; }
  std::size_t num_rankings() const override { return rankings_.size(); }
  double total_weight() const override { return total_; }
  double step(const Parameters& now, bool move_centres, int threads, Parameters& next) const override;
  Parameters from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const override;
  // Exact where subset_probability is; log_joint of a fitted model is the same.
  void log_joint(const Parameters& now, int threads, std::span<double> out) const override;
  std::vector<double> centre_gaps(const Parameters& now, int) const override {
    return std::vector<double>(now.weight.size(), infinity);
  }
  void derivatives(const Parameters& now, std::size_t k, std::span<double> score, std::span<double> information) const override;

 private:
  const RankingSet& rankings_;
  std::size_t num_items_;
  ConsensusMethod consensus_;
  std::size_t completions_;
  std::uint64_t seed_;
  double total_;
};

}  // namespace caucus::mallows_mixture
