// A fitted group as everyone outside its family sees it: plain numbers, and how sure they are.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "caucus/data/ranking.h"

namespace caucus {

// An interval says itself how much it covers: 0.95 of repetitions, or 0.9 of the posterior.
struct Interval {
  double low = 0.0, high = 0.0;
  double level = 0.95;
};

// estimate +- z standard errors, at level 0.95.
Interval normal_interval(double estimate, double standard_error);
// The same for a share, with its log odds as the normal quantity: inside 0 and 1, and longer towards the middle, as it should be
// where groups are hard to tell apart (docs/validation.md).
Interval share_interval(double share, double standard_error);

// How an order of a group fared when the ballots were resampled.
struct OrderStability {
  int resamples = 0;
  double unchanged = 0.0;      // share of the resamples that give exactly this order
  std::vector<double> before;  // [a * n + b]: share of the resamples that place a before b
};

// Unbounded items that the data compare with each other all the same: differences within a block are known, and its errors are
// those of utilities minus the block's mean.
struct UtilityBlock {
  std::vector<ItemId> items;                                // best first
  std::vector<std::optional<double>> errors, quasi_errors;  // by place in items; empty where none were estimated
  bool operator==(const UtilityBlock&) const = default;
};

// What is known about the errors of a group's numbers. Lists are empty where nothing was estimated, and hold nothing at the places
// that have no error (an item whose utility has no finite maximum).
struct GroupErrors {
  std::optional<double> weight_error;
  std::optional<Interval> weight_interval;
  std::vector<std::optional<double>> utility_errors, quasi_errors;  // by item
  std::vector<std::optional<Interval>> utility_intervals;           // by item
  std::vector<ItemId> unbounded;                                    // items whose utility has no finite maximum
  std::vector<UtilityBlock> blocks;                                 // of two and more of these
  std::vector<std::optional<double>> theta_errors;                  // as theta
  std::vector<std::optional<Interval>> theta_intervals;             // as theta
  std::vector<std::optional<Interval>> place_intervals;             // of the first items of the order, places from 1
  std::optional<OrderStability> stability;
  std::optional<double>
      order_gap;  // 0: the order is proven to be the best for the group's ballots; else a better one may be this far
};

struct Group {
  double weight = 1.0;               // share of the ballots
  std::optional<double> size;        // ballots, where the fit counts them
  std::vector<ItemId> order;         // best first: the consensus, or by utility; empty: the group has none of its own
  bool order_is_parameter = false;   // a consensus ranking, which was searched for; else it follows from the utilities
  std::vector<double> utilities;     // log-worths of mean zero, by item; empty: the family has none
  std::vector<double> theta;         // one number, or one per stage; empty: the family has none
  bool theta_by_stage = false;       // then theta may stop before n - 1: no ballot of the group reached the other stages
  double log_discrete_values = 0.0;  // log of the number of values that discrete parameters can take: EBIC counts them
  GroupErrors errors;

  // The interval that was estimated, else the one from the standard error (quasi-errors before plain ones), else none.
  std::optional<Interval> weight_interval() const;
  std::optional<Interval> utility_interval(std::size_t item) const;
  std::optional<Interval> theta_interval(std::size_t stage) const;
  // Of an item that stands at this place of a block: its utility minus the block's mean.
  double utility_within(const UtilityBlock& block, std::size_t place) const;
  std::optional<Interval> interval_within(const UtilityBlock& block, std::size_t place) const;
  bool is_unbounded(ItemId item) const;
};

// Items by these values, largest first; equal ones in the order of the items.
std::vector<ItemId> order_by(const std::vector<double>& values);

}  // namespace caucus
