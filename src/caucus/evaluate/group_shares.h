// Who is in each group: how a column that stood beside the ballots is spread over the groups.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

struct Share {
  double count = 0.0;  // expected number of ballots: the sum of their memberships
  double share = 0.0;
  double low = 0.0, high = 1.0;  // 95 %, Wilson (1927), for as many ballots as the memberships sum to
};

struct GroupShares {
  std::string column;
  std::vector<std::string> values;  // texts; numbers with many values in ranges, "18 to 25"; "(missing)" last
  double total = 0.0;               // ballots
  std::vector<Share> overall;       // by value: its share of all ballots
  std::vector<Share> of_group;      // by group, then value: the value's share of the group's members; each group's sum to 1
  std::vector<Share> of_value;      // by value, then group: the group's share of the ballots with that value
};

// `memberships` holds `num_groups` numbers per distinct ranking, as memberships() gives them. Throws UsageError where there is no
// such column; the message names those there are.
GroupShares group_shares(const Dataset& data, std::span<const double> memberships, std::size_t num_groups, std::string_view column);

// The same where voters are counted, each once: `memberships` holds `num_groups` numbers per voter, and the column is one of
// voter_columns().
GroupShares voter_shares(const Dataset& data, std::span<const double> memberships, std::size_t num_groups, std::string_view column);

}  // namespace caucus
