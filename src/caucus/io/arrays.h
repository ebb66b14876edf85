// Rankings that are in memory already, as arrays: what front doors other than files bring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

// What all arrays of rankings share. Items are numbers from 0: places in `items`.
struct ArrayFrame {
  std::vector<std::string> items;  // distinct
  Unranked unranked = Unranked::last;
  std::span<const double> weights{};  // one per row, finite and not negative; empty: 1 each. Rows of weight 0 are blank.
  std::vector<Column> covariates{};   // one value per row
  std::string source;                 // for messages
  bool first_of_repeated = false;     // an item listed again is passed over; else it is an error
};

// Row r lists items[offsets[r]], ..., best first; negative numbers are nothing. `group_ends` has one flag per entry, 1 where a
// tie-group ends; empty: no ties. Throws DataError that names up to 20 rows. O(entries).
Dataset rankings_of_lists(ArrayFrame frame, std::span<const std::int64_t> offsets, std::span<const std::int32_t> items,
                          std::span<const std::uint8_t> group_ends = {});

// A table with `columns` places per row; negative numbers are nothing, and what follows moves up.
Dataset rankings_of_orders(ArrayFrame frame, std::span<const std::int32_t> orders, std::size_t columns);

// One column per item holds its rank: the smallest is best, equal ones are ties, NaN is not ranked.
Dataset rankings_of_ranks(ArrayFrame frame, std::span<const double> ranks);

// The rows with these numbers, counted from 0 and blank ones included, with their weights and covariates, in this order. A row may
// come again. Voters stay who they are, with what is known of them. `weights` stand in the place of their own, where given. Throws
// UsageError for a number that is no row, DataError for a weight that is none.
Dataset take_rows(const Dataset& data, std::span<const std::int64_t> rows, std::span<const double> weights = {});

}  // namespace caucus
