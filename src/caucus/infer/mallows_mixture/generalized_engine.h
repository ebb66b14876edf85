// EM for mixtures of generalized Mallows models: code s on complete and top-t rankings, code v on complete ones.
#pragma once

#include "caucus/infer/mallows_mixture/engine.h"
#include "caucus/infer/mallows_mixture/mallows_engine.h"
#include "caucus/model/generalized_consensus.h"

namespace caucus::mallows_mixture {

// M-step. Code v: center and dispersions together by GeneralizedConsensusSolver (exactly, where the search ends). Code s: the
// center that minimises sum_j theta_j s_j at the present dispersions, a consensus of pairs weighted by theta_j, then the
// dispersions: a generalized EM, the likelihood never falls either way.
class GeneralizedEngine : public Engine {
 public:
  GeneralizedEngine(const RankingSet& rankings, std::size_t num_items, Code code, ConsensusMethod consensus,
                    ConsensusLimits limits);

  std::size_t num_items() const override { return num_items_; }
  std::size_t num_rankings() const override { return rankings_.size(); }
  double total_weight() const override { return plain_.total_weight(); }
  double step(const Parameters& now, bool move_centers, const Workers& workers, Parameters& next) const override;
  Parameters from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const override;
  void log_joint(const Parameters& now, int threads, std::span<double> out) const override;
  std::vector<double> center_gaps(const Parameters& now, const Workers& workers) const override;
  void derivatives(const Parameters& now, std::size_t k, std::span<double> score, std::span<double> information) const override;

 private:
  struct Stats;
  struct PassTables;
  template <std::size_t fixed_components>
  void add_block(const PassTables& tables, std::size_t begin, std::size_t end, Stats& stats, std::span<double> memberships) const;
  Stats pass(const Parameters& now, bool want_pairs, const Workers& workers, std::span<double> memberships) const;
  // Stage sums of the memberships about center k.
  std::vector<double> stage_sums(std::span<const ItemId> center, std::span<const double> memberships, std::size_t k,
                                 std::size_t num_components, const Workers& workers) const;

  const RankingSet& rankings_;
  std::size_t num_items_;
  Code code_;
  ConsensusMethod consensus_;
  ConsensusLimits limits_;
  MallowsEngine plain_;  // starts
  GeneralizedConsensusSolver solver_;
};

}  // namespace caucus::mallows_mixture
