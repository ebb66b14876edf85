#include "caucus/data/per_voter.h"

#include <algorithm>
#include <vector>

namespace caucus {

PerVoter rankings_per_voter(const Voters& voters) {
  std::vector<std::size_t> counts(voters.size(), 0);
  for (const std::uint32_t voter : voters.of_row) ++counts[voter];
  double sum = 0.0;
  for (std::size_t v = 0; v < counts.size(); ++v) sum += voters.weights[v] * static_cast<double>(counts[v]);
  return {*std::ranges::min_element(counts), *std::ranges::max_element(counts), sum / voters.total_weight()};
}

}  // namespace caucus
