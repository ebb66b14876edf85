// Weighted k-means of points in a few dimensions: k-means++ starts (Arthur & Vassilvitskii 2007), Lloyd's iteration, the best of
// several restarts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace caucus {

struct KMeansResult {
  std::vector<int> labels;        // [point]
  std::vector<double> centroids;  // [cluster * dimension]
  double cost = 0.0;              // weighted sum of squared distances
};

// points[i * dimension + j]; weights empty: all 1. Restart r draws from stream (seed, Purpose::kmeans, first_stream + r). An empty
// cluster takes the point furthest from its centroid. Of many points, about 1500 decide which restart is finished on all.
// O(restarts * iterations * points * clusters * dimension).
KMeansResult kmeans(std::span<const double> points, std::size_t dimension, std::span<const double> weights, std::size_t clusters,
                    int restarts, std::uint64_t seed, std::uint64_t first_stream, int threads);

}  // namespace caucus
