// Rankings with ties laid out for the batch kernel, and the fused pass over them.
//
// The recursion is that of model/plackett_luce_ties.h: elementary symmetric polynomials of what is left, built from the bottom of a
// ranking, and the same steps backwards for the derivatives. Components are SIMD lanes, as for strict rankings (batch.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/infer/pl_mixture/batch.h"

namespace caucus::pl_mixture {

// Rankings that say something, each from the bottom up: what is there but not listed, then the tie-groups, the last one first.
struct TieBatch {
  std::size_t num_items = 0;
  std::vector<int> orders;                 // sizes of tie-groups above one, ascending
  std::vector<std::size_t> offsets = {0};  // of each ranking in the lists below
  std::vector<std::uint32_t> items;
  std::vector<std::uint32_t> group_size;  // beside each item: of its tie-group; 0: not listed
  std::vector<std::uint8_t> completes;    // beside each item: with it a stage's set is complete
  std::vector<double> weights;
  std::vector<std::uint32_t> source;  // which ranking of the set
  std::size_t count() const { return weights.size(); }
};
TieBatch make_tie_batch(const Dataset& data, std::vector<int> orders);

// powers[(i * (orders + 1) + o) * lanes + k]: the worth a of item i, then a^(1/t) for each order t; padding lanes 1.
// log_prior: of the mixing weights, padding -infinity.
struct TieInput {
  std::span<const double> powers, log_worths, log_prior, delta, log_delta;
  std::size_t num_components = 1;
  double* posterior = nullptr;              // count * K, in batch order
  double* row_loglik = nullptr;             // log P of each ranking, in batch order
  const CastRankings* voters = nullptr;     // all rankings of a voter are one observation; the two above are of voters then
  const double* voter_log_prior = nullptr;  // K for each voter, where they have weights of their own
};

struct TieSums {
  double loglik = 0.0;
  std::vector<double> responsibility;  // [k]
  std::vector<double> wins, expected;  // [i * lanes + k]
  std::vector<double> tie_expected;    // [order]
};
auto parts(IsA<TieSums> auto& sums) {
  return std::tie(sums.loglik, sums.responsibility, sums.wins, sums.expected, sums.tie_expected);
}

// One E-step and accumulation: O(total length * sum of orders * K). Fixed blocks, so the same bits on any number of threads.
TieSums run_tie_pass(const TieBatch& batch, const TieInput& input, const Workers& workers);

}  // namespace caucus::pl_mixture
