// The width of a kernel density by leave-one-out likelihood, and exponential blurring mean-shift on rankings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/infer/kernel_mallows/options.h"
#include "caucus/infer/run.h"

namespace caucus::kernel_mallows {

// sum over the given rankings of their log density when one ballot like them is left out.
double leave_one_out(const RankingSet& rankings, std::size_t num_items, double theta, std::span<const std::size_t> left_out,
                     int threads, const std::function<bool()>& stop = {});

struct Bandwidth {
  double theta = 1.0;
  std::vector<double> trace;  // leave-one-out log-likelihood of the values tried, the best last
  StopReason stop_reason = StopReason::converged;
};
Bandwidth choose_bandwidth(const RankingSet& rankings, std::size_t num_items, const KdeOptions& options, const Run& run);

struct EbmsResult {
  std::vector<std::uint32_t> cluster;  // of each distinct ranking, 0 the largest
  std::vector<double> sizes;
  std::vector<std::vector<ItemId>> centers;
  double theta = 1.0;         // of the mixture
  double kernel_theta = 1.0;  // of the last pass
  std::vector<double> trace;  // distinct rankings left after each pass
  int iterations = 0;
  StopReason stop_reason = StopReason::converged;
};

EbmsResult ebms(const Dataset& data, const EbmsOptions& options, const Run& run);

}  // namespace caucus::kernel_mallows
