#include "caucus/base/mcmc_diagnostics.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"

namespace caucus {

double effective_sample_size(std::span<const double> draws) {
  const std::size_t n = draws.size();
  const double count = static_cast<double>(n);
  if (n < 2) return count;
  const double mean = sum(draws) / count;
  std::vector<double> centered(n);
  double variance = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    centered[i] = draws[i] - mean;
    variance += centered[i] * centered[i];
  }
  const double scale = std::max(std::abs(mean), *std::max_element(draws.begin(), draws.end()));
  if (!(variance > count * 1e-28 * scale * scale)) return count;
  const auto correlation = [&](std::size_t lag) {
    double part[4] = {0.0, 0.0, 0.0, 0.0};
    std::size_t i = 0;
    for (; i + lag + 4 <= n; i += 4)
      for (std::size_t c = 0; c < 4; ++c) part[c] += centered[i + c] * centered[i + lag + c];
    for (; i + lag < n; ++i) part[0] += centered[i] * centered[i + lag];
    return ((part[0] + part[1]) + (part[2] + part[3])) / variance;
  };
  double total = -1.0, previous = infinity;  // 1 + 2 sum_{k >= 1} = -1 + 2 sum_{k >= 0}
  for (std::size_t lag = 0; lag + 1 < n; lag += 2) {
    const double pair = std::min(correlation(lag) + correlation(lag + 1), previous);
    if (!(pair > 0.0)) break;
    total += 2.0 * pair;
    previous = pair;
  }
  return count / std::max(total, 1.0 / std::max(1.0, std::log10(count)));
}

double effective_sample_size(const std::vector<std::vector<double>>& chains) {
  double total = 0.0;
  for (const auto& chain : chains) total += effective_sample_size(std::span<const double>(chain));
  return total;
}

double split_rhat(const std::vector<std::vector<double>>& chains) {
  if (chains.empty()) return 1.0;
  std::size_t length = chains[0].size();
  for (const auto& chain : chains) length = std::min(length, chain.size());
  const std::size_t half = length / 2;
  if (half < 2) return 1.0;
  const double count = static_cast<double>(half), num_halves = 2.0 * static_cast<double>(chains.size());
  std::vector<double> means;
  double within = 0.0;
  for (const auto& chain : chains)
    for (const std::size_t begin : {std::size_t{0}, length - half}) {
      const auto part = std::span<const double>(chain).subspan(begin, half);
      means.push_back(sum(part) / count);
      for (const double value : part) within += (value - means.back()) * (value - means.back());
    }
  within /= num_halves * (count - 1.0);
  const double mean = sum(means) / num_halves;
  double between = 0.0;
  for (const double value : means) between += (value - mean) * (value - mean);
  between /= num_halves - 1.0;
  if (!(within > 1e-28 * mean * mean)) return between <= 1e-24 * mean * mean ? 1.0 : infinity;
  return std::sqrt((count - 1.0) / count + between / within);
}

}  // namespace caucus
