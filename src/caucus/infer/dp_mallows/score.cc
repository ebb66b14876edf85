#include "caucus/infer/dp_mallows/score.h"

#include <limits>

#include "caucus/base/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "caucus/infer/dp_mallows/score.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, by its rules.
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace caucus::dp_mallows {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// s_j of 16 clusters at once: the item's position less the earlier-listed items before it.
void block_codes(const std::int16_t* position, std::size_t stride, const std::int32_t* items, std::size_t length,
                 std::int16_t* codes) {
  const hn::CappedTag<std::int16_t, slot_block> d;
  for (std::size_t lane = 0; lane < slot_block; lane += hn::Lanes(d)) {
    for (std::size_t j = 0; j < length; ++j) {
      const auto own = hn::LoadU(d, position + static_cast<std::size_t>(items[j]) * stride + lane);
      auto s = own;
      for (std::size_t q = 0; q < j; ++q) {
        const auto other = hn::LoadU(d, position + static_cast<std::size_t>(items[q]) * stride + lane);
        s = hn::Add(s, hn::VecFromMask(d, hn::Lt(other, own)));  // a true lane is -1
      }
      hn::StoreU(s, d, codes + j * slot_block + lane);
    }
  }
}

void slot_codes(const std::int16_t* position, std::size_t stride, std::size_t slots, const std::int32_t* items, std::size_t length,
                std::int16_t* codes) {
  for (std::size_t slot = 0; slot < slots; slot += slot_block)
    block_codes(position + slot, stride, items, length, codes + slot * length);
}

double tilt_weights(double* weights, const double* factors, double scale) {
  const hn::CappedTag<double, slot_block> d;
  const auto by = hn::Set(d, scale);
  auto total = hn::Zero(d);
  for (std::size_t q = 0; q < slot_block; q += hn::Lanes(d)) {
    const auto weight = hn::Mul(hn::Mul(hn::LoadU(d, weights + q), hn::LoadU(d, factors + q)), by);
    total = hn::Add(total, weight);
    hn::StoreU(weight, d, weights + q);
  }
  return hn::GetLane(hn::SumOfLanes(d, total));
}

double dot_nodes(const double* weights, const double* factors) {
  const hn::CappedTag<double, slot_block> d;
  auto total = hn::Zero(d);
  for (std::size_t q = 0; q < slot_block; q += hn::Lanes(d))
    total = hn::MulAdd(hn::LoadU(d, weights + q), hn::LoadU(d, factors + q), total);
  return hn::GetLane(hn::SumOfLanes(d, total));
}

void weighted_rows(const double* weights, const double* table, std::size_t stride, double scale, double* out) {
  const hn::CappedTag<double, code_block> d;
  const auto by = hn::Set(d, scale);
  for (std::size_t s = 0; s < stride; s += hn::Lanes(d)) {
    auto even = hn::Zero(d), odd = hn::Zero(d);
    for (std::size_t q = 0; q < slot_block; q += 2) {
      even = hn::MulAdd(hn::Set(d, weights[q]), hn::LoadU(d, table + q * stride + s), even);
      odd = hn::MulAdd(hn::Set(d, weights[q + 1]), hn::LoadU(d, table + (q + 1) * stride + s), odd);
    }
    hn::StoreU(hn::Mul(hn::Add(even, odd), by), d, out + s);
  }
}

template <class D>
auto load_codes(D d, const std::int16_t* codes) {
  const hn::Rebind<std::int16_t, D> d16;
  const hn::Rebind<std::int32_t, D> d32;
  return hn::PromoteTo(d, hn::PromoteTo(d32, hn::LoadU(d16, codes)));
}

// Stirling's series without its constant and -x, which the caller folds into other terms. x >= 8.
template <class D, class V>
auto stirling(D d, V x) {
  const auto inverse = hn::Div(hn::Set(d, 1.0), x), square = hn::Mul(inverse, inverse);
  auto series = hn::NegMulAdd(square, hn::Set(d, 1.0 / 1680.0), hn::Set(d, 1.0 / 1260.0));
  series = hn::NegMulAdd(square, series, hn::Set(d, 1.0 / 360.0));
  series = hn::NegMulAdd(square, series, hn::Set(d, 1.0 / 12.0));
  return hn::MulAdd(hn::Sub(x, hn::Set(d, 0.5)), hn::Log(d, x), hn::Mul(inverse, series));
}

// x (x + 1) .. (x + 7)
template <class D, class V>
auto rising8(D d, V x) {
  auto product = x;
  for (int k = 1; k < 8; ++k) product = hn::Mul(product, hn::Add(x, hn::Set(d, static_cast<double>(k))));
  return product;
}

// lgamma(x) - lgamma(y) - (y - x), for 0 < x < y.
template <class D, class V>
auto log_gamma_difference(D d, V x, V y) {
  const auto limit = hn::Set(d, 12.0);
  const auto small_x = hn::Lt(x, limit);
  if (hn::AllFalse(d, small_x)) return hn::Sub(stirling(d, x), stirling(d, y));
  // lgamma(x) = lgamma(x + 8) - log(x .. (x + 7)).
  const auto small_y = hn::Lt(y, limit);
  const auto one = hn::Set(d, 1.0), eight = hn::Set(d, 8.0);
  const auto ratio = hn::Div(hn::IfThenElse(small_y, rising8(d, y), one), hn::IfThenElse(small_x, rising8(d, x), one));
  const auto up_x = hn::Add(x, hn::IfThenElseZero(small_x, eight)), up_y = hn::Add(y, hn::IfThenElseZero(small_y, eight));
  // The shifts change y - x by 8 where only x moved.
  const auto moved = hn::Sub(hn::Sub(up_y, up_x), hn::Sub(y, x));
  return hn::Add(hn::Add(hn::Sub(stirling(d, up_x), stirling(d, up_y)), moved), hn::Log(d, ratio));
}

// Every term is the log of a probability, so a sum that has fallen below table.floor stays there: a vector whose lanes all have is
// left, and its clusters get no weight. Among hundreds of items that is nearly every wrong cluster after one or two stages.
void score_beta(const ScoreTable& table, const std::int32_t* items, std::size_t length, std::int16_t* codes, double* out) {
  const hn::CappedTag<double, slot_block> d;
  const auto gap = hn::Set(d, table.nu + 2.0), floor = hn::Set(d, table.floor);
  const auto none = hn::Set(d, -std::numeric_limits<double>::infinity());
  for (std::size_t slot = 0; slot < table.slots; slot += slot_block) {
    block_codes(table.position + slot, table.stride, items, length, codes);
    for (std::size_t lane = 0; lane < slot_block; lane += hn::Lanes(d)) {
      auto total = hn::LoadU(d, table.log_size + slot + lane);
      for (std::size_t j = 0; j < length && !hn::AllTrue(d, hn::Lt(total, floor)); ++j) {
        const std::size_t at = j * table.stride + slot + lane;
        const auto s = load_codes(d, codes + j * slot_block + lane);
        const auto x = hn::Add(hn::Add(hn::LoadU(d, table.prior + at), hn::LoadU(d, table.sums + at)), s);
        const auto y = hn::Add(hn::Add(x, gap), hn::LoadU(d, table.counts + at));
        total = hn::Add(total, hn::Add(hn::LoadU(d, table.constant + at), log_gamma_difference(d, x, y)));
      }
      hn::StoreU(hn::IfThenElse(hn::Lt(total, floor), none, total), d, out + slot + lane);
    }
  }
}

void score_slice(const ScoreTable& table, const std::int32_t* items, std::size_t length, std::int16_t* codes, double* out) {
  const hn::CappedTag<double, slot_block> d;
  for (std::size_t slot = 0; slot < table.slots; slot += slot_block) {
    block_codes(table.position + slot, table.stride, items, length, codes);
    for (std::size_t lane = 0; lane < slot_block; lane += hn::Lanes(d)) {
      auto total = hn::LoadU(d, table.log_size + slot + lane);
      for (std::size_t j = 0; j < length; ++j) {
        const std::size_t at = j * table.stride + slot + lane;
        const auto s = load_codes(d, codes + j * slot_block + lane);
        total = hn::Sub(total, hn::MulAdd(hn::LoadU(d, table.theta + at), s, hn::LoadU(d, table.log_z + at)));
      }
      hn::StoreU(total, d, out + slot + lane);
    }
  }
}

void score_exact(const ScoreTable& table, const std::int32_t* items, std::size_t length, std::int16_t* codes, double* out) {
  for (std::size_t slot = 0; slot < table.slots; slot += slot_block) {
    block_codes(table.position + slot, table.stride, items, length, codes);
    for (std::size_t lane = 0; lane < slot_block; ++lane) {
      double total = table.log_size[slot + lane];
      if (total > -std::numeric_limits<double>::infinity())
        for (std::size_t j = 0; j < length; ++j)
          total += table.predictive[j * table.stride + slot + lane][codes[j * slot_block + lane]];
      out[slot + lane] = total;
    }
  }
}

void node_values(double m, double a, double b, double y, double step, std::size_t count, const NodeValues& out) {
  const hn::CappedTag<double, slot_block> d;
  const auto far = hn::Set(d, 36.0), near = hn::Set(d, -36.0);
  for (std::size_t q = 0; q < count; q += hn::Lanes(d)) {
    const auto at = hn::MulAdd(hn::Iota(d, static_cast<double>(q)), hn::Set(d, step), hn::Set(d, y));
    const auto theta = hn::IfThenElse(hn::Gt(at, far), at, hn::Log1p(d, hn::Exp(d, hn::Min(at, far))));
    // d theta / d y = 1 - e^-theta
    const auto log_jacobian = hn::IfThenElse(hn::Lt(at, near), at, hn::Neg(hn::Log1p(d, hn::Exp(d, hn::Neg(hn::Max(at, near))))));
    const auto x = hn::Mul(hn::Set(d, -m), theta);
    const auto top = hn::IfThenElse(hn::Gt(x, hn::Set(d, -0.6931471805599453)), hn::Log(d, hn::Neg(hn::Expm1(d, x))),
                                    hn::Log1p(d, hn::Neg(hn::Exp(d, hn::Max(x, hn::Set(d, -700.0))))));
    const auto log_z = m == 1.0 ? hn::Zero(d) : hn::Sub(top, log_jacobian);
    hn::StoreU(theta, d, out.theta + q);
    hn::StoreU(log_z, d, out.log_z + q);
    hn::StoreU(hn::NegMulAdd(hn::Set(d, a), theta, hn::NegMulAdd(hn::Set(d, b), log_z, log_jacobian)), d, out.log_value + q);
  }
}

Recurrence next_polynomial(const double* x, const double* weight, std::size_t count, double beta, const double* now,
                           double* before) {
  const hn::CappedTag<double, slot_block> d;
  auto total = hn::Zero(d), square = hn::Zero(d);
  for (std::size_t q = 0; q < count; q += hn::Lanes(d)) {
    const auto value = hn::LoadU(d, now + q);
    total = hn::MulAdd(hn::Mul(hn::LoadU(d, weight + q), hn::LoadU(d, x + q)), hn::Mul(value, value), total);
  }
  const auto alpha = hn::SumOfLanes(d, total), by = hn::Set(d, beta);
  for (std::size_t q = 0; q < count; q += hn::Lanes(d)) {
    const auto next =
        hn::NegMulAdd(by, hn::LoadU(d, before + q), hn::Mul(hn::Sub(hn::LoadU(d, x + q), alpha), hn::LoadU(d, now + q)));
    square = hn::MulAdd(hn::LoadU(d, weight + q), hn::Mul(next, next), square);
    hn::StoreU(next, d, before + q);
  }
  return {hn::GetLane(alpha), hn::GetLane(hn::SumOfLanes(d, square))};
}

double log_tilted_weights(const RuleNodes& nodes, double more_a, double more_b, double* weight) {
  const hn::CappedTag<double, slot_block> d;
  const auto a = hn::Set(d, more_a), b = hn::Set(d, more_b), floor = hn::Set(d, -700.0);
  auto top = hn::Set(d, -1e300);
  for (std::size_t q = 0; q < slot_block; q += hn::Lanes(d)) {
    auto x = hn::NegMulAdd(a, hn::LoadU(d, nodes.theta + q), hn::LoadU(d, nodes.log_weight + q));
    x = hn::NegMulAdd(b, hn::LoadU(d, nodes.log_z + q), x);
    hn::StoreU(x, d, weight + q);
    top = hn::Max(top, x);
  }
  top = hn::MaxOfLanes(d, top);
  auto total = hn::Zero(d);
  for (std::size_t q = 0; q < slot_block; q += hn::Lanes(d)) {
    const auto x = hn::Exp(d, hn::Max(hn::Sub(hn::LoadU(d, weight + q), top), floor));
    hn::StoreU(x, d, weight + q);
    total = hn::Add(total, x);
  }
  const double sum = hn::GetLane(hn::SumOfLanes(d, total));
  const auto scale = hn::Set(d, 1.0 / sum);
  for (std::size_t q = 0; q < slot_block; q += hn::Lanes(d)) hn::StoreU(hn::Mul(hn::LoadU(d, weight + q), scale), d, weight + q);
  return hn::GetLane(top) + hn::GetLane(hn::Log(d, hn::Set(d, sum)));
}

void log_moments(double* weight, const double* factor, double* out, std::size_t size) {
  const hn::CappedTag<double, slot_block> d;
  for (std::size_t s = 0; s < size; ++s) {
    auto part = hn::Zero(d);
    for (std::size_t q = 0; q < slot_block; q += hn::Lanes(d)) {
      const auto value = hn::LoadU(d, weight + q);
      part = hn::Add(part, value);
      hn::StoreU(hn::Mul(value, hn::LoadU(d, factor + q)), d, weight + q);
    }
    out[s] = hn::GetLane(hn::SumOfLanes(d, part));
  }
  std::size_t s = 0;
  for (; s + hn::Lanes(d) <= size; s += hn::Lanes(d)) hn::StoreU(hn::Log(d, hn::LoadU(d, out + s)), d, out + s);
  for (; s < size; ++s) out[s] = hn::GetLane(hn::Log(d, hn::Set(d, out[s])));
}

double exp_weights(const double* logs, std::size_t count, double largest, double* weights) {
  const hn::CappedTag<double, slot_block> d;
  const auto top = hn::Set(d, largest), floor = hn::Set(d, -700.0);
  auto total = hn::Zero(d);
  for (std::size_t k = 0; k < count; k += hn::Lanes(d)) {
    const auto x = hn::Sub(hn::LoadU(d, logs + k), top);
    const auto value = hn::IfThenElseZero(hn::Gt(x, floor), hn::Exp(d, hn::Max(x, floor)));
    total = hn::Add(total, value);
    hn::StoreU(value, d, weights + k);
  }
  return hn::GetLane(hn::SumOfLanes(d, total));
}

double largest_of(const double* values, std::size_t count) {
  const hn::CappedTag<double, slot_block> d;
  auto largest = hn::Set(d, -std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < count; k += hn::Lanes(d)) largest = hn::Max(largest, hn::LoadU(d, values + k));
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

}  // namespace HWY_NAMESPACE
}  // namespace caucus::dp_mallows
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "caucus/base/simd_dispatch.h"

namespace caucus::dp_mallows {

void score_slots(ScoreKind kind, const ScoreTable& table, const std::int32_t* items, std::size_t length, std::int16_t* codes,
                 double* out) {
  switch (kind) {
    case ScoreKind::beta:
      CAUCUS_SIMD(score_beta)(table, items, length, codes, out);
      break;
    case ScoreKind::slice:
      CAUCUS_SIMD(score_slice)(table, items, length, codes, out);
      break;
    case ScoreKind::exact:
      CAUCUS_SIMD(score_exact)(table, items, length, codes, out);
      break;
  }
}

void slot_codes(const std::int16_t* position, std::size_t stride, std::size_t slots, const std::int32_t* items, std::size_t length,
                std::int16_t* codes) {
  CAUCUS_SIMD(slot_codes)(position, stride, slots, items, length, codes);
}

double tilt_weights(double* weights, const double* factors, double scale) {
  return CAUCUS_SIMD(tilt_weights)(weights, factors, scale);
}

double dot_nodes(const double* weights, const double* factors) { return CAUCUS_SIMD(dot_nodes)(weights, factors); }

void weighted_rows(const double* weights, const double* table, std::size_t stride, double scale, double* out) {
  CAUCUS_SIMD(weighted_rows)(weights, table, stride, scale, out);
}

void node_values(double m, double a, double b, double y, double step, std::size_t count, const NodeValues& out) {
  CAUCUS_SIMD(node_values)(m, a, b, y, step, count, out);
}

Recurrence next_polynomial(const double* x, const double* weight, std::size_t count, double beta, const double* now,
                           double* before) {
  return CAUCUS_SIMD(next_polynomial)(x, weight, count, beta, now, before);
}

double log_tilted_weights(const RuleNodes& nodes, double more_a, double more_b, double* weight) {
  return CAUCUS_SIMD(log_tilted_weights)(nodes, more_a, more_b, weight);
}

void log_moments(double* weight, const double* factor, double* out, std::size_t size) {
  CAUCUS_SIMD(log_moments)(weight, factor, out, size);
}

double exp_weights(const double* logs, std::size_t count, double largest, double* weights) {
  return CAUCUS_SIMD(exp_weights)(logs, count, largest, weights);
}

double largest_of(const double* values, std::size_t count) { return CAUCUS_SIMD(largest_of)(values, count); }

}  // namespace caucus::dp_mallows
#endif
