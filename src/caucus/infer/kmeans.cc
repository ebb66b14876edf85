#include "caucus/infer/kmeans.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/base/random.h"

namespace caucus {

namespace {

constexpr int max_iterations = 100;
constexpr std::size_t restart_points = 1500;

double squared_distance(const double* a, const double* b, std::size_t dimension) {
  double sum = 0.0;
  for (std::size_t j = 0; j < dimension; ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

std::vector<double> seed_centroids(std::span<const double> points, std::size_t dimension, std::span<const double> weights,
                                   std::size_t clusters, RandomStream random) {
  const std::size_t count = points.size() / dimension;
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0 : weights[i]; };
  std::vector<double> centroids(clusters * dimension, 0.0);
  std::vector<double> nearest(count, infinity), chance(count);
  for (std::size_t c = 0; c < clusters; ++c) {
    double total = 0.0;
    for (std::size_t i = 0; i < count; ++i) total += chance[i] = weight(i) * (c == 0 ? 1.0 : nearest[i]);
    const std::size_t pick = total > 0.0 ? random.categorical(chance) : random.below(count);
    std::copy_n(points.data() + pick * dimension, dimension, centroids.data() + c * dimension);
    for (std::size_t i = 0; i < count; ++i)
      nearest[i] =
          std::min(nearest[i], squared_distance(points.data() + i * dimension, centroids.data() + c * dimension, dimension));
  }
  return centroids;
}

KMeansResult lloyd(std::span<const double> points, std::size_t dimension, std::span<const double> weights, std::size_t clusters,
                   std::vector<double> centroids) {
  const std::size_t count = points.size() / dimension;
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0 : weights[i]; };
  KMeansResult result;
  result.labels.assign(count, 0);
  result.centroids = std::move(centroids);
  std::vector<double> nearest(count, infinity);
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

KMeansResult kmeans(std::span<const double> points, std::size_t dimension, std::span<const double> weights, std::size_t clusters,
                    int restarts, std::uint64_t seed, std::uint64_t first_stream, int threads) {
  // Restarts compete on every stride-th point; the best of them is finished on all.
  const std::size_t count = points.size() / dimension, stride = std::max<std::size_t>(count / restart_points, 1);
  std::vector<double> few, few_weights;
  for (std::size_t i = 0; stride > 1 && i < count; i += stride) {
    few.insert(few.end(), points.begin() + static_cast<std::ptrdiff_t>(i * dimension),
               points.begin() + static_cast<std::ptrdiff_t>((i + 1) * dimension));
    few_weights.push_back(weights.empty() ? 1.0 : weights[i]);
  }
  const std::span<const double> used = stride > 1 ? std::span<const double>(few) : points;
  const std::span<const double> used_weights = stride > 1 ? std::span<const double>(few_weights) : weights;
  std::vector<KMeansResult> results(static_cast<std::size_t>(std::max(restarts, 1)));
  parallel_for(results.size(), count * dimension * clusters < 100'000 ? 1 : threads, [&](std::size_t r) {
    const RandomStream random(seed, Purpose::kmeans, first_stream + r);
    results[r] = lloyd(used, dimension, used_weights, clusters, seed_centroids(used, dimension, used_weights, clusters, random));
  });
  KMeansResult best = *std::ranges::min_element(results, {}, &KMeansResult::cost);
  return stride > 1 ? lloyd(points, dimension, weights, clusters, std::move(best.centroids)) : best;
}

}  // namespace caucus
