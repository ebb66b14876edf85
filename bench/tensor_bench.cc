// The parts of method tensor: one pass of counting, the learner on its counts, one tally and a whole polish.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <numeric>

#include "caucus/base/random.h"
#include "caucus/infer/mallows_tensor/learn.h"
#include "caucus/infer/mallows_tensor/polish.h"
#include "caucus/model/mallows.h"

namespace {

using namespace caucus;
using namespace caucus::mallows_tensor;

MallowsPair truth(std::size_t n) {
  MallowsPair pair;
  pair.weight = {0.6, 0.4};
  pair.theta = {0.9, 0.6};
  RandomStream random(1);
  for (auto& center : pair.center) {
    center.resize(n);
    std::iota(center.begin(), center.end(), ItemId{0});
    random.shuffle(std::span(center));
  }
  return pair;
}

RankingSet sample(const MallowsPair& pair, std::size_t count) {
  const MallowsSampler first(pair.center[0], pair.theta[0]), second(pair.center[1], pair.theta[1]);
  RankingSetBuilder builder;
  std::vector<ItemId> order(pair.center[0].size());
  RandomStream random(2);
  for (std::size_t i = 0; i < count; ++i) {
    (random.uniform() < pair.weight[0] ? first : second).draw(random, order);
    builder.add(order);
  }
  return builder.build();
}

void count(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const RankingSet rankings = sample(truth(n), 200000);
  for (auto _ : state) benchmark::DoNotOptimize(count_rankings(rankings, n, 1).total());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rankings.size()));
}
BENCHMARK(count)->Arg(10)->Arg(20)->Arg(50)->Unit(benchmark::kMillisecond);

void learn(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const MallowsPair pair = truth(n);
  const RankingSet rankings = sample(pair, 200000);
  const CountSource source = [&](std::span<const ItemId> deleted) { return count_rankings(rankings, n, 1, deleted); };
  const TopCounts counts = source({});
  if (!same_centers(learn_two_mallows(counts, source, {}, 1).pair, pair)) std::abort();
  for (auto _ : state) benchmark::DoNotOptimize(learn_two_mallows(counts, source, {}, 1).score);
}
BENCHMARK(learn)->Arg(6)->Arg(10)->Arg(15)->Unit(benchmark::kMillisecond);

void polish(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const MallowsPair pair = truth(n);
  const RankingSet rankings = sample(pair, 200000);
  const PairPolisher polisher(rankings, n, 1);
  MallowsPair start = pair;
  start.theta = {0.5, 0.5};
  std::swap(start.center[0][2], start.center[0][4]);
  if (!same_centers(polisher.run(start).pair, pair)) std::abort();
  for (auto _ : state) benchmark::DoNotOptimize(polisher.run(start).loglik);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rankings.size()));
}
BENCHMARK(polish)->Arg(10)->Arg(15)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
