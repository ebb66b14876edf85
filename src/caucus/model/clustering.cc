#include "caucus/model/clustering.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "caucus/base/parallel.h"

namespace caucus {

namespace {

struct Contingency {
  std::vector<double> rows, columns;
  std::vector<double> cells;  // the non-zero ones
};

// Counts of all cells where they are few. An increment waits for the one before it in the same cell, so neighbours count apart.
void count_cells(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b, Contingency& table) {
  const std::size_t columns = table.columns.size(), cells = table.rows.size() * columns;
  constexpr std::size_t apart = 4;
  std::vector<std::uint32_t> counts(apart * cells);
  std::size_t i = 0;
  for (; i + apart <= a.size(); i += apart)
    for (std::size_t u = 0; u < apart; ++u) ++counts[u * cells + a[i + u] * columns + b[i + u]];
  for (; i < a.size(); ++i) ++counts[a[i] * columns + b[i]];
  table.cells.resize(cells);
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      double& cell = table.cells[row * columns + column];
      for (std::size_t u = 0; u < apart; ++u) cell += counts[u * cells + row * columns + column];
      table.rows[row] += cell;
      table.columns[column] += cell;
    }
}

Contingency cross(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  Contingency table;
  if (a.empty()) return table;
  table.rows.resize(std::size_t{*std::max_element(a.begin(), a.end())} + 1);
  table.columns.resize(std::size_t{*std::max_element(b.begin(), b.end())} + 1);
  if (table.rows.size() * table.columns.size() <= std::max<std::size_t>(a.size() * 8, 4096)) {
    count_cells(a, b, table);
    return table;
  }
  for (std::uint32_t label : a) table.rows[label] += 1.0;
  for (std::uint32_t label : b) table.columns[label] += 1.0;
  std::unordered_map<std::uint64_t, double> sparse;
  for (std::size_t i = 0; i < a.size(); ++i) sparse[std::uint64_t{a[i]} * table.columns.size() + b[i]] += 1.0;
  for (const auto& [key, count] : sparse) table.cells.push_back(count);
  std::sort(table.cells.begin(), table.cells.end());  // a sum that does not depend on the hash
  return table;
}

double x_log_x(std::span<const double> counts) {
  double total = 0.0;
  for (double count : counts)
    if (count > 0.0) total += count * std::log(count);
  return total;
}

double pairs(std::span<const double> counts) {
  double total = 0.0;
  for (double count : counts) total += 0.5 * count * (count - 1.0);
  return total;
}

}  // namespace

ClusterLabels canonical_labels(std::span<const std::uint32_t> labels) {
  std::unordered_map<std::uint32_t, std::uint32_t> renumbered;
  ClusterLabels result;
  result.reserve(labels.size());
  for (std::uint32_t label : labels)
    result.push_back(renumbered.emplace(label, static_cast<std::uint32_t>(renumbered.size())).first->second);
  return result;
}

double variation_of_information(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  if (a.empty()) return 0.0;
  const Contingency table = cross(a, b);
  // H(a|b) + H(b|a) = (sum over rows + sum over columns - 2 sum over cells of n log n) / N.
  const double value = (x_log_x(table.rows) + x_log_x(table.columns) - 2.0 * x_log_x(table.cells)) / static_cast<double>(a.size());
  return std::max(0.0, value);
}

double adjusted_rand_index(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  const Contingency table = cross(a, b);
  const double all = 0.5 * static_cast<double>(a.size()) * (static_cast<double>(a.size()) - 1.0);
  if (all == 0.0) return 1.0;
  const double rows = pairs(table.rows), columns = pairs(table.columns);
  const double expected = rows * columns / all, largest = 0.5 * (rows + columns);
  if (largest == expected) return 1.0;  // both all in one, or both all apart
  return (pairs(table.cells) - expected) / (largest - expected);
}

PointClustering minimum_expected_vi(std::span<const ClusterLabels> draws, std::size_t limit, int threads) {
  PointClustering result;
  std::vector<std::size_t> chosen;
  const std::size_t count = std::min(draws.size(), std::max<std::size_t>(limit, 1));
  for (std::size_t k = 0; k < count; ++k) chosen.push_back(draws.size() * k / count);
  // Row k holds the distances to the later ones; folded in order afterwards.
  std::vector<std::vector<double>> rows(count);
  parallel_for(count, threads, [&](std::size_t k) {
    for (std::size_t l = k + 1; l < count; ++l) rows[k].push_back(variation_of_information(draws[chosen[k]], draws[chosen[l]]));
  });
  result.distances.assign(count, 0.0);
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t l = k + 1; l < count; ++l) {
      result.distances[k] += rows[k][l - k - 1];
      result.distances[l] += rows[k][l - k - 1];
    }
  for (double& distance : result.distances) distance /= static_cast<double>(count);
  result.expected_distance = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < count; ++k)
    if (result.distances[k] < result.expected_distance) {
      result.expected_distance = result.distances[k];
      result.draw = chosen[k];
    }
  return result;
}

std::vector<float> co_clustering(std::span<const ClusterLabels> draws) {
  const std::size_t size = draws.empty() ? 0 : draws[0].size();
  std::vector<float> matrix(size * size, 0.0F);
  for (const ClusterLabels& labels : draws)
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j) matrix[i * size + j] += labels[i] == labels[j] ? 1.0F : 0.0F;
  for (float& value : matrix) value /= static_cast<float>(draws.size());
  return matrix;
}

}  // namespace caucus
