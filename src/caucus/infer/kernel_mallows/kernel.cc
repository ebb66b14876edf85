#include "caucus/infer/kernel_mallows/kernel.h"

#include <algorithm>
#include <cmath>

#include "caucus/model/stage.h"

namespace caucus::kernel_mallows {

void GroupIndex::set(RankingView ranking) {
  const std::size_t n = group_.size();
  length_ = ranking.size();
  has_ties_ = false;
  start_.assign(1, 0);
  std::uint32_t number = 0;
  ranking.for_each_group([&](std::span<const ItemId> items) {
    for (ItemId item : items) group_[item] = number;
    start_.push_back(start_.back() + static_cast<std::uint32_t>(items.size()));
    has_ties_ = has_ties_ || items.size() > 1;
    ++number;
  });
  if (length_ == n) return;
  // The unlisted: one last group.
  std::vector<std::uint8_t> listed(n, 0);
  for (ItemId item : ranking.items()) listed[item] = 1;
  for (std::size_t item = 0; item < n; ++item)
    if (listed[item] == 0) group_[item] = number;
  start_.push_back(static_cast<std::uint32_t>(n));
}

std::uint64_t opposed_pairs(RankingView a, const GroupIndex& b) {
  std::uint64_t total = 0;
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < a.size(); begin = end) {
    end = begin;
    while (!a.ends_group(end)) ++end;
    ++end;
    for (std::size_t p = begin; p < end; ++p) {
      const std::uint32_t own = b.group(a[p]);
      std::uint32_t opposed = b.above(own);
      for (std::size_t q = 0; q < end; ++q) opposed -= b.group(a[q]) < own ? 1u : 0u;
      total += opposed;
    }
  }
  return total;
}

Kernel::Kernel(double theta, std::size_t num_items)
    : theta_(theta), num_items_(num_items), log_q_(log_q_factorials(theta, num_items)) {
  double log_factorial = 0.0;
  for (std::size_t m = 0; m <= num_items; ++m) {
    if (m > 0) log_factorial += std::log(static_cast<double>(m));
    log_cut_.push_back(m < 2 ? 0.0 : log_factorial - log_q_[m]);
  }
}

double Kernel::group_sum(RankingView a, const std::vector<double>& table) const {
  double total = table[num_items_ - a.size()];
  a.for_each_group([&](std::span<const ItemId> items) { total += table[items.size()]; });
  return total;
}

double Kernel::group_sum(const GroupIndex& b, const std::vector<double>& table) const {
  double total = 0.0;
  for (std::uint32_t g = 0; g < b.num_groups(); ++g) total += table[b.size(g)];
  return total;
}

double Kernel::log_overlap(RankingView a, const GroupIndex& b) const {
  if (!b.has_ties() && !a.has_ties()) {
    // Only the two sets of unlisted items can share more than one.
    const bool complete = b.length() == num_items_;
    const std::uint32_t rest = static_cast<std::uint32_t>(b.num_groups()) - 1;
    std::size_t shared = complete ? 0 : num_items_ - b.length();
    if (!complete)
      for (ItemId item : a.items()) shared -= b.group(item) == rest ? 1 : 0;
    return log_cut_[shared];
  }
  std::vector<std::uint32_t> left(b.num_groups());
  for (std::uint32_t g = 0; g < left.size(); ++g) left[g] = b.size(g);
  double total = 0.0;
  std::vector<std::uint32_t> here(b.num_groups(), 0);
  a.for_each_group([&](std::span<const ItemId> items) {
    for (ItemId item : items) ++here[b.group(item)], --left[b.group(item)];
    for (ItemId item : items) {
      std::uint32_t& count = here[b.group(item)];
      total += log_cut_[count];
      count = 0;
    }
  });
  for (std::uint32_t count : left) total += log_cut_[count];
  return total;
}

double Kernel::log_density(RankingView a, const GroupIndex& b) const {
  return -theta_ * static_cast<double>(opposed_pairs(a, b)) - group_sum(a, log_cut_) + group_sum(b, log_q_) + log_overlap(a, b) -
         log_q_[num_items_];
}

double Kernel::log_weight(RankingView a, const GroupIndex& b) const {
  return -theta_ * static_cast<double>(opposed_pairs(a, b)) - group_sum(a, log_cut_) - group_sum(b, log_cut_) + log_overlap(a, b);
}

}  // namespace caucus::kernel_mallows
