#include "caucus/infer/regroup.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "caucus/data/weights.h"

namespace caucus {

namespace {

std::size_t draw(std::span<const double> chances, RandomStream& random) {
  return sum(chances) > 0.0 ? random.categorical(chances) : random.below(chances.size());
}

}  // namespace

Regrouper::Regrouper(const RankingSet& rankings, std::size_t num_items, Unranked unranked, std::function<bool()> stop)
    : rankings_(rankings), num_items_(num_items), unranked_(unranked), stop_(std::move(stop)) {}

// Places about their mean, those of a tie-group alike. Unlisted items share the last places, or say nothing.
void Regrouper::places(std::size_t ranking, std::span<double> out) const {
  const RankingView view = rankings_[ranking];
  const auto listed = static_cast<double>(view.size()), n = static_cast<double>(num_items_);
  const bool last = unranked_ == Unranked::last;
  const double mean = 0.5 * ((last ? n : listed) - 1.0);
  std::ranges::fill(out, last ? 0.5 * (listed + n - 1.0) - mean : 0.0);
  double before = 0.0;
  view.for_each_group([&](std::span<const ItemId> group) {
    const auto size = static_cast<double>(group.size());
    for (ItemId item : group) out[item] = before + 0.5 * (size - 1.0) - mean;
    before += size;
  });
}

std::vector<double> Regrouper::distances(std::size_t ballot) const {
  std::vector<double> from(num_items_), to(num_items_), result(rankings_.size(), 0.0);
  places(ballot, from);
  for (std::size_t i = 0; i < rankings_.size(); ++i) {
    places(i, to);
    for (std::size_t j = 0; j < num_items_; ++j) result[i] += (from[j] - to[j]) * (from[j] - to[j]);
  }
  return result;
}

std::vector<double> Regrouper::surprise(std::span<const double> log_probs) const {
  std::vector<double> result(rankings_.size()), same_length(num_items_ + 1, 0.0);  // [length]: weight of rankings of that length
  for (std::size_t i = 0; i < rankings_.size(); ++i) same_length[rankings_.length(i)] += rankings_.weight(i);
  for (std::size_t i = 0; i < rankings_.size(); ++i) {
    const double weight = rankings_.weight(i);
    if (!(weight > 0.0)) continue;
    const double excess = std::log(weight / same_length[rankings_.length(i)]) - log_probs[i];
    result[i] = weight * std::max(excess, 0.0);
  }
  return result;
}

std::vector<std::uint32_t> Regrouper::around_ballots(std::size_t num_groups, std::span<const double> expected,
                                                     RandomStream& random) const {
  const std::size_t count = rankings_.size();
  std::vector<std::uint32_t> labels(count, 0);
  std::vector<double> nearest(count, infinity), chances(count);
  const std::vector<double> base =
      expected.empty() ? std::vector<double>(rankings_.weights().begin(), rankings_.weights().end()) : surprise(expected);
  for (std::size_t k = 0; k < num_groups && !(k > 0 && stop_ && stop_()); ++k) {
    for (std::size_t i = 0; i < count; ++i) chances[i] = base[i] * (k == 0 ? 1.0 : nearest[i]);
    const std::vector<double> distance = distances(draw(chances, random));
    for (std::size_t i = 0; i < count; ++i)
      if (distance[i] < nearest[i]) nearest[i] = distance[i], labels[i] = static_cast<std::uint32_t>(k);
  }
  return labels;
}

void Regrouper::gather(std::size_t ballot, double mass, std::uint32_t label, std::span<std::uint32_t> labels) const {
  const std::vector<double> distance = distances(ballot);
  // Nearest first, of equals the first; a heap, for mostly few are taken.
  std::vector<std::size_t> open(labels.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  const auto key = [&](std::size_t i) { return std::pair(distance[i], i); };
  std::ranges::make_heap(open, std::greater(), key);
  for (double taken = 0.0; !open.empty() && (!(taken > 0.0) || taken < mass); open.pop_back()) {
    std::ranges::pop_heap(open, std::greater(), key);
    labels[open.back()] = label;
    taken += rankings_.weight(open.back());
  }
}

double Regrouper::any_mass(std::size_t num_groups, RandomStream& random) const {
  const double least = 0.5 * one_ballot(rankings_), most = rankings_.total_weight() / static_cast<double>(num_groups);
  return least * std::pow(std::max(most / least, 1.0), random.uniform());
}

std::vector<std::uint32_t> Regrouper::satellites(std::size_t num_groups, std::span<const double> expected,
                                                 RandomStream& random) const {
  std::vector<std::uint32_t> labels(rankings_.size(), 0);
  const std::vector<double> surprising = surprise(expected);
  for (std::size_t k = 1; k < num_groups && !(stop_ && stop_()); ++k)
    gather(draw(surprising, random), any_mass(num_groups, random), static_cast<std::uint32_t>(k), labels);
  return labels;
}

std::vector<Regrouping> Regrouper::moves(const Standing& standing, std::size_t num_groups, RandomStream& random) const {
  const std::size_t count = rankings_.size(), num = num_groups;
  if (num < 2) return {};
  const auto share = [&](std::size_t i, std::size_t k) { return standing.memberships[i * num + k]; };
  // What the likelihood would lose without group k, the others as they are.
  std::vector<double> loss(num, 0.0);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < num; ++k) loss[k] -= rankings_.weight(i) * std::log(std::max(1.0 - share(i, k), 1e-12));
  std::vector<std::size_t> spared(num);
  std::iota(spared.begin(), spared.end(), std::size_t{0});
  std::ranges::stable_sort(spared, {}, [&](std::size_t k) { return loss[k]; });
  spared.resize(std::min(num, most_spared));

  const std::vector<double> surprising = surprise(standing.log_probs);
  std::vector<Regrouping> result;
  std::vector<double> chances(count);
  for (std::size_t gone : spared) {
    std::vector<std::uint32_t> others(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t best = gone == 0 ? 1 : 0;
      for (std::size_t k = 0; k < num; ++k)
        if (k != gone && share(i, k) > share(i, best)) best = k;
      others[i] = static_cast<std::uint32_t>(best);
    }
    for (std::size_t split = 0; split < num; ++split) {
      if (split == gone) continue;
      if (stop_ && stop_()) return result;
      for (std::size_t i = 0; i < count; ++i) chances[i] = rankings_.weight(i) * share(i, split);
      const std::vector<double> from_one = distances(draw(chances, random));
      for (std::size_t i = 0; i < count; ++i) chances[i] *= from_one[i];
      const std::vector<double> from_two = distances(draw(chances, random));
      Regrouping move{others, {gone, split}};
      for (std::size_t i = 0; i < count; ++i)
        if (others[i] == split && from_two[i] < from_one[i]) move.labels[i] = static_cast<std::uint32_t>(gone);
      result.push_back(std::move(move));
    }
    // Around surprising ballots.
    for (std::size_t seed = 0; seed < seeds_each; ++seed) {
      Regrouping move{others, {gone}};
      gather(draw(surprising, random), any_mass(num, random), static_cast<std::uint32_t>(gone), move.labels);
      result.push_back(std::move(move));
    }
  }
  return result;
}

std::vector<GroupOf> Regrouper::cross(const Standing& one, const Standing& two, std::size_t num_groups,
                                      RandomStream& random) const {
  const std::size_t num = num_groups;
  std::vector<double> common(num * num, 0.0);
  for (std::size_t i = 0; i < rankings_.size(); ++i)
    for (std::size_t k = 0; k < num; ++k) {
      const double share = rankings_.weight(i) * one.memberships[i * num + k];
      for (std::size_t h = 0; h < num; ++h) common[k * num + h] += share * two.memberships[i * num + h];
    }
  std::vector<GroupOf> result;
  for (std::size_t round = 0; round < num; ++round) {
    const auto at = static_cast<std::size_t>(std::ranges::max_element(common) - common.begin());
    const std::size_t k = at / num, h = at % num;
    const bool second = random.uniform() < 0.5;
    result.push_back({second, second ? h : k});
    for (std::size_t other = 0; other < num; ++other) common[k * num + other] = common[other * num + h] = -1.0;
  }
  return result;
}

RankingSet draw_by_weight(const RankingSet& rankings, std::size_t count, RandomStream& random) {
  RankingSetBuilder builder;
  draw_by_weight(
      rankings.size(), [&](std::size_t i) { return rankings.weight(i); }, sum(rankings.weights()), count, random,
      [&](std::size_t i, double hits) { builder.add(rankings[i], hits); });
  return builder.build();
}

}  // namespace caucus
