#include "caucus/model/clustering.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caucus/base/random.h"

namespace caucus {
namespace {

ClusterLabels random_labels(std::size_t size, std::uint64_t clusters, RandomStream& rng) {
  ClusterLabels labels;
  for (std::size_t i = 0; i < size; ++i) labels.push_back(static_cast<std::uint32_t>(rng.below(clusters)));
  return labels;
}

TEST(Clustering, CanonicalLabelsFollowFirstAppearance) {
  EXPECT_EQ(canonical_labels(std::vector<std::uint32_t>{7, 2, 7, 9, 2}), (ClusterLabels{0, 1, 0, 2, 1}));
}

TEST(Clustering, VariationOfInformationByHand) {
  const ClusterLabels one{0, 0, 0, 0}, halves{0, 0, 1, 1}, crossed{0, 1, 0, 1};
  EXPECT_NEAR(variation_of_information(one, halves), std::log(2.0), 1e-14);
  EXPECT_NEAR(variation_of_information(halves, crossed), 2.0 * std::log(2.0), 1e-14);
  EXPECT_EQ(variation_of_information(halves, ClusterLabels{5, 5, 2, 2}), 0.0);
}

TEST(Clustering, VariationOfInformationIsAMetric) {
  RandomStream rng(1, Purpose::test, 1);
  for (int i = 0; i < 100; ++i) {
    const auto a = random_labels(30, 4, rng), b = random_labels(30, 7, rng), c = random_labels(30, 2, rng);
    EXPECT_NEAR(variation_of_information(a, b), variation_of_information(b, a), 1e-12);
    EXPECT_LE(variation_of_information(a, c), variation_of_information(a, b) + variation_of_information(b, c) + 1e-12);
    EXPECT_LE(variation_of_information(a, b), std::log(30.0) + 1e-12);
  }
}

TEST(Clustering, SparseAndDenseTablesAgree) {
  RandomStream rng(1, Purpose::test, 2);
  ClusterLabels a = random_labels(500, 400, rng), b = random_labels(500, 450, rng);
  a.resize(60), b.resize(60);
  EXPECT_NEAR(variation_of_information(a, b), variation_of_information(canonical_labels(a), canonical_labels(b)), 1e-12);
}

// Worked example of Hubert & Arabie's index on six points: pairs together in both 2, in each 4, of 15.
TEST(Clustering, AdjustedRand) {
  const ClusterLabels a{0, 0, 0, 1, 1, 2}, b{0, 0, 1, 2, 2, 2};
  EXPECT_NEAR(adjusted_rand_index(a, b), (2.0 - 16.0 / 15.0) / (4.0 - 16.0 / 15.0), 1e-14);
  EXPECT_EQ(adjusted_rand_index(a, a), 1.0);
  RandomStream rng(1, Purpose::test, 3);
  double mean = 0.0;
  for (int i = 0; i < 400; ++i) mean += adjusted_rand_index(random_labels(200, 5, rng), random_labels(200, 5, rng)) / 400.0;
  EXPECT_NEAR(mean, 0.0, 0.003);  // its deviation per pair is below 0.01
}

TEST(Clustering, PointEstimateIsTheDrawNearestToAll) {
  const ClusterLabels x{0, 0, 1, 1, 1}, y{0, 0, 1, 1, 2}, z{0, 1, 2, 3, 4};
  const std::vector<ClusterLabels> draws{z, x, y, x, x};
  for (int threads : {1, 2}) {
    const PointClustering best = minimum_expected_vi(draws, 200, threads);
    EXPECT_EQ(draws[best.draw], x);
    EXPECT_NEAR(best.expected_distance, (variation_of_information(x, y) + variation_of_information(x, z)) / 5.0, 1e-14);
  }
}

TEST(Clustering, CoClusteringCountsPairs) {
  const std::vector<ClusterLabels> draws{{0, 0, 1}, {0, 1, 1}};
  EXPECT_EQ(co_clustering(draws), (std::vector<float>{1.0F, 0.5F, 0.0F, 0.5F, 1.0F, 0.5F, 0.0F, 0.5F, 1.0F}));
}

}  // namespace
}  // namespace caucus
