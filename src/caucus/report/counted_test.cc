#include "caucus/report/counted.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "caucus/base/random.h"
#include "caucus/io/io.h"
#include "caucus/report/data.h"
#include "caucus/report/tables.h"

namespace caucus {
namespace {

using Json = nlohmann::json;

// Two Mallows models of opposite orders: they take ties.
Json two_groups(const std::vector<std::string>& items) {
  std::vector<ItemId> up(items.size()), down(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    up[i] = static_cast<ItemId>(i);
    down[i] = static_cast<ItemId>(items.size() - 1 - i);
  }
  Json model = {{"schema", "caucus.model/1"}, {"family", "mallows"}, {"items", items}, {"components", Json::array()}};
  for (const auto& order : {up, down}) model["components"].push_back({{"weight", 0.5}, {"consensus", order}, {"theta", 0.7}});
  return model;
}

// Ballots of 1 to n items, some with ties, with weights; items in the order of their names.
std::string ballots(std::size_t n, std::size_t rows, bool ties, std::uint64_t seed) {
  RandomStream stream(seed);
  std::string text = fmt::format("{} 2\n", n);
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i + 1;
    for (std::size_t i = n; i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(stream.uniform() * static_cast<double>(i))]);
    order.resize(1 + static_cast<std::size_t>(stream.uniform() * static_cast<double>(n)));
    text += fmt::format("{}", 1 + r % 3);
    for (std::size_t p = 0; p < order.size(); ++p)
      text += fmt::format("{}{}", p > 0 && ties && stream.uniform() < 0.2 ? "=" : " ", order[p]);
    text += " 0\n";
  }
  text += "0\n";
  for (std::size_t i = 0; i < n; ++i) text += fmt::format("\"item {}\"\n", i);
  return text + "\"t\"\n";
}

// Counted ballot by ballot from the rows, in another way than the library does: places of all items first, then comparisons.
struct Naive {
  double total = 0.0;
  std::vector<double> first, listed, place, above, tied;
  explicit Naive(std::size_t n) : first(n), listed(n), place(n), above(n * n), tied(n * n) {}
  void add(RankingView ranking, double w, std::size_t n) {
    std::vector<double> at(n, 0.0);  // 0: unlisted
    std::size_t p = 0;
    std::vector<std::vector<ItemId>> groups;
    ranking.for_each_group([&](std::span<const ItemId> group) { groups.emplace_back(group.begin(), group.end()); });
    for (const auto& group : groups) {
      for (ItemId i : group) at[i] = (static_cast<double>(p + 1) + static_cast<double>(p + group.size())) / 2.0;
      p += group.size();
    }
    total += w;
    for (ItemId i : groups[0]) first[i] += w / static_cast<double>(groups[0].size());
    for (std::size_t i = 0; i < n; ++i) {
      listed[i] += at[i] > 0.0 ? w : 0.0;
      place[i] += w * (at[i] > 0.0 ? at[i] : (static_cast<double>(p + 1) + static_cast<double>(n)) / 2.0);
      for (std::size_t j = 0; j < n; ++j) {
        if (i == j || at[i] == 0.0) continue;
        if (at[j] == 0.0 || at[i] < at[j]) above[i * n + j] += w;
        if (at[i] == at[j]) tied[i * n + j] += w;
      }
    }
  }
};

void expect_same(const Json& shown, const Naive& truth, const std::vector<ItemId>& pair_items, const std::string& who) {
  const std::size_t n = truth.first.size(), m = pair_items.size();
  EXPECT_DOUBLE_EQ(shown["num_rankings"].get<double>(), truth.total) << who;
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(shown["first"][i].get<double>(), truth.first[i], 1e-9 * truth.total) << who;
    EXPECT_DOUBLE_EQ(shown["listed"][i].get<double>(), truth.listed[i]) << who;
    EXPECT_NEAR(shown["mean_place"][i].get<double>(), truth.place[i] / truth.total, 1e-5 * static_cast<double>(n)) << who;
  }
  for (std::size_t a = 0; a < m; ++a)
    for (std::size_t b = 0; b < m; ++b) {
      EXPECT_DOUBLE_EQ(shown["above"][a * m + b].get<double>(), truth.above[pair_items[a] * n + pair_items[b]]) << who;
      if (shown.contains("tied")) {
        EXPECT_DOUBLE_EQ(shown["tied"][a * m + b].get<double>(), truth.tied[pair_items[a] * n + pair_items[b]]) << who;
      }
    }
}

TEST(ReportCounted, EveryCountedNumberEqualsAnIndependentCount) {
  for (const bool ties : {false, true}) {
    const std::size_t n = 6;
    const Dataset data = parse_dataset(ballots(n, 400, ties, 5), "votes.blt");
    ReportRequest request;
    request.models.push_back(read_report_model(two_groups(data.items).dump(), "m.json"));
    request.data = &data;
    const Json one = report_data(request)["models"][0];
    const std::vector<double> p = memberships(*request.models[0].model, data, 1);
    Naive all(n);
    std::vector<Naive> groups(2, Naive(n));
    for (std::size_t row = 0; row < data.rankings.num_rows(); ++row) {
      const std::size_t i = data.rankings.row_ranking(row);
      all.add(data.rankings[i], data.rankings.row_weight(row), n);
      groups[p[2 * i] >= p[2 * i + 1] ? 0 : 1].add(data.rankings[i], data.rankings.row_weight(row), n);
    }
    const Json& counted = one["counted"];
    const auto pair_items = counted["pair_items"].get<std::vector<ItemId>>();
    ASSERT_EQ(pair_items.size(), n);
    expect_same(counted["everyone"], all, pair_items, "everyone");
    for (std::size_t k = 0; k < 2; ++k) expect_same(counted["groups"][k], groups[k], pair_items, fmt::format("group {}", k + 1));
    // The overall order is the order of the counted places.
    for (std::size_t r = 1; r < n; ++r)
      EXPECT_LE(all.place[one["order"][r - 1].get<std::size_t>()], all.place[one["order"][r].get<std::size_t>()]);
    EXPECT_EQ(one["election"]["everyone"]["num_rankings"], all.total);
    EXPECT_NEAR(one["election"]["stages"][0]["votes"][2].get<double>(), all.first[2], 1e-5 * all.total);
  }
}

TEST(ReportCounted, NoElectionAmongRacesAndALeaderboardForBattles) {
  const Dataset data =
      parse_dataset("model_a,model_b,winner\nx,y,model_a\nx,y,model_a\ny,x,model_a\nx,z,model_a\nz,y,model_a\n", "arena.csv");
  Json model = {{"schema", "caucus.model/1"},
                {"family", "pl"},
                {"items", {"x", "y", "z"}},
                {"unranked", "absent"},
                {"components", {{{"weight", 1.0}, {"utilities", {0.5, -0.2, -0.3}}, {"quasi_standard_errors", {0.1, 0.1, 0.1}}}}}};
  ReportRequest request;
  request.models.push_back(read_report_model(model.dump(), "m.json"));
  request.data = &data;
  const Json one = report_data(request)["models"][0];
  EXPECT_FALSE(one.contains("election"));
  const Json& everyone = one["counted"]["everyone"];
  EXPECT_EQ(everyone["battles"], Json({4, 4, 2}));
  EXPECT_DOUBLE_EQ(everyone["win_rate"][0].get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(everyone["win_rate"][1].get<double>(), 0.25);
  // x is clearly ahead (0.7 and 0.8 against 1.96 x 0.1414 = 0.28); y and z cannot be told apart.
  const Json& board = one["leaderboard"]["groups"][0];
  EXPECT_EQ(board[0]["item"], 0);
  EXPECT_NEAR(board[0]["elo"].get<double>(), 1000.0 + 0.5 * 173.717793, 1e-2);
  EXPECT_EQ(board[0]["rank_low"], 1);
  EXPECT_EQ(board[0]["rank_high"], 1);
  EXPECT_EQ(board[1]["rank_low"], 2);
  EXPECT_EQ(board[1]["rank_high"], 3);
  EXPECT_EQ(board[2]["rank_low"], 2);
}

TEST(ReportTables, HoldTheSameNumbersAsThePage) {
  const Dataset data = parse_dataset(ballots(5, 60, false, 7), "votes.blt");
  ReportRequest request;
  request.models.push_back(read_report_model(two_groups(data.items).dump(), "m.json"));
  request.data = &data;
  request.names = {"=Left, or so", "Right"};
  const Json report = report_data(request);
  std::map<std::string, std::string> tables;
  for (const ReportTable& table : report_tables(report)) tables[table.file] = table.content;
  for (const char* file : {"groups.csv", "items.csv", "pairs.csv", "second_choices.csv", "winners.csv", "count.csv",
                           "memberships.csv", "checks.csv", "lengths.csv", "caveats.csv"})
    EXPECT_TRUE(tables.contains(file)) << file;
  const auto lines = [&](const char* file) { return std::count(tables[file].begin(), tables[file].end(), '\n'); };
  EXPECT_EQ(lines("items.csv"), 1 + 3 * 5);
  EXPECT_EQ(lines("pairs.csv"), 1 + 3 * 20);
  EXPECT_EQ(lines("winners.csv"), 1 + 3 * 5);
  // A name that a spreadsheet would run is disarmed, and quoted for its comma.
  EXPECT_NE(tables["groups.csv"].find("m.json,\"'=Left, or so\",0.5,"), std::string::npos) << tables["groups.csv"].substr(0, 300);
  EXPECT_NE(tables["pairs.csv"].find("m.json,everyone,item 0,item 1,"), std::string::npos);
}

}  // namespace
}  // namespace caucus
