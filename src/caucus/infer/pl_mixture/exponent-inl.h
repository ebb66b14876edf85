// Products of many factors that cannot underflow. Compiled once for every SIMD target, hence no guard of the usual kind.
#if defined(CAUCUS_PL_MIXTURE_EXPONENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAUCUS_PL_MIXTURE_EXPONENT_INL_H_
#undef CAUCUS_PL_MIXTURE_EXPONENT_INL_H_
#else
#define CAUCUS_PL_MIXTURE_EXPONENT_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace caucus::pl_mixture::HWY_NAMESPACE {

// Adds the binary exponents of positive normal numbers to `exponent` and leaves mantissas in [1, 2).
template <class D>
HWY_INLINE void split_exponent(D d, hwy::HWY_NAMESPACE::Vec<D>& mantissa,
                               hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::RebindToSigned<D>>& exponent) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, mantissa);
  const auto shifted = hn::BitCast(di, hn::ShiftRight<52>(hn::BitCast(hn::RebindToUnsigned<D>(), bits)));
  exponent = hn::Add(exponent, hn::Sub(shifted, hn::Set(di, 1023)));
  mantissa = hn::BitCast(d, hn::Or(hn::And(bits, hn::Set(di, 0x000FFFFFFFFFFFFFll)), hn::Set(di, 0x3FF0000000000000ll)));
}

}  // namespace caucus::pl_mixture::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
