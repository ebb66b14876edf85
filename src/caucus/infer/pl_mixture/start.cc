#include "caucus/infer/pl_mixture/start.h"

#include <boost/math/special_functions/gamma.hpp>  // std::lgamma writes a global: no good on several threads
#include <cmath>
#include <functional>
#include <numeric>

#include "caucus/base/random.h"
#include "caucus/data/weights.h"
#include "caucus/infer/mallows_tensor/start.h"
#include "caucus/infer/pl_mixture/moments.h"
#include "caucus/infer/pl_mixture/solver.h"
#include "caucus/infer/pl_mixture/voters.h"

namespace caucus::pl_mixture {

TieStrengths initial_ties(const Objective& objective) {
  TieStrengths ties;
  double choices = 0.0;
  const RankingSet& rankings = objective.data().rankings;
  for (std::size_t i = 0; i < rankings.size(); ++i)
    rankings[i].for_each_group([&](std::span<const ItemId>) { choices += rankings.weight(i); });
  const double n = static_cast<double>(objective.num_items());
  for (std::size_t o = 0; o < objective.tie_orders().size(); ++o) {
    const double order = objective.tie_orders()[o];
    // With equal worths, sets of this size have weight delta C(n, t) against n for single items.
    const double log_sets = boost::math::lgamma(n + 1.0) - boost::math::lgamma(order + 1.0) - boost::math::lgamma(n - order + 1.0);
    ties.orders.push_back(objective.tie_orders()[o]);
    ties.log_delta.push_back(std::log(objective.tie_counts()[o] / std::max(choices, 1.0)) + std::log(n) - log_sets);
  }
  return ties;
}

namespace {

// Utilities around zero, weights equal.
Parameters random_start(const Objective& objective, std::uint64_t seed, std::uint64_t index) {
  Parameters start(objective.num_components(), objective.num_items());
  RandomStream random(seed, Purpose::initialise, index);
  for (double& utility : start.utilities) utility = 0.5 * random.normal();
  start.center_all();
  return start;
}

}  // namespace

Starts::Starts(const Objective& objective, const Options& options, std::uint64_t seed, std::function<bool()> stop)
    : objective_(objective),
      options_(options),
      seed_(seed),
      regrouper_(objective.data().rankings, objective.num_items(), objective.data().unranked, std::move(stop)) {}
Starts::~Starts() = default;

bool Starts::can_embed() const {
  // Every pair of items is a column, and directions are found for every component: with thousands of items or a hundred components
  // one start would take longer than all others together. A unit is about 3 ns.
  constexpr std::size_t most_pairs = 100'000;
  constexpr double most_work = 2e9;
  const std::size_t n = objective_.num_items(), pairs = n * (n - 1) / 2;
  if (objective_.has_ties() || n < 2 || pairs > most_pairs || objective_.layout().count == 0) return false;
  const auto rankings = static_cast<double>(std::min(objective_.data().rankings.size(), Embedding::room(n, part_of_many())));
  return rankings * static_cast<double>(pairs) * static_cast<double>(objective_.num_components() + 5) <= most_work;
}

// Where they are fewer than parameters, the best groups may be a handful.
bool Starts::few_ballots() const {
  return effective_size(objective_.data().rankings) < static_cast<double>(objective_.num_components() * objective_.num_items());
}

// One start among many need not see every ranking.
std::size_t Starts::part_of_many() const { return std::max<std::size_t>(1500, 60 * objective_.num_items()); }

const Embedding& Starts::embedding() {
  // A spectral fit asked for by name sees them all.
  const bool one_of_many = options_.init == Init::automatic && options_.method != Method::spectral;
  const std::size_t most = one_of_many ? part_of_many() : 20'000;
  std::call_once(embed_once_,
                 [&] { embedding_ = std::make_unique<Embedding>(objective_.data(), seed_, objective_.threads(), most); });
  return *embedding_;
}

const TruncatedSvd& Starts::svd() {
  std::call_once(svd_once_, [&] {
    svd_ = std::make_unique<TruncatedSvd>(truncated_svd(embedding(), objective_.num_components() + 1, options_.center, seed_));
  });
  return *svd_;
}

// With ties most starts begin at this fit, near its end but with room left where it has none; else it only tells which ballots
// surprise.
const Starts::OneGroup& Starts::one_group() {
  std::call_once(one_group_once_, [&] {
    const Objective one(objective_, 1, objective_.threads());
    Parameters flat(1, objective_.num_items());
    flat.ties = initial_ties(objective_);
    const SolveOptions solve{objective_.has_ties() ? 60 : 30, 1e-4, false, "em"};
    one_group_.parameters = maximise(one, std::move(flat), solve, Run{}).parameters;
    one_group_.log_probs = one.row_logliks(one_group_.parameters);
  });
  return one_group_;
}

Parameters Starts::in_groups(const Objective& objective, std::span<const std::uint32_t> labels) {
  if (!objective.has_ties()) return labelled_start(objective, labels);
  const std::vector<double> all(objective.data().rankings.size(), 1.0);
  return regrouped_start(objective, labels, one_group().parameters, all);
}

Parameters Starts::around_one_group(std::uint64_t index) {
  Parameters start = random_start(objective_, seed_, index);
  const Parameters& one = one_group().parameters;
  const double stretch = mean_choice(objective_);
  for (std::size_t j = 0; j < start.utilities.size(); ++j)
    start.utilities[j] = one.utilities[j % objective_.num_items()] + stretch * start.utilities[j];
  start.ties = one.ties;
  return start;
}

namespace {

// Kinds of automatic starts, in turn. Random ones are cheap and independent of everything; the others know something of the data.
enum class Kind { spectral, random, ballots, satellites, kmeans, surprising };
Kind kind_of(std::uint64_t index, bool can_embed, bool few_ballots) {
  constexpr Kind turn[] = {Kind::spectral, Kind::random, Kind::ballots,    Kind::satellites,
                           Kind::kmeans,   Kind::random, Kind::surprising, Kind::satellites};
  const Kind kind = turn[index % std::size(turn)];
  if (kind == Kind::satellites && !few_ballots) return Kind::random;
  return !can_embed && (kind == Kind::spectral || kind == Kind::kmeans) ? Kind::ballots : kind;
}
bool begins_at_ballots(Kind kind) { return kind == Kind::ballots || kind == Kind::surprising || kind == Kind::satellites; }

}  // namespace

Parameters Starts::at_ballots(std::uint64_t index) {
  const Kind kind = kind_of(index, can_embed(), few_ballots());
  const std::size_t num = objective_.num_components();
  RandomStream random(seed_, Purpose::initialise, index);
  if (kind == Kind::ballots) return in_groups(objective_, regrouper_.around_ballots(num, {}, random));
  const std::span<const double> expected = one_group().log_probs;
  return in_groups(objective_, kind == Kind::surprising ? regrouper_.around_ballots(num, expected, random)
                                                        : regrouper_.satellites(num, expected, random));
}

Parameters Starts::make(Init kind, std::uint64_t index) {
  const std::size_t num = objective_.num_components();
  if (num == 1 && kind != Init::spectral) kind = Init::random;
  if (objective_.num_items() < 2 || objective_.layout().count == 0) kind = Init::random;  // nothing to embed or count
  if (objective_.data().voters.share() && num > 1 && kind == Init::automatic) {
    Parameters start = voter_start(objective_, seed_, index);
    if (!options_.estimate_weights) start.weights.assign(num, 1.0 / static_cast<double>(num));
    return start;
  }
  Parameters start(num, objective_.num_items());
  // Restart r of k-means in start `index` has a stream of its own. One start of many is to differ from the others, so all but the
  // first take the first answer of k-means, not the best of many.
  const std::uint64_t stream = index * 100'000;
  int kmeans_restarts = options_.kmeans_restarts;
  if (kind == Init::automatic) {
    const Kind turn = kind_of(index, can_embed(), few_ballots());
    if (index > 0) kmeans_restarts = 1;
    kind = turn == Kind::spectral ? Init::spectral : turn == Kind::kmeans ? Init::kmeans : Init::random;
    if (begins_at_ballots(turn)) kind = Init::automatic;
  }
  switch (kind) {
    case Init::spectral: {
      const SpectralOptions spectral{options_.center, options_.rank_rule, options_.link, kmeans_restarts};
      const Embedding& points = embedding();
      start = cluster_parameters(points, spectral_clusters(points, num, spectral, seed_, stream, &svd()), num, options_.link);
      break;
    }
    case Init::kmeans:
      start =
          cluster_parameters(embedding(), embedding_kmeans(embedding(), num, kmeans_restarts, seed_, stream), num, options_.link);
      break;
    case Init::moments:
      start = moments_start(objective_, seed_, index);
      break;
    case Init::tensor: {
      // First-position probabilities of the terms of the top-3 tensor are the worths.
      const mallows_tensor::TensorStart terms =
          mallows_tensor::tensor_start(objective_.data().rankings, objective_.num_items(), num, seed_ + index);
      start.weights = terms.weight;
      for (std::size_t k = 0; k < num; ++k)
        for (std::size_t i = 0; i < objective_.num_items(); ++i)
          start.utilities[k * objective_.num_items() + i] = std::log(terms.first[k][i]);
      start.center_all();
      break;
    }
    case Init::automatic:
      start = at_ballots(index);
      break;
    default:
      if (num > 1)
        start = objective_.has_ties() && index % 8 != 1 ? around_one_group(index) : random_start(objective_, seed_, index);
  }
  if (!options_.estimate_weights) start.weights.assign(num, 1.0 / static_cast<double>(num));
  if (start.ties.orders != objective_.tie_orders()) start.ties = initial_ties(objective_);
  return start;
}

namespace {

// Of winning in the pairs of the rankings of each group; share(i, k): how much of ranking i belongs to group k. Also the sizes.
struct LogOdds {
  std::vector<double> of_items;  // [k * n + i]
  std::vector<double> size;      // [k]
};
template <class Share>
LogOdds log_odds(const Dataset& data, std::size_t num, Share&& share) {
  const std::size_t n = data.num_items();
  std::vector<double> wins(num * n, 0.0), losses(num * n, 0.0), unlisted(num, 0.0);
  LogOdds result{std::vector<double>(num * n), std::vector<double>(num, 0.0)};
  const bool rest = data.unranked == Unranked::last;
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    const RankingView ranking = data.rankings[i];
    const auto listed = static_cast<double>(ranking.size()), others = rest ? static_cast<double>(n) : listed;
    for (std::size_t k = 0; k < num; ++k) {
      const double weight = data.rankings.weight(i) * share(i, k);
      if (!(weight > 0.0)) continue;
      result.size[k] += weight;
      // Unlisted items lose to all listed ones; listed ones give that back.
      if (rest) unlisted[k] += weight * listed;
      double before = 0.0;
      ranking.for_each_group([&](std::span<const ItemId> group) {
        const double place = before + 0.5 * static_cast<double>(group.size() - 1);  // half a win each where tied
        for (const ItemId item : group) {
          wins[k * n + item] += weight * (others - 1.0 - place);
          losses[k * n + item] += weight * (place - (rest ? listed : 0.0));
        }
        before += static_cast<double>(group.size());
      });
    }
  }
  for (std::size_t k = 0; k < num; ++k)
    for (std::size_t i = 0; i < n; ++i)
      result.of_items[k * n + i] = std::log((wins[k * n + i] + 1.0) / (std::max(0.0, losses[k * n + i] + unlisted[k]) + 1.0));
  return result;
}

void set_weights(const LogOdds& odds, Parameters& start) {
  const std::size_t num = start.num_components();
  const double total = std::max(sum(odds.size), 1e-300);
  for (std::size_t k = 0; k < num; ++k)
    start.weights[k] = (odds.size[k] + 1e-3 * total) / (total * (1.0 + 1e-3 * static_cast<double>(num)));
}

// One order or two agree on many pairs of items, and their log odds say little of that: an order alone has a group of its own with
// probability one, yet e^-38 under its log odds of 25 items. Where no ballot of such a group chooses from below a cut of the items,
// the cut becomes this wide. In larger groups of short rankings cuts go uncrossed by chance, and would freeze the start.
constexpr double gap_of_the_unanimous = 12.0;
constexpr std::size_t most_unanimous = 2;
void open_gaps(const Dataset& data, std::span<const std::uint32_t> labels, Parameters& start) {
  const std::size_t n = data.num_items(), num = start.num_components();
  std::vector<std::size_t> by_rank(num * n), rank(num * n), listed_in(n, 0);
  for (std::size_t k = 0; k < num; ++k) {
    const auto order = std::span(by_rank).subspan(k * n, n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return start.component(k)[i]; });
    for (std::size_t r = 0; r < n; ++r) rank[k * n + order[r]] = r;
  }
  // At a stage where the best item there has rank b and one of rank r > b is chosen, every cut between them is crossed.
  std::vector<int> crossings(num * (n + 1), 0);
  std::vector<std::size_t> orders(num, 0);  // different ones
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    const RankingView ranking = data.rankings[i];
    const std::size_t k = labels[i];
    if (!(data.rankings.weight(i) > 0.0)) continue;
    ++orders[k];
    std::size_t best = n;
    if (data.unranked == Unranked::last && ranking.size() < n) {
      for (const ItemId item : ranking.items()) listed_in[item] = i + 1;
      best = 0;
      while (listed_in[by_rank[k * n + best]] == i + 1) ++best;
    }
    for (std::size_t p = ranking.size(); p-- > 0;) {
      const std::size_t chosen = rank[k * n + ranking[p]];
      best = std::min(best, chosen);
      ++crossings[k * (n + 1) + best];
      --crossings[k * (n + 1) + chosen];
    }
  }
  for (std::size_t k = 0; k < num; ++k) {
    if (orders[k] > most_unanimous) continue;
    const auto utilities = start.component(k);
    double lower = 0.0, above = 0.0;
    int crossing = 0;
    for (std::size_t r = 0; r < n; ++r) {
      double& utility = utilities[by_rank[k * n + r]];
      const double gap = above - utility;
      above = utility;
      if (r > 0 && crossing == 0) lower += std::max(0.0, gap_of_the_unanimous - gap);
      utility -= lower;
      crossing += crossings[k * (n + 1) + r];
    }
  }
}

}  // namespace

Parameters labelled_start(const Objective& objective, std::span<const std::uint32_t> labels) {
  Parameters start(objective.num_components(), objective.num_items());
  LogOdds odds = log_odds(objective.data(), objective.num_components(),
                          [&](std::size_t i, std::size_t k) { return labels[i] == k ? 1.0 : 0.0; });
  set_weights(odds, start);
  start.utilities = std::move(odds.of_items);
  // A penalty has its own width, and what is tied is in no order.
  if (!(objective.strength() > 0.0) && !objective.has_ties()) open_gaps(objective.data(), labels, start);
  start.center_all();
  start.ties = initial_ties(objective);
  return start;
}

double mean_choice(const Objective& objective) {
  const Dataset& data = objective.data();
  double choices = 0.0, chosen = 0.0;
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    const RankingView ranking = data.rankings[i];
    std::size_t left = data.unranked == Unranked::last ? data.num_items() : ranking.size();
    ranking.for_each_group([&](std::span<const ItemId> group) {
      if (group.size() < left) {
        choices += data.rankings.weight(i);
        chosen += data.rankings.weight(i) * static_cast<double>(group.size());
      }
      left -= group.size();
    });
  }
  return choices > 0.0 ? chosen / choices : 1.0;
}

Parameters regrouped_start(const Objective& objective, std::span<const std::uint32_t> labels, const Parameters& fit,
                           std::span<const double> memberships) {
  const Dataset& data = objective.data();
  const std::size_t num = objective.num_components(), before = fit.num_components(), n = objective.num_items();
  const LogOdds now = log_odds(data, num, [&](std::size_t i, std::size_t k) { return labels[i] == k ? 1.0 : 0.0; });
  const LogOdds then = log_odds(data, before, [&](std::size_t i, std::size_t h) { return memberships[i * before + h]; });
  std::vector<double> common(num * before, 0.0);
  for (std::size_t i = 0; i < data.rankings.size(); ++i)
    for (std::size_t h = 0; h < before; ++h)
      common[labels[i] * before + h] += data.rankings.weight(i) * memberships[i * before + h];
  const double stretch = mean_choice(objective);
  Parameters start(num, n);
  set_weights(now, start);
  for (std::size_t k = 0; k < num; ++k) {
    if (!(now.size[k] > 0.0)) {  // nobody: as the largest group had it
      const auto largest = static_cast<std::size_t>(std::ranges::max_element(fit.weights) - fit.weights.begin());
      std::ranges::copy(fit.component(largest), start.component(k).begin());
      continue;
    }
    for (std::size_t i = 0; i < n; ++i) {
      double utility = stretch * now.of_items[k * n + i];
      for (std::size_t h = 0; h < before; ++h)
        utility += common[k * before + h] / now.size[k] * (fit.utilities[h * n + i] - stretch * then.of_items[h * n + i]);
      start.utilities[k * n + i] = utility;
    }
  }
  start.ties = fit.ties;
  return start;
}

}  // namespace caucus::pl_mixture
