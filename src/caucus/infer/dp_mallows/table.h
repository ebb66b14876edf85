// The clusters as the assignment step sees them: sigma and the statistics of every stage, laid out across clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/options.h"
#include "caucus/infer/dp_mallows/prior.h"
#include "caucus/infer/dp_mallows/score.h"

namespace caucus::dp_mallows {

// One cluster outside the table.
struct Cluster {
  Center center;
  double size = 0.0;
  std::vector<double> prior;   // a_j of the empty cluster
  std::vector<double> sums;    // S_j(sigma)
  std::vector<double> counts;  // N_j: members of length at least j
  std::vector<double> theta;   // slice-gibbs only
};

struct StageKey {
  std::size_t stage;
  double a, b;
  bool operator==(const StageKey&) const = default;
  struct Hash {
    std::size_t operator()(const StageKey& key) const;
  };
};

// log predictive tables of a stage, made by quadrature on first use and kept until they outgrow a bound. Those of large clusters,
// whose sums and counts hardly ever come back, share quadratures at places near theirs, which depend on the stage's data alone.
class PredictiveCache {
 public:
  explicit PredictiveCache(const Prior& prior) : prior_(prior) {}
  // With room of the caller for one table, those of large clusters are written there and not kept.
  const double* get(std::size_t stage, double a, double b, double* own = nullptr);
  bool too_large() const { return numbers_ > limit; }
  void clear();
  void trim() {
    if (too_large()) clear();
  }

 private:
  static constexpr std::size_t limit = std::size_t{16} << 20;  // 128 MB
  const Prior& prior_;
  double* room(std::size_t size);

  StageQuadrature quadrature_;
  std::unordered_map<StageKey, const double*, StageKey::Hash> tables_;
  std::unordered_map<StageKey, StageQuadrature, StageKey::Hash> shared_;
  std::vector<std::unique_ptr<double[]>> pages_;  // where the tables lie
  std::size_t left_ = 0;                          // numbers on the last page
  std::size_t numbers_ = 0;
};

// log I(a, b) of a stage, made by quadrature on first use.
class IntegralCache {
 public:
  explicit IntegralCache(const Prior& prior) : prior_(prior) {}
  // log of I(a + sum, b + count) / I(a, b), the probability of `count` codes of that sum and order.
  double log_ratio(std::size_t stage, double a, double b, double sum, double count) {
    return get(stage, a + sum, b + count) - get(stage, a, b);
  }

 private:
  double get(std::size_t stage, double a, double b);
  static constexpr std::size_t limit = std::size_t{1} << 20;
  const Prior& prior_;
  StageQuadrature quadrature_;
  std::unordered_map<StageKey, double, StageKey::Hash> values_;
};

// Sums and counts of the codes of all rankings of a voter, stage by stage.
struct VoterCodes {
  std::vector<double> sums, counts;
  void fill(Ballots ballots, const std::function<std::int32_t(Item)>& position, std::size_t num_stages);

 private:
  std::vector<std::int32_t> codes_;
};
// log P of a voter's rankings in a cluster with these statistics, theta integrated out: in the finite stage, or the infinite one
// (integrals = nullptr).
double log_voter(const VoterCodes& own, std::span<const double> prior, std::span<const double> sums, std::span<const double> counts,
                 double nu, IntegralCache* integrals);

class ClusterTable {
 public:
  ClusterTable(const Prior& prior, Method method);

  void reset(std::size_t num_clusters);
  void set(std::size_t slot, const Cluster& cluster);
  Cluster get(std::size_t slot) const;
  std::size_t slots() const { return slots_; }
  double size(std::size_t slot) const { return size_[slot]; }

  // A free slot: one used before, or a new one.
  std::size_t allocate();
  void release(std::size_t slot);
  // An empty cluster that competes with the given log weight (Neal 2000, algorithm 8).
  void set_candidate(std::size_t slot, double log_weight) { log_size_[slot] = log_weight; }

  void add(std::size_t slot, std::span<const Item> ranking);
  // Takes a ranking out and remembers the derived numbers of the stages it touched, so that undo() is cheap.
  void remove(std::size_t slot, std::span<const Item> ranking);
  void undo_remove(std::size_t slot, std::span<const Item> ranking);

  // The same of a voter with several rankings, who counts as one member.
  void add_voter(std::size_t slot, Ballots ballots) { shift_voter(slot, ballots, 1.0); }
  void remove_voter(std::size_t slot, Ballots ballots) { shift_voter(slot, ballots, -1.0); }
  // log P of all these rankings in the cluster of the slot. Thread-safe with a cache of one's own.
  double log_prob(std::size_t slot, Ballots ballots, IntegralCache& integrals) const;
  // Scores of all slots as score() has them, for a voter. O(slots * sum of t^2).
  std::span<double> score_voter(Ballots ballots);

  // Scores of all slots: log size + log P(ranking | cluster). The span is padded to a multiple of slot_block. beta-gibbs: those
  // below `floor` are -inf.
  std::span<double> score(std::span<const Item> ranking, double floor = -infinity);
  // The same into memory of the caller: thread-safe. `codes` holds slot_block numbers per item, `out` padded_slots().
  void score_into(std::span<const Item> ranking, std::span<std::int16_t> codes, std::span<double> out,
                  double floor = -infinity) const;
  std::size_t padded_slots() const { return (slots_ + slot_block - 1) / slot_block * slot_block; }

 private:
  void grow(std::size_t slots);
  void refresh(std::size_t slot, std::size_t stages);
  void shift(std::size_t slot, std::span<const Item> ranking, double sign);
  void shift_voter(std::size_t slot, Ballots ballots, double sign);
  void resize_slot(std::size_t slot, double by);

  const Prior& prior_;
  Method method_;
  PredictiveCache cache_;
  IntegralCache integrals_;
  std::size_t num_items_, num_stages_;
  std::size_t slots_ = 0, stride_ = 0;
  std::vector<std::int16_t> position_;
  std::vector<double> size_, log_size_;
  std::vector<double> prior_a_, sums_, counts_, constant_, theta_, log_z_;
  std::vector<const double*> predictive_;
  // Room for two tables of each stage and slot, the present one and the next, where that is little.
  std::vector<std::unique_ptr<double[]>> own_;
  bool keeps_own_ = false;
  std::vector<std::uint32_t> free_;
  std::vector<std::int32_t> scratch_codes_;
  std::vector<double> saved_constant_;
  std::vector<const double*> saved_predictive_;
  std::vector<std::int16_t> code_block_;
  std::vector<double> scores_;
};

}  // namespace caucus::dp_mallows
