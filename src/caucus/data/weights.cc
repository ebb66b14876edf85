#include "caucus/data/weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace caucus {

// Beyond it every double is a whole number.
constexpr double largest_count = 0x1p53;

bool is_count(double weight) {
  // By way of an integer: without SSE4 floor() is a call.
  if (weight > -largest_count && weight < largest_count) return weight == static_cast<double>(static_cast<std::int64_t>(weight));
  return weight <= -largest_count;
}

double effective_size(std::span<const double> weights) {
  double largest = 0.0, total = 0.0;
  bool counts = true;
  for (double weight : weights) {
    largest = std::max(largest, weight);
    total += weight;
    counts = counts && is_count(weight);
  }
  if (counts || !(largest > 0.0)) return total;
  // Relative to the largest, so that neither tiny nor huge weights leave the range of numbers.
  double sum = 0.0, squares = 0.0;
  for (double weight : weights) {
    const double share = weight / largest;
    sum += share;
    squares += share * share;
  }
  return sum * sum / squares;
}

double effective_size(const RankingSet& rankings) {
  return effective_size(rankings.row_weights().empty() ? rankings.weights() : rankings.row_weights());
}

double one_ballot(const RankingSet& rankings) {
  const double size = effective_size(rankings);
  return size > 0.0 ? rankings.total_weight() / size : 1.0;
}

}  // namespace caucus
