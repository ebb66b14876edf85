// EM for mixtures of generalized Mallows models: code s on complete and top-t rankings, code v on complete ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "caucus/infer/mallows_mixture/engine.h"
#include "caucus/infer/mallows_mixture/mallows_engine.h"
#include "caucus/infer/mallows_mixture/stage_words.h"
#include "caucus/model/generalized_consensus.h"

namespace caucus::mallows_mixture {

// Codes of all rankings, in words of stages, about the centers of late: most EM steps leave the centers where they are. Safe to use
// from several threads.
class CodeCache {
 public:
  using Codes = std::shared_ptr<const std::vector<std::uint16_t>>;
  // Null where `size` codes are too many to be kept.
  template <typename Make>
  Codes get(const std::vector<ItemId>& center, std::size_t size, Make&& make) {
    constexpr std::size_t most = 1u << 25;  // codes: 64 MB
    if (size > most / 32) return nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = kept_.find(center); found != kept_.end()) return found->second;
    }
    auto made = std::make_shared<const std::vector<std::uint16_t>>(make());
    const std::lock_guard lock(mutex_);
    if ((kept_.size() + 1) * size > most) kept_.clear();  // those in use live on
    return kept_.emplace(center, std::move(made)).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::vector<ItemId>, Codes> kept_;
};

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
  std::vector<double> after_swaps(const Parameters& now, const Workers& workers) const override;
  Parameters from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const override;
  void log_joint(const Parameters& now, int threads, std::span<double> out) const override;
  std::vector<double> center_gaps(const Parameters& now, const Workers& workers) const override;
  void derivatives(const Parameters& now, std::size_t k, std::span<double> score, std::span<double> information) const override;

 private:
  struct Stats;
  struct PassTables;
  void add_block(const PassTables& tables, std::size_t begin, std::size_t end, Stats& stats, std::span<double> memberships) const;
  Stats pass(const Parameters& now, bool want_pairs, const Workers& workers, std::span<double> memberships) const;
  // Room for memberships of the own blocks: sums over them are shared block by block.
  Buffer<double> own_memberships(std::size_t num_components, const Workers& workers) const;
  // Stage sums of the memberships about center k.
  std::vector<double> stage_sums(std::span<const ItemId> center, std::span<const double> memberships, std::size_t k,
                                 std::size_t num_components, const Workers& workers) const;

  CodeCache::Codes codes_about(const std::vector<ItemId>& center, int threads) const;

  const RankingSet& rankings_;
  std::size_t num_items_;
  Code code_;
  ConsensusMethod consensus_;
  ConsensusLimits limits_;
  MallowsEngine plain_;  // starts
  StageWords words_;
  GeneralizedConsensusSolver solver_;
  mutable CodeCache cache_;
};

}  // namespace caucus::mallows_mixture
