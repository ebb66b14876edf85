// Mixtures of Plackett-Luce models as numbers: the generator of Theorem 1 and the distance between two mixtures (Nguyen & Zhang
// 2023).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace caucus {

// Utilities of K components: K rows of n.
struct PlackettLuceTruth {
  std::size_t num_items = 0;
  std::vector<double> weights;
  std::vector<double> utilities;  // [k * num_items + i]
};

// Theorem 1: equal weights; the first `informative` items have standard normal utilities in every component, the others 0.
PlackettLuceTruth theorem1_truth(std::size_t num_items, std::size_t num_components, std::size_t informative, std::uint64_t seed);

// Eq. (4): the Frobenius distance of centered utilities under the best relabelling. Both hold the same number of components of
// num_items each. matched, if given, receives the component of `a` that goes with each of b.
double plackett_luce_distance(std::span<const double> a, std::span<const double> b, std::size_t num_items,
                              std::vector<std::size_t>* matched = nullptr);

}  // namespace caucus
