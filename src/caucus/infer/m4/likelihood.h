// Probabilities of the multiplicative mixture: ballots' stage codes, both normalisers, the Gibbs sampler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/data/ranking.h"

namespace caucus::m4 {

struct Components {
  std::vector<std::vector<ItemId>> center;
  std::vector<std::vector<double>> theta;  // n - 1 each
  std::size_t size() const { return center.size(); }
  std::size_t num_items() const { return center[0].size(); }
};

// Weights of one ballot: z_first = share, z_second = 1 - share.
struct Weights {
  std::uint16_t first = 0, second = 0;
  double share = 1.0;
};

// All pairs of components, (0,1), (0,2), ..; the pair (0,0) alone when there is one component.
std::vector<std::pair<std::size_t, std::size_t>> all_pairs(std::size_t num_components);

// sum_j theta_mj V_mj(ranking) for every component m.
void energies(const Components& components, std::span<const ItemId> ranking, std::span<double> out);

// log c by the product formula (11).
double paper_log_normalizer(const Components& components, const Weights& z);

// log c on the grid share = 0, 1/cells, .., 1 for every pair: exact for n <= 10, else importance sampling from the nearer
// component.
struct NormalizerTable {
  static constexpr std::size_t cells = 20;
  static constexpr std::size_t max_enumerated_items = 10;
  std::vector<std::vector<double>> log_c;           // per pair, cells + 1 each
  std::vector<std::vector<double>> standard_error;  // of log_c; 0 where exact
  bool exact = true;

  // In between by monotone cubic interpolation of the convex function log c; at grid points as is.
  double at(std::size_t pair, double share) const;
};
// Where `stop` says so, a few draws must do.
NormalizerTable exact_normalizers(const Components& components, int threads, std::uint64_t seed = 1, std::size_t draws = 20000,
                                  std::size_t enumerate_up_to = NormalizerTable::max_enumerated_items,
                                  const std::function<bool()>& stop = {});

// Gibbs sampler of the model with fixed weights (as the paper draws its synthetic data): heat-bath swaps of neighbours, O(M) each;
// one sweep is n^2 of them. `ranking` is the state.
void gibbs_sweeps(const Components& components, const Weights& z, int sweeps, RandomStream& stream, std::span<ItemId> ranking);

}  // namespace caucus::m4
