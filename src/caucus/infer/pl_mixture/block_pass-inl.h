// The fused pass: likelihood, memberships and accumulation of a block of rankings, all components at once as SIMD lanes. Compiled
// once for every target (kernel.cc), hence no guard of the usual kind.
#if defined(CAUCUS_PL_MIXTURE_BLOCK_PASS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAUCUS_PL_MIXTURE_BLOCK_PASS_INL_H_
#undef CAUCUS_PL_MIXTURE_BLOCK_PASS_INL_H_
#else
#define CAUCUS_PL_MIXTURE_BLOCK_PASS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <limits>

#include "caucus/base/aligned.h"
#include "caucus/infer/pl_mixture/batch.h"
// After highway.h, by its rules.
#include <hwy/contrib/math/math-inl.h>

#include "caucus/infer/pl_mixture/exponent-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caucus::pl_mixture::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Where worths lie in [e^-80, 1] a product of four sums of them, and of eight ratios, stays inside the range of a double. Where a
// component has come apart they reach further down, and every stage is a product of its own.
inline constexpr double least_shared_worth = 1.8e-35;
inline constexpr std::size_t rows_per_log = 256;
// e^-600 leaves room for the weights.
inline constexpr double most_depth = 600.0;
// Rankings go through the steps of a pass a few at a time: within a step they do not wait for each other, where one ranking's steps
// would.
inline constexpr std::size_t most_together = 8;

// parts: the number of vectors that hold all components, 0 where it is known only at run time.
// narrow: no product over a whole ranking can underflow, so exponents need not be split off.
template <class D, class Item, int parts, bool narrow>
class BlockPass {
  using V = hn::Vec<D>;
  using I = hn::RebindToSigned<D>;
  using VI = hn::Vec<I>;

 public:
  // depth: no ranking's log-likelihood lies below its negative.
  BlockPass(D d, const Batch& batch, const Item* items, const PassInput& input, double depth, PassSums& sums)
      : d_(d), batch_(batch), items_(items), input_(input), sums_(sums), all_lanes_(padded_components(input.num_components)) {
    if constexpr (narrow) never_underflow_ = static_cast<std::size_t>(most_depth / std::max(depth, 1.0));
    const bool by_last_place = narrow && batch.all_complete;
    depth_ = std::max<std::size_t>(batch.max_length, batch.num_items) + 4;
    // As many together as the first-level cache holds.
    together_ = std::clamp<std::size_t>(1024 / (depth_ * all_lanes_), 1, most_together);
    if (input.voters != nullptr) together_ = rankings_at_once(depth_ * all_lanes_);
    inverses_ = aligned_doubles(together_ * depth_ * all_lanes_);
    lane_values_ = aligned_doubles((together_ + 6) * all_lanes_);
    totals_ = lane_values_.get() + together_ * all_lanes_;
    global_ = totals_ + all_lanes_;
    responsibility_ = global_ + all_lanes_;
    joint_ = responsibility_ + all_lanes_;
    members_ = joint_ + all_lanes_;
    prior_ = members_ + all_lanes_;
    std::fill_n(totals_, 6 * all_lanes_, 0.0);
    if (input.shares == nullptr && input.logs == nullptr) std::copy_n(input.prior.data(), all_lanes_, prior_);
    joint_exponents_.resize(all_lanes_);
    for (std::size_t i = 0; i < batch.num_items; ++i)
      for (std::size_t k = 0; k < all_lanes_; ++k) totals_[k] += input.worths[i * all_lanes_ + k];
    exponents_.resize(together_ * all_lanes_);
    was_expanded_.resize(together_);
    listed_.resize(together_);
    if constexpr (!narrow) deep_ = *std::ranges::min_element(input.worths) < least_shared_worth;
    if (input.logs != nullptr && !narrow) log_exponents_.resize(rows_per_log * input.num_components);
    if (by_last_place) {
      // The worths in a complete ranking multiply to the same number but for the last place's.
      std::vector<double> whole(all_lanes_, 1.0);
      for (std::size_t i = 0; i < batch.num_items; ++i)
        for (std::size_t k = 0; k < all_lanes_; ++k) whole[k] *= input.worths[i * all_lanes_ + k];
      numerators_.resize(batch.num_items * all_lanes_);
      for (std::size_t i = 0; i < numerators_.size(); ++i) numerators_[i] = whole[i % all_lanes_] / input.worths[i];
    }
  }

  void run(std::size_t begin, std::size_t end) {
    first_row_ = begin;
    if (input_.voters != nullptr) {
      if (batch_.all_complete)
        for (std::size_t v = begin; v < end; ++v) voter<true>(v);
      else
        for (std::size_t v = begin; v < end; ++v) voter<false>(v);
      flush(end);
      return finish();
    }
    for (const Batch::Group& group : batch_.groups) {
      const std::size_t from = std::max(begin, group.first), to = std::min(end, group.first + group.count);
      if (from >= to) continue;
      const Item* items = items_ + group.begin + (from - group.first) * group.length;
      // The shapes are few: the branches are taken once per group.
      if (group.implicit)
        for (std::size_t r = from; r < to; r += together_, items += together_ * group.length)
          rankings<true, false>(r, std::min(together_, to - r), items, group.length, group.stages);
      else if (batch_.all_complete)
        for (std::size_t r = from; r < to; r += together_, items += together_ * group.length)
          rankings<false, true>(r, std::min(together_, to - r), items, group.length, group.stages);
      else
        for (std::size_t r = from; r < to; r += together_, items += together_ * group.length)
          rankings<false, false>(r, std::min(together_, to - r), items, group.length, group.stages);
    }
    flush(end);
    finish();
  }

 private:
  HWY_INLINE std::size_t lanes() const {
    if constexpr (parts != 0) return parts * hn::Lanes(D());
    return all_lanes_;
  }

  HWY_INLINE bool deep() const {
    if constexpr (narrow) return false;
    return deep_;
  }

  // A few stages' worths and sums: what a ranking's likelihood and reciprocals are made of.
  struct Product {
    V value;
    VI exponent;
    bool odd = false;
  };

  // Four stages by one division: the reciprocals of their sums are stored in order, the ratios multiplied into the likelihood.
  template <bool by_last_place>
  HWY_INLINE void four_stages(V w0, V w1, V w2, V w3, V s0, V s1, V s2, V s3, double* HWY_RESTRICT out, Product& product) const {
    const std::size_t width = hn::Lanes(d_);
    const V p01 = hn::Mul(s0, s1), p23 = hn::Mul(s2, s3);
    const V inverse = hn::Div(hn::Set(d_, 1.0), hn::Mul(p01, p23));
    const V i01 = hn::Mul(inverse, p23), i23 = hn::Mul(inverse, p01);  // 1 / (s0 s1), 1 / (s2 s3)
    hn::StoreU(hn::Mul(i01, s1), d_, out);
    hn::StoreU(hn::Mul(i01, s0), d_, out + width);
    hn::StoreU(hn::Mul(i23, s3), d_, out + 2 * width);
    hn::StoreU(hn::Mul(i23, s2), d_, out + 3 * width);
    if constexpr (by_last_place)
      product.value = hn::Mul(product.value, inverse);
    else
      product.value = hn::Mul(product.value, hn::Mul(hn::Mul(hn::Mul(w0, w1), hn::Mul(w2, w3)), inverse));
    if constexpr (!narrow) {
      if (product.odd) split_exponent(d_, product.value, product.exponent);
      product.odd = !product.odd;
    }
  }

  template <bool by_last_place>
  HWY_INLINE void one_stage(V worth, V sum, double* HWY_RESTRICT out, Product& product) const {
    const V inverse = hn::Div(hn::Set(d_, 1.0), sum);
    hn::StoreU(inverse, d_, out);
    product.value = hn::Mul(product.value, by_last_place ? inverse : hn::Mul(worth, inverse));
  }

  // Likelihood of a ranking under the components of one vector, and the reciprocal of what was left at each stage.
  // False: total minus listed cancels, list the rest.
  template <bool implicit, bool complete>
  HWY_INLINE bool stages_of(const Item* HWY_RESTRICT items, std::size_t length, std::size_t stages, std::size_t place,
                            std::size_t c) {
    constexpr bool by_last_place = narrow && complete;
    const std::size_t width = hn::Lanes(d_), stride = lanes();
    const double* const HWY_RESTRICT worths = input_.worths.data() + c;
    const auto worth = [&](std::size_t p) HWY_ATTR { return hn::LoadU(d_, worths + items[p] * stride); };
    double* const HWY_RESTRICT out = inverses_.get() + (place * stride + c) * depth_;
    Product product{hn::Set(d_, 1.0), hn::Zero(I())};
    if constexpr (implicit) {
      // From the top down: what is left is the total less what was listed above.
      const V total = hn::LoadU(d_, totals_ + c);
      V listed = hn::Zero(d_);
      std::size_t p = 0;
      for (const std::size_t fours = deep() ? 0 : stages / 4 * 4; p < fours; p += 4) {
        const V w0 = worth(p), w1 = worth(p + 1), w2 = worth(p + 2), w3 = worth(p + 3);
        const V l1 = hn::Add(listed, w0), l2 = hn::Add(l1, w1), l3 = hn::Add(l2, w2);
        four_stages<false>(w0, w1, w2, w3, hn::Sub(total, listed), hn::Sub(total, l1), hn::Sub(total, l2), hn::Sub(total, l3),
                           out + p * width, product);
        listed = hn::Add(l3, w3);
      }
      for (; p < stages; ++p) {
        const V w = worth(p);
        one_stage<false>(w, hn::Sub(total, listed), out + p * width, product);
        listed = hn::Add(listed, w);
        if (deep()) split_exponent(d_, product.value, product.exponent);
      }
      if (HWY_UNLIKELY(!hn::AllTrue(d_, hn::Ge(hn::Sub(total, listed), hn::Mul(total, hn::Set(d_, 1e-4)))))) return false;
    } else {
      // From the bottom up.
      V left = hn::Zero(d_);
      std::size_t p = length;
      while (p > stages) left = hn::Add(left, worth(--p));
      for (; p % 4 != 0 || (deep() && p > 0); --p) {
        const V w = worth(p - 1);
        left = hn::Add(left, w);
        one_stage<by_last_place>(w, left, out + (p - 1) * width, product);
        if (deep()) split_exponent(d_, product.value, product.exponent);
      }
      for (; p > 0; p -= 4) {
        const V w0 = worth(p - 4), w1 = worth(p - 3), w2 = worth(p - 2), w3 = worth(p - 1);
        const V s3 = hn::Add(left, w3), s2 = hn::Add(s3, w2), s1 = hn::Add(s2, w1);
        left = hn::Add(s1, w0);
        four_stages<by_last_place>(w0, w1, w2, w3, left, s1, s2, s3, out + (p - 4) * width, product);
      }
    }
    if constexpr (by_last_place)
      product.value = hn::Mul(product.value, hn::LoadU(d_, numerators_.data() + items[stages] * stride + c));
    if constexpr (!narrow) {
      split_exponent(d_, product.value, product.exponent);
      hn::StoreU(product.exponent, I(), exponents_.data() + place * stride + c);
    }
    hn::StoreU(product.value, d_, lane_values_.get() + place * stride + c);
    return true;
  }

  // Memberships times what each item was exposed to, for one vector of components or for two at once.
  template <bool implicit, bool complete, bool two>
  HWY_INLINE void accumulate(const Item* HWY_RESTRICT items, std::size_t length, std::size_t stages, std::size_t place,
                             std::size_t c, const double* share) {
    const std::size_t width = hn::Lanes(d_), stride = lanes();
    const V none = hn::Zero(d_);
    const double* const values = share + c;
    const V q0 = hn::LoadU(d_, values), q1 = two ? hn::LoadU(d_, values + width) : none;
    const auto add = [&](double* to, V v0, V v1) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(d_, to), v0), d_, to);
      if constexpr (two) hn::StoreU(hn::Add(hn::LoadU(d_, to + width), v1), d_, to + width);
    };
    const auto add_product = [&](double* to, V v0, V v1) HWY_ATTR {
      hn::StoreU(hn::MulAdd(q0, v0, hn::LoadU(d_, to)), d_, to);
      if constexpr (two) hn::StoreU(hn::MulAdd(q1, v1, hn::LoadU(d_, to + width)), d_, to + width);
    };
    const double* const HWY_RESTRICT in0 = inverses_.get() + (place * stride + c) * depth_;
    const double* const HWY_RESTRICT in1 = in0 + width * depth_;
    double* const HWY_RESTRICT exposure = sums_.exposure.data() + c;
    double* const HWY_RESTRICT wins = sums_.wins.data() + c;
    V running0 = none, running1 = none;
    add(responsibility_ + c, q0, q1);
    if constexpr (implicit) {
      // Everyone gets the whole ballot's sum; listed items are corrected down to the stages where they were still there.
      for (std::size_t p = stages; p-- > 0;) {
        const std::size_t item = items[p] * stride;
        add_product(exposure + item, running0, running1);
        add(wins + item, q0, q1);
        running0 = hn::Sub(running0, hn::LoadU(d_, in0 + p * width));
        if constexpr (two) running1 = hn::Sub(running1, hn::LoadU(d_, in1 + p * width));
      }
      add_product(global_ + c, hn::Neg(running0), hn::Neg(running1));
    } else {
#pragma GCC unroll 4
      for (std::size_t p = 0; p < stages; ++p) {
        const std::size_t item = items[p] * stride;
        running0 = hn::Add(running0, hn::LoadU(d_, in0 + p * width));
        if constexpr (two) running1 = hn::Add(running1, hn::LoadU(d_, in1 + p * width));
        add_product(exposure + item, running0, running1);
        if constexpr (!complete) add(wins + item, q0, q1);
      }
      for (std::size_t p = stages; p < length; ++p) add_product(exposure + items[p] * stride, running0, running1);
      // Wins are kept as the negative of last places; finish() adds the total.
      if constexpr (complete) add(wins + items[stages] * stride, hn::Neg(q0), hn::Neg(q1));
    }
  }

  template <bool implicit, bool complete>
  HWY_INLINE void accumulate_all(const Item* HWY_RESTRICT items, std::size_t length, std::size_t stages, std::size_t place,
                                 const double* share) {
    if constexpr (parts == 2)
      accumulate<implicit, complete, true>(items, length, stages, place, 0, share);
    else
      for (std::size_t c = 0; c < lanes(); c += hn::Lanes(d_))
        accumulate<implicit, complete, false>(items, length, stages, place, c, share);
  }

  // The rankings of one voter: the product of their likelihoods decides, and what it says goes for each of them. Those of a voter
  // who cast more than fit are gone through twice.
  template <bool complete>
  HWY_INLINE void voter(std::size_t v) {
    const CastRankings& cast = *input_.voters;
    const std::size_t begin = cast.begin[v], end = cast.begin[v + 1], stride = lanes(), width = hn::Lanes(d_);
    const bool kept = end - begin <= together_;
    if (v >= first_row_ + rows_per_log) flush(v);
    // The product of a few rankings is no smaller than a double can be: exponents need not be kept apart.
    const bool once = cast.times.empty(), few = narrow && kept && once && end - begin <= never_underflow_;
    std::fill_n(joint_, stride, 1.0);
    if (few) {
      for (std::size_t e = begin; e < end; ++e) {
        stages_of_entry<complete>(e, e - begin);
        const double* const values = lane_values_.get() + (e - begin) * stride;
        for (std::size_t c = 0; c < stride; c += width)
          hn::StoreU(hn::Mul(hn::LoadU(d_, joint_ + c), hn::LoadU(d_, values + c)), d_, joint_ + c);
      }
    } else {
      std::fill_n(joint_exponents_.data(), stride, 0);
      for (std::size_t from = begin; from < end; from += together_) {
        const std::size_t to = std::min(from + together_, end);
        for (std::size_t e = from; e < to; ++e) stages_of_entry<complete>(e, e - from);
        for (std::size_t c = 0; c < stride; c += width) multiply(from, to, c);
      }
    }
    decide(v, few);
    for (std::size_t e = begin; e < end; ++e) {
      const std::size_t place = kept ? e - begin : 0;
      if (!kept) stages_of_entry<complete>(e, place);
      const double* share = joint_;
      if (!once && cast.times[e] != 1) {
        double* const several = lane_values_.get() + place * stride;
        const V times = hn::Set(d_, static_cast<double>(cast.times[e]));
        for (std::size_t c = 0; c < stride; c += width) hn::StoreU(hn::Mul(hn::LoadU(d_, joint_ + c), times), d_, several + c);
        share = several;
      }
      accumulate_entry<complete>(e, place, share);
    }
  }

  // Complete rankings are all of one shape.
  template <bool complete>
  HWY_INLINE const Batch::Group& group_of(std::size_t entry) const {
    return complete || one_shape_ ? batch_.groups[0] : batch_.groups[input_.voters->group[entry]];
  }

  template <bool complete>
  HWY_INLINE void stages_of_entry(std::size_t entry, std::size_t place) {
    const Batch::Group& group = group_of<complete>(entry);
    const Item* const items = items_ + group.begin + (input_.voters->ranking[entry] - group.first) * group.length;
    listed_[place] = items;
    bool done = true;
    for (std::size_t c = 0; c < lanes(); c += hn::Lanes(d_)) {
      if (!complete && group.implicit)
        done = stages_of<true, false>(items, group.length, group.stages, place, c) && done;
      else
        stages_of<false, complete>(items, group.length, group.stages, place, c);
    }
    if constexpr (complete) return;
    was_expanded_[place] = done ? 0 : 1;
    if (HWY_LIKELY(done)) return;
    const Item* const all = expand(items, group.stages);
    for (std::size_t c = 0; c < lanes(); c += hn::Lanes(d_)) stages_of<false, false>(all, batch_.num_items, group.stages, place, c);
  }

  template <bool complete>
  HWY_INLINE void accumulate_entry(std::size_t entry, std::size_t place, const double* share) {
    const Batch::Group& group = group_of<complete>(entry);
    const Item* const items = listed_[place];
    if (!complete && HWY_UNLIKELY(was_expanded_[place] != 0))
      accumulate_all<false, false>(expand(items, group.stages), batch_.num_items, group.stages, place, share);
    else if (!complete && group.implicit)
      accumulate_all<true, false>(items, group.length, group.stages, place, share);
    else
      accumulate_all<false, complete>(items, group.length, group.stages, place, share);
  }

  // The voter's likelihood times those of entries [from, to), whose stages have just been gone through.
  HWY_INLINE void multiply(std::size_t from, std::size_t to, std::size_t c) {
    const I di;
    V product = hn::LoadU(d_, joint_ + c);
    VI all = hn::LoadU(di, joint_exponents_.data() + c);
    for (std::size_t e = from; e < to; ++e) {
      V value = hn::LoadU(d_, lane_values_.get() + (e - from) * lanes() + c);
      VI exponent = narrow ? hn::Zero(di) : hn::LoadU(di, exponents_.data() + (e - from) * lanes() + c);
      // Mantissas below 2: the product of as many as there are at once stays far inside the range.
      if constexpr (narrow) split_exponent(d_, value, exponent);
      // To the power of how often it was cast, by squares.
      for (std::uint32_t times = input_.voters->count(e); HWY_UNLIKELY(times > 1); times /= 2) {
        if (times % 2 == 1) {
          product = hn::Mul(product, value);
          all = hn::Add(all, exponent);
          split_exponent(d_, product, all);
        }
        value = hn::Mul(value, value);
        exponent = hn::Add(exponent, exponent);
        split_exponent(d_, value, exponent);
      }
      product = hn::Mul(product, value);
      all = hn::Add(all, exponent);
    }
    split_exponent(d_, product, all);
    hn::StoreU(product, d_, joint_ + c);
    hn::StoreU(all, di, joint_exponents_.data() + c);
  }

  // A voter's likelihoods become memberships times their weight.
  HWY_INLINE void decide(std::size_t v, bool few) {
    const std::size_t num = input_.num_components, stride = lanes(), width = hn::Lanes(d_);
    if (input_.voter_prior != nullptr) std::copy_n(input_.voter_prior + v * num, num, prior_);
    const double weight = input_.voters->weights[v];
    const std::size_t row = v - first_row_;
    if (few) row_exponent_[row] = 0.0;
    const V total = few ? weigh(joint_, row) : weigh(joint_, joint_exponents_.data(), row);
    const V factor = hn::Div(hn::Set(d_, weight), total);
    for (std::size_t c = 0; c < stride; c += width) {
      const V value = hn::Mul(hn::LoadU(d_, joint_ + c), factor);
      hn::StoreU(value, d_, joint_ + c);
      hn::StoreU(hn::Add(hn::LoadU(d_, members_ + c), value), d_, members_ + c);
    }
    if (HWY_UNLIKELY(input_.posterior != nullptr))
      for (std::size_t k = 0; k < num; ++k) input_.posterior[v * num + k] = joint_[k] / weight;
  }

  // Likelihoods times the prior; their sum, also kept for the logarithm.
  HWY_INLINE V weigh(double* values, std::size_t row) {
    V total = hn::Zero(d_);
    for (std::size_t c = 0; c < lanes(); c += hn::Lanes(d_)) {
      const V value = hn::Mul(hn::LoadU(d_, values + c), hn::LoadU(d_, prior_ + c));
      hn::StoreU(value, d_, values + c);
      total = hn::Add(total, value);
    }
    total = hn::SumOfLanes(d_, total);
    row_value_[row] = hn::GetLane(total);
    return total;
  }

  // Mantissas times the prior, brought to the exponent of the largest; their sum, also kept for the logarithm.
  HWY_INLINE V weigh(double* values, const std::int64_t* exponents, std::size_t row) {
    const std::size_t stride = lanes(), width = hn::Lanes(d_);
    V total = hn::Zero(d_);
    std::int64_t top = std::numeric_limits<std::int64_t>::min();
    for (std::size_t k = 0; k < input_.num_components; ++k)
      if (prior_[k] > 0.0) top = std::max(top, exponents[k]);
    const I di;
    const VI vtop = hn::Set(di, top);
    for (std::size_t c = 0; c < stride; c += width) {
      // 2^(exponent - top), built in the exponent field; below 2^-1000 it is nothing. Components without weight
      // may lie above top; they are multiplied by zero.
      const VI difference = hn::Min(hn::Max(hn::Sub(hn::LoadU(di, exponents + c), vtop), hn::Set(di, -1000)), hn::Zero(di));
      const V scale = hn::BitCast(d_, hn::ShiftLeft<52>(hn::Add(difference, hn::Set(di, 1023))));
      const V value = hn::Mul(hn::Mul(hn::LoadU(d_, values + c), scale), hn::LoadU(d_, prior_ + c));
      hn::StoreU(value, d_, values + c);
      total = hn::Add(total, value);
    }
    row_exponent_[row] = static_cast<double>(top);
    total = hn::SumOfLanes(d_, total);
    row_value_[row] = hn::GetLane(total);
    return total;
  }

  // A few rankings of one shape, r, r + 1, ..., their items one after the other.
  template <bool implicit, bool complete>
  HWY_INLINE void rankings(std::size_t r, std::size_t count, const Item* HWY_RESTRICT items, std::size_t length,
                           std::size_t stages) {
    if (r + count > first_row_ + rows_per_log) flush(r);
    std::array<bool, most_together> expanded{};
    const std::size_t width = hn::Lanes(d_);
    for (std::size_t j = 0; j < count; ++j)
      for (std::size_t c = 0; c < lanes(); c += width)
        if (!stages_of<implicit, complete>(items + j * length, length, stages, j, c)) expanded[j] = true;
    for (std::size_t j = 0; j < count; ++j)
      if (!implicit || !expanded[j])
        input_.logs != nullptr     ? keep_likelihoods(r + j, j)
        : input_.shares != nullptr ? take_shares(r + j, j)
                                   : posterior(r + j, j);
    for (std::size_t j = 0; j < count && input_.logs == nullptr; ++j) {
      if (implicit && expanded[j]) continue;
      accumulate_all<implicit, complete>(items + j * length, length, stages, j, lane_values_.get() + j * lanes());
    }
    if constexpr (implicit)
      for (std::size_t j = 0; j < count; ++j)
        if (HWY_UNLIKELY(expanded[j]))
          rankings<false, false>(r + j, 1, expand(items + j * length, stages), batch_.num_items, stages);
  }

  // The components' likelihoods alone; flush() takes their logarithms.
  HWY_INLINE void keep_likelihoods(std::size_t r, std::size_t place) {
    const std::size_t num = input_.num_components, stride = lanes();
    std::copy_n(lane_values_.get() + place * stride, num, input_.logs + r * num);
    if constexpr (!narrow)
      for (std::size_t k = 0; k < num; ++k)
        log_exponents_[(r - first_row_) * num + k] = static_cast<double>(exponents_[place * stride + k]);
  }

  HWY_INLINE void take_shares(std::size_t r, std::size_t place) {
    const std::size_t num = input_.num_components, stride = lanes();
    double* const values = lane_values_.get() + place * stride;
    std::copy_n(input_.shares + r * num, num, values);
    std::fill(values + num, values + stride, 0.0);
  }

  // The logarithms of the likelihoods of rankings first_row_ to end - 1, in place.
  HWY_NOINLINE void flush_logs(std::size_t end) {
    const hn::ScalableTag<double> d;
    const std::size_t width = hn::Lanes(d), count = (end - first_row_) * input_.num_components;
    double* const values = input_.logs + first_row_ * input_.num_components;
    const auto take = [&](double* value, const double* exponent) HWY_ATTR {
      auto log = hn::Log(d, hn::LoadU(d, value));
      if constexpr (!narrow) log = hn::MulAdd(hn::LoadU(d, exponent), hn::Set(d, 0.69314718055994530942), log);
      hn::StoreU(log, d, value);
    };
    std::size_t i = 0;
    for (; i + width <= count; i += width) take(values + i, log_exponents_.data() + i);
    if (i == count) return;
    std::fill_n(row_value_, width, 1.0);
    std::fill_n(row_exponent_, width, 0.0);
    std::copy_n(values + i, count - i, row_value_);
    if constexpr (!narrow) std::copy_n(log_exponents_.data() + i, count - i, row_exponent_);
    take(row_value_, row_exponent_);
    std::copy_n(row_value_, count - i, values + i);
  }

  // The components' likelihoods become memberships times the ranking's weight, in place.
  HWY_INLINE void posterior(std::size_t r, std::size_t place) {
    const std::size_t num = input_.num_components, stride = lanes(), width = hn::Lanes(d_);
    double* const values = lane_values_.get() + place * stride;
    const std::int64_t* const exponents = exponents_.data() + place * stride;
    const std::size_t row = r - first_row_;
    const double weight = batch_.weights[r];
    if constexpr (hn::MaxLanes(D()) == 1 && parts == 1) {
      row_value_[row] = values[0];
      if constexpr (!narrow) row_exponent_[row] = static_cast<double>(exponents[0]);
      values[0] = weight;
      if (input_.posterior != nullptr) input_.posterior[r] = 1.0;
      return;
    }
    V total;
    if constexpr (narrow)
      total = weigh(values, row);
    else
      total = weigh(values, exponents, row);
    const V factor = hn::Div(hn::Set(d_, weight), total);
    for (std::size_t c = 0; c < stride; c += width) hn::StoreU(hn::Mul(hn::LoadU(d_, values + c), factor), d_, values + c);
    if (HWY_UNLIKELY(input_.posterior != nullptr))
      for (std::size_t k = 0; k < num; ++k) input_.posterior[r * num + k] = values[k] / weight;
  }

  // The logarithms of a few hundred rankings together. Rankings come in order, so these are first_row_ to end - 1.
  HWY_NOINLINE void flush(std::size_t end) {
    if (input_.logs != nullptr || input_.shares != nullptr) {
      if (input_.logs != nullptr) flush_logs(end);
      first_row_ = end;
      return;
    }
    const std::size_t filled = end - first_row_;
    const hn::ScalableTag<double> d;
    const std::size_t width = hn::Lanes(d);
    const bool voters = input_.voters != nullptr;
    std::copy_n((voters ? input_.voters->weights.data() : batch_.weights.data()) + first_row_, filled, row_weight_);
    for (std::size_t i = filled; i < (filled + width - 1) / width * width; ++i)
      row_value_[i] = 1.0, row_exponent_[i] = row_weight_[i] = 0.0;
    auto total = hn::Zero(d);
    for (std::size_t i = 0; i < filled; i += width) {
      auto log = hn::Log(d, hn::Load(d, row_value_ + i));
      if (!narrow || voters) log = hn::MulAdd(hn::Load(d, row_exponent_ + i), hn::Set(d, 0.69314718055994530942), log);
      total = hn::MulAdd(log, hn::Load(d, row_weight_ + i), total);
      if (input_.row_loglik != nullptr) {
        hn::Store(log, d, row_value_ + i);
        for (std::size_t j = i; j < std::min(i + width, filled); ++j) input_.row_loglik[first_row_ + j] = row_value_[j];
      }
    }
    sums_.loglik += hn::GetLane(hn::SumOfLanes(d, total));
    first_row_ = end;
  }

  void finish() {
    for (std::size_t k = 0; k < all_lanes_; ++k)
      sums_.responsibility[k] += input_.voters != nullptr ? members_[k] : responsibility_[k];
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
  std::size_t all_lanes_, depth_ = 0, together_ = 1, first_row_ = 0, never_underflow_ = 0;
  AlignedDoubles inverses_, lane_values_;
  bool deep_ = false, one_shape_ = batch_.groups.size() == 1;
  double *totals_ = nullptr, *global_ = nullptr, *responsibility_ = nullptr;
  double *joint_ = nullptr, *members_ = nullptr, *prior_ = nullptr;
  std::vector<std::int64_t> joint_exponents_;
  std::vector<const Item*> listed_;
  std::vector<std::uint8_t> was_expanded_;
  std::vector<std::int64_t> exponents_;
  std::vector<double> log_exponents_;
  std::vector<double> numerators_;  // by the item in the last place; complete rankings only
  std::vector<Item> expanded_;
  std::vector<std::uint8_t> mark_;
  HWY_ALIGN double row_value_[rows_per_log];
  HWY_ALIGN double row_exponent_[rows_per_log];
  HWY_ALIGN double row_weight_[rows_per_log];
};

}  // namespace caucus::pl_mixture::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
