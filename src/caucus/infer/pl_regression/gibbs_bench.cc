// A sweep of the sampler at the sizes of colon (62 x 4001 features, 2 classes) and sushi (4000 x 21, 10 classes), and of the rival
// at colon's.
#include <benchmark/benchmark.h>

#include "caucus/infer/pl_regression/gibbs.h"
#include "caucus/infer/pl_regression/logit_lasso.h"
#include "caucus/infer/pl_regression/testing.h"

namespace caucus::pl_regression {
namespace {

void sweep(benchmark::State& state) {
  const RegressionData data =
      testing::labelled_problem(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)),
                                static_cast<std::size_t>(state.range(2)), 1);
  GibbsChain chain(data, {}, RandomStream(1, Purpose::chain, 0));
  for (int i = 0; i < 20; ++i) chain.sweep(true);
  for (auto _ : state) chain.sweep(false);
  if (!(std::abs(chain.coefficients().sum() - 1.0) < 1e-9)) state.SkipWithError("the weights do not sum to 1");
}
BENCHMARK(sweep)->Args({62, 2000, 2})->Args({4000, 10, 10})->Unit(benchmark::kMicrosecond);

void rival_sweep(benchmark::State& state) {
  RandomStream stream(2);
  LogitData data;
  data.num_classes = 2;
  data.x = Eigen::MatrixXd::NullaryExpr(state.range(0), state.range(1), [&] { return stream.normal(); });
  for (std::int64_t i = 0; i < state.range(0); ++i) data.labels.push_back(static_cast<std::uint32_t>(stream.below(2)));
  LogitChain chain(data, {}, RandomStream(1, Purpose::chain, 0));
  for (auto _ : state) chain.sweep(false);
  if (!chain.coefficients().allFinite()) state.SkipWithError("a coefficient is not finite");
}
BENCHMARK(rival_sweep)->Args({62, 2001})->Args({500, 25})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace caucus::pl_regression

BENCHMARK_MAIN();
