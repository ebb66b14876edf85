// Which instruction sets the SIMD kernels are compiled for. Include before any header of Highway.
//
// Each costs build time: AVX2 and AVX-512 for the machines of the last ten years, and what every 64-bit processor has. Builds with
// a sanitizer check the code once in vectors and once without, which is enough to see its errors.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#endif
