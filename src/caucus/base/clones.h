// CAUCUS_CLONES before a function: one more version of it for processors with AVX2 and POPCNT, chosen at load time.
#pragma once

#if defined(__x86_64__) && defined(__ELF__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CAUCUS_CLONES [[gnu::target_clones("default", "arch=x86-64-v3")]]
#else
#define CAUCUS_CLONES
#endif
