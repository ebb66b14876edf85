// The fused pass of block_pass-inl.h for every SIMD target, number of components and shape of rankings.
#include <algorithm>
#include <cmath>

#include "caucus/base/simd_targets.h"
#include "caucus/infer/pl_mixture/batch.h"
#include "caucus/infer/pl_mixture/log_buffer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "caucus/infer/pl_mixture/kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, by its rules.
#include <hwy/contrib/math/math-inl.h>

#include "caucus/infer/pl_mixture/block_pass-inl.h"

// Up to four components do not fill a register of AVX-512: the version for AVX2 does the same, and one of their own takes time to
// compile.
#undef CAUCUS_FEW_ON_AVX2
#define CAUCUS_FEW_ON_AVX2 (HWY_TARGET == HWY_AVX3 && (HWY_TARGETS & HWY_AVX2))

HWY_BEFORE_NAMESPACE();
namespace caucus::pl_mixture::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// lanes: how many components there are with padding, 8 for 8 and more.
template <std::size_t lanes, class D, class Item>
void run_items(D d, const Batch& batch, const Item* items, const PassInput& input, std::size_t begin, std::size_t end,
               PassSums& sums) {
  // A shape of its own takes time to compile: item numbers of more than 16 bits, and processors without AVX2, are too rare for it.
  constexpr bool common = sizeof(Item) == 2 && HWY_TARGET != HWY_SCALAR;
  // The least ratio of a stage is the least worth over the total.
  double least = 1.0;
  for (double worth : input.worths) least = std::min(least, worth);
  const double depth = static_cast<double>(batch.max_length) * (std::log(static_cast<double>(batch.num_items)) - std::log(least));
  const bool narrow = depth < most_depth;
  const auto with = [&]<int parts>() {
    if constexpr (common)
      if (narrow) return BlockPass<D, Item, parts, true>(d, batch, items, input, depth, sums).run(begin, end);
    BlockPass<D, Item, parts, false>(d, batch, items, input, depth, sums).run(begin, end);
  };
  constexpr std::size_t num_parts = common ? lanes / hn::MaxLanes(D()) : 0;
  if constexpr (num_parts == 1 || num_parts == 2)
    if (padded_components(input.num_components) == num_parts * hn::Lanes(d)) return with.template operator()<int{num_parts}>();
  if constexpr (lanes == 8 || HWY_HAVE_SCALABLE || (num_parts != 1 && num_parts != 2)) with.template operator()<0>();
}

template <std::size_t lanes, class D>
void run_with(D d, const Batch& batch, const PassInput& input, std::size_t begin, std::size_t end, PassSums& sums) {
  if (batch.items32.empty())
    run_items<lanes>(d, batch, batch.items16.data(), input, begin, end, sums);
  else  // one component after the other, whatever their number
    run_items<1>(hn::CappedTag<double, 1>(), batch, batch.items32.data(), input, begin, end, sums);
}

void RunBlock(const Batch& batch, const PassInput& input, std::size_t begin, std::size_t end, PassSums& sums) {
  switch (padded_components(input.num_components)) {
#if !CAUCUS_FEW_ON_AVX2
    case 1:
      return run_with<1>(hn::CappedTag<double, 1>(), batch, input, begin, end, sums);
    case 2:
      return run_with<2>(hn::CappedTag<double, 2>(), batch, input, begin, end, sums);
    case 4:
      return run_with<4>(hn::CappedTag<double, 4>(), batch, input, begin, end, sums);
#endif
    default:
      return run_with<8>(hn::CappedTag<double, 8>(), batch, input, begin, end, sums);
  }
}

void NegativeLogs(double* values, std::size_t count) {
  const hn::CappedTag<double, 8> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) hn::StoreU(hn::Neg(hn::Log(d, hn::LoadU(d, values + i))), d, values + i);
}

}  // namespace caucus::pl_mixture::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "caucus/base/simd_dispatch.h"

namespace caucus::pl_mixture {

void negative_logs(double* values, std::size_t count) { CAUCUS_SIMD(NegativeLogs)(values, count); }

std::size_t padded_components(std::size_t num_components) {
  if (num_components <= 2) return num_components;
  return num_components <= 4 ? 4 : (num_components + 7) / 8 * 8;
}

void run_block(const Batch& batch, const PassInput& input, std::size_t begin, std::size_t end, PassSums& sums) {
#if HWY_ARCH_X86 && (HWY_TARGETS & HWY_AVX3) && (HWY_TARGETS & HWY_AVX2)
  if (simd_level() == SimdLevel::avx512 && padded_components(input.num_components) <= 4)
    return N_AVX2::RunBlock(batch, input, begin, end, sums);
#endif
  CAUCUS_SIMD(RunBlock)(batch, input, begin, end, sums);
}

}  // namespace caucus::pl_mixture
#endif
