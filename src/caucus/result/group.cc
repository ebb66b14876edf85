#include "caucus/result/group.h"

#include <algorithm>
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

std::optional<Interval> Group::weight_interval() const {
  if (errors.weight_interval || !errors.weight_error || !(*errors.weight_error > 0.0)) return errors.weight_interval;
  const Interval wide = normal_interval(weight, *errors.weight_error);
  return Interval{std::max(0.0, wide.low), std::min(1.0, wide.high), wide.level};
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

bool Group::is_unbounded(ItemId item) const { return std::ranges::find(errors.unbounded, item) != errors.unbounded.end(); }

std::vector<ItemId> order_by(const std::vector<double>& values) {
  std::vector<ItemId> order(values.size());
  std::iota(order.begin(), order.end(), ItemId{0});
  std::ranges::stable_sort(order, [&](ItemId a, ItemId b) { return values[a] > values[b]; });
  return order;
}

}  // namespace caucus
