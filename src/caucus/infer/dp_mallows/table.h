// The clusters as the assignment step sees them: sigma and the statistics of every stage, laid out across clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/options.h"
#include "caucus/infer/dp_mallows/prior.h"
#include "caucus/infer/dp_mallows/score.h"
#include "caucus/infer/dp_mallows/stage_cache.h"
#include "caucus/infer/dp_mallows/stage_tables.h"

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
                 double nu, StageCache* integrals);

class ClusterTable {
 public:
  // keeps_tables: weigh() and transfer() will be called, by which clusters are chosen where tables of all codes are small.
  ClusterTable(StageCache& cache, Method method, bool keeps_tables = false);

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
  double log_prob(std::size_t slot, Ballots ballots, StageCache& integrals) const;
  // Scores of all slots as score() has them, for a voter. O(slots * sum of t^2).
  std::span<double> score_voter(Ballots ballots);

  // Scores of all slots: log size + log P(ranking | cluster). The span is padded to a multiple of slot_block. beta-gibbs: those
  // below `floor` are -inf.
  std::span<double> score(std::span<const Item> ranking, double floor = -infinity);
  // The same without logarithms, size times P(ranking | cluster), of which the ranking is a member of `own`: that cluster without
  // it. Needs tables.
  std::span<double> weigh(std::span<const Item> ranking, std::size_t own);
  // Takes the ranking that was weighed last to another cluster; or takes it in, or out.
  void transfer(std::span<const Item> ranking, std::size_t from, std::size_t to) { leave(ranking, from), join(ranking, to); }
  void join(std::span<const Item> ranking, std::size_t slot) { shift_weighed(ranking, slot, 1.0); }
  void leave(std::span<const Item> ranking, std::size_t slot) { shift_weighed(ranking, slot, -1.0); }
  bool keeps_tables() const { return stage_tables_.has_value(); }
  // The same into memory of the caller: thread-safe. `codes` holds slot_block numbers per item, `out` padded_slots().
  void score_into(std::span<const Item> ranking, std::span<std::int16_t> codes, std::span<double> out,
                  double floor = -infinity) const;
  std::size_t padded_slots() const { return (slots_ + slot_block - 1) / slot_block * slot_block; }

 private:
  void grow(std::size_t slots);
  void refresh(std::size_t slot, std::size_t stages);
  void shift(std::size_t slot, std::span<const Item> ranking, double sign);
  void shift_voter(std::size_t slot, Ballots ballots, double sign);
  void shift_weighed(std::span<const Item> ranking, std::size_t slot, double sign);
  void resize_slot(std::size_t slot, double by);

  const Prior& prior_;
  Method method_;
  StageCache& cache_;
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
  std::optional<StageTables> stage_tables_;
  std::vector<std::int16_t> weighed_codes_;  // of the ranking weighed last: block of slots, stage, slot
};

}  // namespace caucus::dp_mallows
