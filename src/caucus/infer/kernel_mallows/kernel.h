// The Mallows kernel between partial rankings, in closed form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/data/ranking.h"

namespace caucus::kernel_mallows {

// Estimated widths stay below this: a narrower kernel is a point.
inline constexpr double largest_theta_of_kernel = 20.0;

// A ranking as ordered groups over all items, looked up by item: what one side of the kernel needs.
class GroupIndex {
 public:
  explicit GroupIndex(std::size_t num_items) : group_(num_items, 0) {}
  void set(RankingView ranking);

  std::size_t num_items() const { return group_.size(); }
  std::uint32_t group(std::size_t item) const { return group_[item]; }
  std::uint32_t above(std::uint32_t group) const { return start_[group]; }  // items in better groups
  std::uint32_t size(std::uint32_t group) const { return start_[group + 1] - start_[group]; }
  std::size_t num_groups() const { return start_.size() - 1; }
  bool has_ties() const { return has_ties_; }
  std::size_t length() const { return length_; }

 private:
  std::vector<std::uint32_t> group_;
  std::vector<std::uint32_t> start_;
  std::size_t length_ = 0;
  bool has_ties_ = false;
};

// D0: pairs that both order strictly, and oppositely. O(t^2).
std::uint64_t opposed_pairs(RankingView a, const GroupIndex& b);

// theta's tables for n items.
class Kernel {
 public:
  Kernel(double theta, std::size_t num_items);

  double theta() const { return theta_; }
  // log of S(A, B) / |A| / [n]!, the density of the kernel about A at B.
  double log_density(RankingView a, const GroupIndex& b) const;
  // log of S(A, B) / (|A| |B|).
  double log_weight(RankingView a, const GroupIndex& b) const;

 private:
  double log_overlap(RankingView a, const GroupIndex& b) const;  // sum over cells of log n_ab! - log [n_ab]!
  double group_sum(RankingView a, const std::vector<double>& table) const;
  double group_sum(const GroupIndex& b, const std::vector<double>& table) const;

  double theta_;
  std::size_t num_items_;
  std::vector<double> log_q_;    // log [m]!
  std::vector<double> log_cut_;  // log m! - log [m]!
};

}  // namespace caucus::kernel_mallows
