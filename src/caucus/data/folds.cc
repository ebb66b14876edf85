#include "caucus/data/folds.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/data/weights.h"

namespace caucus {

namespace {

// What is dealt: ballots, or voters with all their rankings.
bool deals_voters(const Dataset& data) { return data.voters.given(); }
std::span<const double> dealt_weights(const Dataset& data) {
  return deals_voters(data) ? std::span<const double>(data.voters.weights) : data.rankings.weights();
}

// [part][i]: how much of distinct ranking i, or of voter i, falls into this part. Ballots are dealt, so parts differ in size by at
// most one (whole weights).
std::vector<std::vector<double>> deal_ballots(const Dataset& data, std::span<const double> shares, std::uint64_t seed) {
  const RankingSet& rankings = data.rankings;
  struct Unit {
    std::uint32_t ranking;
    double weight;
  };
  std::vector<Unit> units;
  const std::size_t num_rows = deals_voters(data) ? data.voters.size() : rankings.num_rows();
  for (std::size_t row = 0; row < num_rows; ++row) {
    const auto ranking = static_cast<std::uint32_t>(deals_voters(data) ? row : rankings.row_ranking(row));
    const double weight = deals_voters(data) ? data.voters.weights[row] : rankings.row_weight(row);
    const bool whole = weight == std::floor(weight) && weight <= 1e7;
    if (whole)
      units.insert(units.end(), static_cast<std::size_t>(weight), Unit{ranking, 1.0});
    else
      units.push_back({ranking, weight});
  }
  std::vector<std::vector<double>> parts(shares.size(), std::vector<double>(dealt_weights(data).size(), 0.0));
  const auto dealt = deal(units.size(), shares, seed);
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (const std::size_t unit : dealt[part]) parts[part][units[unit].ranking] += units[unit].weight;
  return parts;
}

Dataset with_ballots(const Dataset& data, std::span<const double> weights) {
  if (deals_voters(data)) {
    Dataset part = with_voter_weights(data, weights);
    if (part.rankings.empty()) throw DataError(fmt::format("{}: too few voters to split", data.source));
    return part;
  }
  RankingSetBuilder builder;
  // Weights that are no counts are worth so many ballots, which a part must show: a row for each, as in the file (data/weights.h).
  const double one = one_ballot(data.rankings);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double rows = one == 1.0 || weights[i] == 0.0 ? 1.0 : std::max(1.0, std::round(weights[i] / one));
    for (double row = 0.0; row < rows && weights[i] > 0.0; ++row) builder.add(data.rankings[i], weights[i] / rows);
  }
  Dataset part = data.with(builder.build());
  if (part.rankings.empty()) throw DataError(fmt::format("{}: too few rankings to split", data.source));
  return part;
}

// Of each distinct ranking or voter: its weight, 0 where it holds a tie of a size that `known` does not have.
std::vector<double> weights_of_known(const RankingSet& known, const Dataset& data) {
  std::vector<char> occurs(data.num_items() + 1, 0);
  for (std::size_t i = 0; i < known.size(); ++i)
    known[i].for_each_group([&](std::span<const ItemId> group) { occurs[group.size()] = 1; });
  occurs[1] = 1;
  const std::span<const double> all = dealt_weights(data);
  std::vector<double> weights(all.begin(), all.end());
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    bool all_known = true;
    data.rankings[i].for_each_group([&](std::span<const ItemId> group) { all_known = all_known && occurs[group.size()] == 1; });
    if (all_known) continue;
    const Incidence& casters = data.voters.casters;
    if (!deals_voters(data))
      weights[i] = 0.0;
    else
      for (std::uint32_t at = casters.begin[i]; at < casters.begin[i + 1]; ++at) weights[casters.other[at]] = 0.0;
  }
  return weights;
}

Split make_split(const Dataset& data, std::span<const double> train, std::span<const double> test) {
  Split split{with_ballots(data, train), with_ballots(data, test)};
  if (!split.test.rankings.has_ties()) return split;
  const std::vector<double> scored = weights_of_known(split.train.rankings, split.test);
  const std::span<const double> all = dealt_weights(split.test);
  for (std::size_t i = 0; i < all.size(); ++i) split.unscored += all[i] - scored[i];
  if (split.unscored > 0.0) split.test = with_ballots(split.test, scored);
  return split;
}

}  // namespace

Dataset with_ties_of(const Dataset& known, const Dataset& data) {
  return data.rankings.has_ties() ? with_ballots(data, weights_of_known(known.rankings, data)) : data;
}

std::string unscored_note(std::span<const Split> splits) {
  double unscored = 0.0;
  for (const Split& split : splits) unscored += split.unscored;
  if (!(unscored > 0.0)) return {};
  return fmt::format("Not scored: {:.6g} {}{} with a tie of a size that does not occur in the part that the fit saw.", unscored,
                     deals_voters(splits.front().train) ? "voter" : "ballot", unscored == 1.0 ? "" : "s");
}

std::vector<std::vector<std::size_t>> deal(std::size_t size, std::span<const double> shares, std::uint64_t seed) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  RandomStream(seed, Purpose::fold).shuffle(std::span(order));
  std::vector<std::vector<std::size_t>> parts(shares.size());
  double seen = 0.0;
  auto next = order.begin();
  for (std::size_t part = 0; part < shares.size(); ++part) {
    seen += shares[part];
    const auto end = part + 1 == shares.size() ? order.end() : order.begin() + std::lround(seen * static_cast<double>(size));
    parts[part].assign(next, end);
    next = end;
  }
  return parts;
}

std::vector<std::vector<std::size_t>> deal_folds(std::size_t size, int folds, std::uint64_t seed) {
  return deal(size, std::vector<double>(static_cast<std::size_t>(folds), 1.0 / folds), seed);
}

std::vector<Split> make_folds(const Dataset& data, int folds, std::uint64_t seed) {
  const std::vector<double> shares(static_cast<std::size_t>(folds), 1.0 / folds);
  const auto parts = deal_ballots(data, shares, seed);
  std::vector<Split> splits;
  for (const auto& test : parts) {
    const std::span<const double> weights = dealt_weights(data);
    std::vector<double> train(weights.size());
    for (std::size_t i = 0; i < train.size(); ++i) train[i] = std::max(0.0, weights[i] - test[i]);
    splits.push_back(make_split(data, train, test));
  }
  return splits;
}

Split make_holdout(const Dataset& data, double share, std::uint64_t seed) {
  const auto parts = deal_ballots(data, std::vector<double>{share, 1.0 - share}, seed);
  return make_split(data, parts[1], parts[0]);
}

}  // namespace caucus
