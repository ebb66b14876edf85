#include "caucus/model/race.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "caucus/base/aligned.h"
#include "caucus/base/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "caucus/model/race.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h, by its rules.
#include <hwy/contrib/math/math-inl.h>

#include "caucus/base/philox_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caucus::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using RaceLanes = hn::CappedTag<double, 8>;

std::size_t RaceWidth() { return hn::Lanes(RaceLanes()); }

// times[i * width + lane]: when item i of the lane's draw finishes, with the item in the last bits: positive numbers sort as their
// bits do.
void RaceTimes(std::span<const double> scale, std::uint64_t seed, const std::uint64_t* streams, double* times) {
  const RaceLanes d;
  const hn::RebindToUnsigned<RaceLanes> du;
  const std::size_t n = scale.size(), width = hn::Lanes(d);
  const auto index = hn::LoadU(du, streams);
  const auto put = [&](std::size_t item, auto word) {
    // As RandomStream::uniform_open(): 52 bits and a half, never 0 or 1.
    const auto above_one = hn::BitCast(d, hn::Or(hn::ShiftRight<12>(word), hn::Set(du, 0x3FF0000000000000ull)));
    const auto uniform = hn::Sub(above_one, hn::Set(d, 1.0 - 0x1p-53));
    const auto time = hn::Mul(hn::Neg(hn::Log(d, uniform)), hn::Set(d, scale[item]));
    const auto bits = hn::AndNot(hn::Set(du, Race::item_bits), hn::BitCast(du, time));
    hn::Store(hn::BitCast(d, hn::Or(bits, hn::Set(du, item))), d, times + item * width);
  };
  auto first = hn::Zero(du), second = first;
  for (std::size_t block = 0; 2 * block <= n; ++block) {
    philox_words(du, seed, Purpose::sample, hn::Set(du, block), index, first, second);
    if (block > 0) put(2 * block - 1, first);
    if (2 * block < n) put(2 * block, second);
  }
}

void RaceSort(std::span<const Race::Comparator> network, double* times) {
  const RaceLanes d;
  const std::size_t width = hn::Lanes(d);
  for (const auto& [first, second] : network) {
    double *const at = times + first * width, *const other = times + second * width;
    const auto a = hn::Load(d, at), b = hn::Load(d, other);
    hn::Store(hn::Min(a, b), d, at);
    hn::Store(hn::Max(a, b), d, other);
  }
}

}  // namespace caucus::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "caucus/base/simd_dispatch.h"

namespace caucus {

namespace {

constexpr std::size_t most_networked = 1024, few = 32, most_lanes = 8;

std::uint64_t bits_of(const double* time) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, time, sizeof bits);
  return bits;
}

}  // namespace

std::vector<Race::Comparator> Race::network(std::size_t n) {
  std::vector<Comparator> result;
  if (n < 2) return result;
  const std::size_t top = std::bit_ceil(n) / 2;
  for (std::size_t p = top; p > 0; p /= 2)
    for (std::size_t q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
      for (std::size_t i = 0; i + d < n; ++i)
        if ((i & p) == r) result.push_back({static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(i + d)});
      if (q == p) break;
    }
  return result;
}

Race::Race(std::span<const double> worths) {
  for (const double worth : worths) scale_.push_back(1.0 / worth);
  if (worths.size() <= most_networked) network_ = network(worths.size());
}

void Race::run(std::uint64_t seed, std::span<const std::uint64_t> streams, std::size_t wanted, std::span<ItemId* const> out) const {
  const std::size_t n = scale_.size(), width = CAUCUS_SIMD(RaceWidth)();
  const auto race = CAUCUS_SIMD(RaceTimes);
  const auto sort = CAUCUS_SIMD(RaceSort);
  const bool together = !network_.empty() && (n <= few || wanted >= n / 4);
  const AlignedDoubles times = aligned_doubles(std::max<std::size_t>(n, 1) * width);
  std::vector<std::uint64_t> column(together ? 0 : n);
  std::uint64_t lanes[most_lanes] = {};
  for (std::size_t begin = 0; begin < streams.size(); begin += width) {
    const std::size_t count = std::min(width, streams.size() - begin);
    std::copy_n(streams.begin() + static_cast<std::ptrdiff_t>(begin), count, lanes);
    race(scale_, seed, lanes, times.get());
    if (together) sort(network_, times.get());
    for (std::size_t lane = 0; lane < count; ++lane) {
      ItemId* const order = out[begin + lane];
      if (together) {
        for (std::size_t i = 0; i < wanted; ++i) order[i] = static_cast<ItemId>(bits_of(&times[i * width + lane]) & item_bits);
        continue;
      }
      for (std::size_t i = 0; i < n; ++i) column[i] = bits_of(&times[i * width + lane]);
      std::partial_sort(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(wanted), column.end());
      for (std::size_t i = 0; i < wanted; ++i) order[i] = static_cast<ItemId>(column[i] & item_bits);
    }
  }
}

}  // namespace caucus
#endif
