// Split-merge proposals for the collapsed state (labels, centers): Jain & Neal (2007), the nonconjugate case.
//
// Two points i, j are drawn. If they share a cluster the proposal splits it, else it merges theirs. The split launch
// state is made from i, j and the points of their clusters alone: centers from one ranking each, the others
// allocated one after another, then restricted scans of centers and labels. The proposal is one more restricted scan of
// the labels and one stagewise draw of each center at the launch state's theta, both of known density; a merge draws
// the center of the union likewise. theta is integrated out of the ratio, and under slice-gibbs drawn anew for
// the clusters of an accepted proposal (its density cancels).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/infer/dp_mallows/chain.h"

namespace caucus::dp_mallows {

class SplitMerge {
 public:
  explicit SplitMerge(Chain& chain) : chain_(chain) {}
  void propose();

 private:
  // One side of a proposal: its points and its cluster.
  struct Side {
    Cluster cluster;
    std::vector<double> theta;
  };
  void clear(Side& side) const;
  double log_predictive(const Side& side, std::uint32_t point);
  void shift(Side& side, std::uint32_t point, double sign);
  void load(const std::vector<std::uint32_t>& points, const std::vector<std::uint8_t>& labels, int which);
  void draw_theta(Side& side);
  // Moves centers and labels of the launch state.
  void scan_centers(const std::vector<std::uint32_t>& points, const std::vector<std::uint8_t>& labels);
  // One restricted Gibbs scan over points[2..]; with `target` the labels are forced and only their probability counts.
  double scan_labels(const std::vector<std::uint32_t>& points, std::vector<std::uint8_t>& labels,
                     const std::vector<std::uint8_t>* target);

  // Two points, drawn, and those of their clusters after them: on which side each is (where they share a cluster, all but the
  // second are on side 0), and where the launch state or the proposal puts it.
  struct Move {
    std::uint32_t first = 0, second = 0;  // labels of the two
    std::vector<std::uint32_t> points;
    std::vector<std::uint8_t> now, labels;
    bool splits() const { return first == second; }
  };
  bool choose(Move& move);
  void launch_split(Move& move);
  void launch_merge(const Move& move);
  // Draw the proposal from the launch state; the log of its acceptance ratio.
  double split(Move& move);
  double merge(Move& move);
  void accept(const Move& move);
  double log_side(const Cluster& cluster) const;                     // a cluster's part of the target, without alpha
  double log_density(const Side& side, const Center& center) const;  // of drawing a center at the side's theta, members loaded

  Chain& chain_;
  Side sides_[2], merged_;
  std::vector<std::int32_t> codes_;
};

}  // namespace caucus::dp_mallows
