// EM for mixtures of Mallows models under Kendall's distance on complete rankings, top-t ballots and ties.
#pragma once

#include <memory>

#include "caucus/infer/mallows_mixture/engine.h"
#include "caucus/infer/mallows_mixture/pair_bits.h"
#include "caucus/model/consensus.h"

namespace caucus::mallows_mixture {

class MallowsEngine : public Engine {
 public:
  // Pairs of rankings are kept as bits where passes come by often: of all, or with `kept` of [first, second). Elsewhere they are
  // counted anew, with the same results.
  MallowsEngine(const RankingSet& rankings, std::size_t num_items, ConsensusMethod consensus, ConsensusLimits limits);
  MallowsEngine(const RankingSet& rankings, std::size_t num_items, ConsensusMethod consensus, ConsensusLimits limits,
                std::pair<std::size_t, std::size_t> kept);

  std::size_t num_items() const override { return num_items_; }
  std::size_t num_rankings() const override { return rankings_.size(); }
  double total_weight() const override { return total_; }
  double step(const Parameters& now, bool move_centers, const Workers& workers, Parameters& next) const override;
  std::vector<double> after_swaps(const Parameters& now, const Workers& workers) const override;
  Parameters from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const override;
  void log_joint(const Parameters& now, int threads, std::span<double> out) const override;
  std::vector<double> center_gaps(const Parameters& now, const Workers& workers) const override;
  void derivatives(const Parameters& now, std::size_t k, std::span<double> score, std::span<double> information) const override;

  // Sizes of the tie-groups of more than one item of each shape, the unlisted items among them.
  const std::vector<std::vector<std::uint32_t>>& shapes() const { return shapes_; }
  std::uint32_t shape(std::size_t i) const { return shape_[i]; }
  // Distances of all rankings from a center.
  std::vector<std::uint32_t> distances(std::span<const ItemId> center) const;

 private:
  struct Stats;
  struct PassTables;
  template <std::size_t fixed_components>
  void share_out(const PassTables& tables, std::size_t first, std::size_t count, std::span<const std::uint32_t> d,
                 std::span<double> part, Stats& stats) const;
  void add_pairs(std::size_t first, std::size_t count, std::span<const double> part, Stats& stats) const;
  Stats pass(const Parameters& now, bool want_pairs, const Workers& workers) const;
  void distances(std::span<const std::uint64_t> bits, std::span<const std::uint32_t> position, std::size_t first,
                 std::span<std::uint32_t> out) const;
  std::vector<PairMatrix> pair_matrices(const Stats& stats) const;
  void update(const Stats& stats, std::size_t k, Parameters& next) const;

  const RankingSet& rankings_;
  std::size_t num_items_;
  double total_ = 0.0;
  std::span<const double> weight_;
  ConsensusMethod consensus_;
  ConsensusLimits limits_;
  Buffer<std::uint32_t> shape_;
  std::vector<std::vector<std::uint32_t>> shapes_;
  bool use_bits_;
  PairBits bits_;
};

// How far each center may be from the best one for its members: 0 where it is proven best. `pairs` holds the pairwise weights of
// each group's share, `mass` its size.
std::vector<double> consensus_gaps(const Parameters& now, std::span<const double> mass, std::span<const PairMatrix> pairs,
                                   double total, ConsensusMethod method, const ConsensusLimits& limits);

}  // namespace caucus::mallows_mixture
