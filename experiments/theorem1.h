// Data from the generator of Theorem 1 of Nguyen & Zhang (2023).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caucus/infer/pl_mixture/fitted.h"
#include "caucus/model/plackett_luce_mixture.h"

namespace caucus::experiments {

// The draws of the results on file: one ranking after the other from its own stream, where `sample` draws many together since.
inline Dataset drawn_one_by_one(const pl_mixture::FittedMixture& model, const SampleRequest& request) {
  const pl_mixture::Parameters& at = model.parameters();
  std::vector<PlackettLuce> groups;
  for (std::size_t k = 0; k < at.num_components(); ++k)
    groups.emplace_back(std::vector(at.component(k).begin(), at.component(k).end()));
  Dataset data;
  data.items = model.items();
  data.unranked = model.unranked();
  RankingSetBuilder builder;
  std::vector<ItemId> order;
  std::vector<std::uint8_t> ends;
  for (std::size_t i = 0; i < request.count; ++i) {
    RandomStream random(request.seed, Purpose::sample, request.first + i);
    groups[random.categorical(at.weights)].sample(random, request.length, order, ends);
    builder.append(order, 1.0, {});
  }
  data.rankings = builder.build();
  return data;
}

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
  Dataset data = drawn_one_by_one(pl_mixture::FittedMixture(items, Unranked::last, at), {num_rankings, seed, threads, 0});
  return {truth, at, std::move(data)};
}

}  // namespace caucus::experiments
