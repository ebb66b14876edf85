// Real files: all of them parse, their counts are those measured when they were collected, and none loses anything on its way
// through JSON lines. Skipped where the data are not at hand.
#include "support/shared_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "caucus/base/error.h"
#include "caucus/io/io.h"
#include "caucus/io/table.h"
#include "caucus/io/testing.h"

namespace caucus {
namespace {

using io_testing::difference;
using testing::shared_data;

struct Listed {
  std::string file;
  double items, rankings, unique, min_length, max_length, complete, with_ties;
};

// The manifest's rows that give counts of rankings.
std::vector<Listed> manifest(bool rankings) {
  std::vector<Listed> rows;
  const Table table = read_table(shared_data("MANIFEST.csv"));
  const auto number = [&](const char* name, std::size_t row) { return table.column(name).numbers[row]; };
  for (std::size_t i = 0; i < table.num_rows; ++i) {
    if (std::isnan(number("items", i)) == rankings) continue;
    rows.push_back({table.column("file").texts[i], number("items", i), number("rankings_or_rows", i), number("unique_lines", i),
                    number("min_length", i), number("max_length", i), number("complete", i), number("with_ties", i)});
  }
  return rows;
}

TEST(SharedData, CountsAreTheManifests) {
  CAUCUS_NEEDS(shared_data("MANIFEST.csv"));
  // Lines that repeat, and categories that are empty, so that fewer rankings than lines are distinct.
  const std::map<std::string, std::size_t> fewer{{"preflib/00063-00000001.cat", 74}};
  std::size_t checked = 0;
  for (const Listed& listed : manifest(true)) {
    SCOPED_TRACE(listed.file);
    const Dataset data = read_dataset(shared_data(listed.file));
    EXPECT_EQ(static_cast<double>(data.num_items()), listed.items);
    EXPECT_EQ(data.rankings.total_weight(), listed.rankings);
    const auto other = fewer.find(listed.file);
    EXPECT_EQ(data.rankings.size(), other != fewer.end() ? other->second : static_cast<std::size_t>(listed.unique));
    const DataTraits found = traits(data);
    EXPECT_EQ(static_cast<double>(found.min_length), listed.min_length);
    EXPECT_EQ(static_cast<double>(found.max_length), listed.max_length);
    EXPECT_EQ(found.has_ties, listed.with_ties > 0);
    EXPECT_EQ(found.complete, listed.complete == listed.rankings);
    double complete = 0.0;
    double ties = 0.0;
    for (std::size_t i = 0; i < data.rankings.size(); ++i) {
      complete += data.rankings.length(i) == data.num_items() ? data.rankings.weight(i) : 0.0;
      ties += data.rankings[i].has_ties() ? data.rankings.weight(i) : 0.0;
    }
    EXPECT_EQ(complete, listed.complete);
    EXPECT_EQ(ties, listed.with_ties);
    ++checked;
  }
  EXPECT_GT(checked, 60U);
}

TEST(SharedData, EveryRankingFileRoundTrips) {
  CAUCUS_NEEDS(shared_data("MANIFEST.csv"));
  std::size_t checked = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared_data(""))) {
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || path.find("/uci/") != std::string::npos) continue;
    if (path.ends_with("README.md") || path.ends_with("MANIFEST.csv") || path.ends_with("sushi_b_items.csv")) continue;
    SCOPED_TRACE(path);
    const Dataset data = read_dataset(path);
    std::vector<std::string> lost;
    const std::string text = format_dataset(data, "x.jsonl", {}, &lost);
    EXPECT_TRUE(lost.empty());
    const Dataset back = parse_dataset(text, "x.jsonl");
    EXPECT_EQ(difference(data, back), "");
    EXPECT_EQ(digest(data), digest(back));

    // Through its own format, where that says it can.
    const std::string name = entry.path().filename().string();
    lost.clear();
    const std::string own = format_dataset(data, name, {}, &lost);
    std::erase_if(lost, [](const std::string& one) { return one.starts_with("nothing, but"); });
    if (lost.empty()) {
      EXPECT_EQ(difference(data, parse_dataset(own, name)), "");
    }
    ++checked;
  }
  EXPECT_GT(checked, 80U);
}

TEST(SharedData, TablesWithoutRankingsAreRefused) {
  CAUCUS_NEEDS(shared_data("uci"));
  for (const auto& entry : std::filesystem::directory_iterator(shared_data("uci"))) {
    SCOPED_TRACE(entry.path().string());
    try {
      read_dataset(entry.path().string());
      ADD_FAILURE() << "was read";
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find("--columns"), std::string::npos);
    }
    const Table table = read_table(entry.path().string());
    EXPECT_NE(table.find("class"), nullptr);
  }
  EXPECT_THROW(read_dataset(shared_data("classic/sushi_b_items.csv")), DataError);
}

struct Known {
  const char* file;
  std::size_t num_items;
  double total;
  std::size_t unique;  // 0: not known from elsewhere
  DataKind kind;
  Unranked unranked;
  std::size_t num_covariates;
};

// From the collection's README: rows, ballots and items of the files that the manifest counts by lines only.
TEST(SharedData, OtherFormats) {
  for (const Known& known :
       std::vector<Known>{{"elections/edinburgh_2017_ward12.csv", 10, 10649, 3671, DataKind::partial, Unranked::last, 0},
                          {"elections/portland_2024_district1_cvr.csv", 17, 42871, 18894, DataKind::partial, Unranked::last, 1},
                          {"elections/portland_2024_district1_raw.csv", 20, 0, 0, DataKind::partial, Unranked::last, 0},
                          {"classic/irish_president1997_poll.csv", 5, 1083, 0, DataKind::partial, Unranked::last, 6},
                          {"classic/sports_italy_covariates.csv", 8, 647, 583, DataKind::complete, Unranked::last, 31},
                          {"classic/reading_genres_covariates.csv", 11, 507, 473, DataKind::partial, Unranked::last, 7},
                          {"classic/sushi_a_by_user.csv", 10, 5000, 4926, DataKind::complete, Unranked::last, 11},
                          {"classic/sushi_b_by_user.csv", 100, 5000, 5000, DataKind::partial, Unranked::last, 1},
                          {"classic/beach_pairwise.csv", 15, 1442, 0, DataKind::pairwise, Unranked::absent, 1},
                          {"pairwise/chatbot_arena_20240814_counts.csv", 129, 1670250, 0, DataKind::pairwise, Unranked::absent, 0},
                          {"pairwise/chatbot_arena_20240814_sample50k.csv", 129, 50000, 0, DataKind::pairwise, Unranked::absent, 0},
                          {"ratings/ml_latest_small_ratings.csv.gz", 9724, 610, 0, DataKind::partial, Unranked::absent, 0},
                          {"ratings/jester1_ratings_wide.csv.gz", 100, 24983, 0, DataKind::partial, Unranked::absent, 1}}) {
    SCOPED_TRACE(known.file);
    CAUCUS_NEEDS(shared_data(known.file));
    const Dataset data = read_dataset(shared_data(known.file));
    EXPECT_EQ(data.num_items(), known.num_items);
    if (known.total > 0) {
      EXPECT_EQ(data.rankings.total_weight(), known.total);
    }
    if (known.unique > 0) {
      EXPECT_EQ(data.rankings.size(), known.unique);
    }
    EXPECT_EQ(traits(data).kind, known.kind);
    EXPECT_EQ(data.unranked, known.unranked);
    EXPECT_EQ(data.covariates.size(), known.num_covariates);
    for (const Column& column : data.covariates)
      EXPECT_EQ(column.is_numeric() ? column.numbers.size() : column.texts.size(), data.rankings.num_rows());
  }
}

// Distinct ballots with their weights, without their order in the file and without regard to how lines share them out.
std::vector<std::string> ballots(const Dataset& data) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < data.rankings.size(); ++i) {
    std::string& line = lines.emplace_back(std::to_string(data.rankings.weight(i)));
    data.rankings[i].for_each_group([&](std::span<const ItemId> group) {
      line += " >";
      for (const ItemId item : group) line += " " + data.items[item];
    });
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// The same ballots in two files, by two formats.
TEST(SharedData, FormatsAgree) {
  CAUCUS_NEEDS(shared_data("MANIFEST.csv"));
  for (const auto& [one, other] :
       std::vector<std::pair<std::string, std::string>>{{"preflib/00001-00000002.soi", "preflib_old/00001-00000002.soi"},
                                                        {"preflib/00005-00000001.toi", "preflib_old/00005-00000001.toi"},
                                                        {"preflib/00024-00000001.soc", "preflib_old/00024-00000001.soc"}})
    EXPECT_EQ(ballots(read_dataset(shared_data(one))), ballots(read_dataset(shared_data(other)))) << one;

  // Names differ between the two, the ballots do not.
  Dataset blt = read_dataset(shared_data("elections/edinburgh_2017_ward12.blt"));
  const Dataset csv = read_dataset(shared_data("elections/edinburgh_2017_ward12.csv"));
  blt.items = csv.items;
  EXPECT_EQ(difference(blt, csv), "");

  // The respondents' file ranks the same sports as the one without covariates.
  const Dataset bare = read_dataset(shared_data("classic/sports_italy.soc"));
  const Dataset full = read_dataset(shared_data("classic/sports_italy_covariates.csv"));
  EXPECT_EQ(ballots(bare), ballots(full));

  // Jester's top five of seventy were made from the ratings by the same rule.
  ReadOptions options;
  options.format = Format::csv_ratings;
  options.top = 5;
  const Dataset top = read_dataset(shared_data("ratings/jester1_top5_of70.soi"));
  for (const std::string& item : top.items) options.columns.push_back("j" + item.substr(item.find(' ') + 1));
  Dataset rated = read_dataset(shared_data("ratings/jester1_ratings_wide.csv.gz"), options);
  rated.items = top.items;
  EXPECT_EQ(ballots(rated), ballots(top));
}

TEST(SharedData, WorstCategoryFirstIsTurnedRound) {
  const std::string path = shared_data("preflib/00069-00000009.cat");
  CAUCUS_NEEDS(path);
  const Dataset data = read_dataset(path);
  // The first line: {5, 39, ...} disapproved, {} neutral, {4, 34, ...} approved; so the approved ones come first.
  const RankingView first = data.rankings[0];
  EXPECT_EQ(first[0], 4U);
  EXPECT_EQ(first[1], 34U);
  EXPECT_EQ(first[first.size() - 1], 49U);
  ASSERT_FALSE(data.warnings.empty());
  EXPECT_NE(data.warnings[0].find("worst first"), std::string::npos);
}

TEST(SharedData, WrongHeaderIsSaid) {
  const std::string path = shared_data("preflib/00063-00000001.cat");
  CAUCUS_NEEDS(path);
  const Dataset data = read_dataset(path);
  ASSERT_EQ(data.warnings.size(), 1U);
  EXPECT_NE(data.warnings[0].find("56 unique"), std::string::npos);
}

}  // namespace
}  // namespace caucus
