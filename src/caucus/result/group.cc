#include "caucus/result/group.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace caucus {

namespace {

constexpr double two_sided_95 = 1.96;

template <class T>
std::optional<T> at(const std::vector<std::optional<T>>& values, std::size_t place) {
  return place < values.size() ? values[place] : std::nullopt;
}

}  // namespace

Interval normal_interval(double estimate, double standard_error) {
  return {estimate - two_sided_95 * standard_error, estimate + two_sided_95 * standard_error, 0.95};
}

Interval share_interval(double share, double standard_error) {
  const double slope = share * (1.0 - share);
  if (!(slope > 0.0)) {  // nothing or all: there are no log odds
    const Interval wide = normal_interval(share, standard_error);
    return {std::max(0.0, wide.low), std::min(1.0, wide.high), wide.level};
  }
  const Interval odds = normal_interval(std::log(share) - std::log1p(-share), standard_error / slope);
  const auto share_of = [](double log_odds) { return 1.0 / (1.0 + std::exp(-log_odds)); };
  return {share_of(odds.low), share_of(odds.high), odds.level};
}

std::optional<Interval> Group::weight_interval() const {
  if (errors.weight_interval || !errors.weight_error || !(*errors.weight_error > 0.0)) return errors.weight_interval;
  return share_interval(weight, *errors.weight_error);
}

std::optional<Interval> Group::utility_interval(std::size_t item) const {
  if (!errors.utility_intervals.empty()) return at(errors.utility_intervals, item);
  const auto& known = errors.quasi_errors.empty() ? errors.utility_errors : errors.quasi_errors;
  const std::optional<double> error = at(known, item);
  return error ? std::optional(normal_interval(utilities[item], *error)) : std::nullopt;
}

std::optional<Interval> Group::theta_interval(std::size_t stage) const {
  if (!errors.theta_intervals.empty()) return at(errors.theta_intervals, stage);
  const std::optional<double> error = at(errors.theta_errors, stage);
  if (!error) return std::nullopt;
  const Interval wide = normal_interval(theta[stage], *error);
  return Interval{std::max(0.0, wide.low), wide.high, wide.level};
}

double Group::utility_within(const UtilityBlock& block, std::size_t place) const {
  double total = 0.0;
  for (ItemId item : block.items) total += utilities[item];
  return utilities[block.items[place]] - total / static_cast<double>(block.items.size());
}

std::optional<Interval> Group::interval_within(const UtilityBlock& block, std::size_t place) const {
  const std::optional<double> error = at(block.quasi_errors.empty() ? block.errors : block.quasi_errors, place);
  return error ? std::optional(normal_interval(utility_within(block, place), *error)) : std::nullopt;
}

bool Group::is_unbounded(ItemId item) const { return std::ranges::find(errors.unbounded, item) != errors.unbounded.end(); }

std::vector<ItemId> order_by(const std::vector<double>& values) {
  std::vector<ItemId> order(values.size());
  std::iota(order.begin(), order.end(), ItemId{0});
  std::ranges::stable_sort(order, [&](ItemId a, ItemId b) { return values[a] > values[b]; });
  return order;
}

}  // namespace caucus
