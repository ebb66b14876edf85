#include "caucus/model/stage_sampler.h"

#include <algorithm>
#include <cmath>

namespace caucus {

__extension__ typedef unsigned __int128 Uint128;

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
    while (j < num_stages && group.count < max_stages && outcomes * (num_items - j) <= std::max(max_outcomes, num_items - group.first)) {
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
  entries_.resize(group.begin + group.size);
  digits_.resize(group.begin + group.size);
  std::vector<double> mass(group.size);
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
  const double scale = static_cast<double>(group.size) / total;
  std::vector<std::uint32_t> small, large;
  for (std::size_t e = 0; e < group.size; ++e) {
    mass[e] *= scale;
    (mass[e] < 1.0 ? small : large).push_back(static_cast<std::uint32_t>(e));
    entries_[group.begin + e] = {~std::uint64_t{0}, static_cast<std::uint32_t>(e)};
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
  for (const Group& group : groups_) {
    if (group.first >= wanted) return;
    const std::size_t count = std::min(group.count, wanted - group.first);
    if (group.size == 0) {
      for (std::size_t i = 0; i < count; ++i)
        out[group.first + i] = draw_stage(theta_[group.first + i], num_items_ - group.first - i, stream);
      continue;
    }
    const Uint128 product = static_cast<Uint128>(stream()) * group.size;
    std::size_t e = group.begin + static_cast<std::size_t>(product >> 64);
    const Entry& entry = entries_[e];
    e = static_cast<std::uint64_t>(product) < entry.threshold ? e : group.begin + entry.alias;
    for (std::size_t i = 0; i < count; ++i) out[group.first + i] = digits_[e][i];
  }
  if (wanted == num_items_ && wanted > 0) out[wanted - 1] = 0;
}

}  // namespace caucus
