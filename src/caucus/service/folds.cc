#include "caucus/service/folds.h"

#include <fmt/format.h>

#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/random.h"

namespace caucus {

namespace {

// ballots_in[part][i]: how much of distinct ranking i falls into this part.
std::vector<std::vector<double>> deal(const RankingSet& rankings, std::span<const double> shares, std::uint64_t seed) {
  std::vector<std::vector<double>> parts(shares.size(), std::vector<double>(rankings.size(), 0.0));
  RandomStream stream(seed, Purpose::fold);
  // Ballots are shuffled and dealt in turn, so parts differ in size by at most one (whole weights).
  struct Unit {
    std::uint32_t ranking;
    double weight;
  };
  std::vector<Unit> units;
  for (std::size_t row = 0; row < rankings.num_rows(); ++row) {
    const auto ranking = static_cast<std::uint32_t>(rankings.row_ranking(row));
    const double weight = rankings.row_weight(row);
    const bool whole = weight == std::floor(weight) && weight <= 1e7;
    if (whole)
      units.insert(units.end(), static_cast<std::size_t>(weight), Unit{ranking, 1.0});
    else
      units.push_back({ranking, weight});
  }
  stream.shuffle(std::span(units));
  double seen = 0.0;
  std::size_t next = 0;
  for (std::size_t part = 0; part < shares.size(); ++part) {
    seen += shares[part];
    const std::size_t end =
        part + 1 == shares.size() ? units.size() : static_cast<std::size_t>(std::lround(seen * static_cast<double>(units.size())));
    for (; next < end; ++next) parts[part][units[next].ranking] += units[next].weight;
  }
  return parts;
}

Dataset with_ballots(const Dataset& data, std::span<const double> weights) {
  RankingSetBuilder builder;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0.0)) continue;
    const auto ends = data.rankings.has_ties()
                          ? data.rankings.group_ends().subspan(data.rankings.offsets()[i], data.rankings.length(i))
                          : std::span<const std::uint8_t>{};
    builder.add(data.rankings[i].items(), weights[i], ends);
  }
  Dataset part;
  part.items = data.items;
  part.unranked = data.unranked;
  part.source = data.source;
  part.rankings = builder.build();
  if (part.rankings.empty()) throw DataError(fmt::format("{}: too few rankings to split", data.source));
  return part;
}

}  // namespace

std::vector<Split> make_folds(const Dataset& data, int folds, std::uint64_t seed) {
  const std::vector<double> shares(static_cast<std::size_t>(folds), 1.0 / folds);
  const auto parts = deal(data.rankings, shares, seed);
  std::vector<Split> splits;
  for (const auto& test : parts) {
    std::vector<double> train(data.rankings.size());
    for (std::size_t i = 0; i < train.size(); ++i) train[i] = std::max(0.0, data.rankings.weight(i) - test[i]);
    splits.push_back({with_ballots(data, train), with_ballots(data, test)});
  }
  return splits;
}

Split make_holdout(const Dataset& data, double share, std::uint64_t seed) {
  const auto parts = deal(data.rankings, std::vector<double>{share, 1.0 - share}, seed);
  return {with_ballots(data, parts[1]), with_ballots(data, parts[0])};
}

}  // namespace caucus
