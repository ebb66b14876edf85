#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/base/random.h"
#include "caucus/infer/family.h"
#include "caucus/model/generalized_mallows.h"
#include "caucus/model/mallows.h"
#include "caucus/service/report_parts.h"

namespace caucus::report {

namespace {

std::vector<ItemId> by_place(const std::vector<double>& mean_place) {
  std::vector<ItemId> order(mean_place.size());
  std::iota(order.begin(), order.end(), ItemId{0});
  std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return mean_place[a] < mean_place[b]; });
  return order;
}

double logistic(double x) { return x >= 0.0 ? 1.0 / (1.0 + std::exp(-x)) : std::exp(x) / (1.0 + std::exp(x)); }

// Where the chosen items' pairs go once they are known: P(a above b) for all pairs of a group.
using PairTable = std::vector<double>;

// Plackett-Luce (1975): first places are softmax, pairs are logistic; places are sums of pairs.
GroupView plackett_luce(std::vector<double> utilities) {
  GroupView group;
  const std::size_t n = utilities.size();
  const double total = log_sum_exp(utilities);
  for (double u : utilities) group.first.push_back(std::exp(u - total));
  group.mean_place.assign(n, 1.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double above = logistic(utilities[i] - utilities[j]);
      group.mean_place[j] += above;
      group.mean_place[i] += 1.0 - above;
    }
  group.order.resize(n);
  std::iota(group.order.begin(), group.order.end(), ItemId{0});
  std::stable_sort(group.order.begin(), group.order.end(), [&](ItemId a, ItemId b) { return utilities[a] > utilities[b]; });
  group.utilities = std::move(utilities);
  return group;
}

// Kendall's Mallows model: P(a above b) depends on how far apart they stand in the centre alone.
std::vector<double> pairs_by_gap(const Mallows& model) {
  std::vector<double> gaps(model.num_items(), 0.5);
  for (std::size_t gap = 1; gap < gaps.size(); ++gap) gaps[gap] = model.pair_probability(0, gap);
  return gaps;
}

GroupView mallows(const Mallows& model) {
  GroupView group;
  const std::size_t n = model.num_items();
  const std::vector<double> gaps = pairs_by_gap(model);
  group.order.assign(model.centre().begin(), model.centre().end());
  group.first.resize(n);
  group.mean_place.assign(n, 1.0);
  for (std::size_t p = 0; p < n; ++p) {
    group.first[group.order[p]] = model.first_probability(p);
    for (std::size_t q = p + 1; q < n; ++q) {
      group.mean_place[group.order[q]] += gaps[q - p];
      group.mean_place[group.order[p]] += 1.0 - gaps[q - p];
    }
  }
  return group;
}

// Places, first places and pairs of drawn rankings; unlisted items share the places below.
struct Tally {
  std::vector<double> first, place, pairs;
  double weight = 0.0;

  Tally(std::size_t num_items, std::size_t num_pair_items)
      : first(num_items, 0.0), place(num_items, 0.0), pairs(num_pair_items * num_pair_items, 0.0) {}
  void add(std::span<const ItemId> ranking, double w, const std::vector<ItemId>& pair_items, std::vector<double>& position) {
    const double below = static_cast<double>(ranking.size() + first.size() + 1) / 2.0;
    std::fill(position.begin(), position.end(), below);
    for (std::size_t p = 0; p < ranking.size(); ++p) position[ranking[p]] = static_cast<double>(p + 1);
    if (!ranking.empty()) first[ranking[0]] += w;
    for (std::size_t i = 0; i < first.size(); ++i) place[i] += w * position[i];
    for (std::size_t a = 0; a < pair_items.size(); ++a)
      for (std::size_t b = 0; b < pair_items.size(); ++b) {
        const double d = position[pair_items[b]] - position[pair_items[a]];
        pairs[a * pair_items.size() + b] += w * (d > 0.0 ? 1.0 : d < 0.0 ? 0.0 : 0.5);
      }
    weight += w;
  }
  void fill(GroupView& group, bool with_first) const {
    const double scale = weight > 0.0 ? 1.0 / weight : 0.0;
    if (with_first) group.first = first;
    group.mean_place = place;
    group.pairs = pairs;
    if (with_first)
      for (double& value : group.first) value *= scale;
    for (double& value : group.mean_place) value *= scale;
    for (double& value : group.pairs) value *= scale;
  }
};

std::vector<double> stage_thetas(const Json& theta, std::size_t num_items) {
  std::vector<double> values;
  for (const Json& value : theta)
    if (value.is_number()) values.push_back(std::clamp(value.get<double>(), 0.0, 50.0));
  values.resize(num_items > 0 ? num_items - 1 : 0, 0.0);  // stages that no ballot reached are free
  return values;
}

}  // namespace

ModelView view_model(const Json& model, const FittedModel* fitted, std::uint64_t seed, int threads, std::size_t pair_budget) {
  ModelView view;
  view.items = model.at("items").get<std::vector<std::string>>();
  const std::size_t n = view.items.size();
  const Json none = Json::array();
  const Json& components = model.contains("components") && model["components"].is_array() ? model["components"] : none;
  const std::size_t k_all = std::max<std::size_t>(components.size(), 1);

  double total = 0.0;
  for (std::size_t k = 0; k < k_all; ++k) {
    GroupView group;
    const Json component = k < components.size() ? components[k] : Json::object();
    group.weight = std::max(0.0, number_at(component, {"weight"}).value_or(1.0 / static_cast<double>(k_all)));
    total += group.weight;
    view.groups.push_back(std::move(group));
  }
  for (GroupView& group : view.groups) group.weight = total > 0.0 ? group.weight / total : 1.0 / static_cast<double>(k_all);

  // Closed forms first. What is left is simulated: from the group's own model where the file gives one, else from the whole model.
  enum class How { closed, generalized, whole };
  std::vector<How> how(k_all, How::whole);
  const bool kendall = !model.contains("distance") || model["distance"] == "kendall";
  parallel_for(components.size(), threads, [&](std::size_t k) {
    const Json& component = components[k];
    GroupView& group = view.groups[k];
    const double weight = group.weight;
    if (const std::vector<double> utilities = numbers_at(component, {"utilities"}, n); !utilities.empty()) {
      group = plackett_luce(utilities);
      how[k] = How::closed;
    } else if (component.contains("consensus")) {
      const auto centre = component["consensus"].get<std::vector<ItemId>>();
      const auto theta = component.find("theta");
      if (theta != component.end() && theta->is_number() && kendall) {
        group = mallows(Mallows(centre, std::clamp(theta->get<double>(), 0.0, 50.0)));
        how[k] = How::closed;
      } else {
        group.order.assign(centre.begin(), centre.end());
        if (theta != component.end() && theta->is_array()) how[k] = How::generalized;
      }
    }
    group.weight = weight;
  });

  const bool mixture = !model.contains("weights_prior");  // m4 blends orders: its voters are not a weighted mean of groups
  const auto settle_everyone = [&] {
    view.everyone.first.assign(n, 0.0);
    view.everyone.mean_place.assign(n, 0.0);
    for (const GroupView& group : view.groups)
      for (std::size_t i = 0; i < n; ++i) {
        if (!group.first.empty()) view.everyone.first[i] += group.weight * group.first[i];
        view.everyone.mean_place[i] += group.weight * group.mean_place[i];
      }
  };

  // The items whose pairs are kept must be known before simulating: the best placed by a first look at the orders.
  std::vector<double> rough(n, 0.0);
  for (const GroupView& group : view.groups)
    for (std::size_t p = 0; p < group.order.size(); ++p) rough[group.order[p]] += group.weight * static_cast<double>(p);
  for (const GroupView& group : view.groups)
    if (!group.mean_place.empty())
      for (std::size_t i = 0; i < n; ++i) rough[i] += 1e-9 * group.weight * group.mean_place[i];
  std::vector<ItemId> chosen = by_place(rough);
  const auto limit = static_cast<std::size_t>(std::sqrt(static_cast<double>(pair_budget) / static_cast<double>(k_all + 1)));
  chosen.resize(std::min({n, limit, std::size_t{40}}));

  const bool need_whole = fitted != nullptr && (!mixture || std::find(how.begin(), how.end(), How::whole) != how.end());
  const std::size_t draws =
      std::clamp<std::size_t>(std::size_t{20000000} / (n * k_all + chosen.size() * chosen.size() * k_all + 1), 500, 4000);
  parallel_for(k_all, threads, [&](std::size_t k) {
    GroupView& group = view.groups[k];
    if (how[k] != How::generalized) return;
    const Json& component = components[k];
    const Code code = component.value("code", std::string("s")) == "v" ? Code::v : Code::s;
    const std::vector<double> theta = stage_thetas(component["theta"], n);
    const GeneralizedMallows exact(group.order, theta, code);
    group.first.resize(n);
    for (std::size_t p = 0; p < n; ++p) group.first[group.order[p]] = exact.first_probability(p);
    const GeneralizedMallowsSampler sampler(group.order, theta, code);
    RandomStream stream(seed, Purpose::sample, 1000 + k);
    std::vector<ItemId> ranking(n);
    std::vector<double> position(n);
    Tally tally(n, chosen.size());
    for (std::size_t d = 0; d < draws; ++d) {
      sampler.draw(stream, ranking);
      tally.add(ranking, 1.0, chosen, position);
    }
    tally.fill(group, false);
  });
  std::optional<Tally> whole;
  if (need_whole) {
    SampleRequest request;
    request.count = std::min<std::size_t>(20000, 8 * draws);
    request.seed = seed;
    request.threads = threads;
    const Sample sample = fitted->sample(request);
    std::vector<Tally> tallies(k_all, Tally(n, chosen.size()));
    whole.emplace(n, chosen.size());
    std::vector<double> position(n);
    for (std::size_t row = 0; row < sample.data.rankings.num_rows(); ++row) {
      const auto ranking = sample.data.rankings[sample.data.rankings.row_ranking(row)].items();
      whole->add(ranking, 1.0, chosen, position);
      const std::size_t label = row < sample.labels.size() ? static_cast<std::size_t>(sample.labels[row]) : 0;
      if (label < k_all && how[label] == How::whole) tallies[label].add(ranking, 1.0, chosen, position);
    }
    for (std::size_t k = 0; k < k_all; ++k)
      if (how[k] == How::whole) (k_all == 1 ? *whole : tallies[k]).fill(view.groups[k], true);
    view.num_draws = request.count;
  }
  for (std::size_t k = 0; k < k_all; ++k) {
    GroupView& group = view.groups[k];
    if (how[k] != How::closed) view.simulated = true;
    if (how[k] == How::generalized) view.num_draws = std::max(view.num_draws, draws);
    if (group.mean_place.empty() && !group.order.empty()) {  // an order and nothing else
      group.mean_place.resize(n);
      for (std::size_t p = 0; p < n; ++p) group.mean_place[group.order[p]] = static_cast<double>(p + 1);
    }
    if (group.mean_place.empty()) group.mean_place.assign(n, static_cast<double>(n + 1) / 2.0);
    if (group.order.empty()) group.order = by_place(group.mean_place);
  }
  settle_everyone();
  if (!mixture && whole) whole->fill(view.everyone, true);
  view.everyone.order = by_place(view.everyone.mean_place);

  // Pairs in closed form, and all in the order of all voters together.
  std::vector<ItemId> final_items = view.everyone.order;
  final_items.resize(chosen.size());
  const bool same_items = std::is_permutation(final_items.begin(), final_items.end(), chosen.begin());
  if (!same_items) {
    final_items.clear();  // simulated pairs exist for `chosen` alone
    for (ItemId item : view.everyone.order)
      if (std::find(chosen.begin(), chosen.end(), item) != chosen.end()) final_items.push_back(item);
  }
  const std::size_t m = final_items.size();
  std::vector<std::size_t> old_row(n, 0);
  for (std::size_t r = 0; r < m; ++r) old_row[chosen[r]] = r;
  const auto reorder = [&](std::vector<double>& pairs) {
    std::vector<double> moved(m * m);
    for (std::size_t a = 0; a < m; ++a)
      for (std::size_t b = 0; b < m; ++b) moved[a * m + b] = pairs[old_row[final_items[a]] * m + old_row[final_items[b]]];
    pairs = std::move(moved);
  };
  bool all_pairs = true;
  for (std::size_t k = 0; k < k_all; ++k) {
    GroupView& group = view.groups[k];
    if (how[k] == How::closed) {
      group.pairs.resize(m * m);
      std::vector<double> gaps;
      std::vector<std::size_t> place(n);
      if (group.utilities.empty())
        gaps = pairs_by_gap(Mallows(group.order, std::clamp(components[k]["theta"].get<double>(), 0.0, 50.0)));
      for (std::size_t p = 0; p < n; ++p) place[group.order[p]] = p;
      for (std::size_t a = 0; a < m; ++a)
        for (std::size_t b = 0; b < m; ++b) {
          const ItemId i = final_items[a], j = final_items[b];
          double p = 0.5;
          if (i != j)
            p = !group.utilities.empty() ? logistic(group.utilities[i] - group.utilities[j])
                : place[i] < place[j]    ? gaps[place[j] - place[i]]
                                         : 1.0 - gaps[place[i] - place[j]];
          group.pairs[a * m + b] = p;
        }
    } else if (group.pairs.size() == m * m) {
      reorder(group.pairs);
    } else {
      all_pairs = false;
    }
  }
  if (all_pairs) {
    if (!mixture && whole) {
      reorder(view.everyone.pairs);
    } else {
      view.everyone.pairs.assign(m * m, 0.0);
      for (const GroupView& group : view.groups)
        for (std::size_t c = 0; c < m * m; ++c) view.everyone.pairs[c] += group.weight * group.pairs[c];
    }
    view.pair_items = final_items;
  }
  return view;
}

}  // namespace caucus::report
