// Who is in each group: a column that stands beside the rankings, by group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

// A share with the interval of Wilson (1927), which stays inside [0, 1] and is honest for small groups.
struct Share {
  double count = 0.0, share = 0.0, low = 0.0, high = 0.0;
};
Share wilson_share(double count, double total, double level = 0.95);

struct Composition {
  std::string column;
  std::vector<std::string> values;         // most frequent first; numbers in quarters, lowest first
  std::vector<double> everyone;            // rankings by value
  std::vector<std::vector<Share>> groups;  // [group][value]: of the group's rankings that have a value
  double left_out = 0.0;                   // rankings without a value
};

// Rankings count for the group they are labelled with (labels: one per distinct ranking). Numbers of more than 12 values are cut at
// their quartiles; of texts with more than max_values values the rarer ones become "other". Nothing where the column tells nothing:
// one value only, or nearly every row its own (a name, a ballot's id).
std::optional<Composition> composition(const Dataset& data, const Column& column, std::span<const std::uint32_t> labels,
                                       std::size_t num_groups, std::size_t max_values = 24);

}  // namespace caucus
