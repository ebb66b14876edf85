// One text read by several processes is the data set that one process reads.
#include "caucus/io/parts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <barrier>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/io/testing.h"

namespace caucus {
namespace {

using io_testing::difference;

// Processes that are threads here.
class Meeting {
 public:
  explicit Meeting(int size) : barrier_(size), said_(static_cast<std::size_t>(size)) {}

  class Member final : public Collective {
   public:
    Member(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(meeting_.said_.size()); }
    // Two share a machine, three have one each, five have two machines.
    int first_on_machine() const override { return size() == 2 ? 0 : size() == 3 ? rank_ : rank_ / 3 * 3; }
    std::vector<std::string> exchange(const std::string& mine) override {
      meeting_.said_[static_cast<std::size_t>(rank_)] = mine;
      meeting_.barrier_.arrive_and_wait();
      std::vector<std::string> all = meeting_.said_;
      meeting_.barrier_.arrive_and_wait();
      ++exchanges;
      return all;
    }
    bool any(bool mine) override {
      bool found = false;
      for (const std::string& said : exchange(mine ? "yes" : "")) found = found || !said.empty();
      return found;
    }
    void deal() override {}
    std::size_t ticket() override { return 0; }
    int exchanges = 0;

   private:
    Meeting& meeting_;
    int rank_;
  };

 private:
  std::barrier<> barrier_;
  std::vector<std::string> said_;
};

class Parts : public testing::Test {
 protected:
  Parts() : folder_(std::filesystem::temp_directory_path() / fmt::format("caucus_parts_{}", ::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~Parts() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

  // Reads it on 2, 3 and 5 processes. `shared`: parts are read, and not the whole by everybody.
  static void expect_same(const std::string& path, const ReadOptions& options = {}, bool shared = true) {
    const auto read = [&](const ReadOptions& how, std::string& failure) {
      try {
        return read_datasets({path}, how);
      } catch (const Error& error) {
        failure = error.what();
        return Dataset{};
      }
    };
    std::string failure;
    const Dataset whole = read(options, failure);
    for (const int size : {2, 3, 5}) {
      Meeting meeting(size);
      std::vector<Dataset> got(static_cast<std::size_t>(size));
      std::vector<std::string> failures(static_cast<std::size_t>(size));
      std::vector<int> exchanges(static_cast<std::size_t>(size));
      std::vector<std::thread> threads;
      for (int rank = 0; rank < size; ++rank)
        threads.emplace_back([&, rank] {
          Meeting::Member member(meeting, rank);
          ReadOptions own = options;
          own.ranks = &member;
          got[static_cast<std::size_t>(rank)] = read(own, failures[static_cast<std::size_t>(rank)]);
          exchanges[static_cast<std::size_t>(rank)] = member.exchanges;
        });
      for (std::thread& thread : threads) thread.join();
      for (std::size_t rank = 0; rank < got.size(); ++rank) {
        EXPECT_EQ(failures[rank], failure) << path;
        EXPECT_EQ(difference(got[rank], whole), "") << path << " on " << size << " processes";
        EXPECT_EQ(got[rank].warnings, whole.warnings) << path;
        EXPECT_EQ(digest(got[rank]), digest(whole)) << path;
        EXPECT_TRUE(!shared || exchanges[rank] > size) << path << ": everybody read the whole";
        EXPECT_TRUE(!shared || got[rank].rankings.is_borrowed()) << path << ": a copy of its own";
      }
    }
  }

  std::filesystem::path folder_;
};

// So many lines that five processes have something to do.
std::string lines(std::size_t count, const std::function<std::string(RandomStream&, std::size_t)>& line) {
  RandomStream random(7, Purpose::initialise, 0);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += line(random, i);
  return text;
}

std::string order(RandomStream& random, std::size_t num_items, std::size_t most, std::string_view between, bool ties = false) {
  std::vector<std::size_t> left(num_items);
  for (std::size_t i = 0; i < num_items; ++i) left[i] = i + 1;
  std::string text;
  const std::size_t length = 1 + random.below(most);
  for (std::size_t p = 0; p < length; ++p) {
    const std::size_t at = random.below(left.size());
    const std::string item = fmt::format("{}", left[at]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
    if (ties && p + 1 < length && random.below(4) == 0) {
      text += fmt::format("{}{{{},{}}}", p > 0 ? between : "", item, left.back());
      left.pop_back();
      ++p;
    } else {
      text += (p > 0 ? std::string(between) : "") + item;
    }
  }
  return text;
}

TEST_F(Parts, Preflib) {
  std::string head = "# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 12\n# NUMBER VOTERS: 5\n";
  for (int i = 1; i <= 12; ++i) head += fmt::format("# ALTERNATIVE NAME {}: item {}\n", i, i % 7);
  const auto ballot = [](RandomStream& random, std::size_t i) {
    if (i % 97 == 3) return std::string("2: \n\n# a word between\n");
    return fmt::format("{}: {}\n", i % 11 == 0 ? "0.3" : "2", order(random, 12, 6, ",", i % 5 == 0));
  };
  expect_same(write("named.toi", head + lines(12000, ballot)));
  expect_same(write("unnamed.soi", lines(12000, [](RandomStream& random, std::size_t i) {
                      return fmt::format("{}: {}\n", i % 3, order(random, 9 + i / 100, 6, ","));
                    })));
  // What is wrong in one part is said as ever, with its line.
  expect_same(write("wrong.soi", head + lines(12000, ballot) + "3: 1,1\n" + lines(10, ballot)), {}, false);
  expect_same(write("small.soi", head + lines(10, ballot)), {}, false);
}

TEST_F(Parts, JsonLines) {
  const auto row = [](RandomStream& random, std::size_t i) {
    std::string more = i > 2000 && i % 3 == 0 ? fmt::format(",\"age\":{}", 20 + i % 50) : std::string();
    if (i % 71 == 5) more += ",\"place\":\"K\u00f6ln\"";
    if (i % 1009 == 6) more += ",\"age\":\"old\"";
    if (i % 53 == 0) return fmt::format("{{\"ranking\":[],\"weight\":0.25{}}}\n", more);
    return fmt::format("{{\"ranking\":[{}],\"weight\":{}{}}}\n", order(random, 10, 6, ",", false), i % 7 == 0 ? "0.1" : "1", more);
  };
  expect_same(write("plain.jsonl", lines(4000, row)));
  expect_same(write("head.jsonl",
                    "\n{\"items\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\",\"k\"],\"unranked\":\"absent\","
                    "\"covariates\":[{\"name\":\"place\",\"type\":\"text\"}]}\n" +
                        lines(4000, row)));
  expect_same(write("battles.jsonl", lines(4000, [](RandomStream& random, std::size_t i) {
                      return fmt::format("{{\"model_a\":\"m{}\",\"model_b\":\"x{}\",\"winner\":\"{}\",\"judge\":{}}}\n",
                                         random.below(9), random.below(9), i % 5 == 0 ? "tie" : "model_a", i % 40);
                    })));
  expect_same(write("wrong.jsonl", lines(4000, row) + "{\"ranking\":[1,1]}\n"), {}, false);
}

TEST_F(Parts, Tables) {
  const auto wide = [](RandomStream& random, std::size_t i) {
    std::string line;
    for (int rank = 0; rank < 4; ++rank) {
      const std::size_t pick = random.below(12);
      line += pick == 0   ? ""
              : pick == 1 ? "skipped"
              : pick == 2 ? "overvote"
              : pick == 3 ? "\"Smith, \"\"J\"\"\""
                          : fmt::format("c{}", pick);
      line += ',';
    }
    return line + fmt::format("{},\"a note\nof {} lines\"\n", 1 + i % 3, i % 100);
  };
  expect_same(write("wide.csv", "rank1,rank2,rank3,rank4,count,note\n" + lines(4000, wide)));
  expect_same(write("wide_without.csv", "rank1,rank2,rank3,rank4,note,other\n" + lines(4000, wide)));
  expect_same(write("orders.csv", "ranking,district\n" + lines(12000, [](RandomStream& random, std::size_t i) {
                                    return fmt::format("{},d{}\n", order(random, 8, 5, ">"), i % 9);
                                  })));
  ReadOptions matrix;
  matrix.format = Format::csv_matrix;
  expect_same(write("matrix.csv", "apple,pear,plum,fig\n" + lines(20000,
                                                                  [](RandomStream& random, std::size_t) {
                                                                    return fmt::format("{},{},{},\n", 1 + random.below(4),
                                                                                       1 + random.below(4), random.below(3));
                                                                  })),
              matrix);
  expect_same(write("pairs.csv", "a,b,winner,judge\n" + lines(8000, [](RandomStream& random, std::size_t i) {
                                   return fmt::format("x{0},y{1},{2},j{3}\n", random.below(6), random.below(6),
                                                      i % 4 == 0    ? "b"
                                                      : i % 31 == 0 ? "tie"
                                                                    : "a",
                                                      i % 50);
                                 })));
  // Rows of one voter stand anywhere: read whole. A quote within a cell is no quote: the cuts may be wrong, the data not.
  expect_same(write("long.csv", "voter,item,rank\n" + lines(9000,
                                                            [](RandomStream&, std::size_t i) {
                                                              return fmt::format("v{},i{},{}\n", i % 3000, i / 3000, 1 + i / 3000);
                                                            })),
              {}, false);
  expect_same(write("inches.csv", "rank1,rank2,note\n" + lines(9000,
                                                               [](RandomStream& random, std::size_t i) {
                                                                 return fmt::format("a{},b{},{}\" nail\n", random.below(5),
                                                                                    random.below(5), i % 7);
                                                               })),
              {}, false);
  expect_same(write("wrong.csv", "rank1,rank2,count\n" + lines(9000,
                                                               [](RandomStream& random, std::size_t i) {
                                                                 return fmt::format("a{},b{},{}\n", random.below(5),
                                                                                    random.below(5), i == 7000 ? "many" : "1");
                                                               })),
              {}, false);
}

// What cannot be read in parts is read once on a machine, and lies there once.
TEST_F(Parts, PackedTextsAreReadOnceOnAMachine) {
  const std::string text = write(
      "x.soi", lines(9000, [](RandomStream& random, std::size_t) { return fmt::format("1: {}\n", order(random, 30, 20, ",")); }));
  const std::string packed = (folder_ / "x.soi.gz").string();
  write_dataset(read_dataset(text), packed);
  ASSERT_GT(std::filesystem::file_size(packed), 65536u);
  expect_same(packed, {}, false);
  Meeting meeting(2);
  std::vector<Dataset> got(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Meeting::Member member(meeting, rank);
      ReadOptions own;
      own.ranks = &member;
      got[static_cast<std::size_t>(rank)] = read_dataset(packed, own);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(got[0].rankings.is_borrowed() && got[1].rankings.is_borrowed());
  // A damaged archive is said by all.
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) - 2000);
  expect_same(packed, {}, false);
}

TEST_F(Parts, MappedFilesAreCheckedByShares) {
  const std::string text = write(
      "x.soi", lines(30000, [](RandomStream& random, std::size_t) { return fmt::format("1: {}\n", order(random, 30, 20, ",")); }));
  const std::string mapped = (folder_ / "x.cds").string();
  write_dataset(read_dataset(text), mapped);
  expect_same(mapped, {}, false);
  std::fstream file(mapped, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(mapped)) - 5000);
  file.put('\x7f');
  file.close();
  expect_same(mapped, {}, false);
}

TEST_F(Parts, FolderOfShards) {
  for (int i = 1; i <= 11; ++i)
    write(fmt::format("shards/part{}.csv", i), "rank1,rank2,rank3,age\n" + lines(50, [&](RandomStream& random, std::size_t) {
                                                 return fmt::format("a{},b{},c{},{}\n",
                                                                    random.below(3 + static_cast<std::uint64_t>(i)),
                                                                    random.below(4), random.below(4), i);
                                               }));
  write("shards/readme.md", "not data");
  write("shards/.hidden.csv", "nor this");
  const std::string shards = (folder_ / "shards").string();
  const std::vector<std::string> files = files_of({shards});
  ASSERT_EQ(files.size(), 11u);
  EXPECT_TRUE(files[1].ends_with("part2.csv")) << files[1];
  EXPECT_EQ(difference(read_datasets({shards}), read_datasets(files)), "");
  expect_same(shards);
  write("shards/part5.csv", "rank1,rank2,rank3,count\na,b,c,many\n");
  expect_same(shards, {}, false);
  std::filesystem::create_directories(folder_ / "empty");
  EXPECT_THROW(read_datasets({(folder_ / "empty").string()}), DataError);
}

}  // namespace
}  // namespace caucus
