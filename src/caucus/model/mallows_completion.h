// Rankings of a subset of the items by Monte Carlo, where the exact recursion of mallows_subset.h has too many states.
//
// Sequential importance sampling with resampling. A completion begins with the listed items as the ballot orders them (tied ones by
// a draw of their own) and takes in the unlisted ones one by one, each at a place drawn by q^(disagreements with what stands
// already). The product of the sums over places, over [n]!, is an unbiased estimate of P(ballot), and weighted completions follow
// P(. | ballot). Items that the center puts outside the interval of the listed ones come last, outwards: their sums are the same
// for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/data/ranking.h"
#include "caucus/model/mallows_subset.h"

namespace caucus {

struct SubsetEstimate {
  double log_prob = 0.0;
  double standard_error = 0.0;  // of log_prob; 0 when exact
};

// Weighted complete rankings that agree with a ballot.
struct Completions {
  std::vector<ItemId> order;  // rows of n items
  std::vector<double> share;  // of each row; sum to one
  SubsetEstimate probability;
  double distance = 0.0;           // mean distance to the center under P(. | ballot)
  double distance_error = 0.0;     // its standard error
  double distance_variance = 0.0;  // of the distance under P(. | ballot)
};

// Draws about one center at one theta. Independent batches of particles measure the error. Safe to use from several threads.
class CompletionSampler {
 public:
  static constexpr std::size_t num_batches = 8;

  CompletionSampler(std::span<const ItemId> center, double theta);

  // `count` completions, rounded up to a multiple of the batches. O(count n^2).
  Completions draw(RankingView ballot, std::size_t count, RandomStream& stream) const;
  // P alone: exact where the recursion has at most 200,000 states.
  SubsetEstimate probability(RankingView ballot, const SubsetProbabilities& exact, std::size_t count, RandomStream& stream) const;

 private:
  struct Plan;
  struct Batch;
  Plan plan(RankingView ballot, bool whole) const;
  Batch run(const Plan& plan, std::size_t size, RandomStream& stream) const;

  std::vector<ItemId> center_;
  std::vector<std::uint32_t> position_;
  double theta_;
  std::vector<double> power_;             // q^m, m up to 2 n
  std::vector<double> log_q_factorials_;  // log [m]!, m up to n
};

// The number `score` gives, the same in a fit: 512 completions of a stream of their own where the recursion is too large.
SubsetEstimate scored_probability(RankingView ballot, const CompletionSampler& sampler, const SubsetProbabilities& exact,
                                  std::uint64_t index);

}  // namespace caucus
