// Clusterings as label vectors: how far apart two are, and the one that stands for many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace caucus {

using ClusterLabels = std::vector<std::uint32_t>;

// The same clustering with labels 0, 1, .. in order of first appearance.
ClusterLabels canonical_labels(std::span<const std::uint32_t> labels);

// Variation of information in nats (Meila 2007): H(a | b) + H(b | a). A metric; at most log N. O(N + K_a K_b).
double variation_of_information(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);
// Hubert & Arabie (1985): 1 for equal clusterings, 0 expected for unrelated ones of the same sizes.
double adjusted_rand_index(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);

struct PointClustering {
  std::size_t draw = 0;            // which of the draws
  double expected_distance = 0.0;  // its mean variation of information to the draws
  std::vector<double> distances;   // of every candidate draw considered
};

// The draw with the smallest mean variation of information to all draws (Wade & Ghahramani 2018, over the drawn partitions).
// Of more than `limit` draws, `limit` evenly spaced ones are compared. O(limit^2 N), in parallel.
PointClustering minimum_expected_vi(std::span<const ClusterLabels> draws, std::size_t limit = 200, int threads = 1);

// Share of the draws in which two points are together: N x N, row by row. O(draws N^2).
std::vector<float> co_clustering(std::span<const ClusterLabels> draws);

}  // namespace caucus
