#include "caucus/infer/dp_mallows/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/infer/family.h"

namespace caucus::dp_mallows {

void Points::add_ranking(std::span<const Item> listed) {
  const std::size_t length = std::min(listed.size(), num_items > 0 ? num_items - 1 : 0);
  items.insert(items.end(), listed.begin(), listed.begin() + static_cast<std::ptrdiff_t>(length));
  offsets.push_back(static_cast<std::uint32_t>(items.size()));
  num_stages = std::max(num_stages, length);
}

void Points::add_voter(std::span<const std::uint32_t> rankings) {
  if (begin.empty()) begin.push_back(0);
  owner.insert(owner.end(), rankings.size(), static_cast<std::uint32_t>(begin.size() - 1));
  ranking.insert(ranking.end(), rankings.begin(), rankings.end());
  begin.push_back(static_cast<std::uint32_t>(ranking.size()));
}

void Points::index_points() {
  by_ranking.resize(ranking.size());
  std::iota(by_ranking.begin(), by_ranking.end(), 0u);
  std::stable_sort(by_ranking.begin(), by_ranking.end(), [&](std::uint32_t a, std::uint32_t b) { return ranking[a] < ranking[b]; });
}

namespace {

void seat_voters(const Dataset& data, Points& points) {
  const Voters& voters = data.voters;
  std::vector<std::uint32_t> cast;
  for (std::size_t v = 0; v < voters.size(); ++v) {
    const double weight = voters.weights[v];
    if (weight != std::floor(weight))
      throw DataError(fmt::format("{}: dpm reads a voter of weight w as w voters, but '{}' has weight {}; round the weights first",
                                  data.source, voters.name(v), weight));
    cast.clear();
    for (std::size_t j = voters.rankings.begin[v]; j < voters.rankings.begin[v + 1]; ++j)
      cast.insert(cast.end(), voters.rankings.count(j), voters.rankings.other[j]);
    if (static_cast<double>(points.ranking.size()) + weight * static_cast<double>(cast.size()) > 1e9)
      throw DataError(fmt::format("{}: dpm takes at most 10^9 rankings", data.source));
    for (double copy = 0.0; copy < weight; copy += 1.0) points.add_voter(cast);
  }
  points.index_points();
}

}  // namespace

Points make_points(const Dataset& data) {
  require_accepted(Accepts{.complete = true, .top_t = true, .voters = true}, data, "dpm");
  if (data.num_items() > static_cast<std::size_t>(std::numeric_limits<std::int16_t>::max()))
    throw DataError(
        fmt::format("{}: dpm takes at most 32767 items, here are {}; keep the items that matter", data.source, data.num_items()));
  Points points;
  points.num_items = data.num_items();
  std::vector<Item> listed;
  for (std::size_t r = 0; r < data.rankings.size(); ++r) {
    const auto items = data.rankings[r].items();
    listed.assign(items.begin(), items.end());
    points.add_ranking(listed);
  }
  if (points.items.size() > std::numeric_limits<std::uint32_t>::max()) throw DataError("dpm: the data are too large");
  if (data.voters.share()) {
    seat_voters(data, points);
    return points;
  }
  for (std::size_t row = 0; row < data.rankings.num_rows(); ++row) {
    const double weight = data.rankings.row_weight(row);
    if (weight != std::floor(weight))
      throw DataError(
          fmt::format("{}: dpm reads a ballot of weight w as w ballots, but row {} has weight {}; round the weights first",
                      data.source, row + 1, weight));
    if (static_cast<double>(points.ranking.size()) + weight > 1e9)
      throw DataError(fmt::format("{}: dpm takes at most 10^9 ballots", data.source));
    points.ranking.insert(points.ranking.end(), static_cast<std::size_t>(weight),
                          static_cast<std::uint32_t>(data.rankings.row_ranking(row)));
  }
  points.index_points();
  return points;
}

}  // namespace caucus::dp_mallows
