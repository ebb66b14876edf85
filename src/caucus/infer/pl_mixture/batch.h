// Rankings laid out for the batch kernels, and the fused pass over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/base/bytes.h"
#include "caucus/base/parallel.h"
#include "caucus/base/workers.h"
#include "caucus/data/dataset.h"

namespace caucus::pl_mixture {

// Strict rankings, sorted by length so that loops over them predict well. Stage s chooses items[s] from what is left. What is
// left after the last stage is either listed behind the stages (explicit: complete rankings and subsets, whose last listed
// item is never a choice) or all items that the ranking does not list (implicit: ballots that stop early).
struct Batch {
  struct Group {                       // rankings of one shape
    std::size_t first = 0, count = 0;  // ranking numbers
    std::size_t begin = 0;             // of the first in items
    std::uint32_t length = 0;          // items stored per ranking
    std::uint32_t stages = 0;
    bool implicit = false;
  };
  std::size_t num_items = 0;
  std::size_t count = 0;          // rankings that say something
  bool all_complete = false;      // explicit, and all n items listed: wins follow from last places
  Buffer<std::uint16_t> items16;  // one of the two, by the number of items
  Buffer<std::uint32_t> items32;
  Buffer<double> weights;
  Buffer<std::uint32_t> source;  // which ranking of the set
  std::vector<Group> groups;
  double silent_weight = 0.0;  // of rankings that say nothing (one item, or none)
  double total_weight = 0.0;   // of all
  std::uint32_t max_length = 0;
  // Several processes have a part each: items, weights and sources of rankings [first, last) are there, the others are zeros that
  // take no memory. All that is said above of rankings and groups is said of all.
  std::size_t first = 0, last = 0;
  bool is_whole() const { return last - first == count; }
};

// With several processes of `workers`, the rankings of the own blocks (pass_blocks) where they are many. All call.
Batch make_batch(const Dataset& data, const Workers& workers = 1);

// Who cast which rankings of a batch: entries [begin[v], begin[v + 1]) are those of voter v.
struct CastRankings {
  std::vector<std::uint32_t> begin{0};
  std::vector<std::uint32_t> ranking;  // of the batch; those that say nothing are left out
  std::vector<std::uint16_t> group;    // of the batch, beside each ranking; empty for a batch without groups
  std::vector<std::uint32_t> times;    // empty: once each
  std::vector<double> weights;         // of the voters

  std::size_t size() const { return weights.size(); }
  std::uint32_t count(std::size_t entry) const { return times.empty() ? 1U : times[entry]; }
};
// source: which ranking of the set each ranking of the batch is.
CastRankings cast_rankings(const Voters& voters, std::span<const std::uint32_t> source, std::size_t num_rankings,
                           std::span<const Batch::Group> groups);
// Blocks of voters with about so many rankings each.
Blocks blocks_of_voters(const CastRankings& cast, std::size_t grain, std::size_t limit);
// A few rankings of one voter are worked on at once, as many as the second-level cache holds of numbers.
std::size_t rankings_at_once(std::size_t numbers_each);

// What one pass over the data gives, summed over rankings. K values per item or one per component.
struct PassSums {
  double loglik = 0.0;
  std::vector<double> responsibility;  // [k]
  std::vector<double> wins;            // [i * lanes + k]: weight with which item i was chosen
  std::vector<double> exposure;  // [i * lanes + k]: sum of weight / (worth of what was left), over the stages where i was there
};
auto parts(IsA<PassSums> auto& sums) { return std::tie(sums.loglik, sums.responsibility, sums.wins, sums.exposure); }

// Components are SIMD lanes: the numbers of one item for all components lie side by side, so no gather or scatter is needed.
std::size_t padded_components(std::size_t num_components);

// worths[i * lanes + k] in (0, 1], padding lanes 1; prior[k] the mixing weights, padding 0. With `posterior` (count * K, in batch
// order) the memberships are kept. With `voters` all rankings of a voter are one observation, and posterior and row_loglik are of
// voters. The halves of a pass, for memberships that come from elsewhere (voters.h): with `logs` (count * K) log P_k of each
// ranking is kept and nothing else is done; with `shares` (same layout) the weights of the groups are taken from there and only
// wins and exposures are added up.
struct PassInput {
  std::span<const double> worths;
  std::span<const double> prior;
  std::size_t num_components = 1;
  double* posterior = nullptr;
  double* row_loglik = nullptr;  // log P of each ranking, in batch order
  double* logs = nullptr;
  const double* shares = nullptr;
  const CastRankings* voters = nullptr;
  const double* voter_prior = nullptr;  // K for each voter, where they have weights of their own
  // Several processes: each keeps the memberships of its own blocks only (pass_blocks). Otherwise all have all: those of voters are
  // exchanged, those of rankings made by everybody.
  bool own_rows = false;
};

// How a pass over the rankings of a batch is cut.
Blocks pass_blocks(const Batch& batch);

// One fused E-step and accumulation: O(total length * K). Fixed blocks, so the same bits on any number of threads.
PassSums run_pass(const Batch& batch, const PassInput& input, const Workers& workers);

// Block kernel, exposed for the micro-benchmark: rankings (voters) [begin, end) of the batch into sums.
void run_block(const Batch& batch, const PassInput& input, std::size_t begin, std::size_t end, PassSums& sums);

}  // namespace caucus::pl_mixture
