// Method tensor from rankings that go by: the same fit as from all of them at once.
#include "caucus/io/stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "caucus/base/error.h"
#include "caucus/infer/mallows_mixture/family.h"
#include "caucus/infer/mallows_mixture/fitted.h"
#include "caucus/infer/stopping.h"
#include "caucus/model/mallows.h"

namespace caucus::mallows_mixture {
namespace {

namespace fs = std::filesystem;

class TensorStream : public ::testing::Test {
 protected:
  TensorStream() : folder_(fs::temp_directory_path() / fmt::format("caucus-tensor-stream-{}", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~TensorStream() override { fs::remove_all(folder_); }

  std::string draw(const std::string& name, Parameters truth, std::size_t count, std::size_t length = 0) {
    const std::size_t n = truth.center[0].size();
    std::vector<std::string> items;
    for (std::size_t i = 0; i < n; ++i) items.push_back(fmt::format("i{}", i));
    const MallowsMixture model(items, Unranked::last, std::move(truth), Distance::kendall);
    SampleRequest request;
    request.count = count;
    request.seed = 3;
    request.length = length;
    const std::string path = (folder_ / name).string();
    write_dataset(model.sample(request).data, path);
    return path;
  }
  FitOutcome stream_fit(const std::string& path, int threads, std::size_t block, const OptionMap& options) {
    RankingStream stream = RankingStream::open(path, {}, folder_.string(), block);
    caucus::Run run;
    run.threads = threads;
    return family_->fit_stream(stream, options, run);
  }

  fs::path folder_;
  std::unique_ptr<Family> family_ = make_mallows_family();
  OptionMap options_{{"method", "tensor"}, {"polish", "off"}};
};

TEST_F(TensorStream, SameFitAsWithAllRankingsInMemory) {
  Parameters apart{{0.6, 0.4}, {{0, 1, 2, 3, 4, 5, 6}, {3, 1, 0, 6, 5, 4, 2}}, {{0.9}, {0.6}}};
  // Sharp models with a common prefix: the branch that counts again.
  Parameters prefix{{0.5, 0.5}, {{0, 1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 2, 3, 8, 7, 6, 5, 4}}, {{3.0}, {3.0}}};
  for (const auto& [name, truth] :
       {std::pair<std::string, Parameters>{"apart.jsonl", apart}, {"apart.soc", apart}, {"prefix.jsonl", prefix}}) {
    SCOPED_TRACE(name);
    const std::string path = draw(name, truth, 30000);
    const Dataset data = read_dataset(path);
    const FitOutcome whole = family_->fit(data, options_, {});
    const bool degenerate = whole.summary.details.view().object("tensor").text("branch") != "decomposition";
    EXPECT_EQ(degenerate, name.starts_with("prefix"));
    for (const int threads : {1, 2, 4})
      for (const std::size_t block : {5000u, 1u << 20}) {
        const FitOutcome streamed = stream_fit(path, threads, block, options_);
        // Counts are whole numbers: the learner sees the same bits.
        EXPECT_EQ(model_text(*streamed.model), model_text(*whole.model));
        EXPECT_EQ(streamed.summary.details, whole.summary.details);
        EXPECT_EQ(streamed.summary.warnings, whole.summary.warnings);
        EXPECT_EQ(streamed.summary.options, whole.summary.options);
        EXPECT_EQ(streamed.summary.num_rankings, whole.summary.num_rankings);
        EXPECT_EQ(streamed.summary.num_parameters, whole.summary.num_parameters);
        EXPECT_EQ(streamed.summary.stop_reason, whole.summary.stop_reason);
        // Sums in another order.
        EXPECT_NEAR(streamed.summary.loglik, whole.summary.loglik, 1e-11 * std::abs(whole.summary.loglik));
        EXPECT_NEAR(*streamed.summary.entropy, *whole.summary.entropy, 1e-9 * (1.0 + *whole.summary.entropy));
      }
  }
}

TEST_F(TensorStream, SameBitsForAnyNumberOfThreads) {
  const std::string path =
      draw("bits.jsonl", {{0.7, 0.3}, {{0, 1, 2, 3, 4, 5, 6, 7}, {7, 5, 6, 0, 2, 1, 4, 3}}, {{0.5}, {0.8}}}, 40000);
  const FitOutcome one = stream_fit(path, 1, 1 << 20, options_);
  for (const int threads : {2, 4}) {
    const FitOutcome many = stream_fit(path, threads, 1 << 20, options_);
    EXPECT_EQ(model_text(*many.model), model_text(*one.model));
    EXPECT_EQ(many.summary.loglik, one.summary.loglik);
    EXPECT_EQ(many.summary.entropy, one.summary.entropy);
  }
}

TEST_F(TensorStream, StopsBetweenPiecesWithWhatItHas) {
  class StopAtOnce : public Observer, public StopSource {
   public:
    Flow progress(const Progress&) override { return Flow::stop; }
    bool stop_requested() const override { return true; }
  } observer;
  const std::string path =
      draw("stopped.jsonl", {{0.7, 0.3}, {{0, 1, 2, 3, 4, 5, 6, 7}, {7, 5, 6, 0, 2, 1, 4, 3}}, {{0.5}, {0.8}}}, 40000);
  caucus::Run watched, limited;
  watched.observer = &observer;
  limited.time_limit = 1e-9;
  for (const caucus::Run& run : {watched, limited}) {
    RankingStream stream = RankingStream::open(path, {}, folder_.string(), 5000);
    const FitOutcome outcome = family_->fit_stream(stream, options_, run);
    EXPECT_EQ(outcome.summary.stop_reason, run.observer != nullptr ? StopReason::interrupted : StopReason::time_limit);
    EXPECT_TRUE(std::isfinite(outcome.summary.loglik));
    ASSERT_FALSE(outcome.summary.warnings.empty());  // it says what the figures rest on
  }
}

TEST_F(TensorStream, RefusesWhatTheFitRefuses) {
  EXPECT_TRUE(family_->takes_stream(options_));
  EXPECT_FALSE(family_->takes_stream({{"method", "tensor"}}));
  EXPECT_FALSE(family_->takes_stream({{"method", "tensor"}, {"polish", "off"}, {"bootstrap", "10"}}));
  EXPECT_FALSE(family_->takes_stream({}));
  const std::string path = draw("short.soi", {{0.5, 0.5}, {{0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}}, {{1.0}, {1.0}}}, 300, 3);
  std::string whole;
  try {
    family_->fit(read_dataset(path), options_, {});
  } catch (const DataError& error) {
    whole = error.what();
  }
  EXPECT_NE(whole.find("top-t"), std::string::npos);
  try {
    stream_fit(path, 1, 200, options_);
    ADD_FAILURE() << "taken";
  } catch (const DataError& error) {
    EXPECT_EQ(error.what(), whole);
  }
  OptionMap three = options_;
  three["components"] = "3";
  EXPECT_THROW(stream_fit(path, 1, 200, three), UsageError);
  RankingStream stream = RankingStream::open(path, {}, folder_.string());
  EXPECT_THROW(family_->fit_stream(stream, {}, {}), UsageError);
}

}  // namespace
}  // namespace caucus::mallows_mixture
