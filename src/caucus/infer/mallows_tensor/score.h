// How well a pair of Mallows models explains the counts, and the pair nearby that explains them best. Nothing here depends on N.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "caucus/infer/mallows_tensor/counts.h"
#include "caucus/infer/mallows_tensor/pair.h"

namespace caucus::mallows_tensor {

// Composite log-likelihood of the counts: log-likelihood of the top-3 sets plus the mean over items i of that of (first item,
// position of i). Each part is a likelihood of a partition of all rankings, so with exact moments the truth maximises the sum.
class MomentScore {
 public:
  explicit MomentScore(const TopCounts& counts);

  double operator()(const MallowsPair& pair) const;
  // The same with the tables of the two scales at hand: for many centers.
  double operator()(const MallowsPair& pair, const std::array<ModelTable, 2>& tables) const;

  // Weights and scales that maximise the score for the given centers: damped Fisher scoring in (logit w, theta_1, theta_2). With
  // exact moments it converges to rounding. O(n^3) per step.
  MallowsPair fit_parameters(MallowsPair pair, int max_steps = 60) const;

  // Hill climbing over centers: an adjacent exchange in one center or in both, and for `insertions` any move of one item in one
  // center; then fit_parameters; until nothing gains.
  MallowsPair climb(MallowsPair pair, bool insertions, const std::function<bool()>& stop = {}) const;

  // Deviance of the top-3 sets, 2 sum c log(c / (N p)), divided by its degrees of freedom: near 1 for a sample from the pair.
  double triple_misfit(const MallowsPair& pair) const;

  // Largest absolute difference between an observed and a modelled frequency.
  double largest_error(const MallowsPair& pair) const;

 private:
  struct Cell {
    std::uint32_t e, i, j;
    double count;
  };
  struct Triple {
    std::uint32_t i, j, k;
    double count;
  };

  double value(const std::array<ModelTable, 2>& tables, const std::array<double, 2>& weight,
               const std::array<std::vector<std::uint32_t>, 2>& rank) const;
  template <class Visit>
  void for_each_cell(const MallowsPair& pair, Visit&& visit) const;

  std::size_t num_items_;
  double total_;
  std::vector<Cell> cells_;  // all of e != i, j > 0, and e = i, j = 0
  std::vector<Triple> triples_;
};

}  // namespace caucus::mallows_tensor
