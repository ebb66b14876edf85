// A mixture of two Mallows models, and the probabilities of one model that the moments are made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "caucus/data/ranking.h"

namespace caucus::mallows_tensor {

struct MallowsPair {
  std::array<double, 2> weight{0.5, 0.5};
  std::array<double, 2> theta{1.0, 1.0};      // phi = exp(-theta)
  std::array<std::vector<ItemId>, 2> center;  // best first
};

// Largest dispersion the learner returns: at 20 a ranking differs from its center once in 10^8.
inline constexpr double max_pair_theta = 20.0;

// f[p * n + j] = P(the item of central rank p stands at position j) under a Mallows model of n items; ranks and positions from 0.
// O(n^3), free of cancellation down to theta = 0.
std::vector<double> position_table(double theta, std::size_t n);

// The chance of the item of each central rank to be first: q^p / Z_n. O(n), where a ModelTable takes O(n^3).
std::vector<double> first_places(double theta, std::size_t n);

// Everything about one Mallows model that does not depend on its center.
struct ModelTable {
  ModelTable(double theta, std::size_t n);

  std::size_t num_items;
  std::vector<double> first;  // x by central rank: q^p / Z_n (Definition 2.3)
  std::vector<double> rest;   // position_table of the n - 1 items left once the first is known
  std::vector<double> power;  // q^k, k < 3 n
  double triple_scale = 0.0;  // P({ranks p, q, r} are the first three) = triple_scale power[p + q + r - 3] (Lemma 2.5)

  // P(rank e first and rank i at position j), e != i, j > 0.
  double joint(std::size_t e, std::size_t i, std::size_t j) const {
    return first[e] * rest[(i - (i > e ? 1 : 0)) * (num_items - 1) + j - 1];
  }
  double triple(std::size_t sum_of_ranks) const { return triple_scale * power[sum_of_ranks - 3]; }
};

// rank[item] = 0-based place in `order`.
std::vector<std::uint32_t> ranks_of(const std::vector<ItemId>& order);

// The same two rankings, in either order?
bool same_centers(const MallowsPair& a, const MallowsPair& b);

// Number of pairs that the two orders put the other way round.
std::size_t kendall(const std::vector<ItemId>& a, const std::vector<ItemId>& b);

// log of the number of rankings of n items at each distance 0 .. n(n-1)/2 from a given one (Mahonian numbers).
std::vector<double> log_rankings_at_distance(std::size_t n);

}  // namespace caucus::mallows_tensor
