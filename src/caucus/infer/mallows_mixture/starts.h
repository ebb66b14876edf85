// Starting points of EM: labels for all distinct rankings, then parameters from the labels.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "caucus/infer/mallows_mixture/mallows_engine.h"
#include "caucus/infer/mallows_mixture/options.h"

namespace caucus::mallows_mixture {

class Starts {
 public:
  Starts(const MallowsEngine& engine, const RankingSet& rankings, std::size_t num_components, MallowsStart kind, std::uint64_t seed,
         std::function<bool()> stop = {});

  // Labels of start number `index`: a function of (seed, index) alone.
  //   spectral  k-means on the leading principal components of pairwise signs (up to 11 items) or of positions
  //   kmeans    k-means++ seeds and a few Lloyd steps under Kendall's distance with consensus rankings as means
  //   random    nearest of K ballots drawn at random
  //   tensor    most probable term of the decomposed top-3 tensor (mallows_tensor/start.h)
  std::vector<std::uint32_t> labels(std::uint64_t index) const;

 private:
  std::vector<std::uint32_t> spectral_labels(RandomStream& stream) const;
  std::vector<std::uint32_t> kmeans_labels(RandomStream& stream, bool plus_plus, int rounds) const;
  void embed();

  const MallowsEngine& engine_;
  const RankingSet& rankings_;
  std::size_t num_components_;
  MallowsStart kind_;
  std::uint64_t seed_;
  std::function<bool()> stop_;
  std::size_t dimensions_ = 0;
  std::vector<double> scores_;  // principal components, one row per ranking
};

}  // namespace caucus::mallows_mixture
