// Mixtures of two Mallows models and samples of them, as Awasthi, Blum, Sheffet & Vijayaraghavan (2014) draw them.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "caucus/base/random.h"
#include "caucus/infer/mallows_tensor/learn.h"
#include "caucus/model/mallows.h"
#include "harness.h"

namespace caucus::experiments::paper3 {

using namespace mallows_tensor;

inline constexpr std::size_t most_items = 10;

// Uniform over rankings at distance d from the identity: a uniform solution of x_1 + .. + x_n = d with x_i <= n - i, as the paper
// draws it.
inline std::vector<ItemId> ranking_at_distance(std::size_t num_items, std::size_t d, RandomStream& random) {
  std::vector<std::vector<double>> ways(num_items + 1, std::vector<double>(d + 1, 0.0));
  ways[num_items][0] = 1.0;
  for (std::size_t i = num_items; i-- > 0;)
    for (std::size_t left = 0; left <= d; ++left)
      for (std::size_t x = 0; x <= std::min(left, num_items - 1 - i); ++x) ways[i][left] += ways[i + 1][left - x];
  std::vector<std::uint32_t> code(num_items);
  std::size_t left = d;
  for (std::size_t i = 0; i < num_items; ++i) {
    std::vector<double> weights;
    for (std::size_t x = 0; x <= std::min(left, num_items - 1 - i); ++x) weights.push_back(ways[i + 1][left - x]);
    const std::size_t x = random.categorical(weights);
    code[i] = static_cast<std::uint32_t>(x);
    left -= x;
  }
  // x_i is the number of larger items before item i.
  std::vector<ItemId> order(num_items);
  std::vector<ItemId> identity(num_items);
  std::iota(identity.begin(), identity.end(), ItemId{0});
  decode_v(code, identity, order);
  return order;
}

inline MallowsPair draw_truth(std::size_t num_items, std::size_t d, std::uint64_t index) {
  RandomStream random(1410, Purpose::generate, index);
  MallowsPair truth;
  truth.weight[0] = random.uniform_open();
  truth.weight[1] = 1.0 - truth.weight[0];
  for (double& theta : truth.theta) theta = 5.0 * random.uniform_open();
  truth.center[0].resize(num_items);
  std::iota(truth.center[0].begin(), truth.center[0].end(), ItemId{0});
  truth.center[1] = ranking_at_distance(num_items, d, random);
  return truth;
}

// A sample as counts of distinct rankings: 10! cells at most, however large N is.
struct SampleCounts {
  std::size_t num_items = most_items;
  std::vector<std::array<ItemId, most_items>> orders;  // the first num_items
  std::vector<double> weights;

  std::span<const ItemId> order(std::size_t i) const { return std::span(orders[i]).first(num_items); }

  TopCounts count(std::span<const ItemId> deleted) const {
    std::array<ItemId, most_items> renumbered{};
    ItemId kept = 0;
    for (ItemId item = 0; item < num_items; ++item)
      renumbered[item] = std::find(deleted.begin(), deleted.end(), item) == deleted.end() ? kept++ : ItemId{most_items};
    TopCounts counts(kept);
    std::vector<ItemId> rest(kept);
    for (std::size_t i = 0; i < orders.size(); ++i) {
      std::size_t length = 0;
      for (ItemId item : order(i))
        if (renumbered[item] < most_items) rest[length++] = renumbered[item];
      counts.add(rest, weights[i]);
    }
    return counts;
  }
};

inline SampleCounts draw_sample(const MallowsPair& truth, std::size_t n, std::uint64_t seed) {
  const std::size_t num_items = truth.center[0].size();
  std::size_t factorial = 1;
  for (std::size_t i = 2; i <= num_items; ++i) factorial *= i;
  std::vector<std::uint32_t> cells(factorial, 0);
  const MallowsSampler first(truth.center[0], truth.theta[0]), second(truth.center[1], truth.theta[1]);
  constexpr std::size_t block = 65536;
  std::array<ItemId, most_items> order{};
  for (std::size_t begin = 0; begin < n; begin += block) {
    RandomStream random(seed, Purpose::sample, begin / block);
    for (std::size_t i = begin; i < std::min(n, begin + block); ++i) {
      (random.uniform() < truth.weight[0] ? first : second).draw(random, std::span(order).first(num_items));
      std::size_t rank = 0;
      std::uint32_t left = (1u << num_items) - 1;
      for (std::size_t j = 0; j < num_items; ++j) {
        rank = rank * (num_items - j) + static_cast<std::size_t>(__builtin_popcount(left & ((1u << order[j]) - 1)));
        left &= ~(1u << order[j]);
      }
      ++cells[rank];
    }
  }
  SampleCounts sample;
  sample.num_items = num_items;
  for (std::size_t rank = 0; rank < factorial; ++rank) {
    if (cells[rank] == 0) continue;
    std::array<std::size_t, most_items> digit{};
    std::size_t rest = rank;
    for (std::size_t j = num_items; j-- > 0;) {
      digit[j] = rest % (num_items - j);
      rest /= num_items - j;
    }
    std::vector<ItemId> unused(num_items);
    std::iota(unused.begin(), unused.end(), ItemId{0});
    for (std::size_t j = 0; j < num_items; ++j) {
      order[j] = unused[digit[j]];
      unused.erase(unused.begin() + static_cast<std::ptrdiff_t>(digit[j]));
    }
    sample.orders.push_back(order);
    sample.weights.push_back(cells[rank]);
  }
  return sample;
}

inline double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::round(static_cast<double>(usage.ru_maxrss) / 1024.0);
}

inline std::string share(double successes, double runs) {
  return fmt::format("{:.0f} of {:.0f} ({} %)", successes, runs, wilson(successes, runs));
}

inline constexpr std::array<std::size_t, 10> distances{0, 2, 4, 8, 16, 24, 30, 35, 40, 45};
inline const std::map<std::size_t, std::pair<int, int>> printed{{0, {0, 10}},    {2, {0, 10}},    {4, {0, 40}},    {8, {10, 70}},
                                                                {16, {30, 60}},  {24, {30, 100}}, {30, {60, 100}}, {35, {60, 100}},
                                                                {40, {80, 100}}, {45, {60, 100}}};  // d: EM, tensor

inline int num_runs(const Settings& settings) { return settings.trials > 0 ? settings.trials : settings.quick ? 2 : 20; }

// paper3_rivals.cc
Target em_target();
Target items_target();

}  // namespace caucus::experiments::paper3
