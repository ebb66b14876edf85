// Small data sets and slow oracles for the tests of this family.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/data/dataset.h"
#include "caucus/infer/pl_mixture/parameters.h"

namespace caucus::pl_mixture::testing {

inline std::vector<std::string> names(std::size_t n) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < n; ++i) result.push_back("item " + std::to_string(i));
  return result;
}

inline Parameters random_parameters(std::size_t num, std::size_t n, std::uint64_t seed, double scale = 1.0) {
  Parameters p(num, n);
  RandomStream random(seed, Purpose::generate, 7);
  for (double& utility : p.utilities) utility = scale * random.normal();
  p.center_all();
  std::vector<double> ones(num, 3.0);
  random.dirichlet(ones, p.weights);
  return p;
}

enum class Kind { complete, top, subset, pairs, ties };

// Rankings drawn from a mixture and then cut down to the kind asked for.
inline Dataset draw(const Parameters& truth, std::size_t count, Kind kind, std::uint64_t seed) {
  const std::size_t n = truth.num_items;
  Dataset data;
  data.items = names(n);
  data.source = "drawn";
  data.unranked = kind == Kind::subset || kind == Kind::pairs ? Unranked::absent : Unranked::last;
  RankingSetBuilder builder;
  std::vector<ItemId> items;
  std::vector<std::uint8_t> ends;
  for (std::size_t l = 0; l < count; ++l) {
    RandomStream random(seed, Purpose::generate, 1000 + l);
    const auto own = truth.component(random.categorical(truth.weights));
    PlackettLuce(std::vector<double>(own.begin(), own.end()),
                 kind == Kind::ties ? TieStrengths{{2, 3}, {-1.0, -1.5}} : TieStrengths{})
        .sample(random, 0, items, ends);
    if (kind == Kind::top) items.resize(1 + random.below(n - 1));
    if (kind == Kind::subset || kind == Kind::pairs) {
      const std::size_t size = kind == Kind::pairs ? 2 : 2 + random.below(n - 1);
      std::vector<ItemId> who(n);
      std::iota(who.begin(), who.end(), 0);
      random.shuffle(std::span(who));
      who.resize(size);
      std::erase_if(items, [&](ItemId item) { return std::ranges::find(who, item) == who.end(); });
    }
    builder.add(items, static_cast<double>(1 + random.below(3)), ends);
  }
  data.rankings = builder.build();
  return data;
}

// log P of each distinct ranking under each component, by the model's definition.
inline std::vector<double> slow_joint(const Dataset& data, const Parameters& p) {
  std::vector<double> joint;
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    for (std::size_t k = 0; k < p.num_components(); ++k) {
      const auto own = p.component(k);
      const PlackettLuce model(std::vector<double>(own.begin(), own.end()), p.ties);
      joint.push_back(std::log(p.weights[k]) + model.log_prob(data.rankings[i], data.unranked));
    }
  }
  return joint;
}

inline double slow_loglik(const Dataset& data, const Parameters& p) {
  const auto joint = slow_joint(data, p);
  const std::size_t num = p.num_components();
  double total = 0.0;
  for (std::size_t i = 0; i < data.rankings.size(); ++i)
    total += data.rankings.weight(i) * log_sum_exp(std::span(joint).subspan(i * num, num));
  return total;
}

}  // namespace caucus::pl_mixture::testing
