#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/data/dataset.h"

namespace caucus {
namespace {

TEST(RankingSet, MergesEqualRankingsAndKeepsRows) {
  RankingSetBuilder builder;
  builder.add(std::vector<ItemId>{0, 1, 2}, 2.0);
  builder.add(std::vector<ItemId>{2, 1}, 1.0);
  builder.add(std::vector<ItemId>{0, 1, 2}, 3.0);
  const RankingSet set = builder.build();
  ASSERT_EQ(set.size(), 2u);
  EXPECT_EQ(set.weight(0), 5.0);
  EXPECT_EQ(set.total_weight(), 6.0);
  ASSERT_EQ(set.num_rows(), 3u);
  EXPECT_EQ(set.row_ranking(2), 0u);
  EXPECT_EQ(set.row_weight(0), 2.0);
  EXPECT_EQ(set.row_weight(2), 3.0);
  EXPECT_FALSE(set.has_ties());
}

TEST(RankingSet, TiesAreCanonical) {
  RankingSetBuilder builder;
  builder.add(std::vector<ItemId>{4, 2, 1}, 1.0, std::vector<std::uint8_t>{0, 1, 1});
  builder.add(std::vector<ItemId>{2, 4, 1}, 1.0, std::vector<std::uint8_t>{0, 1, 1});  // the same
  builder.add(std::vector<ItemId>{2, 4, 1}, 1.0);                                      // no tie: another
  builder.add(std::vector<ItemId>{2, 4, 1}, 1.0, std::vector<std::uint8_t>{1, 1, 1});  // no tie, said with flags
  const RankingSet set = builder.build();
  ASSERT_EQ(set.size(), 2u);
  EXPECT_EQ(set.weight(0), 2.0);
  EXPECT_EQ(set.weight(1), 2.0);
  EXPECT_TRUE(set[0].has_ties());
  EXPECT_FALSE(set[1].has_ties());
  std::vector<std::vector<ItemId>> groups;
  set[0].for_each_group([&](std::span<const ItemId> group) { groups.emplace_back(group.begin(), group.end()); });
  EXPECT_EQ(groups, (std::vector<std::vector<ItemId>>{{2, 4}, {1}}));
}

TEST(RankingSet, TiesThatComeLateDoNotChangeEarlierRankings) {
  RankingSetBuilder builder;
  builder.add(std::vector<ItemId>{1, 0});
  builder.add(std::vector<ItemId>{0, 1}, 1.0, std::vector<std::uint8_t>{0, 1});
  builder.add(std::vector<ItemId>{1, 0});
  const RankingSet set = builder.build();
  ASSERT_EQ(set.size(), 2u);
  EXPECT_FALSE(set[0].has_ties());
  EXPECT_TRUE(set[1].has_ties());
  EXPECT_EQ(set.weight(0), 2.0);
}

RC_GTEST_PROP(RankingSet, RowsComeBackAsTheyWentIn, ()) {
  const auto seeds = *rc::gen::container<std::vector<std::uint8_t>>(rc::gen::arbitrary<std::uint8_t>());
  RankingSetBuilder builder;
  std::vector<std::vector<std::vector<ItemId>>> rows;
  for (std::size_t r = 0; r < seeds.size(); ++r) {
    RandomStream stream(seeds[r]);  // few seeds, so repeats occur
    std::vector<ItemId> items(5);
    std::iota(items.begin(), items.end(), ItemId{0});
    stream.shuffle(std::span(items));
    items.resize(1 + stream.below(5));
    std::vector<std::vector<ItemId>> groups(1);
    for (ItemId item : items) {
      if (!groups.back().empty() && stream.below(2) == 0) groups.emplace_back();
      groups.back().push_back(item);
    }
    for (auto& group : groups) std::sort(group.begin(), group.end());
    rows.push_back(groups);
    builder.add_groups(groups, static_cast<double>(r + 1));
  }
  const RankingSet set = builder.build();
  RC_ASSERT(set.num_rows() == rows.size());
  double total = 0.0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::vector<std::vector<ItemId>> groups;
    set[set.row_ranking(r)].for_each_group([&](std::span<const ItemId> group) { groups.emplace_back(group.begin(), group.end()); });
    RC_ASSERT(groups == rows[r]);
    RC_ASSERT(set.row_weight(r) == static_cast<double>(r + 1));
    total += set.row_weight(r);
  }
  RC_ASSERT(set.total_weight() == total);
  for (std::size_t i = 0; i < set.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) RC_ASSERT(!(set[i] == set[j]));
}

Dataset small() {
  Dataset data;
  data.items = {"a", "b", "c"};
  RankingSetBuilder builder;
  builder.add(std::vector<ItemId>{0, 1, 2});
  builder.add(std::vector<ItemId>{2, 0});
  data.rankings = builder.build();
  data.source = "small";
  return data;
}

TEST(Dataset, TraitsAndDigest) {
  Dataset data = small();
  const DataTraits found = traits(data);
  EXPECT_EQ(found.kind, DataKind::partial);
  EXPECT_TRUE(found.top_t);
  EXPECT_EQ(found.min_length, 2u);
  const std::string before = digest(data);
  data.unranked = Unranked::absent;
  EXPECT_TRUE(traits(data).subset);
  EXPECT_NE(digest(data), before);
  data.unranked = Unranked::last;
  EXPECT_EQ(digest(data), before);
}

TEST(Dataset, ItemsAreMatchedByName) {
  const Dataset matched = match_items(small(), std::vector<std::string>{"z", "c", "b", "a"});
  EXPECT_EQ(matched.rankings[0].items()[0], 3u);
  EXPECT_EQ(matched.rankings[1].items()[0], 1u);
  EXPECT_EQ(matched.num_items(), 4u);
  try {
    match_items(small(), std::vector<std::string>{"a", "c"});
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("'b'"), std::string::npos);
  }
}

TEST(RankingSet, SelectRowsMergesAgain) {
  const Dataset data = small();
  const RankingSet chosen = data.rankings.select_rows(std::vector<std::size_t>{1, 1, 0});
  EXPECT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen.weight(0), 2.0);
  EXPECT_EQ(chosen.num_rows(), 3u);
}

// Small arrays live on the heap, large ones in mappings of their own: what they hold survives every way between the two.
TEST(Buffer, KeepsItsValuesAcrossHeapAndMapping) {
  Buffer<std::uint32_t> buffer;
  const std::uint32_t count = 5'000'000;  // 20 MB
  for (std::uint32_t i = 0; i < count; ++i) buffer.push_back(i * 7);
  const Buffer<std::uint32_t> copy = buffer;
  buffer.shrink_to_fit();
  EXPECT_EQ(buffer.capacity(), count);
  ASSERT_EQ(copy.size(), count);
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_TRUE(buffer[i] == i * 7 && copy[i] == i * 7) << i;
  buffer.resize(10);
  buffer.shrink_to_fit();
  EXPECT_EQ(buffer.capacity(), 10u);
  EXPECT_EQ(buffer[9], 63u);
  buffer.clear();
  buffer.shrink_to_fit();
  EXPECT_EQ(buffer.capacity(), 0u);
  buffer.push_back(3);
  EXPECT_EQ(buffer[0], 3u);
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{2'000'000}}) {
    const auto zeros = Buffer<std::uint32_t>::zeros(size);
    ASSERT_EQ(zeros.size(), size);
    EXPECT_TRUE(std::all_of(zeros.begin(), zeros.end(), [](std::uint32_t value) { return value == 0; }));
  }
}

// Arrays that grow in files hold the same, and sets made of them are the same.
TEST(Buffer, GrowsInAFolder) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  auto buffer = Buffer<std::uint32_t>::in_folder(folder, 1 << 16);
  for (std::uint32_t i = 0; i < 300'000; ++i) buffer.push_back(i * 7);
  const Buffer<std::uint32_t> copy = buffer;
  Buffer<std::uint32_t> moved = std::move(buffer);
  moved.shrink_to_fit();
  ASSERT_EQ(moved.size(), 300'000u);
  for (std::uint32_t i = 0; i < 300'000; ++i) ASSERT_TRUE(moved[i] == i * 7 && copy[i] == i * 7) << i;
  moved.resize(10);
  moved.shrink_to_fit();
  EXPECT_EQ(moved[9], 63u);
  auto nowhere = Buffer<std::uint32_t>::in_folder("/nowhere/at/all", 16);
  for (std::uint32_t i = 0; i < 1000; ++i) nowhere.push_back(i);
  EXPECT_EQ(nowhere[999], 999u);
}

TEST(RankingSetBuilder, InAFolderGivesTheSameSet) {
  RankingSetBuilder memory, disk(Scratch{std::filesystem::temp_directory_path().string(), 1 << 12});
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const std::vector<ItemId> items{i % 97, 100 + i % 89, 200 + i % 7};
    const std::vector<std::uint8_t> tie{0, 1, 1}, none{};
    memory.append(items, 1.0 + i % 3, i % 50 == 0 ? tie : none);
    disk.append(items, 1.0 + i % 3, i % 50 == 0 ? tie : none);
  }
  const RankingSet one = memory.build(), two = disk.build();
  EXPECT_TRUE(std::ranges::equal(one.items(), two.items()));
  EXPECT_TRUE(std::ranges::equal(one.offsets(), two.offsets()));
  EXPECT_TRUE(std::ranges::equal(one.weights(), two.weights()));
  EXPECT_TRUE(std::ranges::equal(one.group_ends(), two.group_ends()));
  EXPECT_TRUE(std::ranges::equal(one.row_rankings(), two.row_rankings()));
  EXPECT_TRUE(std::ranges::equal(one.row_weights(), two.row_weights()));
}

TEST(RankingSet, PartIsASetOfItsOwn) {
  RankingSetBuilder builder;
  const std::uint8_t ends[] = {0, 1, 1};
  builder.add(std::vector<ItemId>{0, 1, 2}, 2.0);
  builder.add(std::vector<ItemId>{2, 0}, 3.0);
  builder.add(std::vector<ItemId>{1, 2, 0}, 0.5, ends);
  builder.add(std::vector<ItemId>{1});
  const RankingSet all = builder.build(), part = all.part(1, 3);
  ASSERT_EQ(part.size(), 2u);
  EXPECT_EQ(part.total_weight(), 3.5);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(part[i] == all[i + 1]);
    EXPECT_EQ(part.weight(i), all.weight(i + 1));
  }
  EXPECT_TRUE(part[1].has_ties());
  EXPECT_EQ(all.part(4, 4).size(), 0u);
}

}  // namespace
}  // namespace caucus
