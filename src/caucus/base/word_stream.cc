#include "caucus/base/word_stream.h"

#include "caucus/base/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "caucus/base/word_stream.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, by its rules.
#include "caucus/base/philox_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caucus::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void RandomWords(std::uint64_t seed, Purpose purpose, std::uint64_t index, std::uint64_t block, std::span<std::uint64_t> out) {
  const hn::CappedTag<std::uint64_t, 8> d;
  const std::size_t width = hn::Lanes(d);
  auto first = hn::Zero(d), second = first;
  std::size_t i = 0;
  for (; i + 2 * width <= out.size(); i += 2 * width, block += width) {
    philox_words(d, seed, purpose, hn::Iota(d, block), hn::Set(d, index), first, second);
    hn::StoreInterleaved2(first, second, d, out.data() + i);
  }
  if (i == out.size()) return;
  std::uint64_t rest[16];
  philox_words(d, seed, purpose, hn::Iota(d, block), hn::Set(d, index), first, second);
  hn::StoreInterleaved2(first, second, d, rest);
  for (std::size_t j = 0; i < out.size(); ++i, ++j) out[i] = rest[j];
}

}  // namespace caucus::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "caucus/base/simd_dispatch.h"

namespace caucus {

void random_words(std::uint64_t seed, Purpose purpose, std::uint64_t index, std::uint64_t block, std::span<std::uint64_t> out) {
  CAUCUS_SIMD(RandomWords)(seed, purpose, index, block, out);
}

void WordStream::refill() {
  random_words(seed_, purpose_, index_, block_, words_);
  block_ += words_.size() / 2;
  position_ = 0;
}

}  // namespace caucus
#endif
