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

// The codes of a ranking about every center: code j of a slot stands at code_place(slot, length) + j * slot_block.
void slot_codes(const std::int16_t* position, std::size_t stride, std::size_t slots, const std::int32_t* items, std::size_t length,
                std::int16_t* codes);
inline std::size_t code_place(std::size_t slot, std::size_t length) {
  return slot / slot_block * slot_block * length + slot % slot_block;
}

// Of the weights of a rule's nodes (slot_block of them): weights[q] *= scale * factors[q]; returns their sum.
double tilt_weights(double* weights, const double* factors, double scale);
double dot_nodes(const double* weights, const double* factors);
// out[s] = scale * sum_q weights[q] table[q * stride + s], s below the stride, a multiple of code_block.
inline constexpr std::size_t code_block = 8;
void weighted_rows(const double* weights, const double* table, std::size_t stride, double scale, double* out);

// Nodes of a stage's quadrature at y, y + step, ...: theta = log(1 + e^y), log Z_m(theta) and the log of the integrand. count is a
// multiple of slot_block.
struct NodeValues {
  double* theta;
  double* log_z;
  double* log_value;
};
void node_values(double m, double a, double b, double y, double step, std::size_t count, const NodeValues& out);

// Polynomials that are orthonormal under weights at points: the one before and the one now give the next, in the place of the one
// before, up to its norm. count is a multiple of slot_block.
struct Recurrence {
  double alpha, square_norm;
};
Recurrence next_polynomial(const double* x, const double* weight, std::size_t count, double beta, const double* now,
                           double* before);

// The nodes of a StageRule.
struct RuleNodes {
  const double* theta;
  const double* log_z;
  const double* log_weight;
};
// weight[q] proportional to exp(log_weight - more_a theta - more_b log_z), their sum one; answers the log of the sum before.
double log_tilted_weights(const RuleNodes& nodes, double more_a, double more_b, double* weight);
// out[s] = log of sum_q weight[q] factor[q]^s; uses up the weights.
void log_moments(double* weight, const double* factor, double* out, std::size_t size);

// weights[k] = exp(logs[k] - largest); returns their sum. count is a multiple of slot_block.
double exp_weights(const double* logs, std::size_t count, double largest, double* weights);
double largest_of(const double* values, std::size_t count);

}  // namespace caucus::dp_mallows
