// Groups of rankings to begin a fit from: around ballots drawn from the data, and by moves from the groups of a fit. They know of
// rankings and groups alone, so every family of mixtures can use them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/data/dataset.h"

namespace caucus {

// A group for each distinct ranking. Groups in `fresh` are to be fitted to their rankings; the others stay as the fit had them.
struct Regrouping {
  std::vector<std::uint32_t> labels;
  std::vector<std::size_t> fresh;
};

// How the rankings fare under a fit.
struct Standing {
  std::vector<double> memberships;  // [i * K + k]
  std::vector<double> log_probs;    // [i], natural
};

// A group of one of two fits.
struct GroupOf {
  bool second;
  std::size_t group;
};

// Weights of groups put together from more than one fit.
inline void to_shares(std::span<double> weights) {
  const double total = sum(weights);
  for (double& weight : weights) weight /= total;
}

// Calls take(i, hits) for each i drawn, with chance proportional to its weight (systematic sampling): what is heavy stays in.
// total: of all weights.
template <class WeightOf, class Take>
void draw_by_weight(std::size_t size, WeightOf&& weight_of, double total, std::size_t count, RandomStream& random, Take&& take) {
  const double stride = total / static_cast<double>(count);
  double at = random.uniform() * stride, seen = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    seen += weight_of(i);
    double hits = 0.0;
    for (; at < seen; at += stride) hits += 1.0;
    if (hits > 0.0) take(i, hits);
  }
}
// A part of the rankings drawn so; their weights are the number of times drawn.
RankingSet draw_by_weight(const RankingSet& rankings, std::size_t count, RandomStream& random);

class Regrouper {
 public:
  // Where `stop` says so, labels and moves are fewer than asked for.
  Regrouper(const RankingSet& rankings, std::size_t num_items, Unranked unranked, std::function<bool()> stop = {});

  // Every ranking to the nearest of K ballots, drawn as in k-means++ (Arthur & Vassilvitskii 2007) under Spearman's distance; with
  // `expected` (log probabilities under a fit, of one group say) among ballots that occur more often than it expects.
  std::vector<std::uint32_t> around_ballots(std::size_t num_groups, std::span<const double> expected, RandomStream& random) const;

  // All in one group but for those around K - 1 ballots drawn as above: from a ballot alone to an even share, as likely small as
  // large. Where ballots are few, the best groups are often one of nearly all and a few of those who fit nowhere.
  std::vector<std::uint32_t> satellites(std::size_t num_groups, std::span<const double> expected, RandomStream& random) const;

  // Moves from a fit, after split-and-merge EM (Ueda et al. 2000): a group that can best be spared goes (its rankings to their next
  // best), and comes back as one half of another group, or around a ballot that occurs far more often than the fit expects: the
  // ballot alone, or with any number of those near it.
  std::vector<Regrouping> moves(const Standing& standing, std::size_t num_groups, RandomStream& random) const;
  // How many those are, unless stopped.
  static std::size_t num_moves(std::size_t num_groups) {
    return num_groups < 2 ? 0 : std::min(num_groups, most_spared) * (num_groups - 1 + seeds_each);
  }

  // Crossing of two fits (Gribel & Vidal 2019): groups of the one are matched with those of the other that have the most rankings
  // in common, and of each two one is drawn.
  std::vector<GroupOf> cross(const Standing& one, const Standing& two, std::size_t num_groups, RandomStream& random) const;

 private:
  static constexpr std::size_t most_spared = 3, seeds_each = 4;

  void places(std::size_t ranking, std::span<double> out) const;
  std::vector<double> distances(std::size_t ballot) const;
  // Labels the ballots nearest to one, until they weigh so much: at least the ballot itself.
  void gather(std::size_t ballot, double mass, std::uint32_t label, std::span<std::uint32_t> labels) const;
  // From half a ballot to an even share of all, every factor as likely.
  double any_mass(std::size_t num_groups, RandomStream& random) const;
  // w log(w / expected count), where positive: each ballot's part in the likelihood ratio against its own frequency.
  std::vector<double> surprise(std::span<const double> log_probs) const;

  const RankingSet& rankings_;
  std::size_t num_items_;
  Unranked unranked_;
  std::function<bool()> stop_;
};

}  // namespace caucus
