#include "caucus/evaluate/tally.h"

#include <algorithm>

namespace caucus {

double Tally::num_pairs(ItemId item) const {
  double sum = 0.0;
  for (std::size_t other = 0; other < num_items; ++other)
    sum += above[item * num_items + other] + above[other * num_items + item] + tied[item * num_items + other];
  return sum;
}

double Tally::win_rate(ItemId item) const {
  double won = 0.0;
  for (std::size_t other = 0; other < num_items; ++other)
    won += above[item * num_items + other] + 0.5 * tied[item * num_items + other];
  return won / num_pairs(item);
}

ItemId Tally::condorcet_winner() const {
  for (std::size_t a = 0; a < num_items; ++a) {
    bool beats_all = true;
    for (std::size_t b = 0; b < num_items && beats_all; ++b)
      beats_all = a == b || above[a * num_items + b] > above[b * num_items + a];
    if (beats_all) return static_cast<ItemId>(a);
  }
  return static_cast<ItemId>(num_items);
}

double Tally::borda(ItemId item) const { return static_cast<double>(num_items) * place_weight[item] - place_sum[item]; }

namespace {

// Adds one ranking at a time to a tally.
class Adder {
 public:
  Adder(Tally& sums, Unranked unranked, bool pairs)
      : sums_(sums), n_(sums.num_items), last_(unranked == Unranked::last), pairs_(pairs), seen_(n_) {}

  void add(RankingView ranking, double w) {
    sums_.total += w;
    if (last_) find_unlisted(ranking);
    std::size_t before = 0;  // items in better groups
    ranking.for_each_group([&](std::span<const ItemId> group) {
      const auto size = static_cast<double>(group.size());
      for (ItemId a : group) {
        sums_.listed[a] += w;
        if (before == 0) sums_.first[a] += w / size;
        put_at(a, static_cast<double>(before) + (size + 1.0) / 2.0, w);
      }
      if (pairs_) add_pairs(group, ranking.items().subspan(before + group.size()), w);
      before += group.size();
    });
    if (last_)
      for (ItemId a : unlisted_) put_at(a, static_cast<double>(before + n_ + 1) / 2.0, w);
    if (pairs_) add_second(ranking, w);
  }

 private:
  void put_at(ItemId item, double place, double w) {
    sums_.place_sum[item] += w * place;
    sums_.place_weight[item] += w;
  }

  void find_unlisted(RankingView ranking) {
    std::fill(seen_.begin(), seen_.end(), std::uint8_t{0});
    for (ItemId item : ranking.items()) seen_[item] = 1;
    unlisted_.clear();
    for (std::size_t item = 0; item < n_; ++item)
      if (seen_[item] == 0) unlisted_.push_back(static_cast<ItemId>(item));
  }

  void add_pairs(std::span<const ItemId> group, std::span<const ItemId> below, double w) {
    for (ItemId a : group) {
      for (ItemId b : group)
        if (a != b) sums_.tied[a * n_ + b] += w;
      for (ItemId b : below) sums_.above[a * n_ + b] += w;
      for (ItemId b : unlisted_) sums_.above[a * n_ + b] += w;
    }
  }

  void add_second(RankingView ranking, double w) {
    std::span<const ItemId> groups[2];  // the first two tie-groups
    std::size_t found = 0;
    ranking.for_each_group([&](std::span<const ItemId> group) {
      if (found < 2) groups[found++] = group;
    });
    const std::span<const ItemId> first = groups[0], second = groups[1];
    const double share = w / static_cast<double>(first.size());
    for (ItemId a : first) {
      double* row = sums_.second.data() + a * (n_ + 1);
      if (first.size() > 1) {
        for (ItemId b : first)
          if (a != b) row[b] += share / static_cast<double>(first.size() - 1);
      } else if (second.empty()) {
        row[n_] += share;
      } else {
        for (ItemId b : second) row[b] += share / static_cast<double>(second.size());
      }
    }
  }

  Tally& sums_;
  std::size_t n_;
  bool last_, pairs_;
  std::vector<std::uint8_t> seen_;
  std::vector<ItemId> unlisted_;  // stays empty where unlisted items took no part
};

}  // namespace

Tally tally(const Dataset& data, std::span<const double> weights, bool pairs) {
  const std::size_t n = data.num_items();
  Tally sums;
  sums.num_items = n;
  for (std::vector<double>* list : {&sums.first, &sums.listed, &sums.place_sum, &sums.place_weight}) list->assign(n, 0.0);
  if (pairs) {
    for (std::vector<double>* list : {&sums.above, &sums.tied}) list->assign(n * n, 0.0);
    sums.second.assign(n * (n + 1), 0.0);
  }
  Adder adder(sums, data.unranked, pairs);
  for (std::size_t i = 0; i < data.rankings.size(); ++i)
    if (const double w = weights.empty() ? data.rankings.weight(i) : weights[i]; w > 0.0) adder.add(data.rankings[i], w);
  return sums;
}

std::vector<double> weights_of_label(const Dataset& data, std::span<const std::uint32_t> labels, std::uint32_t label) {
  std::vector<double> weights(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) weights[i] = labels[i] == label ? data.rankings.weight(i) : 0.0;
  return weights;
}

}  // namespace caucus
