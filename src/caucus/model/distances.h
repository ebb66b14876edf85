// Distances between complete rankings for Mallows models P(pi) = exp(-theta d(pi, center)) / Z(theta), and their normalisers: exact
// where that is known, else estimated with a stated standard error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/base/random.h"
#include "caucus/data/ranking.h"

namespace caucus {

enum class Distance { kendall, spearman, footrule, hamming, cayley, ulam };
template <>
inline constexpr std::array<std::string_view, 6> enum_names<Distance>{"kendall", "spearman", "footrule",
                                                                      "hamming", "cayley",   "ulam"};

// Both are inverse orders: rank[item] = 0-based place. All are right-invariant (renaming items changes nothing).
//   kendall   pairs ordered the other way round            spearman  sum of squared rank differences
//   footrule  sum of absolute rank differences             hamming   items at another place
//   cayley    least number of swaps of two items           ulam      n minus the longest common subsequence
std::uint64_t rank_distance(Distance distance, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b);
std::uint64_t max_distance(Distance distance, std::size_t num_items);

// How many rankings are at a distance, where there are any.
struct DistanceCount {
  double distance, log_count;
};

// log Z(theta), mean and variance of d under the model, for one distance and number of items. Z depends on theta alone.
//   exact: kendall, cayley, hamming (closed forms); ulam by counts from Schensted's correspondence to n = 60; footrule and spearman
//   by counts over all rankings (subset sums) to n = 14. Beyond: thermodynamic integration of E d over theta on a grid, E d by
//   Metropolis chains, or for ulam by a chain of shapes (young_chain.h); standard_error() > 0. `stop` ends the grid early: beyond
//   its end the mean falls off as it must for large theta.
class DistanceNormalizer {
 public:
  DistanceNormalizer(Distance distance, std::size_t num_items, double largest_theta = 50.0, std::uint64_t seed = 1,
                     bool always_estimate = false, const std::function<bool()>& stop = {});

  Distance distance() const { return distance_; }
  std::size_t num_items() const { return num_items_; }
  bool exact() const { return exact_; }
  double log_z(double theta) const;
  double mean(double theta) const;
  double variance(double theta) const;
  double standard_error(double theta) const;  // of log_z; 0 when exact
  // The theta in [0, max_theta] with mean(theta) = mean_distance.
  double solve_theta(double mean_distance, double guess = 0.5) const;
  // What the constructor makes with this largest theta (not above its own), without the work; as far as the grid goes where it was
  // stopped.
  DistanceNormalizer up_to(double largest_theta) const;

 private:
  bool ends_grid(std::size_t point, double largest_theta) const;
  void integrate();  // grid_mean_ and what follows, from the points
  void estimate(double largest_theta, std::uint64_t seed, const std::function<bool()>& stop);

  Distance distance_;
  std::size_t num_items_;
  bool exact_ = true;
  std::vector<DistanceCount> counts_;  // by distance. Empty: closed form or estimate
  // The estimate: theta grid, mean as found, made to fall, its standard error, running integral.
  std::vector<double> grid_, point_mean_, grid_mean_, grid_error_, grid_log_z_, grid_log_z_error_;
};

// Draws from the model under any distance: exact for kendall, by inversion of counts for cayley and hamming, and by that of all
// rankings for up to five items; for the others a Metropolis chain of `sweeps` sweeps of random transpositions from the center.
void draw_distance_model(Distance distance, std::span<const ItemId> center, double theta, RandomStream& stream,
                         std::span<ItemId> out, int sweeps = 200);

}  // namespace caucus
