#include "caucus/infer/pl_mixture/bootstrap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/random/binomial_distribution.hpp>
#include <cmath>
#include <map>
#include <optional>
#include <ranges>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/data/weights.h"
#include "caucus/infer/pl_mixture/battles.h"
#include "caucus/infer/pl_mixture/gibbs.h"
#include "caucus/infer/silent_observer.h"
#include "caucus/infer/stopping.h"
#include "caucus/infer/tasks.h"

namespace caucus::pl_mixture {

namespace {

// The estimates of one sample, groups matched to the fit's.
struct BootstrapEstimate {
  Parameters parameters;
  std::vector<double> membership, coefficients, exponents;  // as in BootstrapResult
};
auto parts(IsA<BootstrapEstimate> auto& one) { return std::tie(one.parameters, one.membership, one.coefficients, one.exponents); }
using Refit = std::function<BootstrapEstimate(const BootstrapSample&, const Run&)>;

std::int64_t whole(double weight, RandomStream& random) {
  const double floor = std::floor(weight);
  return static_cast<std::int64_t>(floor) + (random.uniform() < weight - floor ? 1 : 0);
}

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
RankingSet draw_pairs(const RankingSet& rankings, const Simulator& simulator, double one, RandomStream& random) {
  const std::vector<PlackettLuce>& models = simulator.models();
  const Parameters& fitted = simulator.parameters();
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
    const std::vector<double> counts = multinomial(whole(weight / one, random), chances, random);
    for (std::size_t o = 0; o < counts.size(); ++o)
      if (counts[o] > 0.0) builder.add(outcomes[o], counts[o] * one, ends[o]);
  }
  return builder.build();
}

// Voters drawn with replacement, or new rankings of the same shapes from a group for each voter.
BootstrapSample sample_voters(const BootstrapSource& source, Bootstrap kind, RandomStream& random, const Run& run) {
  const Dataset& data = source.data;
  const Voters& voters = data.voters;
  BootstrapSample sample;
  if (kind == Bootstrap::nonparametric) {
    const std::vector<double> counts =
        multinomial(std::max<std::int64_t>(1, std::llround(voters.total_weight())), voters.weights, random);
    for (std::size_t v = 0; v < voters.size(); ++v)
      if (counts[v] > 0.0) sample.origin.push_back(v);
    sample.data = with_voter_weights(data, counts);
    return sample;
  }
  sample.data = data.with({});
  const std::size_t num = source.simulator.parameters().num_components();
  RankingSetBuilder builder;
  std::vector<std::uint32_t> of_row;
  std::vector<ItemId> items;
  std::vector<std::uint8_t> ends;
  for (std::size_t v = 0; v < voters.size(); ++v) {
    if (v % 256 == 0 && should_stop(run)) break;
    const std::span<const double> chances = source.voter_weights.empty()
                                                ? std::span<const double>(source.simulator.parameters().weights)
                                                : std::span(source.voter_weights).subspan(v * num, num);
    for (std::int64_t left = whole(voters.weights[v], random); left > 0; --left) {
      const std::size_t k = random.categorical(chances);
      for (std::size_t j = voters.rankings.begin[v]; j < voters.rankings.begin[v + 1]; ++j)
        for (std::uint32_t time = 0; time < voters.rankings.count(j); ++time) {
          source.simulator.draw(random, k, data.rankings[voters.rankings.other[j]], data.unranked, items, ends);
          builder.append(items, 1.0, ends);
          of_row.push_back(static_cast<std::uint32_t>(sample.origin.size()));
        }
      sample.origin.push_back(v);
    }
  }
  sample.data.rankings = builder.build();
  set_voters(sample.data, std::move(of_row), {}, std::vector<double>(sample.origin.size(), 1.0));
  return sample;
}

}  // namespace

BootstrapSample bootstrap_sample(const BootstrapSource& source, Bootstrap kind, std::uint64_t seed, std::uint64_t index,
                                 const Run& run) {
  RandomStream random(seed, Purpose::bootstrap, index);
  const Dataset& data = source.data;
  const RankingSet& rankings = data.rankings;
  // Voter by voter: hours, and more, for weights that are no counts of people.
  const auto check_size = [&](double total) {
    if (constexpr double most = 1e7; total > most)
      throw DataError(
          fmt::format("{}: a parametric bootstrap would draw {:.3g} rankings each time, more than {:g}; say --bootstrap-kind "
                      "nonparametric, or divide the weights",
                      data.source, total, most));
  };
  if (source.by_voter) {
    if (kind == Bootstrap::parametric) check_size(rankings.total_weight());
    return sample_voters(source, kind, random, run);
  }
  BootstrapSample sample{data.with({}), {}};
  // As many ballots as the weights are worth.
  const double one = source.one_ballot, size = rankings.total_weight() / one;
  if (kind == Bootstrap::nonparametric) {
    std::vector<double> counts = multinomial(std::max<std::int64_t>(1, std::llround(size)), rankings.weights(), random);
    for (double& count : counts) count *= one;
    sample.data.rankings = rankings.with_weights(std::move(counts));
    return sample;
  }
  const bool battles = data.unranked == Unranked::absent && rankings.items().size() <= 2 * rankings.size() &&
                       std::ranges::none_of(std::views::iota(std::size_t{0}, rankings.size()),
                                            [&](std::size_t i) { return rankings.length(i) > 2; });
  if (battles) {
    sample.data.rankings = draw_pairs(rankings, source.simulator, one, random);
    return sample;
  }
  check_size(size);
  RankingSetBuilder builder;
  std::vector<ItemId> items;
  std::vector<std::uint8_t> ends;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    if (i % 256 == 0 && should_stop(run)) break;
    const RankingView ranking = rankings[i];
    for (std::int64_t voter = whole(rankings.weight(i) / one, random); voter > 0; --voter) {
      const std::size_t k = random.categorical(source.simulator.parameters().weights);
      source.simulator.draw(random, k, ranking, data.unranked, items, ends);
      if (data.unranked == Unranked::last || !items.empty()) builder.add(items, one, ends);
    }
  }
  sample.data.rankings = builder.build();
  return sample;
}

namespace {

// A sample may leave items unbeaten although the data do not: the weak prior then keeps them finite.
constexpr double sparse_strength = 0.1;
double bootstrap_strength(const Dataset& sample, double strength) {
  return strength > 0.0 || connectivity(sample).strongly_connected ? strength : sparse_strength;
}

// The fitted tie strengths of the orders that a sample has.
TieStrengths ties_of(const Objective& objective, const TieStrengths& fitted) {
  TieStrengths ties;
  for (std::size_t o = 0; o < fitted.orders.size(); ++o) {
    if (std::ranges::find(objective.tie_orders(), fitted.orders[o]) == objective.tie_orders().end()) continue;
    ties.orders.push_back(fitted.orders[o]);
    ties.log_delta.push_back(fitted.log_delta[o]);
  }
  return ties;
}

std::vector<BootstrapEstimate> bootstrap(const BootstrapSource& source, const Options& options, const Refit& refit, const Run& run,
                                         StopReason& stop_reason) {
  const auto samples = static_cast<std::size_t>(options.bootstrap);
  SilentObserver silent(run.observer);
  Run within = run.alone();
  within.observer = &silent;
  std::vector<BootstrapEstimate> kept;
  // Batches of a fixed size, so that progress is told between them; the places in a journal must not depend on who takes part.
  constexpr std::size_t batch = 16;
  for (std::size_t first = 0; first < samples; first += batch) {
    const std::size_t count = std::min(batch, samples - first);
    const auto body = [&](std::size_t j) -> std::optional<BootstrapEstimate> {
      if (should_stop(within)) return std::nullopt;
      const BootstrapSample sample = bootstrap_sample(source, options.bootstrap_kind, run.seed, first + j, within);
      if (should_stop(within)) return std::nullopt;  // the sample may be a part
      BootstrapEstimate estimate = refit(sample, within);
      if (should_stop(within)) return std::nullopt;
      return estimate;
    };
    for (auto& one : run_tasks<BootstrapEstimate>(run.workers(), count, body, [](const BootstrapEstimate&) { return true; }))
      if (one) kept.push_back(std::move(*one));
    if (run.report({"bootstrap", static_cast<int>(first + count), options.bootstrap}, stop_reason) == Flow::stop) break;
  }
  return kept;
}

Spread spread_of(const std::vector<BootstrapEstimate>& estimates,
                 const std::function<const std::vector<double>&(const BootstrapEstimate&)>& part) {
  Spread spread;
  const std::size_t size = estimates.empty() ? 0 : part(estimates[0]).size();
  for (std::size_t j = 0; j < size; ++j) {
    std::vector<double> values;
    for (const BootstrapEstimate& estimate : estimates) values.push_back(part(estimate)[j]);
    const double mean = sum(values) / static_cast<double>(values.size());
    double squares = 0.0;
    for (const double v : values) squares += (v - mean) * (v - mean);
    spread.error.push_back(values.size() > 1 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) : 0.0);
    spread.low.push_back(quantile(values, 0.025));
    spread.high.push_back(quantile(values, 0.975));
  }
  return spread;
}

BootstrapResult summarise(const std::vector<BootstrapEstimate>& kept) {
  using Estimate = BootstrapEstimate;
  using List = const std::vector<double>&;
  BootstrapResult result;
  result.samples = static_cast<int>(kept.size());
  result.utilities = spread_of(kept, [](const Estimate& e) -> List { return e.parameters.utilities; });
  result.weights = spread_of(kept, [](const Estimate& e) -> List { return e.parameters.weights; });
  result.membership = spread_of(kept, [](const Estimate& e) -> List { return e.membership; });
  result.coefficients = spread_of(kept, [](const Estimate& e) -> List { return e.coefficients; });
  result.exponents = spread_of(kept, [](const Estimate& e) -> List { return e.exponents; });
  return result;
}

// Where the weights of a sample start: as in the fit, but for what is known of the voters, whose columns have a scale of their own.
std::vector<double> start_weights(const Objective& sample, const Parameters& fitted) {
  if (const MembershipLogit* logit = sample.membership()) return logit->start(fitted.weights);
  std::vector<double> logits;
  for (const double weight : fitted.weights) logits.push_back(std::log(std::max(weight, 1e-6)));
  if (logits.size() == 1) logits.clear();
  return logits;
}

// Samples of battles of one group: counts of the same pairs, each a few steps from the fit in the metric of the fit.
class BattleRefits {
 public:
  static std::optional<BattleRefits> of(const Objective& fit, const Parameters& fitted, bool by_voter, const Options& options) {
    if (fitted.num_components() > 1 || by_voter || fitted.ties.orders.size() > 1) return std::nullopt;
    std::optional<Battles> battles = Battles::of(fit.data());
    if (!battles) return std::nullopt;
    Cholesky metric = battles->metric(fitted, fit.strength());
    if (!metric.is_positive_definite()) return std::nullopt;
    return BattleRefits{*std::move(battles), std::move(metric), fitted, fit.strength(), options.bootstrap_kind};
  }
  // Nothing where the steps do not get there.
  std::optional<Parameters> refit(const Dataset& sample) const {
    const std::optional<Battles> own =
        kind == Bootstrap::nonparametric ? battles.with_weights(sample.rankings.weights()) : Battles::of(sample);
    if (!own || own->has_ties() == fitted.ties.empty()) return std::nullopt;
    Parameters found = fitted;
    if (!own->refine(metric, strength > 0.0 || own->strongly_connected() ? strength : sparse_strength, found)) return std::nullopt;
    found.center_all();
    return found;
  }

  Battles battles;
  Cholesky metric;
  const Parameters& fitted;
  double strength;
  Bootstrap kind;
};

}  // namespace

BootstrapResult bootstrap_plain(const Objective& fit, const KnownVoters* known, const Parameters& fitted,
                                const std::vector<Pieces>& pieces, const Options& options, const Run& run,
                                StopReason& stop_reason) {
  const std::size_t num = fitted.num_components();
  const MembershipLogit* const logit = fit.membership();
  BootstrapSource source{fit.data(), Simulator(fitted), fit.data().voters.share() || logit != nullptr, {}};
  if (logit != nullptr) source.voter_weights = weights_of_voters(*logit, fitted.gamma);
  const std::optional<BattleRefits> battles = BattleRefits::of(fit, fitted, source.by_voter, options);
  std::vector<BootstrapEstimate> kept = bootstrap(
      source, options,
      [&](const BootstrapSample& sample, const Run& within) {
        if (battles)
          if (std::optional<Parameters> found = battles->refit(sample.data))
            return BootstrapEstimate{*std::move(found), {}, {}, {}};
        Objective objective(sample.data, num, bootstrap_strength(sample.data, fit.strength()), 1);
        if (logit != nullptr) objective.use_membership(known->logit_of(sample.origin, sample.data.voters.weights));
        Parameters start = fitted;
        start.ties = ties_of(objective, fitted.ties);
        start.gamma.clear();  // the columns of the sample have a scale of their own
        objective.complete(start);
        BootstrapEstimate estimate;
        estimate.parameters = maximise(objective, std::move(start),
                                       {options.iterations, options.tolerance, !options.estimate_weights, "bootstrap"}, within)
                                  .parameters;
        estimate.parameters.center_all();
        estimate.parameters.permute(match_groups(fitted, estimate.parameters));
        if (logit != nullptr) estimate.membership = objective.membership()->coefficients(estimate.parameters.gamma);
        return estimate;
      },
      run, stop_reason);
  for (BootstrapEstimate& estimate : kept) center_on_references(pieces, estimate.parameters);
  return summarise(kept);
}

BootstrapResult bootstrap_structured(const StructuredObjective& fit, const KnownVoters* known, const Structure& structure,
                                     const std::vector<double>& variables, const Structured& fitted, const Options& options,
                                     const Run& run, StopReason& stop_reason) {
  const Objective& whole_data = fit.objective();
  const MembershipLogit* const logit = whole_data.membership();
  const std::size_t num = whole_data.num_components();
  std::vector<std::vector<double>> exponents;
  for (std::size_t k = 0; k < num && !fitted.exponents.empty(); ++k)
    exponents.emplace_back(fitted.exponents_of(k).begin(), fitted.exponents_of(k).end());
  BootstrapSource source{whole_data.data(), Simulator(fitted.parameters, std::move(exponents)), true, {}};
  if (logit != nullptr) source.voter_weights = weights_of_voters(*logit, fitted.parameters.gamma);
  return summarise(bootstrap(
      source, options,
      [&](const BootstrapSample& sample, const Run& within) {
        Objective objective(sample.data, num, bootstrap_strength(sample.data, whole_data.strength()), 1);
        if (logit != nullptr) objective.use_membership(known->logit_of(sample.origin, sample.data.voters.weights));
        const StructuredObjective structured(objective, structure);
        std::vector<double> found =
            maximise_structured(structured, structured.start(fit, variables, start_weights(objective, fitted.parameters)),
                                options.iterations, options.tolerance, within)
                .variables;
        Parameters centered = structured.unpack(found);
        centered.center_all();
        found = structured.permuted(found, match_groups(fitted.parameters, centered));
        Structured own = describe_structured(structured, structure, found, false, 1.0);
        BootstrapEstimate estimate{std::move(own.parameters), {}, std::move(own.coefficients), std::move(own.exponents)};
        if (logit != nullptr) estimate.membership = objective.membership()->coefficients(estimate.parameters.gamma);
        return estimate;
      },
      run, stop_reason));
}

}  // namespace caucus::pl_mixture
