#include "caucus/model/stage_sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "caucus/base/word_stream.h"

namespace caucus {

template <class Stream>
std::uint32_t draw_stage(double theta, std::size_t m, Stream& stream) {
  if (m <= 1) return 0;
  if (theta == 0.0) return static_cast<std::uint32_t>(stream.below(m));
  const double size = static_cast<double>(m);
  const double v = std::log1p(stream.uniform() * std::expm1(-size * theta)) / -theta;
  return static_cast<std::uint32_t>(std::min(v, size - 1.0));
}
template std::uint32_t draw_stage(double, std::size_t, RandomStream&);
template std::uint32_t draw_stage(double, std::size_t, WordStream&);

StageSampler::StageSampler(std::span<const double> theta, std::size_t num_items)
    : num_items_(num_items), theta_(theta.begin(), theta.end()) {
  constexpr std::size_t largest_table = 256;
  const std::size_t num_stages = num_items > 0 ? num_items - 1 : 0;
  for (std::size_t j = 0; j < num_stages;) {
    Group group;
    group.first = j;
    std::size_t outcomes = 1;
    while (j < num_stages && group.count < max_stages &&
           outcomes * (num_items - j) <= std::max(max_outcomes, num_items - group.first)) {
      outcomes *= num_items - j;
      ++group.count;
      ++j;
    }
    if (group.count > 1 || num_items - group.first <= largest_table) {
      group.size = outcomes;
      build(group);
    }
    groups_.push_back(group);
  }
}

void StageSampler::build(Group& group) {
  group.begin = columns_.size();
  group.bits = static_cast<unsigned>(std::bit_width(group.size - 1));
  const std::size_t columns = std::size_t{1} << group.bits;
  columns_.resize(group.begin + columns);
  below_thresholds_.resize(group.begin + columns);
  // Of 2^64: the upper bits are compared with those that a draw has left, the others seldom asked for.
  const auto set = [&](std::size_t e, std::uint64_t threshold, std::uint32_t alias) {
    columns_[group.begin + e].threshold = static_cast<std::uint32_t>(threshold >> (32 + group.bits));
    columns_[group.begin + e].alias = alias;
    below_thresholds_[group.begin + e] = threshold << (32 - group.bits);
  };
  std::vector<double> mass(columns, 0.0);
  double total = 0.0;
  for (std::size_t e = 0; e < group.size; ++e) {
    std::size_t rest = e;
    double exponent = 0.0;
    for (std::size_t i = 0; i < group.count; ++i) {
      const std::size_t size = num_items_ - group.first - i;
      const std::size_t digit = rest % size;
      rest /= size;
      columns_[group.begin + e].digits[i] = static_cast<std::uint8_t>(digit);
      exponent -= theta_[group.first + i] * static_cast<double>(digit);
    }
    total += mass[e] = std::exp(exponent);
  }
  // The largest outcome takes what rounding leaves over: a column beyond the outcomes must never be its own.
  const auto largest = static_cast<std::uint32_t>(std::max_element(mass.begin(), mass.end()) - mass.begin());
  const double scale = static_cast<double>(columns) / total;
  std::vector<std::uint32_t> small, large;
  for (std::size_t e = 0; e < columns; ++e) {
    mass[e] *= scale;
    (mass[e] < 1.0 ? small : large).push_back(static_cast<std::uint32_t>(e));
    if (e < group.size)
      set(e, ~std::uint64_t{0}, static_cast<std::uint32_t>(e));
    else
      set(e, 0, largest);
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t poor = small.back(), rich = large.back();
    small.pop_back();
    set(poor, static_cast<std::uint64_t>(mass[poor] * 0x1p64), rich);
    mass[rich] -= 1.0 - mass[poor];
    if (mass[rich] < 1.0) {
      large.pop_back();
      small.push_back(rich);
    }
  }
}

template <class Stream>
void StageSampler::draw(Stream& stream, std::size_t count, std::span<std::uint32_t> out) const {
  const std::size_t wanted = std::min(count, num_items_);
  std::uint64_t word = 0;
  bool half_left = false;
  for (const Group& group : groups_) {
    if (group.first >= wanted) return;
    if (group.size == 0) {
      for (std::size_t j = group.first; j < std::min(group.first + group.count, wanted); ++j)
        out[j] = draw_stage(theta_[j], num_items_ - j, stream);
      continue;
    }
    word = half_left ? word >> 32 : stream();
    half_left = !half_left;
    const auto random = static_cast<std::uint32_t>(word);
    const unsigned fraction_bits = 32 - group.bits;
    const std::uint32_t place = random >> fraction_bits, fraction = random & ((std::uint32_t{1} << fraction_bits) - 1);
    const Column& column = columns_[group.begin + place];
    bool own = fraction < column.threshold;
    if (fraction == column.threshold) [[unlikely]]
      own = stream() < below_thresholds_[group.begin + place];
    // Without a branch, which nothing could foresee.
    const std::uint32_t keep = 0 - static_cast<std::uint32_t>(own);
    const Column& chosen = columns_[group.begin + ((place & keep) | (column.alias & ~keep))];
    for (std::size_t i = 0; i < beyond; ++i) out[group.first + i] = chosen.digits[i];
  }
  if (wanted == num_items_ && wanted > 0) out[wanted - 1] = 0;
}
template void StageSampler::draw(RandomStream&, std::size_t, std::span<std::uint32_t>) const;
template void StageSampler::draw(WordStream&, std::size_t, std::span<std::uint32_t>) const;

}  // namespace caucus
