// Data from the generator of Theorem 1 of Nguyen & Zhang (2023).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caucus/infer/pl_mixture/fitted.h"
#include "caucus/model/plackett_luce_mixture.h"

namespace caucus::experiments {

struct Theorem1 {
  PlackettLuceTruth truth;
  pl_mixture::Parameters parameters;  // the same numbers
  Dataset data;
};

inline Theorem1 draw_theorem1(std::size_t num_items, std::size_t num_components, std::size_t informative, std::size_t num_rankings,
                              std::uint64_t seed, int threads) {
  const PlackettLuceTruth truth = theorem1_truth(num_items, num_components, informative, seed);
  pl_mixture::Parameters at(num_components, num_items);
  at.weights = truth.weights;
  at.utilities = truth.utilities;
  std::vector<std::string> items;
  for (std::size_t i = 0; i < num_items; ++i) items.push_back(std::to_string(i + 1));
  Dataset data = pl_mixture::FittedMixture(items, Unranked::last, at).sample({num_rankings, seed, threads, 0}).data;
  return {truth, at, std::move(data)};
}

}  // namespace caucus::experiments
