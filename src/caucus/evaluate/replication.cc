#include "caucus/evaluate/replication.h"

#include <algorithm>
#include <cmath>

#include "caucus/evaluate/classification.h"
#include "caucus/model/assignment.h"

namespace caucus {

namespace {

// Weighted correlations of every column of a with every column of b, row-major. A column that does not vary is correlated with
// nothing.
std::vector<double> correlations(std::span<const double> a, std::span<const double> b, std::span<const double> weights,
                                 std::size_t k) {
  std::vector<double> mean_a(k, 0.0), mean_b(k, 0.0), square_a(k, 0.0), square_b(k, 0.0), product(k * k, 0.0);
  double total = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    total += weights[i];
    for (std::size_t c = 0; c < k; ++c) mean_a[c] += weights[i] * a[i * k + c], mean_b[c] += weights[i] * b[i * k + c];
  }
  for (std::size_t c = 0; c < k; ++c) mean_a[c] /= total, mean_b[c] /= total;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t c = 0; c < k; ++c) {
      const double da = a[i * k + c] - mean_a[c], db = b[i * k + c] - mean_b[c];
      square_a[c] += weights[i] * da * da;
      square_b[c] += weights[i] * db * db;
      for (std::size_t d = 0; d < k; ++d) product[c * k + d] += weights[i] * da * (b[i * k + d] - mean_b[d]);
    }
  for (std::size_t c = 0; c < k; ++c)
    for (std::size_t d = 0; d < k; ++d) {
      const double scale = std::sqrt(square_a[c] * square_b[d]);
      product[c * k + d] = scale > 1e-12 * total ? product[c * k + d] / scale : 0.0;
    }
  return product;
}

double pairs(double count) { return 0.5 * count * std::max(0.0, count - 1.0); }

// Of the pairs of ballots that one fit puts together, the share that the other does too: in the group where it is least.
double prediction_strength(std::span<const double> table, std::size_t k, bool by_row) {
  double least = 1.0;
  for (std::size_t c = 0; c < k; ++c) {
    double size = 0.0, together = 0.0;
    for (std::size_t d = 0; d < k; ++d) {
      const double count = by_row ? table[c * k + d] : table[d * k + c];
      size += count;
      together += pairs(count);
    }
    least = std::min(least, pairs(size) > 0.0 ? together / pairs(size) : 0.0);
  }
  return least;
}

double adjusted_rand(std::span<const double> table, std::size_t k) {
  std::vector<double> rows(k, 0.0), columns(k, 0.0);
  double total = 0.0, cells = 0.0, row_pairs = 0.0, column_pairs = 0.0;
  for (std::size_t c = 0; c < k; ++c)
    for (std::size_t d = 0; d < k; ++d) {
      const double count = table[c * k + d];
      rows[c] += count, columns[d] += count, total += count, cells += pairs(count);
    }
  for (std::size_t c = 0; c < k; ++c) row_pairs += pairs(rows[c]), column_pairs += pairs(columns[c]);
  const double expected = pairs(total) > 0.0 ? row_pairs * column_pairs / pairs(total) : 0.0;
  const double largest = 0.5 * (row_pairs + column_pairs);
  return largest > expected ? (cells - expected) / (largest - expected) : 1.0;
}

}  // namespace

Replication replication(const FittedModel& first, const FittedModel& second, const Dataset& data, int threads) {
  const std::size_t k = first.num_components();
  Replication result;
  result.groups.assign(k, 1.0);
  if (second.num_components() != k) result.weakest = result.prediction_strength = result.adjusted_rand = 0.0;
  if (k < 2 || second.num_components() != k) return result;
  const bool voters = counts_voters(first, data);
  const std::span<const double> weights = voters ? std::span<const double>(data.voters.weights) : data.rankings.weights();
  const auto of_units = [&](const FittedModel& model) {
    return voters ? voter_memberships(model, data, threads) : memberships(model, data, threads);
  };
  const std::vector<double> a = of_units(first), b = of_units(second);
  const std::vector<double> correlation = correlations(a, b, weights, k);
  std::vector<double> cost(correlation), table(k * k, 0.0);
  for (double& value : cost) value = -value;
  const std::vector<std::size_t> partner = solve_assignment(cost, k);
  for (std::size_t c = 0; c < k; ++c) result.groups[c] = correlation[c * k + partner[c]];
  result.weakest = *std::ranges::min_element(result.groups);
  for (std::size_t i = 0; i < weights.size(); ++i)
    table[most_probable(std::span(a).subspan(i * k, k)) * k + most_probable(std::span(b).subspan(i * k, k))] += weights[i];
  result.prediction_strength = std::min(prediction_strength(table, k, true), prediction_strength(table, k, false));
  result.adjusted_rand = adjusted_rand(table, k);
  return result;
}

}  // namespace caucus
