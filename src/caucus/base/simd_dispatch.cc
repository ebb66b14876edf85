#include "caucus/base/simd_dispatch.h"

namespace caucus {

namespace {

SimdLevel look() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  const auto all = [](auto... has) { return (has && ...); };
  // Highway's AVX2 takes F16C and LZCNT too, for which compilers have no common name: what has AVX2 and BMI2 has them.
  if (!all(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"), __builtin_cpu_supports("bmi"),
           __builtin_cpu_supports("bmi2")))
    return SimdLevel::basic;
  if (!all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512vl"), __builtin_cpu_supports("avx512dq"),
           __builtin_cpu_supports("avx512bw"), __builtin_cpu_supports("avx512cd")))
    return SimdLevel::avx2;
  return SimdLevel::avx512;
#else
  return SimdLevel::basic;
#endif
}

}  // namespace

SimdLevel simd_level() {
  static const SimdLevel level = look();
  return level;
}

}  // namespace caucus
