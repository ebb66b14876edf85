#include "caucus/infer/chains.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "caucus/base/error.h"

namespace caucus {
namespace {

// Counts its sweeps; asked to, it is cut short at one of them.
struct CountingChain {
  std::vector<int> kept, burnin;
  int value = 0, cut_at = -1;

  bool sweep(bool warm, const AskToStop& stop) {
    if (value == cut_at && stop()) return false;
    ++value;
    if (warm) burnin.push_back(value);
    return true;
  }
  void keep(int sweep) {
    EXPECT_EQ(sweep, value);
    kept.push_back(sweep);
  }
  double objective() const { return value; }
  void save(Saver& state) const { state(value, kept, burnin); }
  void load(Loader& state) { state(value, kept, burnin); }
};

struct StopNow : Observer, StopSource {
  bool stop_requested() const override { return true; }
};

TEST(ChainDriver, KeepsEveryThinSweepAfterBurnIn) {
  std::vector<CountingChain> chains(2);
  const ChainsDone done = run_chains(std::span(chains), {10, 3, 3}, caucus::Run());
  EXPECT_EQ(done.sweeps, (std::vector<int>{10, 10}));
  EXPECT_EQ(done.stop_reason, StopReason::iteration_limit);
  for (const CountingChain& chain : chains) {
    EXPECT_EQ(chain.kept, (std::vector<int>{6, 9}));
    EXPECT_EQ(chain.burnin, (std::vector<int>{1, 2, 3}));
  }
}

TEST(ChainDriver, ASweepCutShortIsNoSweepAndTheRunGoesOnFromTheFile) {
  const auto path = std::filesystem::temp_directory_path() / ("caucus-chain-driver-" + std::to_string(::getpid()));
  std::filesystem::remove(path);
  const Checkpoint file(path.string(), "counting", "key");
  StopNow stopper;
  caucus::Run run;
  run.observer = &stopper;
  run.threads = 1;
  std::vector<CountingChain> chains(2);
  chains[0].cut_at = 4;
  const ChainsDone part = run_chains(std::span(chains), {10, 3, 3}, run, {&file, 1e9});
  EXPECT_EQ(part.stop_reason, StopReason::interrupted);
  EXPECT_EQ(part.sweeps[0], 4);
  EXPECT_EQ(part.least(), std::min(part.sweeps[0], part.sweeps[1]));
  std::vector<CountingChain> again(2);
  const ChainsDone whole = run_chains(std::span(again), {10, 3, 3}, caucus::Run(), {&file, 1e9});
  EXPECT_EQ(whole.sweeps, (std::vector<int>{10, 10}));
  for (const CountingChain& chain : again) EXPECT_EQ(chain.kept, (std::vector<int>{6, 9}));
  std::vector<CountingChain> three(3);
  EXPECT_ANY_THROW(run_chains(std::span(three), {10, 3, 3}, caucus::Run(), {&file, 1e9}));
  std::filesystem::remove(path);
  std::filesystem::remove(path.string() + ".previous");
}

// Each save keeps the one before: where the last one is damaged or of something else, that is said and the one before used.
TEST(ChainDriver, TheCheckpointBeforeIsUsedWhereTheLastIsDamaged) {
  const auto path = std::filesystem::temp_directory_path() / ("caucus-chain-previous-" + std::to_string(::getpid()));
  const std::string previous = path.string() + ".previous";
  const Checkpoint file(path.string(), "counting", "key"), other(path.string(), "counting", "other");
  Saver first, second;
  first(1);
  second(2);
  std::string said;
  const auto warn = [&](std::string_view message) { said += message; };
  const auto read = [&] {
    int value = 0;
    file.resume([&](Loader& state) { state(value); }, warn);
    return value;
  };
  file.save(first);
  EXPECT_FALSE(std::filesystem::exists(previous));
  file.save(second);
  EXPECT_EQ(read(), 2);
  EXPECT_EQ(said, "");
  std::ofstream(path, std::ios::binary | std::ios::app) << 'x';
  EXPECT_EQ(read(), 1);
  EXPECT_NE(said.find(path.string() + ": not a checkpoint"), std::string::npos) << said;
  EXPECT_NE(said.find(previous), std::string::npos) << said;
  // It has taken the damaged one's place: the next save keeps it.
  said.clear();
  EXPECT_EQ(read(), 1);
  EXPECT_EQ(said, "");
  // Of another run: the one before is used too. Where neither is of this run, the file is refused.
  std::filesystem::remove(path);
  other.save(second);
  said.clear();
  EXPECT_EQ(read(), 1);
  EXPECT_NE(said.find("other data"), std::string::npos) << said;
  other.save(second);
  other.save(second);
  EXPECT_THROW(read(), DataError);
  std::filesystem::remove(path);
  EXPECT_EQ(read(), 0) << "the one before is no file to go on from by itself";
  std::filesystem::remove(previous);
}

}  // namespace
}  // namespace caucus
