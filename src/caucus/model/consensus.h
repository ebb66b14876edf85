// Consensus rankings: the order that disagrees least with pairwise weights Q (Kemeny 1959), which is the maximum-likelihood
// center of a Mallows model under Kendall's distance whatever theta is.
//   cost(order) = sum over pairs a before b in the order of Q(b, a).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/model/pair_matrix.h"

namespace caucus {

enum class ConsensusMethod { automatic, borda, local, exact };
template <>
inline constexpr std::array<std::string_view, 4> enum_names<ConsensusMethod>{"auto", "borda", "local", "exact"};

class ConsensusMemory;

struct ConsensusLimits {
  std::uint64_t max_nodes = 1'000'000;           // of the exact search, over all components; pivots count by what they cost
  std::function<bool()> stop;                    // asked now and then; true: give the best so far
  std::shared_ptr<ConsensusMemory> memory = {};  // for remembered_consensus
};

struct Consensus {
  std::vector<ItemId> order;  // best first
  double cost = 0.0;
  double lower_bound = 0.0;  // no order costs less; equals the cost when optimal
  bool optimal = false;      // certificate: the search ended
  std::uint64_t nodes = 0;   // sets of items expanded, and pivots of the linear program by what they cost

  double gap() const { return optimal ? 0.0 : cost - lower_bound; }
};

double consensus_cost(std::span<const ItemId> order, const PairMatrix& pairs);

// By weight won minus weight lost. O(n^2).
std::vector<ItemId> borda_order(const PairMatrix& pairs);
// Moves single items to their best place until nothing gains, or `stop` says so. O(n^2) per sweep.
void insertion_search(std::vector<ItemId>& order, const PairMatrix& pairs, const std::function<bool()>& stop = {});

// A node of the exact search costs about the cube of the number of items, and a node then gets less far: milliseconds each with 300
// items, where 20,000 took minutes and certified nothing. So many nodes of `nodes` are worth their time: all to 100 items, then
// falling with this power.
std::uint64_t affordable_nodes(std::uint64_t nodes, std::size_t num_items, int power);

// Exact: the majority graph is cut into strongly connected components; each is solved by A* over the sets of items placed
// first (Meila et al. 2007 search over prefixes; sets are fewer), with a bound from a packing of majority cycles. Where that does
// not end soon, up to 512 items and with nodes enough, branch and bound on a linear program takes over (triangle_program.h): of
// near-uniform rankings its bound is all but the best cost. `automatic` is exact with a small node limit. Components of more than
// 1024 items get local search and the packing bound. Where a limit ends it, the bound is the better one of the two.
Consensus find_consensus(const PairMatrix& pairs, ConsensusMethod method = ConsensusMethod::automatic,
                         const ConsensusLimits& limits = {});

// Keeps the last answer, for callers that come back with the same weights: the only group of a fit has the same ones in every step.
// What was proven, or searched to the same limit, is not searched again; after a stop the better order and the better bound of the
// two are given. Any number of threads.
class ConsensusMemory {
 public:
  Consensus find(const PairMatrix& pairs, ConsensusMethod method, const ConsensusLimits& limits);

 private:
  std::mutex mutex_;
  PairMatrix pairs_;
  ConsensusMethod method_ = ConsensusMethod::automatic;
  std::uint64_t max_nodes_ = 0;
  bool stopped_ = false;
  Consensus found_;
};

// By the memory of the limits, where they have one.
Consensus remembered_consensus(const PairMatrix& pairs, ConsensusMethod method, const ConsensusLimits& limits);

}  // namespace caucus
