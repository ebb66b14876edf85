#include "caucus/data/connectivity.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "caucus/base/random.h"

namespace caucus {
namespace {

Dataset make(std::size_t n, const std::vector<std::vector<std::vector<ItemId>>>& rankings, Unranked unranked = Unranked::last) {
  Dataset data;
  for (std::size_t i = 0; i < n; ++i) data.items.push_back("item " + std::to_string(i));
  RankingSetBuilder builder;
  for (const auto& groups : rankings) builder.add_groups(groups);
  data.rankings = builder.build();
  data.unranked = unranked;
  return data;
}

// Transitive closure of the full "beats" relation, item by item.
std::vector<std::vector<bool>> closure(const Dataset& data) {
  const std::size_t n = data.num_items();
  std::vector<std::vector<bool>> beats(n, std::vector<bool>(n, false));
  for (std::size_t r = 0; r < data.rankings.size(); ++r) {
    std::vector<int> level(n, -1);
    int next = 0;
    data.rankings[r].for_each_group([&](std::span<const ItemId> group) {
      for (ItemId item : group) level[item] = next;
      ++next;
    });
    if (data.unranked == Unranked::last && next > 0)
      for (int& l : level) l = l < 0 ? next : l;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const bool listed = i != j && level[i] >= 0 && level[j] >= 0;
        if (!listed) continue;
        // Unlisted items share a level but are not tied.
        if (level[i] < level[j] || (level[i] == level[j] && level[i] < next)) beats[i][j] = true;
      }
  }
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (beats[i][k] && beats[k][j]) beats[i][j] = true;
  return beats;
}

TEST(Connectivity, NamesTheItemThatNeverLoses) {
  const Dataset data = make(3, {{{0}, {1}, {2}}, {{0}, {2}, {1}}});
  const Connectivity found = connectivity(data);
  EXPECT_FALSE(found.strongly_connected);
  EXPECT_EQ(found.num_components, 2);
  EXPECT_EQ(found.side_of_item[0], Side::above);
  EXPECT_EQ(found.side_of_item[1], Side::inside);
  EXPECT_NE(describe(found, data).find("'item 0' never lost"), std::string::npos);
}

TEST(Connectivity, TieLinksBothWays) {
  EXPECT_TRUE(connectivity(make(3, {{{0, 1}, {2}}, {{2}, {0}, {1}}})).strongly_connected);
  EXPECT_TRUE(connectivity(make(2, {{{0, 1}}})).strongly_connected);
}

TEST(Connectivity, UnlistedItemsLoseOrTakeNoPart) {
  const std::vector<std::vector<std::vector<ItemId>>> ballots{{{0}}, {{1}}, {{2}}};
  EXPECT_TRUE(connectivity(make(3, ballots, Unranked::last)).strongly_connected);
  const Connectivity absent = connectivity(make(3, ballots, Unranked::absent));
  EXPECT_EQ(absent.num_components, 3);
  EXPECT_EQ(absent.side_of_item[1], Side::apart);
}

TEST(Connectivity, EqualsTransitiveClosureOnRandomBallots) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    RandomStream random(seed, Purpose::test);
    const std::size_t n = 1 + random.below(9);
    std::vector<std::vector<std::vector<ItemId>>> rankings(1 + random.below(4));
    for (auto& groups : rankings) {
      std::vector<ItemId> order(n);
      for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<ItemId>(i);
      random.shuffle(std::span(order));
      order.resize(1 + random.below(n));
      for (ItemId item : order) {
        if (groups.empty() || random.uniform() < 0.85) groups.emplace_back();
        groups.back().push_back(item);
      }
    }
    const Dataset data = make(n, rankings, seed % 2 == 0 ? Unranked::last : Unranked::absent);
    const auto reach = closure(data);
    const Connectivity found = connectivity(data);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        ASSERT_EQ(i == j || (reach[i][j] && reach[j][i]), found.component_of_item[i] == found.component_of_item[j]) << seed;
  }
}

TEST(Connectivity, ThousandsOfItemsAreQuick) {
  const std::size_t n = 20000;
  Dataset data;
  for (std::size_t i = 0; i < n; ++i) data.items.push_back(std::to_string(i));
  RankingSetBuilder builder;
  for (std::size_t i = 0; i < n; ++i) builder.add(std::vector<ItemId>{static_cast<ItemId>(i), static_cast<ItemId>((i + 1) % n)});
  data.rankings = builder.build();
  EXPECT_TRUE(connectivity(data).strongly_connected);
}

}  // namespace
}  // namespace caucus
