// Consensus rankings: the order that disagrees least with pairwise weights Q (Kemeny 1959), which is the maximum-likelihood
// center of a Mallows model under Kendall's distance whatever theta is.
//   cost(order) = sum over pairs a before b in the order of Q(b, a).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/model/pair_matrix.h"

namespace caucus {

enum class ConsensusMethod { automatic, borda, local, exact };
template <>
inline constexpr std::array<std::string_view, 4> enum_names<ConsensusMethod>{"auto", "borda", "local", "exact"};

struct ConsensusLimits {
  std::uint64_t max_nodes = 1'000'000;  // of the exact search, over all components
  std::function<bool()> stop;           // asked now and then; true: give the best so far
};

struct Consensus {
  std::vector<ItemId> order;  // best first
  double cost = 0.0;
  double lower_bound = 0.0;  // no order costs less; equals the cost when optimal
  bool optimal = false;      // certificate: the search ended
  std::uint64_t nodes = 0;   // sets of items expanded

  double gap() const { return optimal ? 0.0 : cost - lower_bound; }
};

double consensus_cost(std::span<const ItemId> order, const PairMatrix& pairs);

// By weight won minus weight lost. O(n^2).
std::vector<ItemId> borda_order(const PairMatrix& pairs);
// Moves single items to their best place until nothing gains, or `stop` says so. O(n^2) per sweep.
void insertion_search(std::vector<ItemId>& order, const PairMatrix& pairs, const std::function<bool()>& stop = {});

// Exact: the majority graph is cut into strongly connected components; each is solved by A* over the sets of items placed
// first (Meila et al. 2007 search over prefixes; sets are fewer), with a bound from a packing of majority cycles. `automatic`
// is exact with a small node limit. Components of more than 1024 items get local search and the packing bound.
Consensus find_consensus(const PairMatrix& pairs, ConsensusMethod method = ConsensusMethod::automatic,
                         const ConsensusLimits& limits = {});

}  // namespace caucus
