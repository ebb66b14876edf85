// .cds files: what goes in comes out, mapped; what is not as it was written is refused by name.
#include "caucus/io/columnar.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "caucus/base/error.h"
#include "caucus/io/io.h"
#include "caucus/io/testing.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace caucus {
namespace {

using io_testing::difference;

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("caucus_columnar_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Ties, repeated and blank rows, columns of both kinds with gaps, voters.
Dataset rich() {
  return parse_dataset(
      "{\"items\":[\"a\",\"b, c\",\"zo\\u00eb\",\"never\"],\"unranked\":\"absent\",\"voter\":\"who\","
      "\"covariates\":[{\"name\":\"age\",\"type\":\"number\"},{\"name\":\"who\",\"type\":\"text\"}]}\n"
      "{\"ranking\":[0,[1,2]],\"weight\":2.5,\"covariates\":[31.25,\"K\\u00f6ln\"]}\n"
      "{\"ranking\":[],\"covariates\":[4,\"x\"]}\n"
      "{\"ranking\":[2,1],\"weight\":2.5,\"covariates\":[null,\"y\"]}\n"
      "{\"ranking\":[0,[1,2]],\"weight\":2.5,\"covariates\":[1e-3,\"K\\u00f6ln\"]}\n",
      "rich.jsonl");
}
Dataset plain() {
  return parse_dataset(
      "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n# ALTERNATIVE NAME 3: c\n3: 1,2,3\n2: 3,1\n3: 1,2,3\n1: 2\n", "x.soi");
}
std::string packed(const Dataset& data) { return format_dataset(data, "x.cds"); }

std::string refusal(std::string_view bytes) {
  try {
    parse_dataset(bytes, "votes.cds");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(Columnar, HoldsEverything) {
  const Folder folder;
  for (const Dataset& data : {rich(), plain()}) {
    const std::string path = folder / "x.cds";
    EXPECT_TRUE(write_dataset(data, path).empty());
    const Dataset back = read_dataset(path);
    EXPECT_EQ(difference(data, back), "");
    EXPECT_EQ(digest(data), digest(back));
    EXPECT_EQ(data.warnings, back.warnings);
    EXPECT_EQ(data.voters.column, back.voters.column);
    EXPECT_EQ(data.voters.names, back.voters.names);
    EXPECT_EQ(data.unranked, back.unranked);
    EXPECT_TRUE(back.rankings.is_borrowed());
    EXPECT_EQ(back.rankings.memory_bytes(), 0U);
    EXPECT_EQ(packed(back), packed(data));
    // Packed, and over the file it is mapped from.
    write_dataset(back, folder / "x.cds.gz");
    EXPECT_EQ(difference(data, read_dataset(folder / "x.cds.gz")), "");
    write_dataset(back, path);
    EXPECT_EQ(difference(data, back), "");
  }
}

TEST(Columnar, SetsOutliveTheFileAndChangeAlone) {
  const Folder folder;
  const std::string path = folder / "x.cds";
  write_dataset(plain(), path);
  Dataset one = read_dataset(path);
  Dataset two = one;
  std::filesystem::remove(path);
  const std::vector<ItemId> turned{2, 1, 0};
  two.rankings.renumber(turned);
  EXPECT_EQ(difference(one, plain()), "");
  EXPECT_FALSE(two.rankings.is_borrowed());
  EXPECT_EQ(two.rankings[0][0], 2U);
  EXPECT_EQ(one.rankings.with_weights({1.0, 1.0, 1.0}).total_weight(), 3.0);
}

TEST(Columnar, EveryChangedByteIsRefused) {
  for (const Dataset& data : {rich(), plain()}) {
    const std::string sound = packed(data);
    for (std::size_t i = 0; i < sound.size(); ++i) {
      std::string changed = sound;
      changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
      EXPECT_NE(refusal(changed).find("votes.cds"), std::string::npos) << "byte " << i;
    }
  }
}

TEST(Columnar, EveryCutIsRefused) {
  const std::string sound = packed(rich());
  for (std::size_t size = 0; size < sound.size(); ++size)
    EXPECT_NE(refusal(sound.substr(0, size)), "") << "after " << size << " bytes";
  EXPECT_NE(refusal(sound.substr(0, sound.size() - 1)).find("cut off: "), std::string::npos);
  EXPECT_NE(refusal(sound + "x").find("damaged: "), std::string::npos);
}

TEST(Columnar, RefusalsSayWhatIsWrong) {
  std::string bytes = packed(plain());
  bytes[8] = 2;
  EXPECT_NE(refusal(bytes).find("version 2, but this program reads version 1"), std::string::npos) << refusal(bytes);
  EXPECT_NE(refusal("3: 1,2,3\n").find("not a caucus data set"), std::string::npos) << refusal("3: 1,2,3\n");
  bytes = packed(plain());
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  EXPECT_NE(refusal(bytes).find("block 1 of 1"), std::string::npos) << refusal(bytes);
}

// The file with another payload and checksums that match it: what only a look at the numbers can tell.
std::string forged(const Dataset& data, columnar::Kind kind, const std::function<void(char*)>& change) {
  using namespace columnar;
  std::string bytes = packed(data);
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  for (std::size_t s = 0; s < head.num_sections; ++s) {
    Section section;
    std::memcpy(&section, bytes.data() + sizeof head + s * sizeof section, sizeof section);
    if (section.kind == kind) change(bytes.data() + section.begin);
  }
  const std::uint64_t sum = XXH3_64bits(bytes.data() + head.payload, bytes.size() - head.payload);
  std::memcpy(bytes.data() + sizeof head + head.num_sections * sizeof(Section), &sum, sizeof sum);
  head.checksum = 0;
  std::memcpy(bytes.data(), &head, sizeof head);
  head.checksum = XXH3_64bits(bytes.data(), head.payload);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

TEST(Columnar, NumbersThatCannotBeAreRefused) {
  const auto put = [](auto value, std::size_t at) {
    return [=](char* section) { std::memcpy(section + at * sizeof value, &value, sizeof value); };
  };
  using Change = std::function<void(char*)>;
  const std::vector<std::pair<columnar::Kind, Change>> cases{
      {columnar::listed, put(ItemId{99}, 0)},                  // no such item
      {columnar::listed, put(ItemId{1}, 0)},                   // twice in one ranking
      {columnar::offsets, put(std::uint64_t{1} << 60, 1)},     // beyond the items
      {columnar::offsets, put(std::uint64_t{0}, 1)},           // an empty ranking
      {columnar::weights, put(-1.0, 0)},                       //
      {columnar::weights, put(0.0 / 0.0, 0)},                  //
      {columnar::weights, put(7.0, 0)},                        // another total
      {columnar::row_rankings, put(std::uint32_t{7}, 0)},      //
      {columnar::item_names, put(std::uint64_t{1} << 60, 0)},  // as many names
      {columnar::item_names, put(std::uint64_t{1} << 60, 1)},  // a name as long
  };
  EXPECT_EQ(refusal(forged(plain(), columnar::listed, [](char*) {})), "");
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_NE(refusal(forged(plain(), cases[i].first, cases[i].second)).find("cannot be right"), std::string::npos) << "case " << i;
  EXPECT_NE(refusal(forged(rich(), columnar::group_ends, put(std::uint8_t{0}, 2))).find("a tie"), std::string::npos);
  EXPECT_NE(refusal(forged(rich(), columnar::blank_rows, put(std::uint64_t{9}, 0))).find("blank row"), std::string::npos);
}

TEST(Columnar, ManyBlocksAreToldApart) {
  Dataset data;
  for (int i = 0; i < 50; ++i) data.items.push_back(fmt::format("i{}", i));
  RankingSetBuilder builder;
  std::vector<ItemId> order(12);
  for (std::size_t row = 0; row < 60000; ++row) {
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<ItemId>((row / (i + 1) + 4 * i + i) % 50);
    std::vector<ItemId> listed;
    for (const ItemId item : order)
      if (std::find(listed.begin(), listed.end(), item) == listed.end()) listed.push_back(item);
    builder.add(listed);
  }
  data.rankings = builder.build();
  std::string bytes = packed(data);
  ASSERT_GT(bytes.size(), 2 * columnar::block_bytes);
  EXPECT_EQ(difference(parse_dataset(bytes, "x.cds"), data), "");
  const std::size_t at = columnar::block_bytes + columnar::block_bytes / 2;
  bytes[at] = static_cast<char>(bytes[at] ^ 4);
  EXPECT_NE(refusal(bytes).find("block 2 of "), std::string::npos) << refusal(bytes);
}

TEST(Scratch, LiesInAFileOrInMemory) {
  const Folder folder;
  const Buffer<double> in_file = scratch_array<double>({folder / "", 1}, 1000), in_memory = scratch_array<double>({}, 1000),
                       nowhere = scratch_array<double>({"/nowhere", 1}, 1000);
  EXPECT_TRUE(in_file.is_borrowed());
  EXPECT_FALSE(in_memory.is_borrowed());
  EXPECT_FALSE(nowhere.is_borrowed());
  for (const double value : in_file) EXPECT_EQ(value, 0.0);
  EXPECT_EQ(map_unnamed_file(folder / "", std::size_t{1} << 60), nullptr);
  EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
}

}  // namespace
}  // namespace caucus
