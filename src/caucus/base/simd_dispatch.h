// Which version of a SIMD function runs. Include after Highway's headers, outside its namespaces.
//
// Highway chooses too, in a shared library that measures clocks for three milliseconds whenever a program starts: a third of what
// the shortest command takes. What is asked of the processor here is what the targets of simd_targets.h need.
#pragma once

namespace caucus {

enum class SimdLevel { basic, avx2, avx512 };
SimdLevel simd_level();

}  // namespace caucus

#if HWY_ARCH_X86 && (HWY_TARGETS & HWY_AVX3)
#define CAUCUS_ON_AVX512(function) caucus::simd_level() == caucus::SimdLevel::avx512 ? &N_AVX3::function:
#else
#define CAUCUS_ON_AVX512(function)
#endif
#if HWY_ARCH_X86 && (HWY_TARGETS & HWY_AVX2)
#define CAUCUS_ON_AVX2(function) caucus::simd_level() >= caucus::SimdLevel::avx2 ? &N_AVX2::function:
#else
#define CAUCUS_ON_AVX2(function)
#endif
// A pointer to the version for this processor of a function that HWY_NAMESPACE holds.
#define CAUCUS_SIMD(function) (CAUCUS_ON_AVX512(function) CAUCUS_ON_AVX2(function) & HWY_STATIC_DISPATCH(function))
