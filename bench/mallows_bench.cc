// Mallows models: sampling, consensus and mixtures against the bars of the design notes. Every benchmark checks its answer first.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/infer/mallows_mixture/fit.h"
#include "caucus/model/consensus.h"
#include "caucus/model/mallows.h"

namespace caucus {
namespace {

std::vector<ItemId> identity(std::size_t n) {
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  return order;
}

// Bar: 10^5 rankings in 0.02 s (n = 20) and 0.2 s (n = 100).
void sample_rankings(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const MallowsSampler sampler(identity(n), 0.1);
  const auto position = inverse_order(identity(n));
  std::vector<ItemId> out(n);
  RandomStream stream(1, Purpose::sample);
  double total = 0.0;
  for (int i = 0; i < 20000; ++i) {
    sampler.draw(stream, out);
    total += static_cast<double>(strict_discordances(RankingView(out), position));
  }
  const double mean = mean_distance(0.1, n), error = std::sqrt(variance_distance(0.1, n) / 20000);
  if (std::abs(total / 20000 - mean) > 6 * error) state.SkipWithError("wrong mean distance");
  for (auto _ : state)
    for (int i = 0; i < 100000; ++i) {
      sampler.draw(stream, out);
      benchmark::DoNotOptimize(out.data());
    }
}
BENCHMARK(sample_rankings)->Arg(20)->Arg(100)->Unit(benchmark::kMillisecond);

// Bar: under a second at n = 50, theta = 0.1 and n = 20, theta = 0.01, 1000 rankings.
void exact_consensus(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const double theta = 1.0 / static_cast<double>(state.range(1));
  const MallowsSampler sampler(identity(n), theta);
  RandomStream stream(1, Purpose::sample, n);
  PairMatrix pairs(n);
  std::vector<ItemId> order(n);
  for (int i = 0; i < 1000; ++i) {
    sampler.draw(stream, order);
    pairs.add(RankingView(order), 1.0);
  }
  if (!find_consensus(pairs, ConsensusMethod::exact).optimal) state.SkipWithError("not proven");
  for (auto _ : state) benchmark::DoNotOptimize(find_consensus(pairs, ConsensusMethod::exact));
  state.counters["nodes"] = static_cast<double>(find_consensus(pairs, ConsensusMethod::exact).nodes);
}
BENCHMARK(exact_consensus)->Args({50, 10})->Args({20, 100})->Unit(benchmark::kMillisecond);

// Bar: 10^6 complete rankings of 20 items, K = 5, under 60 s on two cores.
void million_rankings(benchmark::State& state) {
  const std::size_t n = 20, count = 1'000'000;
  Dataset data;
  for (std::size_t i = 0; i < n; ++i) data.items.push_back(std::to_string(i));
  RankingSetBuilder builder;
  std::vector<std::vector<ItemId>> centers;
  std::vector<MallowsSampler> samplers;
  for (std::size_t k = 0; k < 5; ++k) {
    auto center = identity(n);
    RandomStream(3, Purpose::generate, k).shuffle(std::span<ItemId>(center));
    centers.push_back(center);
    samplers.emplace_back(center, 0.15 + 0.05 * static_cast<double>(k));
  }
  RandomStream stream(4, Purpose::sample);
  std::vector<ItemId> order(n);
  for (std::size_t i = 0; i < count; ++i) {
    samplers[stream.below(5)].draw(stream, order);
    builder.add(order);
  }
  data.rankings = builder.build();
  MallowsOptions options;
  options.components = 5;
  for (auto _ : state) {
    const mallows_mixture::FitResult fit = mallows_mixture::fit_mallows(data, options, Run{});
    auto found = fit.parameters.center;
    std::sort(found.begin(), found.end());
    auto expected = centers;
    std::sort(expected.begin(), expected.end());
    if (found != expected) state.SkipWithError("wrong centers");
    state.counters["passes"] = fit.iterations;
  }
}
BENCHMARK(million_rankings)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime()->MeasureProcessCPUTime();

}  // namespace
}  // namespace caucus

BENCHMARK_MAIN();
