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
    tops_.push_back(0);
    for (int order : batch.orders) tops_.push_back(tops_.back() + static_cast<std::size_t>(order));
    vectors_ = (lanes_ + hn::Lanes(d) - 1) / hn::Lanes(d);
    depth_ = longest + 1;
    const std::size_t slots = tops_.back() * hn::Lanes(d);
    if (input.voters != nullptr) places_ = rankings_at_once(vectors_ * depth_ * slots);
    states_ = aligned_doubles(places_ * vectors_ * depth_ * slots);
    inverses_ = aligned_doubles(places_ * vectors_ * depth_ * hn::Lanes(d));
    gain_ = aligned_doubles(depth_ * hn::Lanes(d));
    adjoint_ = aligned_doubles(batch.orders.empty() ? 1 : static_cast<std::size_t>(batch.orders.back()) * hn::Lanes(d));
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

  // The polynomials of one order t after `count` items: e_1 .. e_t, of which only e_low .. e_high say something. Above, there are
  // too few items yet; below, too few will follow to make an e_t.
  struct Band {
    std::size_t low, high;
  };
  static Band band(std::size_t t, std::size_t count, std::size_t length) {
    return {t + count > length + 1 ? t + count - length : 1, std::min(t, count)};
  }
  // e_j of order o after `count` items is at [(j - 1) * lanes].
  double* state(std::size_t place, std::size_t v, std::size_t o, std::size_t count) const {
    const std::size_t size = tops_[o + 1] - tops_[o];
    return states_.get() + ((place * vectors_ + v) * tops_.back() * depth_ + tops_[o] * depth_ + count * size) * hn::Lanes(d_);
  }

  // log P of the ranking but for the tie strengths in the numerator; keeps the states and the inverse normalisers. One order after
  // the other, so that what is at work is small.
  HWY_INLINE V forward(std::size_t r, std::size_t v, std::size_t place) {
    const std::size_t width = hn::Lanes(d_), first = batch_.offsets[r], length = length_of(r);
    double* const HWY_RESTRICT normaliser = inverses_.get() + (place * vectors_ + v) * depth_ * width;
    V numerator = hn::Zero(d_), worths = hn::Zero(d_);
    std::size_t stages = 0;
    for (std::size_t s = first; s < first + length; ++s) {
      const std::uint32_t item = batch_.items[s];
      worths = hn::Add(worths, hn::LoadU(d_, powers(item, v)));
      if (const std::uint32_t size = batch_.group_size[s]; size > 0)
        numerator = hn::MulAdd(hn::Set(d_, inverse_of_[size]), hn::LoadU(d_, input_.log_worths.data() + item * lanes_ + v * width),
                               numerator);
      if (batch_.completes[s] != 0) hn::Store(worths, d_, normaliser + stages++ * width);
    }
    for (std::size_t o = 0; o + 1 < stride_; ++o) add_order(r, v, place, o, normaliser);
    V product = hn::Set(d_, 1.0);
    VI exponent = hn::Zero(I());
    for (std::size_t stage = 0; stage < stages; ++stage) {
      const V one_over = hn::Div(hn::Set(d_, 1.0), hn::Load(d_, normaliser + stage * width));
      hn::Store(one_over, d_, normaliser + stage * width);
      product = hn::Mul(product, one_over);
      split_exponent(d_, product, exponent);
    }
    return hn::Add(numerator, hn::MulAdd(hn::ConvertTo(d_, exponent), hn::Set(d_, 0.69314718055994530942), hn::Log(d_, product)));
  }

  // What ties of one size add to the normalisers.
  HWY_INLINE void add_order(std::size_t r, std::size_t v, std::size_t place, std::size_t o, double* HWY_RESTRICT normaliser) {
    const std::size_t width = hn::Lanes(d_), first = batch_.offsets[r], length = length_of(r);
    const auto t = static_cast<std::size_t>(batch_.orders[o]);
    const V delta = hn::Set(d_, input_.delta[o]);
    if (t > length) return;
    for (std::size_t count = 1; count <= length; ++count) {
      const std::size_t s = first + count - 1;
      const double* const HWY_RESTRICT before = state(place, v, o, count - 1);
      double* const HWY_RESTRICT after = state(place, v, o, count);
      const V power = hn::LoadU(d_, powers(batch_.items[s], v) + (o + 1) * lanes_);
      const Band now = band(t, count, length);
      if (now.low <= now.high) {
        V below = now.low == 1 ? hn::Set(d_, 1.0) : hn::Load(d_, before + (now.low - 2) * width);
        std::size_t j = now.low;
        for (; j <= std::min(now.high, count - 1); ++j) {
          const V same = hn::Load(d_, before + (j - 1) * width);
          hn::Store(hn::MulAdd(power, below, same), d_, after + (j - 1) * width);
          below = same;
        }
        if (j == count && j <= now.high) hn::Store(hn::Mul(power, below), d_, after + (j - 1) * width);
      }
      if (batch_.completes[s] == 0) continue;
      if (t <= count) hn::Store(hn::MulAdd(delta, hn::Load(d_, after + (t - 1) * width), hn::Load(d_, normaliser)), d_, normaliser);
      normaliser += width;
    }
  }

  // Adds q times the derivative of the logarithms of the normalisers, and the choices.
  HWY_INLINE void backward(std::size_t r, std::size_t v, std::size_t place, V q) {
    const std::size_t width = hn::Lanes(d_), first = batch_.offsets[r], length = length_of(r);
    const double* HWY_RESTRICT inverse = inverses_.get() + (place * vectors_ + v) * depth_ * width;
    for (std::size_t s = first; s < first + length; ++s) inverse += batch_.completes[s] != 0 ? width : 0;
    const double* const HWY_RESTRICT inverse_end = inverse;
    double* const HWY_RESTRICT gain = gain_.get();
    // A membership that adds nothing is left out: its products would be denormal, each of which takes a hundred cycles.
    q = hn::IfThenZeroElse(hn::Lt(q, hn::Set(d_, 1e-100)), q);
    V share = hn::Zero(d_);
    for (std::size_t s = first + length; s-- > first;) {
      if (batch_.completes[s] != 0) share = hn::Add(share, hn::Mul(q, hn::Load(d_, inverse -= width)));
      hn::Store(hn::Mul(share, hn::LoadU(d_, powers(batch_.items[s], v))), d_, gain + (s - first) * width);
    }
    for (std::size_t o = 0; o + 1 < stride_; ++o) add_gains(r, v, place, o, q, inverse_end);
    for (std::size_t s = first; s < first + length; ++s) {
      const std::uint32_t item = batch_.items[s];
      double* const expected = sums_.expected.data() + item * lanes_ + v * width;
      hn::StoreU(hn::Add(hn::LoadU(d_, expected), hn::Load(d_, gain + (s - first) * width)), d_, expected);
      if (const std::uint32_t size = batch_.group_size[s]; size > 0) {
        double* const wins = sums_.wins.data() + item * lanes_ + v * width;
        hn::StoreU(hn::MulAdd(q, hn::Set(d_, inverse_of_[size]), hn::LoadU(d_, wins)), d_, wins);
      }
    }
  }

  // What ties of one size add to the derivatives.
  HWY_INLINE void add_gains(std::size_t r, std::size_t v, std::size_t place, std::size_t o, V q,
                            const double* HWY_RESTRICT inverse) {
    const std::size_t width = hn::Lanes(d_), first = batch_.offsets[r], length = length_of(r);
    const auto t = static_cast<std::size_t>(batch_.orders[o]);
    if (t > length) return;
    const V delta = hn::Set(d_, input_.delta[o]), one_over_t = hn::Set(d_, inverse_of_[t]);
    double* const HWY_RESTRICT adjoint = adjoint_.get();  // of e_j at [(j - 1) * lanes]
    std::fill_n(adjoint, t * width, 0.0);
    for (std::size_t count = length; count > 0; --count) {
      const std::size_t s = first + count - 1;
      if (batch_.completes[s] != 0) {
        inverse -= width;
        if (t <= count) {
          const V scaled = hn::Mul(hn::Mul(q, hn::Load(d_, inverse)), delta);
          double* const top = adjoint + (t - 1) * width;
          hn::Store(hn::Add(hn::Load(d_, top), scaled), d_, top);
          const V highest = hn::Load(d_, state(place, v, o, count) + (t - 1) * width);
          sums_.tie_expected[o] += hn::GetLane(hn::SumOfLanes(d_, hn::Mul(scaled, highest)));
        }
      }
      const double* const HWY_RESTRICT before = state(place, v, o, count - 1);
      const V power = hn::LoadU(d_, powers(batch_.items[s], v) + (o + 1) * lanes_);
      const std::size_t low = band(t, count, length).low;
      V by_power = low == 1 ? hn::Load(d_, adjoint) : hn::Zero(d_);
      const std::size_t begin = std::max<std::size_t>(low, 2) - 1;
      V lower = hn::Load(d_, adjoint + (begin - 1) * width);
      for (std::size_t j = begin; j <= std::min(t - 1, count - 1); ++j) {
        const V upper = hn::Load(d_, adjoint + j * width);
        by_power = hn::MulAdd(upper, hn::Load(d_, before + (j - 1) * width), by_power);
        hn::Store(hn::MulAdd(power, upper, lower), d_, adjoint + (j - 1) * width);
        lower = upper;
      }
      double* const to = gain_.get() + (count - 1) * width;
      hn::Store(hn::MulAdd(hn::Mul(by_power, power), one_over_t, hn::Load(d_, to)), d_, to);
    }
  }

  D d_;
  const TieBatch& batch_;
  const TieInput& input_;
  TieSums& sums_;
  std::size_t begin_, end_, lanes_, stride_, vectors_ = 0, depth_ = 0, places_ = 1;
  std::vector<std::size_t> tops_;   // sums of the orders, from 0
  std::vector<double> inverse_of_;  // 1 / size
  AlignedDoubles states_, inverses_, gain_, adjoint_, joint_;
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
