#include "caucus/report/counted.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/report/parts.h"

namespace caucus::report {

namespace {

constexpr std::size_t most_pair_items = 400;   // whose pairs are counted: n^2 numbers for every group
constexpr std::size_t most_second_items = 60;  // whose second choices are shown
constexpr std::size_t second_budget = 20000;   // numbers of second choices in a report
constexpr std::size_t most_election_items = 200;

Json tally_json(const Tally& tally, std::span<const ItemId> pair_items, bool battles) {
  const std::size_t n = tally.num_items;
  std::vector<double> place(n), rate, fought;
  for (std::size_t i = 0; i < n; ++i) place[i] = tally.mean_place(static_cast<ItemId>(i));
  Json json = {{"num_rankings", rounded(tally.total, 12)},
               {"first", rounded(tally.first, 12)},
               {"listed", rounded(tally.listed, 12)},
               {"mean_place", rounded(place, 6)}};
  if (tally.above.empty()) return json;
  if (battles) {
    for (std::size_t i = 0; i < n; ++i) {
      rate.push_back(tally.win_rate(static_cast<ItemId>(i)));
      fought.push_back(tally.num_pairs(static_cast<ItemId>(i)));
    }
    json["win_rate"] = rounded(rate, 6);
    json["battles"] = rounded(fought, 12);
  }
  Json above = Json::array(), tied = Json::array();
  bool ties = false;
  for (ItemId a : pair_items)
    for (ItemId b : pair_items) {
      above.push_back(rounded(tally.above[a * n + b], 12));
      tied.push_back(rounded(tally.tied[a * n + b], 12));
      ties = ties || tally.tied[a * n + b] > 0.0;
    }
  json["above"] = std::move(above);
  if (ties) json["tied"] = std::move(tied);
  return json;
}

Json second_json(const Tally& tally) {
  Json rows = Json::array();
  const std::size_t width = tally.num_items + 1;
  for (std::size_t a = 0; a < tally.num_items; ++a) rows.push_back(rounded(std::span(tally.second).subspan(a * width, width), 12));
  return rows;
}

Json winners_json(const Winners& found, double total, std::size_t num_items) {
  Json json = {{"num_rankings", rounded(total, 12)},
               {"first_past_the_post", found.first_past_the_post},
               {"borda", found.borda},
               {"condorcet", nullptr},
               {"runoff", found.runoff.elected},
               {"transferable", found.transferable.elected},
               {"quota", rounded(found.transferable.quota, 12)},
               {"lot", found.runoff.lot || found.transferable.lot}};
  if (found.condorcet < num_items) json["condorcet"] = found.condorcet;
  return json;
}

Json stages_json(const Count& count) {
  Json stages = Json::array();
  for (const Stage& stage : count.stages) {
    Json one = {{"what", stage.what == Stage::What::first_preferences ? "first"
                         : stage.what == Stage::What::surplus         ? "surplus"
                                                                      : "exclusion"},
                {"votes", rounded(stage.votes, 12)},
                {"moved", rounded(stage.moved, 12)},
                {"exhausted", rounded(stage.exhausted, 12)},
                {"elected", stage.elected}};
    if (stage.what != Stage::What::first_preferences) one["from"] = stage.from;
    stages.push_back(std::move(one));
  }
  return stages;
}

}  // namespace

Counted count_rankings(const Dataset& data, std::span<const std::uint32_t> labels, std::size_t num_groups) {
  Counted counted;
  const std::size_t n = data.num_items();
  const bool pairs = n <= most_pair_items;
  counted.unranked = data.unranked;
  counted.battles = traits(data).kind == DataKind::pairwise;
  counted.everyone = tally(data, {}, pairs);
  if (!labels.empty())
    for (std::size_t k = 0; k < num_groups; ++k)
      counted.groups.push_back(tally(data, weights_of_label(data, labels, static_cast<std::uint32_t>(k)), pairs));
  std::vector<double> badness(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto item = static_cast<ItemId>(i);
    badness[i] = data.unranked == Unranked::absent && pairs ? -counted.everyone.win_rate(item) : counted.everyone.mean_place(item);
    if (std::isnan(badness[i])) badness[i] = static_cast<double>(n) + 1.0;  // in no ranking: last
  }
  counted.order.resize(n);
  std::iota(counted.order.begin(), counted.order.end(), ItemId{0});
  std::stable_sort(counted.order.begin(), counted.order.end(), [&](ItemId a, ItemId b) { return badness[a] < badness[b]; });
  return counted;
}

Json counted_json(const Counted& counted, std::span<const ItemId> pair_items) {
  Json json = {{"unranked", name_of(counted.unranked)},
               {"battles", counted.battles},
               {"order", counted.order},
               {"everyone", tally_json(counted.everyone, pair_items, counted.battles)},
               {"groups", Json::array()}};
  for (const Tally& group : counted.groups) json["groups"].push_back(tally_json(group, pair_items, counted.battles));
  if (counted.holds_pairs()) json["pair_items"] = std::vector<ItemId>(pair_items.begin(), pair_items.end());
  const std::size_t n = counted.everyone.num_items;
  if (counted.unranked == Unranked::last && counted.holds_pairs() && n > 2 && n <= most_second_items) {
    json["second"] = {{"everyone", second_json(counted.everyone)}};
    if (n * n * counted.groups.size() <= second_budget) {
      json["second"]["groups"] = Json::array();
      for (const Tally& group : counted.groups) json["second"]["groups"].push_back(second_json(group));
    }
  }
  return json;
}

Json election_json(const Dataset& data, std::span<const std::uint32_t> labels, std::size_t num_groups,
                   const ElectionOptions& options) {
  const std::size_t n = data.num_items();
  if (data.unranked != Unranked::last || n < 2 || n > most_election_items || traits(data).kind == DataKind::pairwise)
    return nullptr;
  const Winners everyone = winners(data, options);
  Json json = {{"seats", options.seats},
               {"surplus", name_of(options.surplus)},
               {"everyone", winners_json(everyone, data.rankings.total_weight(), n)},
               {"stages", stages_json(everyone.transferable)},
               {"groups", Json::array()}};
  for (std::size_t k = 0; k < num_groups && !labels.empty(); ++k) {
    const std::vector<double> weights = weights_of_label(data, labels, static_cast<std::uint32_t>(k));
    json["groups"].push_back(
        winners_json(winners(data, options, weights), std::accumulate(weights.begin(), weights.end(), 0.0), n));
  }
  return json;
}

}  // namespace caucus::report
