#include "caucus/infer/kmeans.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/base/random.h"

namespace caucus {

namespace {

constexpr int max_iterations = 100;

double squared_distance(const double* a, const double* b, std::size_t dimension) {
  double sum = 0.0;
  for (std::size_t j = 0; j < dimension; ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

KMeansResult one_run(std::span<const double> points, std::size_t dimension, std::span<const double> weights, std::size_t clusters,
                     RandomStream random) {
  const std::size_t count = points.size() / dimension;
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0 : weights[i]; };
  KMeansResult result;
  result.labels.assign(count, 0);
  result.centroids.assign(clusters * dimension, 0.0);
  std::vector<double> nearest(count, infinity), chance(count);
  for (std::size_t c = 0; c < clusters; ++c) {
    double total = 0.0;
    for (std::size_t i = 0; i < count; ++i) total += chance[i] = weight(i) * (c == 0 ? 1.0 : nearest[i]);
    const std::size_t pick = total > 0.0 ? random.categorical(chance) : random.below(count);
    std::copy_n(points.data() + pick * dimension, dimension, result.centroids.data() + c * dimension);
    for (std::size_t i = 0; i < count; ++i)
      nearest[i] = std::min(nearest[i], squared_distance(points.data() + i * dimension, result.centroids.data() + c * dimension, dimension));
  }
  double previous = infinity;
  for (int iteration = 0; iteration < max_iterations; ++iteration) {
    result.cost = 0.0;
    std::vector<double> sums(clusters * dimension, 0.0), sizes(clusters, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      const double* point = points.data() + i * dimension;
      double best = infinity;
      for (std::size_t c = 0; c < clusters; ++c) {
        const double distance = squared_distance(point, result.centroids.data() + c * dimension, dimension);
        if (distance < best) best = distance, result.labels[i] = static_cast<int>(c);
      }
      nearest[i] = best;
      result.cost += weight(i) * best;
      const auto own = static_cast<std::size_t>(result.labels[i]);
      sizes[own] += weight(i);
      for (std::size_t j = 0; j < dimension; ++j) sums[own * dimension + j] += weight(i) * point[j];
    }
    for (std::size_t c = 0; c < clusters; ++c) {
      if (sizes[c] > 0.0) {
        for (std::size_t j = 0; j < dimension; ++j) result.centroids[c * dimension + j] = sums[c * dimension + j] / sizes[c];
        continue;
      }
      const auto far = static_cast<std::size_t>(std::ranges::max_element(nearest) - nearest.begin());
      std::copy_n(points.data() + far * dimension, dimension, result.centroids.data() + c * dimension);
      nearest[far] = 0.0;
    }
    if (!(result.cost < previous * (1.0 - 1e-6))) break;
    previous = result.cost;
  }
  return result;
}

}  // namespace

KMeansResult kmeans(std::span<const double> points, std::size_t dimension, std::span<const double> weights, std::size_t clusters, int restarts,
                    std::uint64_t seed, std::uint64_t first_stream, int threads) {
  std::vector<KMeansResult> results(static_cast<std::size_t>(std::max(restarts, 1)));
  parallel_for(results.size(), threads, [&](std::size_t r) {
    results[r] = one_run(points, dimension, weights, clusters, RandomStream(seed, Purpose::kmeans, first_stream + r));
  });
  return *std::ranges::min_element(results, {}, &KMeansResult::cost);
}

}  // namespace caucus
