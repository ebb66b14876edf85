// One Markov chain over (assignments, centers[, theta]): exact-gibbs, beta-gibbs and slice-gibbs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/infer/dp_mallows/center.h"
#include "caucus/infer/dp_mallows/options.h"
#include "caucus/infer/dp_mallows/points.h"
#include "caucus/infer/dp_mallows/prior.h"
#include "caucus/infer/dp_mallows/table.h"

namespace caucus::dp_mallows {

struct ChainSettings {
  Method method = Method::exact_gibbs;
  CenterMove center_move = CenterMove::corrected;
  int gibbs_steps = 10;
  int slice_steps = 3;
  int split_merge = 0;
  int split_merge_scans = 3;
  int start_clusters = 20;
  StartCenters start_centers = StartCenters::fitted;
  int auxiliary = 3;
  std::optional<std::pair<double, double>> alpha_prior;  // shape, rate
};

// Everything a chain needs to go on: a checkpoint's content.
struct ChainState {
  std::vector<std::uint32_t> labels;  // canonical: in order of first appearance
  std::vector<std::vector<Item>> centers;
  std::vector<std::vector<double>> theta;  // slice-gibbs
  double alpha = 1.0;
  std::uint64_t drawn = 0;  // of the random stream
};

struct SplitMergeCounts {
  std::int64_t splits_tried = 0, splits_accepted = 0, merges_tried = 0, merges_accepted = 0;
};

class Chain {
 public:
  Chain(const Points& points, const Prior& prior, const ChainSettings& settings, RandomStream rng);

  void start_randomly();
  // False: `stop` cut it short, and there is no state.
  bool start_randomly(const std::function<bool()>& stop);
  void restore(const ChainState& state);
  // The state alone, without what sweeps need: for a chain that has come to its end.
  void set_state(const ChainState& state);
  ChainState state() const;

  // One sweep: assignments (step 1 of Figures 1 and 5), split-merge proposals, centers and theta (step 2), alpha.
  // Leaves labels canonical and clusters numbered by them. False: `stop`, asked every few points and stages, cut it short; the
  // state is then no draw, and the caller restores the one before.
  bool sweep(const std::function<bool()>& stop = {});

  const std::vector<std::uint32_t>& labels() const { return labels_; }
  const std::vector<Cluster>& clusters() const { return clusters_; }
  double alpha() const { return alpha_; }
  // log P(labels, centers, data) with theta integrated out exactly, whatever the method. O(clusters * t) quadratures.
  double log_joint() const;
  const SplitMergeCounts& split_merge_counts() const { return split_merge_counts_; }

  // The stages of a sweep one by one, for the tests.
  void resample_assignments();
  void resample_centers();
  void resample_alpha();
  void propose_split_or_merge();

  void resample_center(Cluster& cluster, std::span<const Member> members);

 private:
  friend class SplitMerge;
  void reassign(std::size_t point);
  void reassign_by_tables(std::size_t point);
  void reassign_voter(std::size_t point);
  // The emptied cluster, if `old_slot` is one, and more from the posterior given a ranking (none: from the prior).
  std::vector<std::size_t> make_candidates(std::size_t old_slot, std::span<const Item> given);
  Ballots ballots_of(std::size_t point);
  void new_cluster(std::size_t slot, std::span<const Item> ranking);
  std::size_t pick(std::span<const double> scores, double log_new);
  std::size_t pick_weighed(std::span<const double> weights, double new_weight);
  void draw_theta_all(Cluster& cluster);
  void update_statistics(Cluster& cluster);
  void canonicalise();
  void fill_table();
  bool stoppable(const std::function<bool()>& stop, const std::function<void()>& work);
  std::vector<std::vector<Member>> members_by_cluster() const;
  bool cut_short() { return stopped_ = stopped_ || (stop_ && stop_()); }

  const Points& points_;
  const Prior& prior_;
  ChainSettings settings_;
  RandomStream rng_;
  double alpha_;
  std::vector<std::uint32_t> labels_;  // slots during step 1
  std::vector<Cluster> clusters_;
  mutable StageCache cache_;
  ClusterTable table_;
  CenterSampler center_sampler_;
  std::vector<ThetaEnvelope> envelopes_;  // of each stage's last draw of theta
  std::vector<std::span<const Item>> ballots_;
  SplitMergeCounts split_merge_counts_;
  std::vector<double> weights_;
  std::function<bool()> stop_;  // of the sweep under way
  bool stopped_ = false;
};

// log of the cluster's data given sigma, theta integrated out: sum over stages of log I(a + S, nu + N) - log I(a, nu).
double log_marginal(StageCache& cache, const Cluster& cluster, bool beta);
// log P of a partition under the Chinese restaurant process.
double log_partition(double alpha, std::span<const double> sizes);

}  // namespace caucus::dp_mallows
