// Spectral initialisation: Algorithms 1 to 3 of Nguyen & Zhang (2023), and k-means on the raw embedding.
#pragma once

#include <cstdint>
#include <vector>

#include "caucus/infer/pl_mixture/objective.h"
#include "caucus/infer/pl_mixture/options.h"
#include "caucus/infer/pl_mixture/pair_bits.h"

namespace caucus::pl_mixture {

struct SpectralOptions {
  bool center = true;
  RankRule rule = RankRule::components;
  Link link = Link::logit;
  int kmeans_restarts = 20;
};

// The embedding of a data set, of a random part of it where it is large (starts do not need more), with weights.
class Embedding {
 public:
  struct Chosen {
    std::vector<std::uint32_t> rankings;
    std::vector<double> weights;
  };
  Embedding(const Dataset& data, std::uint64_t seed, int threads, std::size_t most_rankings = 20'000);
  // Of so many items, at most so many rankings are taken.
  static std::size_t room(std::size_t num_items, std::size_t most_rankings);

  const PairBits& bits() const { return bits_; }
  const std::vector<double>& weights() const { return weights_; }
  const Dataset& data() const { return *data_; }
  int threads() const { return threads_; }

 private:
  Embedding(const Dataset& data, Chosen chosen, int threads);
  const Dataset* data_;
  int threads_;
  std::vector<double> weights_;
  PairBits bits_;
};

struct TruncatedSvd {
  Eigen::VectorXd values;  // largest first
  RowMatrix projected;     // rankings x rank: X V, centered if asked
};
// The largest `rank` singular values and the projections of the weighted embedding, by randomized subspace iteration (Halko,
// Martinsson & Tropp 2011) on implicit products.
TruncatedSvd truncated_svd(const Embedding& embedding, std::size_t rank, bool center, std::uint64_t seed);

// Algorithm 1: a cluster for each ranking of the embedding.
std::vector<int> spectral_clusters(const Embedding& embedding, std::size_t num_clusters, const SpectralOptions& options,
                                   std::uint64_t seed, std::uint64_t index, const TruncatedSvd* svd = nullptr);
// k-means on the rows of the embedding itself.
std::vector<int> embedding_kmeans(const Embedding& embedding, std::size_t num_clusters, int restarts, std::uint64_t seed,
                                  std::uint64_t index);

// Algorithm 2 on every cluster: utilities by least squares on linked pairwise shares, weights by cluster sizes.
Parameters cluster_parameters(const Embedding& embedding, const std::vector<int>& clusters, std::size_t num_clusters, Link link);

// Algorithm 2 alone. above(i, j): weight with which i was above j. Shares are (above + 1/2) / (above + below + 1). Closed form
// where all pairs were seen, a Laplacian system otherwise.
std::vector<double> least_squares_utilities(const Eigen::MatrixXd& above, Link link);

// r-hat of Algorithm 1, line 3, for singular values of K + 1; 0 where no index qualifies.
std::size_t adaptive_rank(const Eigen::VectorXd& values, std::size_t num_components, std::size_t num_items, double num_rankings);

}  // namespace caucus::pl_mixture
