#include "caucus/model/stage_sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace caucus {

std::uint32_t draw_stage(double theta, std::size_t m, RandomStream& stream) {
  if (m <= 1) return 0;
  if (theta == 0.0) return static_cast<std::uint32_t>(stream.below(m));
  const double size = static_cast<double>(m);
  const double v = std::log1p(stream.uniform() * std::expm1(-size * theta)) / -theta;
  return static_cast<std::uint32_t>(std::min(v, size - 1.0));
}

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
  group.begin = entries_.size();
  group.bits = static_cast<unsigned>(std::bit_width(group.size - 1));
  const std::size_t columns = std::size_t{1} << group.bits;
  entries_.resize(group.begin + columns);
  digits_.resize(group.begin + columns);
  std::vector<double> mass(columns, 0.0);
  double total = 0.0;
  for (std::size_t e = 0; e < group.size; ++e) {
    std::size_t rest = e;
    double exponent = 0.0;
    for (std::size_t i = 0; i < group.count; ++i) {
      const std::size_t size = num_items_ - group.first - i;
      const std::size_t digit = rest % size;
      rest /= size;
      digits_[group.begin + e][i] = static_cast<std::uint16_t>(digit);
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
    entries_[group.begin + e] = e < group.size ? Entry{~std::uint64_t{0}, static_cast<std::uint32_t>(e)} : Entry{0, largest};
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t poor = small.back(), rich = large.back();
    small.pop_back();
    entries_[group.begin + poor] = {static_cast<std::uint64_t>(mass[poor] * 0x1p64), rich};
    mass[rich] -= 1.0 - mass[poor];
    if (mass[rich] < 1.0) {
      large.pop_back();
      small.push_back(rich);
    }
  }
}

void StageSampler::draw(RandomStream& stream, std::span<std::uint32_t> out) const {
  const std::size_t wanted = std::min(out.size(), num_items_);
  std::uint64_t word = 0;
  bool half_left = false;
  for (const Group& group : groups_) {
    if (group.first >= wanted) return;
    const std::size_t count = std::min(group.count, wanted - group.first);
    if (group.size == 0) {
      for (std::size_t i = 0; i < count; ++i)
        out[group.first + i] = draw_stage(theta_[group.first + i], num_items_ - group.first - i, stream);
      continue;
    }
    word = half_left ? word >> 32 : stream();
    half_left = !half_left;
    const auto random = static_cast<std::uint32_t>(word);
    const unsigned fraction_bits = 32 - group.bits;
    std::size_t e = group.begin + (random >> fraction_bits);
    const Entry& entry = entries_[e];
    const std::uint64_t fraction = random & ((std::uint64_t{1} << fraction_bits) - 1),
                        threshold = entry.threshold >> (64 - fraction_bits);
    bool own = fraction < threshold;
    if (fraction == threshold) own = stream() < entry.threshold << fraction_bits;
    e = own ? e : group.begin + entry.alias;
    for (std::size_t i = 0; i < count; ++i) out[group.first + i] = digits_[e][i];
  }
  if (wanted == num_items_ && wanted > 0) out[wanted - 1] = 0;
}

}  // namespace caucus
