#include "caucus/model/plackett_luce.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/model/plackett_luce_ties.h"
#include "caucus/model/race.h"

namespace caucus {

namespace {

// The items of 0..n-1 that the ranking does not list.
std::vector<ItemId> unlisted_items(RankingView ranking, std::size_t num_items) {
  std::vector<bool> listed(num_items, false);
  for (ItemId item : ranking.items()) listed[item] = true;
  std::vector<ItemId> rest;
  for (std::size_t i = 0; i < num_items; ++i)
    if (!listed[i]) rest.push_back(static_cast<ItemId>(i));
  return rest;
}

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == -infinity ? a : a + std::log1p(std::exp(b - a));
}

// The first places of a race: finishing times of independent exponentials with rates a_i, in logs so that no worth underflows.
void race_by_logs(std::span<const double> utilities, RandomStream& random, std::span<ItemId> out) {
  std::vector<std::pair<double, ItemId>> times(utilities.size());
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = {std::log(random.exponential()) - utilities[i], static_cast<ItemId>(i)};
  std::partial_sort(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(out.size()), times.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = times[i].second;
}

// The same, each time with its item in its last bits: positive numbers sort as their bits do, and whole words sort fast. Two times
// that agree in the 40 bits left (one pair in 10^12) fall in the order of their items.
constexpr std::size_t most_packed = 4096, few = 32;
void race(std::span<const double> worths, RandomStream& random, std::span<ItemId> out) {
  constexpr std::uint64_t item_bits = most_packed - 1;
  const std::size_t n = worths.size();
  std::array<std::uint64_t, few> on_stack;
  std::vector<std::uint64_t> on_heap(n > few ? n : 0);
  std::uint64_t* const times = n > few ? on_heap.data() : on_stack.data();
  for (std::size_t i = 0; i < n; ++i) times[i] = (std::bit_cast<std::uint64_t>(random.exponential() / worths[i]) & ~item_bits) | i;
  if (n <= few) {
    for (std::size_t i = 1; i < n; ++i) {
      const std::uint64_t time = times[i];
      std::size_t at = i;
      for (; at > 0 && times[at - 1] > time; --at) times[at] = times[at - 1];
      times[at] = time;
    }
  } else if (out.size() < n / 4) {
    std::partial_sort(times, times + out.size(), times + n);
  } else {
    std::sort(times, times + n);
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<ItemId>(times[i] & item_bits);
}

}  // namespace

bool TieStrengths::knows(std::size_t order) const {
  return order == 1 || std::ranges::find(orders, static_cast<int>(order)) != orders.end();
}

PlackettLuce::PlackettLuce(std::vector<double> utilities, TieStrengths ties)
    : utilities_(std::move(utilities)), ties_(std::move(ties)) {
  const auto [low, high] = std::ranges::minmax(utilities_);
  largest_ = high;
  wide_ = high - low > 500.0;
  for (double utility : utilities_) worths_.push_back(std::exp(utility - largest_));
  total_worth_ = sum(worths_);
  if (ties_.empty()) return;
  // Tied data spread no further than the sums over subsets can hold.
  for (double utility : utilities_) log_worths_.push_back(std::max(utility - largest_, -tie_spread));
  for (double log_delta : ties_.log_delta) delta_.push_back(std::exp(log_delta));
  TieSweep(ties_.orders, num_items()).fill_powers(log_worths_, powers_);
}

double PlackettLuce::log_prob(RankingView ranking, Unranked unranked) const {
  if (ranking.size() == 0) return 0.0;
  if (!ties_.empty()) return log_prob_ties(ranking, unranked);
  if (wide_) return log_prob_wide(ranking, unranked);
  return log_prob_strict(ranking, unranked);
}

double PlackettLuce::log_prob_strict(RankingView ranking, Unranked unranked) const {
  const std::size_t length = ranking.size();
  double below = 0.0;  // worth of everything below the place at hand
  if (unranked == Unranked::last && length < num_items()) {
    double listed = 0.0;
    for (ItemId item : ranking.items()) listed += worths_[item];
    below = total_worth_ - listed;
    // Total minus listed cancels where the listed items hold nearly all.
    if (below < 1e-3 * total_worth_) {
      below = 0.0;
      for (ItemId item : unlisted_items(ranking, num_items())) below += worths_[item];
    }
  }
  double log_prob = 0.0, product = 1.0;
  for (std::size_t p = length; p-- > 0;) {
    const double worth = worths_[ranking[p]];
    below += worth;
    product *= worth / below;
    // Few logarithms: one whenever the product gets small, and one at the end.
    if (product < 1e-60) {
      log_prob += std::log(product);
      product = 1.0;
    }
  }
  return log_prob + std::log(product);
}

double PlackettLuce::log_prob_wide(RankingView ranking, Unranked unranked) const {
  double log_below = -infinity;
  if (unranked == Unranked::last && ranking.size() < num_items())
    for (ItemId item : unlisted_items(ranking, num_items())) log_below = log_add(log_below, utilities_[item]);
  double log_prob = 0.0;
  for (std::size_t p = ranking.size(); p-- > 0;) {
    log_below = log_add(log_below, utilities_[ranking[p]]);
    log_prob += utilities_[ranking[p]] - log_below;
  }
  return log_prob;
}

double PlackettLuce::log_prob_ties(RankingView ranking, Unranked unranked) const {
  TieSweep sweep(ties_.orders, num_items());
  const std::vector<ItemId> rest = unranked == Unranked::last ? unlisted_items(ranking, num_items()) : std::vector<ItemId>{};
  return sweep.log_prob(ranking, rest, powers_, log_worths_, ties_.log_delta, delta_);
}

void PlackettLuce::sample(RandomStream& random, std::size_t length, std::vector<ItemId>& items,
                          std::vector<std::uint8_t>& group_ends) const {
  sample_choices(random, num_items(), length == 0 ? num_items() : std::min(length, num_items()), items, group_ends);
}

void PlackettLuce::sample_stages(RandomStream& random, std::size_t stages, std::vector<ItemId>& items,
                                 std::vector<std::uint8_t>& group_ends) const {
  sample_choices(random, stages, ties_.empty() ? std::min(stages, num_items()) : num_items(), items, group_ends);
}

void PlackettLuce::sample_many(std::uint64_t seed, std::span<const std::uint64_t> streams, std::size_t length,
                               std::span<ItemId* const> out) const {
  if (!wide_ && num_items() <= Race::most_items) return Race(worths_).run(seed, streams, length, out);
  for (std::size_t j = 0; j < streams.size(); ++j) {
    RandomStream random(seed, Purpose::sample, streams[j]);
    random();
    race_by_logs(utilities_, random, {out[j], length});
  }
}

void PlackettLuce::sample_choices(RandomStream& random, std::size_t most_stages, std::size_t wanted, std::vector<ItemId>& items,
                                  std::vector<std::uint8_t>& group_ends) const {
  const std::size_t n = num_items();
  items.clear();
  group_ends.clear();
  if (ties_.empty()) {
    items.resize(wanted);
    if (wide_ || n > most_packed)
      race_by_logs(utilities_, random, items);
    else
      race(worths_, random, items);
    return;
  }

  std::vector<ItemId> rest(n);
  std::iota(rest.begin(), rest.end(), 0);
  std::vector<double> weights, table;
  for (std::size_t stage = 0; stage < most_stages && items.size() < wanted && !rest.empty(); ++stage) {
    // The size of the set first, then its items one by one from the table of elementary symmetric polynomials.
    weights.assign(1, 0.0);
    for (ItemId item : rest) weights[0] += worths_[item];
    std::vector<std::vector<double>> tables(ties_.orders.size());
    for (std::size_t o = 0; o < ties_.orders.size(); ++o) {
      const auto order = static_cast<std::size_t>(ties_.orders[o]);
      // e[r * (order + 1) + j]: e_j of the first r remaining items.
      auto& e = tables[o];
      e.assign((rest.size() + 1) * (order + 1), 0.0);
      e[0] = 1.0;
      for (std::size_t r = 0; r < rest.size(); ++r) {
        const double x = std::exp((utilities_[rest[r]] - largest_) / static_cast<double>(order));
        e[(r + 1) * (order + 1)] = 1.0;
        for (std::size_t j = 1; j <= order; ++j)
          e[(r + 1) * (order + 1) + j] = e[r * (order + 1) + j] + x * e[r * (order + 1) + j - 1];
      }
      weights.push_back(std::exp(ties_.log_delta[o]) * e[rest.size() * (order + 1) + order]);
    }
    const std::size_t pick = random.categorical(weights);
    std::vector<std::size_t> chosen;  // places in rest, descending
    if (pick == 0) {
      weights.clear();
      for (ItemId item : rest) weights.push_back(worths_[item]);
      chosen.push_back(random.categorical(weights));
    } else {
      const auto order = static_cast<std::size_t>(ties_.orders[pick - 1]);
      const auto& e = tables[pick - 1];
      for (std::size_t r = rest.size(), left = order; left > 0; --r) {
        // Is item r - 1 in the set, given that `left` of the first r are?
        const double without = e[(r - 1) * (order + 1) + left], with_and_without = e[r * (order + 1) + left];
        if (random.uniform() * with_and_without >= without) {
          chosen.push_back(r - 1);
          --left;
        }
      }
    }
    for (std::size_t c = chosen.size(); c-- > 0;) {
      items.push_back(rest[chosen[c]]);
      group_ends.push_back(c == 0 ? 1 : 0);
    }
    for (std::size_t place : chosen) rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(place));
  }
}

}  // namespace caucus
