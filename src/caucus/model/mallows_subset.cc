#include "caucus/model/mallows_subset.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "caucus/base/numeric.h"
#include "caucus/model/stage.h"

namespace caucus {

namespace {

constexpr std::size_t most_states = 50'000;

// log of sum_{v=low}^{high} q^v, v = number of items below the newcomer.
double log_range(double theta, std::size_t low, std::size_t high) {
  return -theta * static_cast<double>(low) + log_stage_normalizer(theta, high - low + 1);
}

}  // namespace

SubsetProbability subset_probability(std::span<const ItemId> ranking, std::span<const std::uint32_t> position, double theta,
                                     RandomStream& stream, std::size_t completions) {
  const std::size_t count = ranking.size();
  if (count <= 1) return {};
  // The items of central rank between the first and the last listed one are a Mallows model by themselves.
  std::vector<std::pair<std::uint32_t, std::size_t>> listed;  // central rank, place in the ballot
  for (std::size_t j = 0; j < count; ++j) listed.emplace_back(position[ranking[j]], j);
  std::sort(listed.begin(), listed.end());
  const std::size_t low = listed.front().first, n = listed.back().first - low + 1;

  // State: places (from 0) of the listed items inserted so far, by place; the ballot fixes which item is which.
  std::map<std::vector<std::uint16_t>, double> states{{{}, 0.0}}, next;
  std::vector<std::size_t> inserted;  // places in the ballot of the listed items so far, ascending
  std::size_t which = 0;
  bool exact = true;
  const auto add = [&](std::vector<std::uint16_t> places, double log_mass) {
    const auto [found, fresh] = next.try_emplace(std::move(places), log_mass);
    if (fresh) return;
    const double both[] = {found->second, log_mass};
    found->second = log_sum_exp(both);
  };
  for (std::size_t s = 0; s < n && exact; ++s) {  // s items are in; the newcomer at place i has s - i below it
    next.clear();
    const double log_z = log_stage_normalizer(theta, s + 1);
    if (listed[which].first - low == s) {
      const auto slot =
          static_cast<std::size_t>(std::lower_bound(inserted.begin(), inserted.end(), listed[which].second) - inserted.begin());
      for (const auto& [places, log_mass] : states) {
        const std::size_t from = slot == 0 ? 0 : places[slot - 1] + std::size_t{1};
        const std::size_t to = slot == places.size() ? s : places[slot];
        for (std::size_t i = from; i <= to; ++i) {
          std::vector<std::uint16_t> moved = places;
          for (std::size_t k = slot; k < moved.size(); ++k) ++moved[k];
          moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(slot), static_cast<std::uint16_t>(i));
          add(std::move(moved), log_mass - theta * static_cast<double>(s - i) - log_z);
        }
      }
      inserted.insert(inserted.begin() + static_cast<std::ptrdiff_t>(slot), listed[which].second);
      ++which;
    } else {
      for (const auto& [places, log_mass] : states)
        for (std::size_t gap = 0; gap <= places.size(); ++gap) {
          const std::size_t from = gap == 0 ? 0 : places[gap - 1] + std::size_t{1};
          const std::size_t to = gap == places.size() ? s : places[gap];
          if (from > to) continue;
          std::vector<std::uint16_t> moved = places;
          for (std::size_t k = gap; k < moved.size(); ++k) ++moved[k];
          add(std::move(moved), log_mass + log_range(theta, s - to, s - from) - log_z);
        }
    }
    states.swap(next);
    exact = states.size() <= most_states && n < 65536;
  }
  if (exact) {
    std::vector<double> terms;
    for (const auto& [places, log_mass] : states) terms.push_back(log_mass);
    return {std::min(0.0, log_sum_exp(terms)), 0.0};
  }

  std::vector<ItemId> centre(position.size()), out(position.size());
  for (std::size_t item = 0; item < position.size(); ++item) centre[position[item]] = static_cast<ItemId>(item);
  std::vector<double> log_weight(completions);
  for (double& value : log_weight) value = draw_completion(ranking, centre, theta, stream, out);
  const double size = static_cast<double>(completions), log_mean = log_sum_exp(log_weight) - std::log(size);
  double spread = 0.0;
  for (double value : log_weight) spread += std::pow(std::exp(value - log_mean) - 1.0, 2);
  return {std::min(0.0, log_mean), std::sqrt(spread / (size * (size - 1.0)))};
}

double draw_completion(std::span<const ItemId> ranking, std::span<const ItemId> centre, double theta, RandomStream& stream,
                       std::span<ItemId> out) {
  const std::size_t n = centre.size();
  std::vector<std::size_t> in_ballot(n, n);
  for (std::size_t j = 0; j < ranking.size(); ++j) in_ballot[ranking[j]] = j;
  double log_weight = 0.0;
  for (std::size_t s = 0; s < n; ++s) {
    const ItemId item = centre[s];
    std::size_t from = 0, to = s;
    if (in_ballot[item] < n) {
      for (std::size_t i = 0; i < s; ++i) {
        if (in_ballot[out[i]] == n) continue;
        if (in_ballot[out[i]] < in_ballot[item])
          from = i + 1;
        else {
          to = i;
          break;
        }
      }
      log_weight += log_range(theta, s - to, s - from) - log_stage_normalizer(theta, s + 1);
    }
    // v items below the newcomer, v between s - to and s - from.
    const std::size_t choices = to - from + 1;
    std::size_t above = 0;
    if (choices > 1) {
      if (theta == 0.0) {
        above = stream.below(choices);
      } else {
        const double v = std::log1p(stream.uniform() * std::expm1(-static_cast<double>(choices) * theta)) / -theta;
        above = static_cast<std::size_t>(std::min(v, static_cast<double>(choices) - 1.0));
      }
    }
    const std::size_t place = to - above;
    std::copy_backward(out.begin() + static_cast<std::ptrdiff_t>(place), out.begin() + static_cast<std::ptrdiff_t>(s),
                       out.begin() + static_cast<std::ptrdiff_t>(s) + 1);
    out[place] = item;
  }
  return log_weight;
}

}  // namespace caucus
