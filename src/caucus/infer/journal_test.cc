// The journal, and tasks and passes that processes share; processes are threads here.
#include "caucus/infer/journal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "caucus/base/error.h"
#include "caucus/infer/tasks.h"

namespace caucus {
namespace {

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("caucus_journal_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// What a run says, and what its journal found.
struct Opened {
  std::string said;
  std::size_t found = 0;
};
Opened open_again(const std::string& path, const std::string& key = "run") {
  Opened opened;
  const FileJournal journal({path, 0.0, true}, key, nullptr, [&](std::string_view text) { opened.said += text; });
  opened.found = journal.num_found();
  return opened;
}

std::string written(const Folder& folder, int records) {
  const std::string path = folder / "j";
  FileJournal journal({path, 0.0, false}, "run", nullptr, [](std::string_view) {});
  for (int i = 0; i < records; ++i) journal.keep("at/" + std::to_string(i), std::string(5 + i, 'x'), 1.0);
  return path;
}

TEST(Journal, IsFoundAgain) {
  const Folder folder;
  const std::string path = written(folder, 7);
  FileJournal journal({path, 0.0, true}, "run", nullptr, [](std::string_view text) { FAIL() << text; });
  ASSERT_NE(journal.find("at/3"), nullptr);
  EXPECT_EQ(*journal.find("at/3"), "xxxxxxxx");
  EXPECT_EQ(journal.find("at/7"), nullptr);
  journal.keep("at/7", "later", 1.0);
  EXPECT_EQ(open_again(path).found, 8U);
}

TEST(Journal, EveryCutLeavesWhatStandsBefore) {
  const Folder folder;
  const std::string path = written(folder, 4), whole = content(path);
  std::size_t most = 0;
  bool usable = false;
  for (std::size_t size = 1; size < whole.size(); ++size) {
    write(path, whole.substr(0, size));
    try {
      const Opened opened = open_again(path);
      usable = true;
      EXPECT_GE(opened.found, most);
      EXPECT_LE(opened.found, most + 1);
      most = std::max(most, opened.found);
      // What was cut is gone for good: the next one finds a sound file.
      EXPECT_EQ(open_again(path).said, "");
    } catch (const DataError& error) {
      EXPECT_FALSE(usable) << error.what();
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
    }
  }
  EXPECT_EQ(most, 3U);
  write(path, "");  // killed before its first byte
  EXPECT_EQ(open_again(path).found, 0U);
}

TEST(Journal, EveryChangedByteIsNoticed) {
  const Folder folder;
  const std::string path = written(folder, 3), whole = content(path);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 16);
    write(path, changed);
    try {
      const Opened opened = open_again(path);
      EXPECT_LT(opened.found, 3U);
      EXPECT_NE(opened.said.find("is damaged"), std::string::npos);
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find("damaged"), std::string::npos);
    }
  }
}

TEST(Journal, RefusesWhatIsOfSomethingElse) {
  const Folder folder;
  const std::string path = written(folder, 2), before = content(path);
  EXPECT_THROW(open_again(path, "another run"), DataError);
  EXPECT_EQ(content(path), before);
}

TEST(Journal, TheOneBeforeIsKeptAndUsed) {
  const Folder folder;
  const std::string path = written(folder, 5);
  {
    const FileJournal fresh({path, 0.0, false}, "run", nullptr, [](std::string_view) {});
  }
  EXPECT_EQ(open_again(path).found, 0U);
  std::string damaged = content(path);
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  write(path, damaged);
  const Opened opened = open_again(path);
  EXPECT_EQ(opened.found, 5U);
  EXPECT_NE(opened.said.find(".previous"), std::string::npos);
  EXPECT_EQ(open_again(path).found, 5U);
}

TEST(Journal, ForgetsWhatIsNotWorthItsRoom) {
  const Folder folder;
  const std::string path = folder / "j";
  {
    FileJournal journal({path, 0.0, false}, "run", nullptr, [](std::string_view) {});
    journal.keep("large", std::string(1000000, 'x'), 0.1);
    journal.keep("dear", std::string(1000, 'x'), 0.1);
  }
  EXPECT_EQ(open_again(path).found, 1U);
}

// Processes that are threads.
class Threads {
 public:
  explicit Threads(int size) : said_(static_cast<std::size_t>(size)), barrier_(size) {}

  class One final : public Collective {
   public:
    One(Threads& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(all_.said_.size()); }
    std::vector<std::string> exchange(const std::string& mine) override {
      all_.said_[static_cast<std::size_t>(rank_)] = mine;
      all_.barrier_.arrive_and_wait();
      std::vector<std::string> heard = all_.said_;
      all_.barrier_.arrive_and_wait();
      return heard;
    }
    bool any(bool mine) override {
      for (const std::string& one : exchange(mine ? "1" : ""))
        if (!one.empty()) return true;
      return false;
    }
    void deal() override {
      all_.barrier_.arrive_and_wait();
      all_.next_ = 0;
      all_.barrier_.arrive_and_wait();
    }
    std::size_t ticket() override { return all_.next_++; }

   private:
    Threads& all_;
    int rank_;
  };

  template <class Body>
  void run(Body&& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(said_.size()); ++rank)
      threads.emplace_back([&, rank] {
        One one(*this, rank);
        body(one);
      });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::vector<std::string> said_;
  std::barrier<> barrier_;
  std::atomic<std::size_t> next_ = 0;
};

struct Sum {
  double value = 0.0;
  std::vector<double> parts_of;
};
auto parts(IsA<Sum> auto& sum) { return std::tie(sum.value, sum.parts_of); }

// A sum that depends on the order of its terms.
Sum harmonic(const Workers& workers, std::size_t size, std::atomic<int>* blocks_done = nullptr) {
  return parallel_fold(
      Blocks(size, 100), workers,
      [] {
        return Sum{0.0, std::vector<double>(3, 0.0)};
      },
      [&](Sum& sum, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
          sum.value += 1.0 / static_cast<double>(3 * i + 1), sum.parts_of[i % 3] += sum.value;
        if (blocks_done != nullptr) ++*blocks_done;
      },
      [](Sum& total, const Sum& part) {
        total.value += part.value;
        for (std::size_t j = 0; j < 3; ++j) total.parts_of[j] += part.parts_of[j];
      });
}

TEST(Processes, ShareBlocksToTheSameBits) {
  for (const std::size_t size : {std::size_t{50}, std::size_t{777}, std::size_t{100000}}) {
    const Sum alone = harmonic(1, size);
    for (const int ranks : {1, 2, 3, 5, 8}) {
      std::atomic<int> done = 0;
      std::atomic<int> equal = 0;
      Threads(ranks).run([&](Collective& one) {
        const Sum shared = harmonic({1, &one, nullptr}, size, &done);
        equal += shared.value == alone.value && shared.parts_of == alone.parts_of ? 1 : 0;
      });
      EXPECT_EQ(equal, ranks) << size;
      if (size == 100000) {
        EXPECT_EQ(done, 64) << "every block is done once";
      }
    }
  }
}

TEST(Processes, ShareTasksOnceEach) {
  for (const int ranks : {1, 2, 3, 5}) {
    std::atomic<int> done = 0, equal = 0;
    Threads(ranks).run([&](Collective& one) {
      const auto results = run_tasks<Sum>(
          {1, &one, nullptr}, 23,
          [&](std::size_t i) -> std::optional<Sum> {
            ++done;
            if (i == 7) return std::nullopt;
            return Sum{std::sqrt(static_cast<double>(i)), {1.0 * static_cast<double>(i)}};
          },
          [](const Sum&) { return true; });
      bool same = results.size() == 23 && !results[7];
      for (std::size_t i = 0; i < 23 && same; ++i) same = i == 7 || results[i]->value == std::sqrt(static_cast<double>(i));
      equal += same ? 1 : 0;
    });
    EXPECT_EQ(done, 23);
    EXPECT_EQ(equal, ranks);
  }
}

TEST(Processes, ResumeTogether) {
  const Folder folder;
  const std::string path = folder / "j";
  std::atomic<int> done = 0;
  const auto body = [&](std::size_t i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ++done;
    return Sum{static_cast<double>(i), {}};
  };
  const auto run = [&](int ranks, std::size_t count) {
    std::atomic<int> equal = 0;
    Threads(ranks).run([&](Collective& one) {
      FileJournal journal({path, 0.0, true}, "run", &one, [](std::string_view) {});
      JournalScope scope(journal, "");
      const Workers workers{1, &one, &scope};
      const auto first = run_tasks<Sum>(workers, count, body, [](const Sum& sum) { return sum.value != 3.0; });
      const Sum pass = harmonic(workers, 100000);
      equal += first.back()->value == static_cast<double>(count - 1) && pass.value == harmonic(1, 100000).value ? 1 : 0;
    });
    EXPECT_EQ(equal, ranks);
  };
  run(3, 9);
  EXPECT_EQ(done, 9);
  run(2, 9);  // all but the one that was not whole
  EXPECT_EQ(done, 10);
  run(1, 12);
  EXPECT_EQ(done, 14);
}

}  // namespace
}  // namespace caucus
