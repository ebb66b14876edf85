// What is written reads back: every format, small texts made here.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "caucus/base/error.h"
#include "caucus/io/io.h"
#include "caucus/io/testing.h"

namespace caucus {
namespace {

using io_testing::difference;

// A data set with everything: odd names, never-listed items, ties, fractions, covariates of both kinds with gaps.
Dataset rich() {
  return parse_dataset(
      "{\"items\":[\"a\",\"b, with comma\",\"c \\\"quoted\\\"\",\" "
      "blank\",\"line\\nbreak\",\"zo\\u00eb\",\"never\"],\"unranked\":\"absent\","
      "\"covariates\":[{\"name\":\"age\",\"type\":\"number\"},{\"name\":\"town, or "
      "city\",\"type\":\"text\"},{\"name\":\"empty\",\"type\":\"text\"}]}\n"
      "{\"ranking\":[0,[1,2],5],\"weight\":2.5,\"covariates\":[31.25,\"K\\u00f6ln\",\"12\"]}\n"
      "{\"ranking\":[3,4],\"covariates\":[null,\"\",\"\"]}\n"
      "{\"ranking\":[0,[1,2],5],\"weight\":1,\"covariates\":[1e-3,\"x\\ty\",null]}\n",
      "rich.jsonl");
}

Dataset plain() {
  return parse_dataset(
      "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n# ALTERNATIVE NAME 3: c\n3: 1,2,3\n2: 3,1\n3: 1,2,3\n1: 2\n", "x.soi");
}

ReadOptions reading(Format format) {
  ReadOptions options;
  options.format = format;
  return options;
}

TEST(RoundTrip, JsonLinesLoseNothing) {
  for (const Dataset& data : {rich(), plain()}) {
    std::vector<std::string> lost;
    const std::string text = format_dataset(data, "x.jsonl", {}, &lost);
    EXPECT_TRUE(lost.empty());
    const Dataset back = parse_dataset(text, "x.jsonl");
    EXPECT_EQ(difference(data, back), "");
    EXPECT_EQ(digest(data), digest(back));
    EXPECT_EQ(format_dataset(back, "x.jsonl"), text);
  }
}

// Rows that are written fast and those that are not take turns: ties, weights, numbers too large to stand ready, long rows.
TEST(RoundTrip, NumberedRowsAreWrittenInTheirOrder) {
  constexpr std::size_t n = 100'005;
  Dataset data;
  for (std::size_t i = 0; i < n; ++i) data.items.push_back(std::to_string(i));
  RankingSetBuilder builder;
  builder.append(std::vector<ItemId>{0, 9, 99'998, 99'999, 100'004});
  builder.append(std::vector<ItemId>{3, 5, 4}, 2.5, std::vector<std::uint8_t>{1, 0, 1});
  builder.append(std::vector<ItemId>{8}, 12.0);
  std::vector<ItemId> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<ItemId>(n - 1 - i);
  builder.append(all);
  builder.append(std::vector<ItemId>{8}, 0.125);
  data.rankings = builder.build();
  std::string rows = "1: 1,10,99999,100000,100005\n2.5: 4,{5,6}\n12: 9\n1: ",
              old = "1,1,10,99999,100000,100005\n2.5,4,{5,6}\n12,9\n1,";
  for (std::string* text : {&rows, &old}) {
    for (std::size_t i = 0; i < n; ++i) *text += std::to_string(n - i) + (i + 1 < n ? "," : "\n");
    *text += text == &rows ? "0.125: 9\n" : "0.125,9\n";
  }
  const std::string text = format_dataset(data, "x.toi");
  EXPECT_TRUE(text.ends_with("\n" + rows));
  WriteOptions to;
  to.format = Format::preflib_old;
  EXPECT_TRUE(format_dataset(data, "x.toi", to).ends_with(",4\n" + old));
}

TEST(RoundTrip, EveryFormatHoldsPlainBallots) {
  for (const FormatInfo& info : formats()) {
    if (info.format == Format::csv_pairwise) continue;
    WriteOptions to;
    to.format = info.format;
    const std::string text = format_dataset(plain(), "x", to);
    ReadOptions from = reading(info.format);
    from.unranked = Unranked::last;
    EXPECT_EQ(difference(plain(), parse_dataset(text, "x", from)), "") << name_of(info.format) << "\n" << text;
    // And the format is recognised.
    from.format = Format::automatic;
    EXPECT_EQ(difference(plain(), parse_dataset(text, "x", from)), "") << name_of(info.format) << "\n" << text;
  }
}

TEST(RoundTrip, TiesSurviveWhereTheFormatHasThem) {
  const Dataset data = parse_dataset(
      "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n# ALTERNATIVE NAME 3: c\n3: 1,{2,3}\n2: {1,2,3}\n0.5: {3,1},2\n", "x.toc");
  for (const Format format : {Format::preflib, Format::preflib_old, Format::blt, Format::csv_matrix, Format::csv_long,
                              Format::csv_ratings, Format::jsonl}) {
    WriteOptions to;
    to.format = format;
    EXPECT_EQ(difference(data, parse_dataset(format_dataset(data, "x", to), "x", reading(format))), "") << name_of(format);
  }
  EXPECT_EQ(difference(data, parse_dataset(format_dataset(data, "x.cat"), "x.cat")), "");
}

TEST(RoundTrip, PairsAndTheirTies) {
  const Dataset data = parse_dataset("a,b,winner,judge\nx,y,a,1\ny,item_b,tie,2\nitem_b,x,b,1\n", "x.csv");
  EXPECT_EQ(format_for_writing("y.csv", data), Format::csv_pairwise);
  std::vector<std::string> lost;
  const std::string text = format_dataset(data, "y.csv", {}, &lost);
  EXPECT_EQ(difference(data, parse_dataset(text, "y.csv")), "") << text;
}

std::string said(const Dataset& data, Format format, const std::string& name = "x") {
  WriteOptions to;
  to.format = format;
  std::vector<std::string> lost;
  format_dataset(data, name, to, &lost);
  std::string all;
  for (const std::string& one : lost) all += one + "\n";
  return all;
}

TEST(Lost, IsSaidInPlainWords) {
  EXPECT_NE(said(rich(), Format::preflib).find("voter covariates (3 columns)"), std::string::npos);
  EXPECT_NE(said(rich(), Format::preflib).find("--unranked absent"), std::string::npos);
  EXPECT_NE(said(rich(), Format::preflib).find("weights that are not whole numbers"), std::string::npos);
  EXPECT_NE(said(rich(), Format::preflib).find("line breaks"), std::string::npos);
  EXPECT_NE(said(rich(), Format::blt).find("quotes"), std::string::npos);
  EXPECT_NE(said(rich(), Format::csv_wide).find("ties"), std::string::npos);
  EXPECT_NE(said(rich(), Format::csv_wide).find("no ranking lists: 'never'"), std::string::npos);
  EXPECT_NE(said(rich(), Format::csv_pairwise).find("broken into pairs"), std::string::npos);
  EXPECT_NE(said(rich(), Format::csv_wide).find("covariate empty is text"), std::string::npos);
  WriteOptions preflib;
  std::vector<std::string> lost;
  format_dataset(rich(), "x.soc", preflib, &lost);
  EXPECT_NE(std::find_if(lost.begin(), lost.end(),
                         [](const std::string& one) { return one.find(".toi is the fitting") != std::string::npos; }),
            lost.end());
  EXPECT_EQ(said(plain(), Format::preflib), "");
  EXPECT_EQ(said(plain(), Format::csv_wide), "");
}

TEST(Lost, UnknownExtensionsAreUsageErrors) { EXPECT_THROW(format_dataset(plain(), "x.pdf"), UsageError); }

// The line of a Qualtrics file that tells columns apart has nothing else in it; a ballot for such an item is no header.
TEST(RoundTrip, ItemsThatLookLikeHeaderLines) {
  const auto read = [](const std::string& text) {
    ReadOptions options;
    options.format = Format::csv_wide;
    return parse_dataset(text, "x", options);
  };
  const Dataset data = read("rank1,rank2\na,b\n\"{\"\"ImportId\"\"35\",b\nb,a\n");
  EXPECT_EQ(data.rankings.num_rows(), 3u);
  const Dataset named = read("rank1,rank2\na,b\n\"{\"\"ImportId\"\":\"\"Q1\"\"}\",b\nb,a\n");
  EXPECT_EQ(named.rankings.num_rows(), 3u);
  WriteOptions to;
  to.format = Format::csv_wide;
  std::vector<std::string> lost;
  EXPECT_EQ(io_testing::difference(data, read(format_dataset(data, "x", to, &lost))), "");
  EXPECT_TRUE(lost.empty() || lost == std::vector<std::string>{"the order of the items (it will be that of their names)"});
  format_dataset(named, "x", to, &lost);
  EXPECT_TRUE(std::ranges::any_of(lost, [](const std::string& one) { return one.find("part of a header") != std::string::npos; }));
}

TEST(RoundTrip, CovariatesInCsv) {
  const Dataset data = parse_dataset("age,town,rank1,rank2\n1.5,\"a, b\",x,y\n,\"\",y,\n3,c,x,\n", "x.csv");
  ASSERT_EQ(data.covariates.size(), 2U);
  for (const Format format : {Format::csv_wide, Format::csv_matrix, Format::csv_long}) {
    WriteOptions to;
    to.format = format;
    std::vector<std::string> lost;
    const std::string text = format_dataset(data, "x", to, &lost);
    EXPECT_TRUE(lost.empty());
    EXPECT_EQ(difference(data, parse_dataset(text, "x", reading(format))), "") << name_of(format) << "\n" << text;
  }
}

// Random data sets, every format: where nothing is said to be lost, nothing is.
RC_GTEST_PROP(RoundTrip, WhatIsNotSaidToBeLostIsThere, ()) {
  const auto num_items = *rc::gen::inRange<std::size_t>(2, 12);
  const auto num_rows = *rc::gen::inRange<std::size_t>(1, 30);
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  const bool ties = *rc::gen::arbitrary<bool>();
  const bool weights = *rc::gen::arbitrary<bool>();
  std::mt19937 rng(seed);
  Dataset data;
  for (std::size_t i = 0; i < num_items; ++i) data.items.push_back("item " + std::to_string(i + 1));
  RankingSetBuilder builder;
  for (std::size_t row = 0; row < num_rows; ++row) {
    std::vector<ItemId> order(num_items);
    for (std::size_t i = 0; i < num_items; ++i) order[i] = static_cast<ItemId>(i);
    for (std::size_t i = num_items; i > 1; --i) std::swap(order[i - 1], order[rng() % i]);
    order.resize(1 + rng() % num_items);
    std::vector<std::uint8_t> ends(order.size(), 1);
    if (ties)
      for (std::size_t i = 0; i + 1 < ends.size(); ++i) ends[i] = rng() % 3 == 0 ? 0 : 1;
    builder.add(order, weights ? 1.0 + static_cast<double>(rng() % 8) / 4.0 : 1.0, ends);
  }
  data.rankings = builder.build();
  for (const FormatInfo& info : formats()) {
    WriteOptions to;
    to.format = info.format;
    std::vector<std::string> lost;
    const std::string text = format_dataset(data, "x", to, &lost);
    std::erase_if(lost, [](const std::string& one) { return one.starts_with("nothing, but"); });
    if (!lost.empty()) continue;
    RC_ASSERT(difference(data, parse_dataset(text, "x", reading(info.format))) == std::string());
  }
}

}  // namespace
}  // namespace caucus
