// A leaderboard: strengths on the scale of Elo (1978) with the ranks that the errors leave open.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "caucus/report/parts.h"

namespace caucus::report {

Json leaderboard_json(std::span<const Strengths> groups) {
  const double points = 400.0 / std::numbers::ln10;  // 400 points are odds of ten to one
  Json json = {{"groups", Json::array()}};
  for (const Strengths& group : groups) {
    std::vector<ItemId> order;
    double mean = 0.0;
    for (std::size_t i = 0; i < group.utilities.size(); ++i)
      if (std::find(group.unbounded.begin(), group.unbounded.end(), i) == group.unbounded.end()) {
        order.push_back(static_cast<ItemId>(i));
        mean += group.utilities[i];
      }
    if (!order.empty()) mean /= static_cast<double>(order.size());
    std::stable_sort(order.begin(), order.end(), [&](ItemId a, ItemId b) { return group.utilities[a] > group.utilities[b]; });
    // Half an interval is z standard errors; a difference is clear where it exceeds z errors of the difference.
    const auto half = [&](ItemId item) { return (group.intervals[item]->second - group.intervals[item]->first) / 2.0; };
    const bool errors = !group.intervals.empty();
    const auto clearly_above = [&](ItemId a, ItemId b) {
      return group.intervals[a] && group.intervals[b] && group.utilities[a] - group.utilities[b] > std::hypot(half(a), half(b));
    };
    Json rows = Json::array();
    for (ItemId item : order) {
      Json row = {{"item", item}, {"elo", rounded(1000.0 + points * (group.utilities[item] - mean))}};
      if (errors && group.intervals[item]) {
        row["low"] = rounded(1000.0 + points * (group.intervals[item]->first - mean));
        row["high"] = rounded(1000.0 + points * (group.intervals[item]->second - mean));
        const auto count = [&](auto&& holds) { return std::count_if(order.begin(), order.end(), holds); };
        row["rank_low"] = 1 + count([&](ItemId other) { return clearly_above(other, item); });
        row["rank_high"] =
            static_cast<std::ptrdiff_t>(order.size()) - count([&](ItemId other) { return clearly_above(item, other); });
      }
      rows.push_back(std::move(row));
    }
    json["groups"].push_back(std::move(rows));
  }
  return json;
}

}  // namespace caucus::report
