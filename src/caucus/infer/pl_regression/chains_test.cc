#include "caucus/infer/pl_regression/chains.h"

#include <gtest/gtest.h>

#include "caucus/infer/pl_regression/gibbs.h"
#include "caucus/infer/pl_regression/logit_lasso.h"
#include "caucus/infer/pl_regression/testing.h"

namespace caucus::pl_regression {
namespace {

std::vector<GibbsChain> gibbs_chains(const RegressionData& data, std::size_t count) {
  std::vector<GibbsChain> chains;
  for (std::size_t c = 0; c < count; ++c) chains.emplace_back(data, GibbsOptions{}, RandomStream(5, Purpose::chain, c));
  return chains;
}

bool same(const Posterior& a, const Posterior& b) {
  if (a.iterations != b.iterations || a.chains.size() != b.chains.size()) return false;
  for (std::size_t c = 0; c < a.chains.size(); ++c)
    if (a.chains[c].values != b.chains[c].values || a.chains[c].hyper != b.chains[c].hyper ||
        a.chains[c].loglik != b.chains[c].loglik || a.chains[c].sum != b.chains[c].sum)
      return false;
  return true;
}

struct StopAfter : Observer {
  int limit;
  explicit StopAfter(int iterations) : limit(iterations) {}
  Flow progress(const Progress& progress) override { return progress.iteration >= limit ? Flow::stop : Flow::proceed; }
};

TEST(Chains, SameBitsForAnyNumberOfThreads) {
  const RegressionData data = testing::labelled_problem(30, 2, 3, 1);
  const auto run_with = [&](int threads) {
    auto chains = gibbs_chains(data, 3);
    caucus::Run run;
    run.threads = threads;
    return run_chains(chains, {300, 100, 2}, run);
  };
  const Posterior one = run_with(1);
  EXPECT_EQ(one.num_draws(0), 100u);
  EXPECT_TRUE(same(one, run_with(2)));
  EXPECT_TRUE(same(one, run_with(4)));
}

template <class Make>
void resume_test(Make&& make) {
  const ChainPlan plan{400, 150, 3};
  auto straight_chains = make();
  const Posterior straight = run_chains(straight_chains, plan, {});
  std::string saved;
  Checkpointing checkpoints{"key", 1e9, [&](const std::string& text) { saved = text; }, {}};
  StopAfter stopper(1);
  int resumed = 0;
  Posterior last;
  do {
    auto chains = make();
    caucus::Run run;
    run.observer = &stopper;
    last = run_chains(chains, plan, run, checkpoints);
    checkpoints.resume = saved;
    stopper.limit = last.iterations + 37;
    ++resumed;
  } while (last.stop_reason == StopReason::interrupted && resumed < 1000);
  EXPECT_GT(resumed, 2);
  EXPECT_TRUE(same(straight, last));
}

TEST(Chains, ResumedToTheSameBits) {
  const RegressionData data = testing::labelled_problem(30, 2, 3, 1);
  resume_test([&] { return gibbs_chains(data, 2); });
  const RegressionData rankings = testing::ranking_problem(30, 2, 4, 2, 1);
  resume_test([&] { return gibbs_chains(rankings, 2); });
}

TEST(Chains, RivalResumedToTheSameBits) {
  RandomStream stream(3);
  LogitData data;
  data.num_classes = 3;
  data.x = Eigen::MatrixXd::Ones(20, 3);
  for (Eigen::Index i = 0; i < 20; ++i) {
    data.x(i, 0) = stream.normal();
    data.x(i, 1) = stream.normal();
    data.labels.push_back(static_cast<std::uint32_t>(stream.below(3)));
  }
  resume_test([&] {
    std::vector<LogitChain> chains;
    for (std::size_t c = 0; c < 2; ++c) chains.emplace_back(data, LogitOptions{}, RandomStream(5, Purpose::chain, c));
    return chains;
  });
}

TEST(Chains, StoppingKeepsTheDraws) {
  const RegressionData data = testing::labelled_problem(30, 2, 3, 1);
  auto chains = gibbs_chains(data, 2);
  StopAfter stopper(500);
  caucus::Run run;
  run.observer = &stopper;
  const Posterior posterior = run_chains(chains, {1000000, 100, 1}, run);
  EXPECT_EQ(posterior.stop_reason, StopReason::interrupted);
  EXPECT_GE(posterior.iterations, 500);
  EXPECT_EQ(posterior.num_draws(1), static_cast<std::size_t>(posterior.iterations - 100));
  double sum = 0.0;
  for (const double value : posterior.mean()) sum += value;
  EXPECT_NEAR(sum, 1.0, 1e-9);
}

TEST(Chains, ForeignOrDamagedCheckpointsAreRefused) {
  const RegressionData data = testing::labelled_problem(30, 2, 3, 1);
  std::string saved;
  auto chains = gibbs_chains(data, 1);
  run_chains(chains, {50, 10, 1}, {}, {"mine", 1e9, [&](const std::string& text) { saved = text; }, {}});
  EXPECT_THROW(run_chains(chains, {50, 10, 1}, {}, {"yours", 1e9, {}, saved}), DataError);
  EXPECT_THROW(run_chains(chains, {50, 20, 1}, {}, {"mine", 1e9, {}, saved}), DataError);
  EXPECT_THROW(run_chains(chains, {50, 10, 1}, {}, {"mine", 1e9, {}, saved.substr(0, saved.size() / 2)}), DataError);
  EXPECT_THROW(run_chains(chains, {50, 10, 1}, {}, {"mine", 1e9, {}, "nonsense"}), DataError);
}

TEST(Chains, MedianByHand) {
  Posterior posterior;
  posterior.num_coefficients = 1;
  posterior.chains.resize(2);
  posterior.chains[0] = {{5.0f, 1.0f}, {0, 0}, {0, 0}, {6.0}, 2, 0.0};
  posterior.chains[1] = {{2.0f, 4.0f}, {0, 0}, {0, 0}, {6.0}, 2, 0.0};
  EXPECT_EQ(posterior.median()[0], 3.0);
  EXPECT_EQ(posterior.mean()[0], 3.0);
}

}  // namespace
}  // namespace caucus::pl_regression
