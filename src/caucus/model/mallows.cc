#include "caucus/model/mallows.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/word_stream.h"

namespace caucus {

namespace {

// (1 - q^a) / (1 - q^b), q = exp(-theta).
double ratio(double theta, double a, double b) { return theta == 0.0 ? a / b : std::expm1(-a * theta) / std::expm1(-b * theta); }

// Place of the item of central rank p, by repeated insertion in central order: methods 5.1. The items of lower central rank
// than s are n_s in number; the next one lands at or before place j with probability ratio(j) etc.
void position_row(double theta, std::size_t n, std::size_t p, std::span<double> out) {
  std::fill(out.begin(), out.end(), 0.0);
  const double log_z = log_stage_normalizer(theta, p + 1);
  for (std::size_t j = 0; j <= p; ++j) out[j] = std::exp(-theta * static_cast<double>(p - j) - log_z);
  for (std::size_t s = p + 2; s <= n; ++s) {
    const double size = static_cast<double>(s);
    // Places j count from 1 here: moved(j) = the newcomer lands at place j or before and pushes the item back.
    for (std::size_t j = s; j >= 1; --j) {
      const auto moved = [&](std::size_t k) {
        const double place = static_cast<double>(k);
        return std::exp(-theta * (size - place)) * ratio(theta, place, size);
      };
      const double stays = j < s ? out[j - 1] * ratio(theta, size - static_cast<double>(j), size) : 0.0;
      out[j - 1] = stays + (j > 1 ? out[j - 2] * moved(j - 1) : 0.0);
    }
  }
}

}  // namespace

Mallows::Mallows(std::vector<ItemId> center, double theta)
    : center_(std::move(center)),
      position_(inverse_order(center_)),
      theta_(theta),
      log_q_factorials_(log_q_factorials(theta, center_.size())) {}

double Mallows::log_prob(RankingView ranking) const {
  const double distance = static_cast<double>(strict_discordances(ranking, position_));
  double value = -theta_ * distance - log_q_factorials_[num_items()];
  if (ranking.size() < num_items()) value += log_q_factorials_[num_items() - ranking.size()];
  if (ranking.has_ties()) ranking.for_each_group([&](std::span<const ItemId> group) { value += log_q_factorials_[group.size()]; });
  return value;
}

double Mallows::first_probability(std::size_t p) const {
  return std::exp(-theta_ * static_cast<double>(p) - log_stage_normalizer(theta_, num_items()));
}

std::vector<double> Mallows::position_probabilities(std::size_t p) const {
  std::vector<double> out(num_items());
  position_row(theta_, num_items(), p, out);
  return out;
}

double Mallows::pair_probability(std::size_t p, std::size_t q) const {
  if (p > q) return 1.0 - pair_probability(q, p);
  // The items between and the two alone are a Mallows model of k = q - p + 1 items (restriction to an interval), and
  // P(first before last) = k / (1 - q^k) - (k - 1) / (1 - q^(k-1)). With b(x) = 1/(e^x - 1) - 1/x + 1/2, written through the
  // stage means so that nothing cancels for small theta: 1 + m_(k-1) - m_k with m_k = 1/(e^theta - 1) - k/(e^(k theta) - 1).
  const std::size_t k = q - p + 1;
  return 1.0 - (stage_mean(theta_, k) - stage_mean(theta_, k - 1));
}

std::vector<double> mallows_position_table(double theta, std::size_t num_items) {
  std::vector<double> table(num_items * num_items);
  for (std::size_t p = 0; p < num_items; ++p) position_row(theta, num_items, p, std::span(table).subspan(p * num_items, num_items));
  return table;
}

namespace {
// Code buffers on the stack for all usual sizes.
template <class Body>
void with_buffer(std::size_t size, Body&& body) {
  constexpr std::size_t on_stack = 512;
  if (size <= on_stack) {
    std::uint32_t buffer[on_stack];
    body(std::span<std::uint32_t>(buffer, size));
  } else {
    std::vector<std::uint32_t> buffer(size);
    body(std::span<std::uint32_t>(buffer));
  }
}
}  // namespace

MallowsSampler::MallowsSampler(std::vector<ItemId> center, double theta)
    : center_(std::move(center)), stages_(std::vector<double>(center_.size(), theta), center_.size()) {}

template <class Stream>
void MallowsSampler::draw(Stream& stream, std::span<ItemId> out) const {
  with_buffer(out.size() + StageSampler::beyond, [&](std::span<std::uint32_t> code) {
    stages_.draw(stream, out.size(), code);
    decode_s(code.first(out.size()), center_, out);
  });
}
template void MallowsSampler::draw(RandomStream&, std::span<ItemId>) const;
template void MallowsSampler::draw(WordStream&, std::span<ItemId>) const;

void draw_mallows(std::span<const ItemId> center, double theta, RandomStream& stream, std::span<ItemId> out) {
  with_buffer(out.size(), [&](std::span<std::uint32_t> code) {
    for (std::size_t j = 0; j < out.size(); ++j) code[j] = draw_stage(theta, center.size() - j, stream);
    decode_s(code, center, out);
  });
}

}  // namespace caucus
