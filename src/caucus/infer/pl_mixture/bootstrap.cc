#include "caucus/infer/pl_mixture/bootstrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/random/binomial_distribution.hpp>
#include <cmath>
#include <map>
#include <ranges>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/infer/pl_mixture/gibbs.h"
#include "caucus/infer/pl_mixture/voters.h"
#include "caucus/infer/tasks.h"

namespace caucus::pl_mixture {

namespace {

std::int64_t whole(double weight, RandomStream& random) {
  const double floor = std::floor(weight);
  return static_cast<std::int64_t>(floor) + (random.uniform() < weight - floor ? 1 : 0);
}

}  // namespace

namespace {

// How often each outcome comes up in `draws` draws: a binomial for each, given those before. Its cost does not depend on the draws.
std::vector<double> multinomial(std::int64_t draws, std::span<const double> chances, RandomStream& random) {
  std::vector<double> counts(chances.size(), 0.0);
  double left = sum(chances);
  for (std::size_t i = 0; i < chances.size() && draws > 0; left -= chances[i++]) {
    if (!(chances[i] > 0.0)) continue;
    const double share = std::min(chances[i] / left, 1.0);
    const std::int64_t hits = share < 1.0 ? boost::random::binomial_distribution<std::int64_t>(draws, share)(random) : draws;
    counts[i] = static_cast<double>(hits);
    draws -= hits;
  }
  // What rounding of `left` leaves over.
  for (std::size_t i = chances.size(); i-- > 0 && draws > 0;)
    if (chances[i] > 0.0) counts[i] += static_cast<double>(draws), draws = 0;
  return counts;
}

// Battles: voters who met the same two items draw from the same two or three outcomes, so their counts are drawn at once.
RankingSet draw_pairs(const RankingSet& rankings, const std::vector<PlackettLuce>& models, const Parameters& fitted,
                      RandomStream& random) {
  std::map<std::pair<ItemId, ItemId>, double> met;
  for (std::size_t i = 0; i < rankings.size(); ++i)
    if (const RankingView ranking = rankings[i]; ranking.size() == 2)
      met[std::minmax(ranking[0], ranking[1])] += rankings.weight(i);
  const bool ties = rankings.has_ties() && !fitted.ties.orders.empty();
  RankingSetBuilder builder;
  for (const auto& [pair, weight] : met) {
    const std::array<std::array<ItemId, 2>, 3> outcomes{
        {{pair.first, pair.second}, {pair.second, pair.first}, {pair.first, pair.second}}};
    constexpr std::array<std::array<std::uint8_t, 2>, 3> ends{{{1, 1}, {1, 1}, {0, 1}}};
    std::vector<double> chances(ties ? 3 : 2, 0.0);
    for (std::size_t o = 0; o < chances.size(); ++o)
      for (std::size_t k = 0; k < models.size(); ++k)
        chances[o] += fitted.weights[k] * std::exp(models[k].log_prob(RankingView(outcomes[o], ends[o].data()), Unranked::absent));
    const std::vector<double> counts = multinomial(whole(weight, random), chances, random);
    for (std::size_t o = 0; o < counts.size(); ++o)
      if (counts[o] > 0.0) builder.add(outcomes[o], counts[o], ends[o]);
  }
  return builder.build();
}

}  // namespace

Dataset bootstrap_sample(const Dataset& data, const Parameters& fitted, Bootstrap kind, std::uint64_t seed, std::uint64_t index) {
  if (data.voters.share()) return bootstrap_voters(data, fitted, kind, seed, index);
  RandomStream random(seed, Purpose::bootstrap, index);
  Dataset sample;
  sample.items = data.items;
  sample.unranked = data.unranked;
  sample.source = data.source;
  const RankingSet& rankings = data.rankings;
  if (kind == Bootstrap::nonparametric) {
    const double total = rankings.total_weight();
    sample.rankings =
        rankings.with_weights(multinomial(std::max<std::int64_t>(1, std::llround(total)), rankings.weights(), random));
    return sample;
  }
  std::vector<PlackettLuce> models;
  for (std::size_t k = 0; k < fitted.num_components(); ++k) {
    const auto utilities = fitted.component(k);
    models.emplace_back(std::vector<double>(utilities.begin(), utilities.end()), fitted.ties);
  }
  const bool battles = data.unranked == Unranked::absent && rankings.items().size() <= 2 * rankings.size() &&
                       std::ranges::none_of(std::views::iota(std::size_t{0}, rankings.size()),
                                            [&](std::size_t i) { return rankings.length(i) > 2; });
  if (battles) {
    sample.rankings = draw_pairs(rankings, models, fitted, random);
    return sample;
  }
  // Voter by voter: hours, and more, for weights that are no counts of people.
  if (constexpr double most = 1e7; rankings.total_weight() > most)
    throw DataError(
        fmt::format("{}: a parametric bootstrap would draw {:.3g} rankings each time, more than {:g}; say --bootstrap-kind "
                    "nonparametric, or divide the "
                    "weights",
                    data.source, rankings.total_weight(), most));
  RankingSetBuilder builder;
  std::vector<ItemId> items;
  std::vector<std::uint8_t> ends;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const RankingView ranking = rankings[i];
    for (std::int64_t voter = whole(rankings.weight(i), random); voter > 0; --voter) {
      const std::size_t k = random.categorical(fitted.weights);
      if (data.unranked == Unranked::last) {
        models[k].sample(random, ranking.size(), items, ends);
        if (ranking.size() == 0) items.clear(), ends.clear();
      } else {
        std::vector<double> utilities;
        for (ItemId item : ranking.items()) utilities.push_back(fitted.component(k)[item]);
        if (utilities.empty()) continue;
        PlackettLuce(std::move(utilities), fitted.ties).sample(random, 0, items, ends);
        for (ItemId& item : items) item = ranking[item];
      }
      builder.add(items, 1.0, ends);
    }
  }
  sample.rankings = builder.build();
  return sample;
}

BootstrapResult bootstrap(const Dataset& data, const Parameters& fitted, const std::vector<Pieces>& pieces, const Options& options,
                          double strength, const Run& run, StopReason& stop_reason) {
  const auto samples = static_cast<std::size_t>(options.bootstrap);
  const std::size_t num = fitted.num_components();
  std::vector<Parameters> kept;
  // In batches, so that a stop between them is noticed.
  const std::size_t batch = 8 * static_cast<std::size_t>(run.ranks != nullptr ? run.ranks->size() : 1);
  for (std::size_t first = 0; first < samples; first += batch) {
    const std::size_t count = std::min(batch, samples - first);
    const auto estimate = [&](std::size_t j) {
      const std::size_t b = first + j;
      const Dataset sample = bootstrap_sample(data, fitted, options.bootstrap_kind, run.seed, b);
      // A sample may leave items unbeaten although the data do not: the weak prior then keeps them finite.
      const double own = strength > 0.0 || connectivity(sample).strongly_connected ? strength : 0.1;
      const Objective objective(sample, num, own, 1);
      Parameters result;
      if (objective.tie_orders() != fitted.ties.orders && !objective.tie_orders().empty()) {
        Parameters start = fitted;
        TieStrengths ties;
        for (std::size_t o = 0; o < fitted.ties.orders.size(); ++o) {
          if (std::ranges::find(objective.tie_orders(), fitted.ties.orders[o]) == objective.tie_orders().end()) continue;
          ties.orders.push_back(fitted.ties.orders[o]);
          ties.log_delta.push_back(fitted.ties.log_delta[o]);
        }
        start.ties = std::move(ties);
        result = maximise(objective, std::move(start),
                          {options.iterations, options.tolerance, !options.estimate_weights, "bootstrap"}, Run{})
                     .parameters;
      } else {
        Parameters start = fitted;
        if (objective.tie_orders().empty()) start.ties = {};
        result = maximise(objective, std::move(start),
                          {options.iterations, options.tolerance, !options.estimate_weights, "bootstrap"}, Run{})
                     .parameters;
      }
      result.center_all();
      return result;
    };
    for (auto& one : run_tasks<Parameters>(run.workers(), count, estimate, [](const Parameters&) { return true; }))
      kept.push_back(std::move(*one));
    if (run.report({"bootstrap", static_cast<int>(first + count), options.bootstrap, 0.0}, stop_reason) == Flow::stop) break;
  }
  align_draws(fitted, kept);
  for (Parameters& one : kept) center_on_references(pieces, one);

  BootstrapResult result;
  result.samples = static_cast<int>(kept.size());
  const auto summarise = [&](auto&& value, std::size_t size, std::vector<double>& error, std::vector<double>& low,
                             std::vector<double>& high) {
    for (std::size_t j = 0; j < size; ++j) {
      std::vector<double> values;
      for (const Parameters& estimate : kept) values.push_back(value(estimate, j));
      const double mean = sum(values) / static_cast<double>(values.size());
      double squares = 0.0;
      for (double v : values) squares += (v - mean) * (v - mean);
      error.push_back(values.size() > 1 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) : 0.0);
      low.push_back(quantile(values, 0.025));
      high.push_back(quantile(values, 0.975));
    }
  };
  summarise([](const Parameters& p, std::size_t j) { return p.utilities[j]; }, fitted.utilities.size(), result.utilities,
            result.utilities_low, result.utilities_high);
  summarise([](const Parameters& p, std::size_t k) { return p.weights[k]; }, num, result.weights, result.weights_low,
            result.weights_high);
  return result;
}

}  // namespace caucus::pl_mixture
