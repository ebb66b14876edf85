#include "caucus/infer/pl_regression/chains.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "caucus/base/error.h"
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

std::string temporary_file(const char* name) {
  const std::string path = (std::filesystem::temp_directory_path() / fmt::format("caucus-chains-{}-{}", name, ::getpid())).string();
  std::filesystem::remove(path);
  return path;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
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
  const Checkpointing checkpoints{temporary_file("resume"), "key", 1e9};
  StopAfter stopper(1);
  int resumed = 0;
  Posterior last;
  do {
    auto chains = make();
    caucus::Run run;
    run.observer = &stopper;
    last = run_chains(chains, plan, run, checkpoints);
    stopper.limit = last.iterations + 37;
    ++resumed;
  } while (last.stop_reason == StopReason::interrupted && resumed < 1000);
  std::filesystem::remove(checkpoints.path);
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
  const std::string path = temporary_file("foreign");
  auto chains = gibbs_chains(data, 1);
  run_chains(chains, {50, 10, 1}, {}, {path, "mine", 1e9});
  const std::string sound = content_of(path);
  EXPECT_THROW(run_chains(chains, {50, 10, 1}, {}, {path, "yours", 1e9}), DataError);
  EXPECT_THROW(run_chains(chains, {50, 20, 1}, {}, {path, "mine", 1e9}), DataError);
  auto two = gibbs_chains(data, 2);
  EXPECT_THROW(run_chains(two, {50, 10, 1}, {}, {path, "mine", 1e9}), DataError);
  EXPECT_NO_THROW(run_chains(chains, {50, 10, 1}, {}, {path, "mine", 1e9}));
  // One changed byte anywhere, or a missing end.
  for (std::size_t k = 0; k < 40; ++k) {
    std::string bytes = sound;
    bytes[(sound.size() - 1) * k / 39] ^= static_cast<char>(1 << (k % 8));
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_THROW(run_chains(chains, {50, 10, 1}, {}, {path, "mine", 1e9}), DataError) << "byte " << k;
  }
  for (const std::string& wrong : {sound.substr(0, sound.size() / 2), std::string("nonsense"), std::string()}) {
    std::ofstream(path, std::ios::binary) << wrong;
    EXPECT_THROW(run_chains(chains, {50, 10, 1}, {}, {path, "mine", 1e9}), DataError);
  }
  std::filesystem::remove(path);
}

// A sound file of another sampler is told apart from a damaged one.
TEST(Chains, ACheckpointOfAnotherSamplerIsRefusedByName) {
  const std::string path = temporary_file("sampler");
  Saver state;
  state(1.0, std::vector<double>{2.0});
  Checkpoint(path, "dpm", "key").save(state);
  const RegressionData data = testing::labelled_problem(30, 2, 3, 1);
  auto chains = gibbs_chains(data, 1);
  try {
    run_chains(chains, {50, 10, 1}, {}, {path, "key", 1e9});
    ADD_FAILURE() << "it was taken";
  } catch (const DataError& failure) {
    EXPECT_EQ(failure.what(), path + ": a checkpoint of dpm, but the run is of regression; remove it or name another file");
  }
  std::filesystem::remove(path);
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
