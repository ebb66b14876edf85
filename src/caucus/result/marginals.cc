#include "caucus/result/marginals.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/model/generalized_mallows.h"
#include "caucus/result/fitted_model.h"

namespace caucus {

namespace {

double logistic(double x) { return x >= 0.0 ? 1.0 / (1.0 + std::exp(-x)) : std::exp(x) / (1.0 + std::exp(x)); }

std::vector<ItemId> by_place(std::vector<double> mean_place) {
  for (double& place : mean_place) place = -place;
  return order_by(mean_place);
}

// Mean places are one plus the chances of all others to stand above. O(n^2).
std::vector<double> places_from_pairs(std::size_t num_items, const std::function<double(ItemId, ItemId)>& above) {
  std::vector<double> place(num_items, 1.0);
  for (ItemId i = 0; i < num_items; ++i)
    for (ItemId j = 0; j < i; ++j) {
      const double p = above(i, j);
      place[j] += p;
      place[i] += 1.0 - p;
    }
  return place;
}

// First places, places and pairs of drawn rankings; unlisted items share the places below.
class Tally {
 public:
  Tally(std::size_t num_items, const std::vector<ItemId>& pair_items)
      : pair_items_(&pair_items),
        first_(num_items, 0.0),
        place_(num_items, 0.0),
        pairs_(pair_items.size() * pair_items.size(), 0.0),
        position_(num_items) {}

  void add(std::span<const ItemId> ranking) {
    const double below = static_cast<double>(ranking.size() + first_.size() + 1) / 2.0;
    std::fill(position_.begin(), position_.end(), below);
    for (std::size_t p = 0; p < ranking.size(); ++p) position_[ranking[p]] = static_cast<double>(p + 1);
    if (!ranking.empty()) first_[ranking[0]] += 1.0;
    for (std::size_t i = 0; i < first_.size(); ++i) place_[i] += position_[i];
    const std::vector<ItemId>& items = *pair_items_;
    for (std::size_t a = 0; a < items.size(); ++a)
      for (std::size_t b = 0; b < items.size(); ++b) {
        const double d = position_[items[b]] - position_[items[a]];
        pairs_[a * items.size() + b] += d > 0.0 ? 1.0 : d < 0.0 ? 0.0 : 0.5;
      }
    count_ += 1.0;
  }

  // Nothing drawn, nothing said: the group keeps what it has.
  void fill(GroupMarginals& group) const {
    if (!(count_ > 0.0)) return;
    const auto share = [&](std::vector<double> counts) {
      for (double& value : counts) value *= 1.0 / count_;
      return counts;
    };
    if (group.first.empty()) group.first = share(first_);
    group.mean_place = share(place_);
    group.pairs = share(pairs_);
  }

 private:
  const std::vector<ItemId>* pair_items_;
  std::vector<double> first_, place_, pairs_, position_;
  double count_ = 0.0;
};

// Which items' pairs to tell must be known before drawing: the best placed by a first look at the groups' orders.
std::vector<ItemId> choose_pair_items(const std::vector<Group>& groups, const std::vector<GroupLaw>& laws, std::size_t num_items,
                                      const MarginalsRequest& request) {
  std::vector<double> rough(num_items, 0.0);
  for (const Group& group : groups)
    for (std::size_t p = 0; p < group.order.size(); ++p) rough[group.order[p]] += group.weight * static_cast<double>(p);
  for (std::size_t k = 0; k < groups.size(); ++k)
    for (std::size_t i = 0; i < laws[k].mean_place.size(); ++i) rough[i] += 1e-9 * groups[k].weight * laws[k].mean_place[i];
  std::vector<ItemId> chosen = by_place(rough);
  const double budget = static_cast<double>(request.max_pair_numbers) / static_cast<double>(groups.size() + 1);
  chosen.resize(std::min({num_items, static_cast<std::size_t>(std::sqrt(budget)), request.max_pair_items}));
  return chosen;
}

std::vector<double> pairs_by_formula(const GroupLaw& law, const std::vector<ItemId>& items) {
  std::vector<double> pairs;
  for (const ItemId a : items)
    for (const ItemId b : items) pairs.push_back(a == b ? 0.5 : law.above(a, b));
  return pairs;
}

// Rows and columns of all pair tables in the order of `to` instead of `from`.
void reorder_pairs(std::vector<double>& pairs, const std::vector<ItemId>& from, const std::vector<ItemId>& to) {
  const std::size_t m = to.size();
  std::vector<std::size_t> row(m);
  for (std::size_t a = 0; a < m; ++a) row[a] = static_cast<std::size_t>(std::ranges::find(from, to[a]) - from.begin());
  std::vector<double> moved(m * m);
  for (std::size_t a = 0; a < m; ++a)
    for (std::size_t b = 0; b < m; ++b) moved[a * m + b] = pairs[row[a] * m + row[b]];
  pairs = std::move(moved);
}

// A group without draws or formulas: places by its order, or all in the middle.
void fill_without_draws(GroupMarginals& group, std::size_t num_items, const std::vector<ItemId>& pair_items) {
  group.first.assign(num_items, 1.0 / static_cast<double>(num_items));
  group.mean_place.assign(num_items, static_cast<double>(num_items + 1) / 2.0);
  for (std::size_t p = 0; p < group.order.size(); ++p) group.mean_place[group.order[p]] = static_cast<double>(p + 1);
  group.pairs.assign(pair_items.size() * pair_items.size(), 0.5);
}

GroupMarginals weighted_mean(const std::vector<Group>& groups, const std::vector<GroupMarginals>& parts) {
  GroupMarginals mean;
  double total = 0.0;
  for (const Group& group : groups) total += group.weight;
  const auto add = [](std::vector<double>& sum, const std::vector<double>& part, double share) {
    sum.resize(part.size(), 0.0);
    for (std::size_t i = 0; i < part.size(); ++i) sum[i] += share * part[i];
  };
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const double share = total > 0.0 ? groups[k].weight / total : 1.0 / static_cast<double>(parts.size());
    add(mean.first, parts[k].first, share);
    add(mean.mean_place, parts[k].mean_place, share);
    add(mean.pairs, parts[k].pairs, share);
  }
  return mean;
}

}  // namespace

GroupLaw plackett_luce_law(std::vector<double> utilities) {
  GroupLaw law;
  const double total = log_sum_exp(utilities);
  for (const double u : utilities) law.first.push_back(std::exp(u - total));
  const std::size_t n = utilities.size();
  law.above = [u = std::move(utilities)](ItemId a, ItemId b) { return logistic(u[a] - u[b]); };
  law.mean_place = places_from_pairs(n, law.above);
  return law;
}

GroupLaw mallows_law(const Mallows& model) {
  const std::size_t n = model.num_items();
  GroupLaw law;
  std::vector<double> by_gap(n, 0.5);
  for (std::size_t gap = 1; gap < n; ++gap) by_gap[gap] = model.pair_probability(0, gap);
  law.above = [by_gap, place = model.position()](ItemId a, ItemId b) {
    return place[a] < place[b] ? by_gap[place[b] - place[a]] : 1.0 - by_gap[place[a] - place[b]];
  };
  law.first.resize(n);
  for (std::size_t p = 0; p < n; ++p) law.first[model.center()[p]] = model.first_probability(p);
  law.mean_place.assign(n, 1.0);
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t q = p + 1; q < n; ++q) {
      law.mean_place[model.center()[q]] += by_gap[q - p];
      law.mean_place[model.center()[p]] += 1.0 - by_gap[q - p];
    }
  return law;
}

GroupLaw generalized_mallows_law(std::vector<ItemId> center, std::vector<double> theta, Code code) {
  const std::size_t n = center.size();
  theta.resize(n > 0 ? n - 1 : 0, 0.0);
  GroupLaw law;
  const GeneralizedMallows model(center, theta, code);
  law.first.resize(n);
  for (std::size_t p = 0; p < n; ++p) law.first[center[p]] = model.first_probability(p);
  const auto sampler = std::make_shared<GeneralizedMallowsSampler>(std::move(center), theta, code);
  law.draw = [sampler](RandomStream& stream, std::span<ItemId> out) { sampler->draw(stream, out); };
  return law;
}

Marginals compute_marginals(const FittedModel& model, const MarginalsRequest& request) {
  const std::vector<Group> groups = model.profile();
  const std::size_t n = model.items().size(), num = groups.size();
  Marginals result;
  result.groups.resize(num);
  std::vector<GroupLaw> laws(num);
  parallel_for(num, request.threads, [&](std::size_t k) { laws[k] = model.law(k); });
  const std::vector<ItemId> chosen = choose_pair_items(groups, laws, n, request);
  // Enough draws for a percent or two, fewer where they are dear.
  const std::size_t draws =
      std::clamp<std::size_t>(std::size_t{20000000} / (n * num + chosen.size() * chosen.size() * num + 1), 500, 4000);
  parallel_for(num, request.threads, [&](std::size_t k) {
    GroupMarginals& group = result.groups[k];
    group.order = groups[k].order;
    group.first = laws[k].first;
    if (laws[k].closed()) {
      group.mean_place = laws[k].mean_place;
      group.pairs = pairs_by_formula(laws[k], chosen);
    } else if (laws[k].draw) {
      RandomStream stream(request.seed, Purpose::sample, 1000 + k);
      std::vector<ItemId> ranking(n);
      Tally tally(n, chosen);
      for (std::size_t d = 0; d < draws; ++d) {
        laws[k].draw(stream, ranking);
        tally.add(ranking);
      }
      tally.fill(group);
    }
  });
  const auto open = [&](std::size_t k) { return !laws[k].closed() && !laws[k].draw; };
  bool any_open = false;
  for (std::size_t k = 0; k < num; ++k) {
    any_open = any_open || open(k);
    if (!laws[k].closed()) result.num_draws = draws;
  }
  std::optional<Tally> whole;
  if (any_open || model.blends_groups()) {
    SampleRequest sampling;
    sampling.count = result.num_draws = std::min<std::size_t>(20000, 8 * draws);
    sampling.seed = request.seed;
    sampling.threads = request.threads;
    const Sample sample = model.sample(sampling);
    whole.emplace(n, chosen);
    std::vector<Tally> tallies(num, Tally(n, chosen));
    for (std::size_t row = 0; row < sample.data.rankings.num_rows(); ++row) {
      const auto ranking = sample.data.rankings[sample.data.rankings.row_ranking(row)].items();
      whole->add(ranking);
      const auto label = static_cast<std::size_t>(sample.labels[row]);
      if (open(label)) tallies[label].add(ranking);
    }
    for (std::size_t k = 0; k < num; ++k)
      if (open(k)) tallies[k].fill(result.groups[k]);
  }
  for (GroupMarginals& group : result.groups) {
    if (group.mean_place.empty()) fill_without_draws(group, n, chosen);
    if (group.order.empty()) group.order = by_place(group.mean_place);
  }
  if (model.blends_groups())
    whole->fill(result.everyone);
  else
    result.everyone = weighted_mean(groups, result.groups);
  result.everyone.order = by_place(result.everyone.mean_place);
  for (const ItemId item : result.everyone.order)
    if (std::ranges::find(chosen, item) != chosen.end()) result.pair_items.push_back(item);
  reorder_pairs(result.everyone.pairs, chosen, result.pair_items);
  for (GroupMarginals& group : result.groups) reorder_pairs(group.pairs, chosen, result.pair_items);
  return result;
}

}  // namespace caucus
