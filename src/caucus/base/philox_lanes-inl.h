// Philox4x32-10 of several streams or places at once, one a lane: the words that RandomStream gives. Compiled once for every SIMD
// target, hence no guard of the usual kind.
#if defined(CAUCUS_BASE_PHILOX_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CAUCUS_BASE_PHILOX_LANES_INL_H_
#undef CAUCUS_BASE_PHILOX_LANES_INL_H_
#else
#define CAUCUS_BASE_PHILOX_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include "caucus/base/random.h"

HWY_BEFORE_NAMESPACE();
namespace caucus::HWY_NAMESPACE {

// Words 2 * block and 2 * block + 1 of the streams (seed, purpose, index), each lane with a block and an index of its own.
template <class DU>
HWY_INLINE void philox_words(DU d, std::uint64_t seed, Purpose purpose, hwy::HWY_NAMESPACE::Vec<DU> block,
                             hwy::HWY_NAMESPACE::Vec<DU> index, hwy::HWY_NAMESPACE::Vec<DU>& first,
                             hwy::HWY_NAMESPACE::Vec<DU>& second) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t at = hn::GetLane(block), which = hn::GetLane(index);
  const auto words = philox4x32_10(
      {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>((at >> 32) & 0xFFFF) | static_cast<std::uint32_t>(purpose) << 16,
       static_cast<std::uint32_t>(which), static_cast<std::uint32_t>(which >> 32)},
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  first = hn::Set(d, words[0] | std::uint64_t{words[1]} << 32);
  second = hn::Set(d, words[2] | std::uint64_t{words[3]} << 32);
#else
  const hn::Repartition<std::uint32_t, DU> half;
  constexpr std::uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
  const auto multiplier0 = hn::Set(half, 0xD2511F53u), multiplier1 = hn::Set(half, 0xCD9E8D57u);
  const auto times = [&](auto value, auto multiplier) { return hn::MulEven(hn::BitCast(half, value), multiplier); };
  // The four words of the state in the lower halves of the lanes; what is in the upper halves is never looked at.
  const auto low = hn::Set(d, 0xFFFFFFFFull);
  auto c0 = block, c2 = index, c3 = hn::ShiftRight<32>(index);
  auto c1 =
      hn::Or(hn::And(hn::ShiftRight<32>(block), hn::Set(d, 0xFFFFull)), hn::Set(d, static_cast<std::uint64_t>(purpose) << 16));
  auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const auto product0 = times(c0, multiplier0), product1 = times(c2, multiplier1);
    c0 = hn::Xor3(hn::ShiftRight<32>(product1), c1, hn::Set(d, std::uint64_t{k0}));
    c2 = hn::Xor3(hn::ShiftRight<32>(product0), c3, hn::Set(d, std::uint64_t{k1}));
    c1 = product1;
    c3 = product0;
    k0 += weyl0;
    k1 += weyl1;
  }
  first = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1));
  second = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
#endif
}

}  // namespace caucus::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
