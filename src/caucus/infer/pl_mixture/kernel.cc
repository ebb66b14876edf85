// The fused pass: likelihood, memberships and accumulation of a block of rankings, all components at once as SIMD lanes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "caucus/infer/pl_mixture/batch.h"
#include "caucus/infer/pl_mixture/log_buffer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "caucus/infer/pl_mixture/kernel.cc"
#include <hwy/aligned_allocator.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, by its rules.
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace caucus::pl_mixture::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Worths lie in [e^-80, 1], so a product of four sums of them, and of eight ratios, stays inside the range of a double.
inline constexpr std::size_t rows_per_log = 256;

// single: all components fit one vector. narrow: no product over a whole ranking can underflow, so exponents need not be split off.
template <class D, class Item, bool single, bool narrow>
class BlockPass {
  using V = hn::Vec<D>;
  using I = hn::RebindToSigned<D>;
  using VI = hn::Vec<I>;

 public:
  BlockPass(D d, const Batch& batch, const Item* items, const PassInput& input, PassSums& sums)
      : d_(d), batch_(batch), items_(items), input_(input), sums_(sums), all_lanes_(padded_components(input.num_components)) {
    depth_ = std::max<std::size_t>(batch.max_length, batch.num_items) + 4;
    scratch_ = hwy::AllocateAligned<double>(2 * depth_ * all_lanes_);
    lane_values_ = hwy::AllocateAligned<double>(5 * all_lanes_);
    totals_ = lane_values_.get() + 2 * all_lanes_;
    global_ = lane_values_.get() + 3 * all_lanes_;
    responsibility_ = lane_values_.get() + 4 * all_lanes_;
    std::fill_n(totals_, 3 * all_lanes_, 0.0);
    for (std::size_t i = 0; i < batch.num_items; ++i)
      for (std::size_t k = 0; k < all_lanes_; ++k) totals_[k] += input.worths[i * all_lanes_ + k];
    exponents_.resize(all_lanes_);
  }

  void run(std::size_t begin, std::size_t end) {
    first_row_ = begin;
    for (const Batch::Group& group : batch_.groups) {
      const std::size_t from = std::max(begin, group.first), to = std::min(end, group.first + group.count);
      if (from >= to) continue;
      const Item* items = items_ + group.begin + (from - group.first) * group.length;
      // The shapes are few: the branches are taken once per group.
      if (group.implicit)
        for (std::size_t r = from; r < to; ++r, items += group.length) ranking<true, false>(r, items, group.length, group.stages);
      else if (batch_.all_complete)
        for (std::size_t r = from; r < to; ++r, items += group.length) ranking<false, true>(r, items, group.length, group.stages);
      else
        for (std::size_t r = from; r < to; ++r, items += group.length) ranking<false, false>(r, items, group.length, group.stages);
    }
    flush();
    finish();
  }

 private:
  HWY_INLINE std::size_t lanes() const {
    if constexpr (single) return hn::Lanes(D());
    return all_lanes_;
  }

  // Splits off the exponents of a product so that it cannot underflow, eight factors at a time.
  HWY_INLINE void normalise(V& mantissa, VI& exponent) const {
    const I di;
    const VI bits = hn::BitCast(di, mantissa);
    const VI shifted = hn::BitCast(di, hn::ShiftRight<52>(hn::BitCast(hn::RebindToUnsigned<D>(), bits)));
    exponent = hn::Add(exponent, hn::Sub(shifted, hn::Set(di, 1023)));
    mantissa = hn::BitCast(d_, hn::Or(hn::And(bits, hn::Set(di, 0x000FFFFFFFFFFFFFll)), hn::Set(di, 0x3FF0000000000000ll)));
  }

  template <bool implicit, bool complete>
  HWY_INLINE void ranking(std::size_t r, const Item* HWY_RESTRICT items, std::size_t length, std::size_t stages) {
    const std::size_t width = hn::Lanes(d_);
    const std::size_t stride = lanes();
    double* const HWY_RESTRICT sums = scratch_.get();
    double* const HWY_RESTRICT prefix = scratch_.get() + depth_ * stride;
    const double* const HWY_RESTRICT worths = input_.worths.data();
    V product = hn::Set(d_, 1.0);

    for (std::size_t c = 0; c < stride; c += width) {
      const auto worth = [&](std::size_t p) HWY_ATTR { return hn::LoadU(d_, worths + items[p] * stride + c); };
      // Worth of what is left, from the bottom up.
      V left = hn::Zero(d_);
      if constexpr (implicit) {
        V listed = hn::Zero(d_);
        for (std::size_t p = 0; p < stages; ++p) listed = hn::Add(listed, worth(p));
        const V total = hn::LoadU(d_, totals_ + c);
        left = hn::Sub(total, listed);
        if (HWY_UNLIKELY(!hn::AllTrue(d_, hn::Ge(left, hn::Mul(total, hn::Set(d_, 1e-4)))))) {
          // Total minus listed cancels: list the rest.
          ranking<false, false>(r, expand(items, stages), batch_.num_items, stages);
          return;
        }
      } else {
        for (std::size_t p = length; p-- > stages;) left = hn::Add(left, worth(p));
      }
      double* const HWY_RESTRICT s = sums + c * depth_;
      for (std::size_t p = stages; p-- > 0;) {
        left = hn::Add(left, worth(p));
        hn::StoreU(left, d_, s + p * width);
      }
      // Reciprocals by one division per four stages, their prefix sums, and the likelihood as a product.
      V running = hn::Zero(d_);
      product = hn::Set(d_, 1.0);
      VI exponent = hn::Zero(I());
      double* const HWY_RESTRICT e = prefix + c * depth_;
      std::size_t p = 0;
      for (; p + 4 <= stages; p += 4) {
        const V s0 = hn::LoadU(d_, s + p * width), s1 = hn::LoadU(d_, s + (p + 1) * width);
        const V s2 = hn::LoadU(d_, s + (p + 2) * width), s3 = hn::LoadU(d_, s + (p + 3) * width);
        const V p01 = hn::Mul(s0, s1), p23 = hn::Mul(s2, s3);
        const V inverse = hn::Div(hn::Set(d_, 1.0), hn::Mul(p01, p23));
        const V numerator = hn::Mul(hn::Mul(worth(p), worth(p + 1)), hn::Mul(worth(p + 2), worth(p + 3)));
        const V i01 = hn::Mul(inverse, p23), i23 = hn::Mul(inverse, p01);  // 1 / (s0 s1), 1 / (s2 s3)
        product = hn::Mul(product, hn::Mul(numerator, inverse));
        const V c0 = hn::MulAdd(i01, s1, running);
        const V c1 = hn::MulAdd(i01, hn::Add(s0, s1), running);
        const V c2 = hn::MulAdd(i23, s3, c1);
        running = hn::MulAdd(i23, hn::Add(s2, s3), c1);
        hn::StoreU(c0, d_, e + p * width);
        hn::StoreU(c1, d_, e + (p + 1) * width);
        hn::StoreU(c2, d_, e + (p + 2) * width);
        hn::StoreU(running, d_, e + (p + 3) * width);
        if constexpr (!narrow)
          if ((p & 4) != 0) normalise(product, exponent);
      }
      for (; p < stages; ++p) {
        const V inverse = hn::Div(hn::Set(d_, 1.0), hn::LoadU(d_, s + p * width));
        product = hn::Mul(product, hn::Mul(worth(p), inverse));
        running = hn::Add(running, inverse);
        hn::StoreU(running, d_, e + p * width);
      }
      if constexpr (!narrow) {
        normalise(product, exponent);
        hn::StoreU(exponent, I(), exponents_.data() + c);
      }
      if constexpr (!single || !narrow) hn::StoreU(product, d_, lane_values_.get() + c);
    }

    const V alone = posterior(r, product);

    for (std::size_t c = 0; c < stride; c += width) {
      V q = alone;
      if constexpr (!single) q = hn::LoadU(d_, lane_values_.get() + c);
      hn::StoreU(hn::Add(hn::LoadU(d_, responsibility_ + c), q), d_, responsibility_ + c);
      const double* const HWY_RESTRICT e = prefix + c * depth_;
      const V last = hn::LoadU(d_, e + (stages - 1) * width);
      double* const HWY_RESTRICT exposure = sums_.exposure.data() + c;
      double* const HWY_RESTRICT wins = sums_.wins.data() + c;
      if constexpr (implicit) {
        // Everyone gets the whole ballot's sum; listed items are corrected down to the stages where they were still there.
        hn::StoreU(hn::MulAdd(q, last, hn::LoadU(d_, global_ + c)), d_, global_ + c);
        for (std::size_t p = 0; p < stages; ++p) {
          double* const to = exposure + items[p] * stride;
          hn::StoreU(hn::MulAdd(q, hn::Sub(hn::LoadU(d_, e + p * width), last), hn::LoadU(d_, to)), d_, to);
          double* const won = wins + items[p] * stride;
          hn::StoreU(hn::Add(q, hn::LoadU(d_, won)), d_, won);
        }
      } else {
        for (std::size_t p = 0; p < stages; ++p) {
          double* const to = exposure + items[p] * stride;
          hn::StoreU(hn::MulAdd(q, hn::LoadU(d_, e + p * width), hn::LoadU(d_, to)), d_, to);
          if constexpr (!complete) {
            double* const won = wins + items[p] * stride;
            hn::StoreU(hn::Add(q, hn::LoadU(d_, won)), d_, won);
          }
        }
        const V share = hn::Mul(q, last);
        for (std::size_t p = stages; p < length; ++p) {
          double* const to = exposure + items[p] * stride;
          hn::StoreU(hn::Add(share, hn::LoadU(d_, to)), d_, to);
        }
        if constexpr (complete) {
          // Wins are kept as the negative of last places; finish() adds the total.
          double* const lost = wins + items[stages] * stride;
          hn::StoreU(hn::Sub(hn::LoadU(d_, lost), q), d_, lost);
        }
      }
    }
  }

  // The components' likelihoods become memberships times the ranking's weight: returned where one vector holds them, and in lane_values_ otherwise.
  HWY_INLINE V posterior(std::size_t r, V product) {
    double* const values = lane_values_.get();
    const std::size_t num = input_.num_components;
    const double weight = batch_.weights[r];
    const std::size_t width = hn::Lanes(d_);
    V q = hn::Set(d_, weight);
    if constexpr (hn::MaxLanes(D()) == 1 && single) {
      row_value_[filled_] = hn::GetLane(product);
      if constexpr (!narrow) row_exponent_[filled_] = static_cast<double>(exponents_[0]);
      if (input_.posterior != nullptr) input_.posterior[r] = 1.0;
    } else if constexpr (single && narrow) {
      const V value = hn::Mul(product, hn::LoadU(d_, input_.prior.data()));
      const V total = hn::SumOfLanes(d_, value);
      row_value_[filled_] = hn::GetLane(total);
      q = hn::Div(hn::Mul(value, q), total);
      if (HWY_UNLIKELY(input_.posterior != nullptr)) {
        hn::StoreU(q, d_, values);
        for (std::size_t k = 0; k < num; ++k) input_.posterior[r * num + k] = values[k] / weight;
      }
    } else {
      V total = hn::Zero(d_);
      if constexpr (narrow) {
        for (std::size_t c = 0; c < all_lanes_; c += width) {
          const V value = hn::Mul(hn::LoadU(d_, values + c), hn::LoadU(d_, input_.prior.data() + c));
          hn::StoreU(value, d_, values + c);
          total = hn::Add(total, value);
        }
      } else {
        std::int64_t top = std::numeric_limits<std::int64_t>::min();
        for (std::size_t k = 0; k < num; ++k)
          if (input_.prior[k] > 0.0) top = std::max(top, exponents_[k]);
        const I di;
        const VI vtop = hn::Set(di, top);
        for (std::size_t c = 0; c < all_lanes_; c += width) {
          // 2^(exponent - top), built in the exponent field; below 2^-1000 it is nothing. Components without weight
          // may lie above top; they are multiplied by zero.
          const VI difference = hn::Min(hn::Max(hn::Sub(hn::LoadU(di, exponents_.data() + c), vtop), hn::Set(di, -1000)), hn::Zero(di));
          const V scale = hn::BitCast(d_, hn::ShiftLeft<52>(hn::Add(difference, hn::Set(di, 1023))));
          const V value = hn::Mul(hn::Mul(hn::LoadU(d_, values + c), scale), hn::LoadU(d_, input_.prior.data() + c));
          hn::StoreU(value, d_, values + c);
          total = hn::Add(total, value);
        }
        row_exponent_[filled_] = static_cast<double>(top);
      }
      total = hn::SumOfLanes(d_, total);
      row_value_[filled_] = hn::GetLane(total);
      const V factor = hn::Div(q, total);
      for (std::size_t c = 0; c < all_lanes_; c += width) {
        q = hn::Mul(hn::LoadU(d_, values + c), factor);
        hn::StoreU(q, d_, values + c);
      }
      if (input_.posterior != nullptr)
        for (std::size_t k = 0; k < num; ++k) input_.posterior[r * num + k] = values[k] / weight;
    }
    if (HWY_UNLIKELY(++filled_ == rows_per_log)) flush();
    return q;
  }

  // The logarithms of a few hundred rankings together. Rankings come in order, so these are first_row_, first_row_ + 1, ...
  HWY_NOINLINE void flush() {
    const hn::ScalableTag<double> d;
    const std::size_t width = hn::Lanes(d);
    std::copy_n(batch_.weights.data() + first_row_, filled_, row_weight_);
    for (std::size_t i = filled_; i < (filled_ + width - 1) / width * width; ++i) row_value_[i] = 1.0, row_exponent_[i] = row_weight_[i] = 0.0;
    auto total = hn::Zero(d);
    for (std::size_t i = 0; i < filled_; i += width) {
      auto log = hn::Log(d, hn::Load(d, row_value_ + i));
      if constexpr (!narrow) log = hn::MulAdd(hn::Load(d, row_exponent_ + i), hn::Set(d, 0.69314718055994530942), log);
      total = hn::MulAdd(log, hn::Load(d, row_weight_ + i), total);
      if (input_.row_loglik != nullptr) {
        hn::Store(log, d, row_value_ + i);
        for (std::size_t j = i; j < std::min(i + width, filled_); ++j) input_.row_loglik[first_row_ + j] = row_value_[j];
      }
    }
    sums_.loglik += hn::GetLane(hn::SumOfLanes(d, total));
    first_row_ += filled_;
    filled_ = 0;
  }

  void finish() {
    for (std::size_t k = 0; k < all_lanes_; ++k) sums_.responsibility[k] += responsibility_[k];
    for (std::size_t i = 0; i < batch_.num_items; ++i)
      for (std::size_t k = 0; k < all_lanes_; ++k) {
        sums_.exposure[i * all_lanes_ + k] += global_[k];
        if (batch_.all_complete) sums_.wins[i * all_lanes_ + k] += responsibility_[k];
      }
  }

  // The ranking's stages followed by every item it does not list.
  HWY_NOINLINE const Item* expand(const Item* items, std::size_t stages) {
    expanded_.assign(items, items + stages);
    mark_.assign(batch_.num_items, 0);
    for (std::size_t p = 0; p < stages; ++p) mark_[items[p]] = 1;
    for (std::size_t i = 0; i < batch_.num_items; ++i)
      if (mark_[i] == 0) expanded_.push_back(static_cast<Item>(i));
    return expanded_.data();
  }

  D d_;
  const Batch& batch_;
  const Item* items_;
  const PassInput& input_;
  PassSums& sums_;
  std::size_t all_lanes_, depth_ = 0, first_row_ = 0;
  hwy::AlignedFreeUniquePtr<double[]> scratch_, lane_values_;
  double *totals_ = nullptr, *global_ = nullptr, *responsibility_ = nullptr;
  std::vector<std::int64_t> exponents_;
  std::vector<Item> expanded_;
  std::vector<std::uint8_t> mark_;
  std::size_t filled_ = 0;
  HWY_ALIGN double row_value_[rows_per_log];
  HWY_ALIGN double row_exponent_[rows_per_log];
  HWY_ALIGN double row_weight_[rows_per_log];
};

template <class D, class Item>
void run_items(D d, const Batch& batch, const Item* items, const PassInput& input, std::size_t begin, std::size_t end, PassSums& sums) {
  // The least ratio of a stage is the least worth over the total; e^-600 leaves room for the weights.
  double least = 1.0;
  for (double worth : input.worths) least = std::min(least, worth);
  const double factors = static_cast<double>(batch.max_length);
  const bool narrow = factors * (std::log(static_cast<double>(batch.num_items)) - std::log(least)) < 600.0;
  const bool single = padded_components(input.num_components) == hn::Lanes(d);
  if (single && narrow) return BlockPass<D, Item, true, true>(d, batch, items, input, sums).run(begin, end);
  if (single) return BlockPass<D, Item, true, false>(d, batch, items, input, sums).run(begin, end);
  if (narrow) return BlockPass<D, Item, false, true>(d, batch, items, input, sums).run(begin, end);
  BlockPass<D, Item, false, false>(d, batch, items, input, sums).run(begin, end);
}

template <class D>
void run_with(D d, const Batch& batch, const PassInput& input, std::size_t begin, std::size_t end, PassSums& sums) {
  if (batch.items32.empty())
    run_items(d, batch, batch.items16.data(), input, begin, end, sums);
  else
    run_items(d, batch, batch.items32.data(), input, begin, end, sums);
}

void RunBlock(const Batch& batch, const PassInput& input, std::size_t begin, std::size_t end, PassSums& sums) {
  switch (padded_components(input.num_components)) {
    case 1: return run_with(hn::CappedTag<double, 1>(), batch, input, begin, end, sums);
    case 2: return run_with(hn::CappedTag<double, 2>(), batch, input, begin, end, sums);
    case 4: return run_with(hn::CappedTag<double, 4>(), batch, input, begin, end, sums);
    default: return run_with(hn::CappedTag<double, 8>(), batch, input, begin, end, sums);
  }
}

void NegativeLogs(double* values, std::size_t count) {
  const hn::CappedTag<double, 8> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) hn::StoreU(hn::Neg(hn::Log(d, hn::LoadU(d, values + i))), d, values + i);
}

}  // namespace caucus::pl_mixture::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caucus::pl_mixture {

HWY_EXPORT(RunBlock);
HWY_EXPORT(NegativeLogs);

void negative_logs(double* values, std::size_t count) { HWY_DYNAMIC_DISPATCH(NegativeLogs)(values, count); }

std::size_t padded_components(std::size_t num_components) {
  if (num_components <= 2) return num_components;
  return num_components <= 4 ? 4 : (num_components + 7) / 8 * 8;
}

void run_block(const Batch& batch, const PassInput& input, std::size_t begin, std::size_t end, PassSums& sums) {
  HWY_DYNAMIC_DISPATCH(RunBlock)(batch, input, begin, end, sums);
}

}  // namespace caucus::pl_mixture
#endif
