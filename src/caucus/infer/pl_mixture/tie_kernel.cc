// Likelihood, memberships and accumulation of a block of rankings with ties, all components at once as SIMD lanes.
#include "caucus/infer/pl_mixture/tie_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "caucus/base/aligned.h"
#include "caucus/base/simd_targets.h"
#include "caucus/infer/pl_mixture/batch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "caucus/infer/pl_mixture/tie_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, by its rules.
#include <hwy/contrib/math/math-inl.h>

#include "caucus/infer/pl_mixture/exponent-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caucus::pl_mixture::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
class TiePass {
  using V = hn::Vec<D>;
  using I = hn::RebindToSigned<D>;
  using VI = hn::Vec<I>;

 public:
  TiePass(D d, const TieBatch& batch, const TieInput& input, std::size_t begin, std::size_t end, TieSums& sums)
      : d_(d),
        batch_(batch),
        input_(input),
        sums_(sums),
        begin_(begin),
        end_(end),
        lanes_(padded_components(input.num_components)),
        stride_(batch.orders.size() + 1) {
    std::size_t longest = 0;
    for (std::size_t r = begin; r < end && input.voters == nullptr; ++r) longest = std::max(longest, length_of(r));
    if (input.voters != nullptr)
      for (std::size_t e = input.voters->begin[begin]; e < input.voters->begin[end]; ++e)
        longest = std::max(longest, length_of(input.voters->ranking[e]));
    // Slot 0 holds the sum of the worths; then e_1 .. e_t for each order t.
    tops_.push_back(0);
    for (int order : batch.orders) tops_.push_back(tops_.back() + static_cast<std::size_t>(order));
    width_ = tops_.back() + 1;
    slots_ = width_ * hn::Lanes(d);
    vectors_ = (lanes_ + hn::Lanes(d) - 1) / hn::Lanes(d);
    depth_ = longest + 1;
    if (input.voters != nullptr) places_ = rankings_at_once(vectors_ * depth_ * slots_);
    states_ = aligned_doubles(places_ * vectors_ * depth_ * slots_);
    inverses_ = aligned_doubles(places_ * vectors_ * depth_ * hn::Lanes(d));
    adjoint_ = aligned_doubles(slots_);
    joint_ = aligned_doubles(vectors_ * hn::Lanes(d));
    inverse_of_.push_back(0.0);
    for (std::size_t size = 1; size <= batch.num_items; ++size) inverse_of_.push_back(1.0 / static_cast<double>(size));
  }

  void run() {
    for (std::size_t at = begin_; at < end_; ++at) input_.voters != nullptr ? voter(at) : ranking(at);
  }

 private:
  std::size_t length_of(std::size_t r) const { return batch_.offsets[r + 1] - batch_.offsets[r]; }

  HWY_INLINE void ranking(std::size_t r) {
    const std::size_t width = hn::Lanes(d_);
    for (std::size_t v = 0; v < vectors_; ++v)
      hn::Store(hn::Add(forward(r, v, 0), hn::LoadU(d_, input_.log_prior.data() + v * width)), d_, joint_.get() + v * width);
    decide(r, batch_.weights[r], strengths_of(r));
    for (std::size_t v = 0; v < vectors_; ++v) backward(r, v, 0, hn::Load(d_, joint_.get() + v * width));
  }

  // All rankings of one voter. Those of a voter who cast more than fit are gone through twice.
  HWY_INLINE void voter(std::size_t at) {
    const CastRankings& voters = *input_.voters;
    const std::size_t begin = voters.begin[at], end = voters.begin[at + 1], width = hn::Lanes(d_), num = input_.num_components;
    const bool kept = end - begin <= places_;
    std::copy_n(input_.log_prior.data(), vectors_ * width, joint_.get());
    if (input_.voter_log_prior != nullptr) std::copy_n(input_.voter_log_prior + at * num, num, joint_.get());
    double strengths = 0.0;
    for (std::size_t e = begin; e < end; ++e) {
      const auto times = static_cast<double>(voters.count(e));
      strengths += times * strengths_of(voters.ranking[e]);
      for (std::size_t v = 0; v < vectors_; ++v) {
        double* const joint = joint_.get() + v * width;
        hn::Store(hn::MulAdd(hn::Set(d_, times), forward(voters.ranking[e], v, kept ? e - begin : 0), hn::Load(d_, joint)), d_,
                  joint);
      }
    }
    decide(at, voters.weights[at], strengths);
    for (std::size_t e = begin; e < end; ++e) {
      const V times = hn::Set(d_, static_cast<double>(voters.count(e)));
      for (std::size_t v = 0; v < vectors_; ++v) {
        if (!kept) forward(voters.ranking[e], v, 0);
        backward(voters.ranking[e], v, kept ? e - begin : 0, hn::Mul(times, hn::Load(d_, joint_.get() + v * width)));
      }
    }
  }

  // The tie strengths in the numerator, which are the same for all components.
  double strengths_of(std::size_t r) const {
    double strengths = 0.0;
    for (std::size_t s = batch_.offsets[r]; s < batch_.offsets[r + 1]; ++s)
      if (batch_.completes[s] != 0 && batch_.group_size[s] > 1) strengths += input_.log_delta[order_of(batch_.group_size[s])];
    return strengths;
  }

  // The logarithms in joint_ become memberships times the weight of ranking or voter `at`.
  HWY_INLINE void decide(std::size_t at, double weight, double strengths) {
    const std::size_t width = hn::Lanes(d_), num = input_.num_components;
    V top = hn::Set(d_, -std::numeric_limits<double>::infinity()), total = hn::Zero(d_);
    for (std::size_t v = 0; v < vectors_; ++v) top = hn::Max(top, hn::Load(d_, joint_.get() + v * width));
    top = hn::MaxOfLanes(d_, top);
    for (std::size_t v = 0; v < vectors_; ++v) {
      // Below e^-700 a membership is nothing.
      const V share = hn::Exp(d_, hn::Max(hn::Sub(hn::Load(d_, joint_.get() + v * width), top), hn::Set(d_, -700.0)));
      hn::Store(share, d_, joint_.get() + v * width);
      total = hn::Add(total, share);
    }
    total = hn::SumOfLanes(d_, total);
    const double row = hn::GetLane(top) + std::log(hn::GetLane(total)) + strengths;
    sums_.loglik += weight * row;
    if (input_.row_loglik != nullptr) input_.row_loglik[at] = row;
    const V factor = hn::Div(hn::Set(d_, weight), total);
    for (std::size_t v = 0; v < vectors_; ++v) {
      const V q = hn::Mul(hn::Load(d_, joint_.get() + v * width), factor);
      hn::Store(q, d_, joint_.get() + v * width);
      double* const to = sums_.responsibility.data() + v * width;
      hn::StoreU(hn::Add(hn::LoadU(d_, to), q), d_, to);
    }
    if (input_.posterior != nullptr)
      for (std::size_t k = 0; k < num; ++k) input_.posterior[at * num + k] = joint_[k] / weight;
  }

  std::size_t order_of(std::size_t size) const {
    std::size_t o = 0;
    while (static_cast<std::size_t>(batch_.orders[o]) != size) ++o;
    return o;
  }
  const double* powers(std::uint32_t item, std::size_t v) const {
    return input_.powers.data() + item * stride_ * lanes_ + v * hn::Lanes(d_);
  }

  // log P of the ranking but for the tie strengths in the numerator; keeps the states and the inverse normalisers.
  HWY_INLINE V forward(std::size_t r, std::size_t v, std::size_t place) {
    const std::size_t width = hn::Lanes(d_), first = batch_.offsets[r], length = length_of(r);
    double* HWY_RESTRICT state = states_.get() + (place * vectors_ + v) * depth_ * slots_;
    double* HWY_RESTRICT inverse = inverses_.get() + (place * vectors_ + v) * depth_ * width;
    std::fill_n(state, slots_, 0.0);
    V numerator = hn::Zero(d_), product = hn::Set(d_, 1.0);
    VI exponent = hn::Zero(I());
    for (std::size_t s = first; s < first + length; ++s) {
      const std::uint32_t item = batch_.items[s];
      const double* const HWY_RESTRICT x = powers(item, v);
      double* const HWY_RESTRICT after = state + slots_;
      hn::Store(hn::Add(hn::Load(d_, state), hn::LoadU(d_, x)), d_, after);
      for (std::size_t o = 0; o + 1 < stride_; ++o) {
        const V power = hn::LoadU(d_, x + (o + 1) * lanes_);
        V below = hn::Set(d_, 1.0);
        for (std::size_t j = (tops_[o] + 1) * width; j <= tops_[o + 1] * width; j += width) {
          const V before = hn::Load(d_, state + j);
          hn::Store(hn::MulAdd(power, below, before), d_, after + j);
          below = before;
        }
      }
      state = after;
      if (const std::uint32_t size = batch_.group_size[s]; size > 0)
        numerator = hn::MulAdd(hn::Set(d_, inverse_of_[size]), hn::LoadU(d_, input_.log_worths.data() + item * lanes_ + v * width),
                               numerator);
      if (batch_.completes[s] == 0) continue;
      V z = hn::Load(d_, state);
      for (std::size_t o = 0; o + 1 < stride_; ++o)
        z = hn::MulAdd(hn::Set(d_, input_.delta[o]), hn::Load(d_, state + tops_[o + 1] * width), z);
      const V one_over = hn::Div(hn::Set(d_, 1.0), z);
      hn::Store(one_over, d_, inverse);
      inverse += width;
      product = hn::Mul(product, one_over);
      split_exponent(d_, product, exponent);
    }
    return hn::Add(numerator, hn::MulAdd(hn::ConvertTo(d_, exponent), hn::Set(d_, 0.69314718055994530942), hn::Log(d_, product)));
  }

  // Adds q times the derivative of the logarithms of the normalisers, and the choices.
  HWY_INLINE void backward(std::size_t r, std::size_t v, std::size_t place, V q) {
    const std::size_t width = hn::Lanes(d_), first = batch_.offsets[r], length = length_of(r);
    const double* HWY_RESTRICT state = states_.get() + ((place * vectors_ + v) * depth_ + length) * slots_;
    const double* HWY_RESTRICT inverse = inverses_.get() + (place * vectors_ + v) * depth_ * width;
    double* const HWY_RESTRICT adjoint = adjoint_.get();
    for (std::size_t s = first; s < first + length; ++s) inverse += batch_.completes[s] != 0 ? width : 0;
    std::fill_n(adjoint, slots_, 0.0);
    for (std::size_t s = first + length; s-- > first; state -= slots_) {
      if (batch_.completes[s] != 0) {
        inverse -= width;
        const V share = hn::Mul(q, hn::Load(d_, inverse));
        hn::Store(hn::Add(hn::Load(d_, adjoint), share), d_, adjoint);
        for (std::size_t o = 0; o + 1 < stride_; ++o) {
          const std::size_t top = tops_[o + 1] * width;
          const V scaled = hn::Mul(share, hn::Set(d_, input_.delta[o]));
          hn::Store(hn::Add(hn::Load(d_, adjoint + top), scaled), d_, adjoint + top);
          sums_.tie_expected[o] += hn::GetLane(hn::SumOfLanes(d_, hn::Mul(scaled, hn::Load(d_, state + top))));
        }
      }
      const std::uint32_t item = batch_.items[s];
      const double* const HWY_RESTRICT x = powers(item, v);
      const double* const HWY_RESTRICT before = state - slots_;
      V gain = hn::Mul(hn::Load(d_, adjoint), hn::LoadU(d_, x));
      for (std::size_t o = 0; o + 1 < stride_; ++o) {
        const V power = hn::LoadU(d_, x + (o + 1) * lanes_);
        const std::size_t low = (tops_[o] + 1) * width, top = tops_[o + 1] * width;
        V lower = hn::Load(d_, adjoint + low), by_power = lower;
        for (std::size_t j = low; j < top; j += width) {
          const V upper = hn::Load(d_, adjoint + j + width);
          by_power = hn::MulAdd(upper, hn::Load(d_, before + j), by_power);
          hn::Store(hn::MulAdd(power, upper, lower), d_, adjoint + j);
          lower = upper;
        }
        gain = hn::MulAdd(hn::Mul(by_power, power), hn::Set(d_, inverse_of_[static_cast<std::size_t>(batch_.orders[o])]), gain);
      }
      double* const expected = sums_.expected.data() + item * lanes_ + v * width;
      hn::StoreU(hn::Add(hn::LoadU(d_, expected), gain), d_, expected);
      if (const std::uint32_t size = batch_.group_size[s]; size > 0) {
        double* const wins = sums_.wins.data() + item * lanes_ + v * width;
        hn::StoreU(hn::MulAdd(q, hn::Set(d_, inverse_of_[size]), hn::LoadU(d_, wins)), d_, wins);
      }
    }
  }

  D d_;
  const TieBatch& batch_;
  const TieInput& input_;
  TieSums& sums_;
  std::size_t begin_, end_, lanes_, stride_, width_ = 0, slots_ = 0, vectors_ = 0, depth_ = 0, places_ = 1;
  std::vector<std::size_t> tops_;   // the slot of e_t, for each order t
  std::vector<double> inverse_of_;  // 1 / size
  AlignedDoubles states_, inverses_, adjoint_, joint_;
};

template <class D>
void run_with(D d, const TieBatch& batch, const TieInput& input, std::size_t begin, std::size_t end, TieSums& sums) {
  TiePass<D>(d, batch, input, begin, end, sums).run();
}

void RunTieBlock(const TieBatch& batch, const TieInput& input, std::size_t begin, std::size_t end, TieSums& sums) {
  switch (padded_components(input.num_components)) {
    case 1:
      return run_with(hn::CappedTag<double, 1>(), batch, input, begin, end, sums);
    case 2:
      return run_with(hn::CappedTag<double, 2>(), batch, input, begin, end, sums);
    case 4:
      return run_with(hn::CappedTag<double, 4>(), batch, input, begin, end, sums);
    default:
      return run_with(hn::CappedTag<double, 8>(), batch, input, begin, end, sums);
  }
}

}  // namespace caucus::pl_mixture::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "caucus/base/simd_dispatch.h"

namespace caucus::pl_mixture {

void run_tie_block(const TieBatch& batch, const TieInput& input, std::size_t begin, std::size_t end, TieSums& sums) {
  CAUCUS_SIMD(RunTieBlock)(batch, input, begin, end, sums);
}

}  // namespace caucus::pl_mixture
#endif
