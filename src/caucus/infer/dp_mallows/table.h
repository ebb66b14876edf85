// The clusters as the assignment step sees them: sigma and the statistics of every stage, laid out across clusters.
#pragma once

#include <cstddef>
#include <cstdint>
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

// log predictive tables of a stage, made by quadrature on first use and kept until they outgrow a bound.
class PredictiveCache {
 public:
  explicit PredictiveCache(const Prior& prior) : prior_(prior) {}
  const double* get(std::size_t stage, double a, double b);
  bool too_large() const { return numbers_ > limit; }
  void clear();
  void trim() {
    if (too_large()) clear();
  }

 private:
  static constexpr std::size_t limit = std::size_t{16} << 20;  // 128 MB
  struct Key {
    std::size_t stage;
    double a, b;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  const Prior& prior_;
  StageQuadrature quadrature_;
  std::unordered_map<Key, std::unique_ptr<double[]>, Hash> tables_;
  std::size_t numbers_ = 0;
};

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

  const Prior& prior_;
  Method method_;
  PredictiveCache cache_;
  std::size_t num_items_, num_stages_;
  std::size_t slots_ = 0, stride_ = 0;
  std::vector<std::int16_t> position_;
  std::vector<double> size_, log_size_;
  std::vector<double> prior_a_, sums_, counts_, constant_, theta_, log_z_;
  std::vector<const double*> predictive_;
  std::vector<std::uint32_t> free_;
  std::vector<std::int32_t> scratch_codes_;
  std::vector<double> saved_constant_;
  std::vector<const double*> saved_predictive_;
  std::vector<std::int16_t> code_block_;
  std::vector<double> scores_;
};

}  // namespace caucus::dp_mallows
