// One ranking against all clusters, in SIMD across clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace caucus::dp_mallows {

inline constexpr std::size_t slot_block = 16;  // slots are padded to a multiple of this

// Structure of arrays over slots: row r of a table of the form x[r * stride + slot]. One row per item for `position`,
// one per stage for the others.
struct ScoreTable {
  std::size_t slots = 0;   // used, free ones among them
  std::size_t stride = 0;  // a multiple of slot_block
  const std::int16_t* position = nullptr;
  const double* log_size = nullptr;  // -inf: free
  // beta-gibbs: a = prior + sums, b = nu + counts, constant = log(b + 1) - lgamma(a) + lgamma(a + b + 1) + b + 2.
  const double* prior = nullptr;
  const double* sums = nullptr;
  const double* counts = nullptr;
  const double* constant = nullptr;
  double nu = 1.0;
  double floor = -std::numeric_limits<double>::infinity();  // scores below it may be left out: -inf
  // slice-gibbs
  const double* theta = nullptr;
  const double* log_z = nullptr;
  // exact-gibbs: log predictive of each code
  const double* const* predictive = nullptr;
};

enum class ScoreKind { beta, slice, exact };

// out[slot] = log size + log P(ranking | cluster), -inf in free slots, for all slots up to the stride.
// `codes` is scratch of length * slot_block numbers. O(slots (t^2 / lanes + t)).
void score_slots(ScoreKind kind, const ScoreTable& table, const std::int32_t* items, std::size_t length, std::int16_t* codes,
                 double* out);

// Nodes of a stage's quadrature (stage.h), filled up to a multiple of slot_block with nodes of no weight.
struct TiltedNodes {
  std::size_t count;
  const double* theta;
  const double* log_z;
  const double* log_weight;
  const double* factor;     // e^-theta
  const double* inverse_z;  // 1 / Z
};
// out[s] = log of sum_q w_q e^(-theta_q s) / Z_q over sum_q w_q, w_q = exp(log_weight - more_a theta - more_b log_z): the next code
// given other data of the stage. `term` is scratch of `count` numbers.
void log_tilted_sums(const TiltedNodes& nodes, double more_a, double more_b, double* term, double* out, std::size_t size);

// weights[k] = exp(logs[k] - largest); returns their sum. count is a multiple of slot_block.
double exp_weights(const double* logs, std::size_t count, double largest, double* weights);
double largest_of(const double* values, std::size_t count);

}  // namespace caucus::dp_mallows
