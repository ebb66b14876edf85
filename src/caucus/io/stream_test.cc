// Rankings in pieces: the same rankings, messages and warnings as read whole.
#include "caucus/io/stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/io/io.h"

namespace caucus {
namespace {

namespace fs = std::filesystem;

class RankingStreams : public ::testing::Test {
 protected:
  RankingStreams() : folder_(fs::temp_directory_path() / fmt::format("caucus-stream-{}", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~RankingStreams() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  RankingStream open(const std::string& path, std::size_t block, const ReadOptions& options = {}) {
    return RankingStream::open(path, options, folder_.string(), block);
  }
  std::size_t entries() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {})); }

  fs::path folder_;
};

Dataset random_data(std::size_t num_items, std::size_t count, bool whole) {
  RandomStream random(5, Purpose::test, num_items);
  Dataset data;
  for (std::size_t i = 0; i < num_items; ++i) data.items.push_back(fmt::format("item {}", i + 1));
  std::vector<ItemId> order(num_items);
  for (std::size_t i = 0; i < num_items; ++i) order[i] = static_cast<ItemId>(i);
  RankingSetBuilder builder;
  for (std::size_t row = 0; row < count; ++row) {
    random.shuffle(std::span(order));
    builder.add(order, whole ? static_cast<double>(1 + row % 3) : 0.25 + random.uniform());
  }
  data.rankings = builder.build();
  return data;
}

// Every row of the pieces, and the sum of ranking-weight products that a second time round must give again.
struct Seen {
  std::vector<std::vector<ItemId>> rows;
  std::vector<double> weights;
  double checksum = 0.0;
  std::size_t pieces = 0;
};
Seen drain(RankingStream& stream) {
  Seen seen;
  RankingSet piece;
  while (stream.next(piece)) {
    ++seen.pieces;
    for (std::size_t row = 0; row < piece.num_rows(); ++row) {
      const auto items = piece[piece.row_ranking(row)].items();
      seen.rows.emplace_back(items.begin(), items.end());
      seen.weights.push_back(piece.row_weight(row));
    }
    for (std::size_t i = 0; i < piece.size(); ++i)
      for (std::size_t j = 0; j < piece.length(i); ++j)
        seen.checksum += piece.weight(i) * (piece[i][j] + 1.0) * std::sqrt(static_cast<double>(j + 1));
  }
  return seen;
}

std::size_t open_descriptors() { return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {})); }

TEST_F(RankingStreams, WhatCannotBeReadLeavesNoFileOpen) {
  if (!fs::exists("/proc/self/fd")) GTEST_SKIP() << "no /proc";
  const std::string broken = file("broken.soi", "# NUMBER ALTERNATIVES: 2\n1: 1,1\n");
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THROW(open(folder_.string(), 1000), NoInputError);
    EXPECT_THROW(read_dataset(folder_.string()), NoInputError);
    EXPECT_THROW(read_dataset(broken), DataError);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(RankingStreams, SameRankingsAsReadWholeWhateverTheBlock) {
  for (const std::size_t num_items : {4u, 10u, 300u})
    for (const bool whole : {true, false})
      for (const char* name : {"votes.jsonl", "votes.soc"}) {
        const Dataset data = random_data(num_items, num_items > 100 ? 40 : 400, whole);
        const std::string path = file(name, format_dataset(data, name));
        const Dataset read = read_dataset(path);
        for (const std::size_t block : {100u, 4096u, 1u << 20}) {
          SCOPED_TRACE(fmt::format("{} items, {}, blocks of {}", num_items, name, block));
          RankingStream stream = open(path, block);
          EXPECT_FALSE(stream.in_memory());
          EXPECT_EQ(stream.num_items(), num_items);
          const Seen seen = drain(stream);
          EXPECT_GT(seen.pieces, block == 100 ? 10u : 0u);  // headers of 300 items are longer than a block
          ASSERT_EQ(seen.rows.size(), read.rankings.num_rows());
          for (std::size_t row = 0; row < seen.rows.size(); ++row) {
            const auto items = read.rankings[read.rankings.row_ranking(row)].items();
            EXPECT_TRUE(std::equal(items.begin(), items.end(), seen.rows[row].begin(), seen.rows[row].end()));
            EXPECT_EQ(seen.weights[row], read.rankings.row_weight(row));
          }
          EXPECT_EQ(stream.head().items, read.items);
          EXPECT_EQ(stream.head().unranked, read.unranked);
          EXPECT_EQ(stream.head().source, read.source);
          EXPECT_NEAR(stream.total_weight(), read.rankings.total_weight(), 1e-9);
          EXPECT_TRUE(has_digest(read, stream.digest()));
          // And again, from the disk.
          for (int again = 0; again < 2; ++again) {
            stream.rewind();
            EXPECT_NEAR(drain(stream).checksum, seen.checksum, 1e-9 * seen.checksum);
          }
        }
      }
  EXPECT_EQ(entries(), 2u) << "temporary files have no name";
}

TEST_F(RankingStreams, SameMessagesAtTheSameLines) {
  std::string jsonl = "{\"schema\":\"caucus.rankings/1\",\"items\":[\"a\",\"b\",\"c\"],\"unranked\":\"last\"}\n";
  std::string soc = "# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n# ALTERNATIVE NAME 3: c\n";
  for (int row = 0; row < 200; ++row) {
    const bool bad = row % 40 == 17;
    jsonl += bad ? "{\"ranking\":[\"a\",\"b\",\"x\"]}\n" : "{\"ranking\":[\"a\",\"b\",\"c\"]}\r\n";
    soc += row == 57 ? "1: 2,2,1\n" : bad ? "3: 1,2,9\n" : "2: 3,1,2\n";
  }
  soc += "1: 1,2";  // no line break, and then some
  for (const auto& [name, text] : {std::pair<std::string, std::string>{"bad.jsonl", jsonl}, {"bad.soc", soc}}) {
    const std::string path = file(name, text);
    std::string whole;
    try {
      read_dataset(path);
    } catch (const DataError& error) {
      whole = error.what();
    }
    ASSERT_FALSE(whole.empty());
    for (const std::size_t block : {30u, 500u, 1u << 20}) {
      RankingStream stream = open(path, block);
      try {
        drain(stream);
        ADD_FAILURE() << "nothing was found wrong";
      } catch (const DataError& error) {
        EXPECT_EQ(error.what(), whole);
      }
    }
  }
}

TEST_F(RankingStreams, SameMessageForManyErrorsAndEmptyFiles) {
  std::string many = "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n";
  for (int row = 0; row < 50; ++row) many += "1: 1,1\n";
  const std::string comments = "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n";
  const std::string header = "{\"items\":[\"a\",\"b\"]}\n\n";
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"many.soc", many}, {"none.soc", comments}, {"none.jsonl", header}, {"empty.soc", ""}}) {
    const std::string path = file(name, text);
    std::string whole, streamed;
    try {
      read_dataset(path);
    } catch (const DataError& error) {
      whole = error.what();
    }
    try {
      RankingStream stream = open(path, 64);
      drain(stream);
    } catch (const DataError& error) {
      streamed = error.what();
    }
    EXPECT_FALSE(whole.empty());
    EXPECT_EQ(streamed, whole) << name;
  }
  EXPECT_THROW(open((folder_ / "absent.soc").string(), 64), NoInputError);
  EXPECT_THROW(open(folder_.string(), 64), NoInputError);
}

TEST_F(RankingStreams, AFolderLeavesNoOpenFile) {
  const auto open_files = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), {}); };
  const auto before = open_files();
  for (int i = 0; i < 5; ++i) EXPECT_THROW(open(folder_.string(), 64), NoInputError);
  EXPECT_EQ(open_files(), before);
}

TEST_F(RankingStreams, WarningsOfTheHeaderStay) {
  const std::string path = file(
      "w.soc",
      "# NUMBER VOTERS: 7\n# NUMBER ALTERNATIVES: 2\n# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n1: 1,2\n0: 2,1\n2: 2,1\n");
  RankingStream stream = open(path, 16);
  drain(stream);
  EXPECT_EQ(stream.head().warnings, read_dataset(path).warnings);
  EXPECT_EQ(stream.head().warnings.size(), 2u);
}

// Formats that name their items late, tables and packed files are read whole, and say so.
TEST_F(RankingStreams, OtherFormatsAreReadWhole) {
  const Dataset data = random_data(5, 60, true);
  write_dataset(data, (folder_ / "votes.jsonl.gz").string());
  file("votes.csv", format_dataset(data, "votes.csv"));
  file("votes.blt", format_dataset(data, "votes.blt"));
  file("bare.jsonl", "[\"b\",\"a\"]\n[\"a\",\"b\"]\n[\"a\",\"b\"]\n");
  for (const char* name : {"votes.jsonl.gz", "votes.csv", "votes.blt", "bare.jsonl"}) {
    SCOPED_TRACE(name);
    const std::string path = (folder_ / name).string();
    const Dataset read = read_dataset(path);
    RankingStream stream = open(path, 10);
    EXPECT_TRUE(stream.in_memory());
    const Seen seen = drain(stream);
    EXPECT_EQ(seen.rows.size(), read.rankings.num_rows());
    EXPECT_EQ(stream.head().items, read.items);
    EXPECT_TRUE(has_digest(read, stream.digest()));
    stream.rewind();
    EXPECT_EQ(drain(stream).checksum, seen.checksum);
  }
}

TEST_F(RankingStreams, OnlyCompleteRankingsCanBeReadAgain) {
  RankingStream stream =
      open(file("top.soi", "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n# ALTERNATIVE NAME 3: c\n1: 1,2,3\n1: 2\n"), 64);
  EXPECT_THROW(stream.rewind(), std::logic_error);
  EXPECT_EQ(drain(stream).rows.size(), 2u);
  EXPECT_THROW(stream.rewind(), std::logic_error);
  EXPECT_THROW(RankingStream::open((folder_ / "top.soi").string(), {}, (folder_ / "no such folder").string()), IoError);
}

TEST_F(RankingStreams, WriterInPiecesGivesTheSameBytes) {
  const Dataset data = random_data(6, 300, true);
  const std::string path = (folder_ / "pieces.jsonl").string();
  {
    RankingWriter writer(path, data);
    for (std::size_t begin = 0; begin < 300; begin += 70) {
      std::vector<std::size_t> rows;
      for (std::size_t row = begin; row < std::min<std::size_t>(300, begin + 70); ++row) rows.push_back(row);
      Dataset piece;
      piece.rankings = data.rankings.select_rows(rows);
      writer.add(piece);
    }
    EXPECT_FALSE(fs::exists(path));
    writer.commit();
  }
  std::ifstream in(path, std::ios::binary);
  const std::string written((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(written, format_dataset(data, "pieces.jsonl"));
}

}  // namespace
}  // namespace caucus
