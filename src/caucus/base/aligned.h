// Arrays that vector registers are loaded from: aligned to whole cache lines, not filled.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace caucus {

inline constexpr std::align_val_t cache_lines{128};

struct AlignedDelete {
  void operator()(void* memory) const { ::operator delete(memory, cache_lines); }
};
using AlignedDoubles = std::unique_ptr<double[], AlignedDelete>;

inline AlignedDoubles aligned_doubles(std::size_t count) {
  return AlignedDoubles(static_cast<double*>(::operator new(count * sizeof(double), cache_lines)));
}

}  // namespace caucus
