// Tables of battles whose lines repeat: what is remembered of a line is what reading it anew gives.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/io/io.h"
#include "caucus/io/known_lines.h"
#include "caucus/io/testing.h"

namespace caucus {
namespace {

// Lines with names in quotes, ties, rows without a winner, rows that count nothing, blank lines.
std::vector<std::string> some_lines(std::size_t count, std::uint64_t seed) {
  const std::vector<std::string> names = {"ann", "bo", "\"cy, the third\"", "dee", "none", "\"e\"\"e\""};
  const std::vector<std::string> winners = {"model_a", "model_b", "tie", "", "both_bad", "a", "right"};
  RandomStream random(seed);
  std::vector<std::string> lines;
  while (lines.size() < count) {
    const std::size_t a = random.below(names.size()), b = random.below(names.size());
    if (a == b) continue;
    if (random.below(20) == 0) lines.emplace_back();
    lines.push_back(
        fmt::format("{},{},{},{}", names[a], names[b], winners[random.below(winners.size())], random.below(4) == 0 ? "0.5" : "2"));
    if (random.below(50) == 0) lines.back() = fmt::format("{},{},model_a,0", names[a], names[b]);
  }
  return lines;
}

Dataset read_lines(const std::vector<std::string>& lines, bool with_column, std::string_view end = "\n") {
  std::string text = fmt::format("model_a,model_b,winner,count{}{}", with_column ? ",turn" : "", end);
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += lines[i] + (with_column && !lines[i].empty() ? fmt::format(",t{}", i) : "") + std::string(end);
  return parse_dataset(text, "x.csv");
}

TEST(Battles, LinesThatRepeatGiveWhatTheyGaveBefore) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const std::vector<std::string> lines = some_lines(3000, seed);
    const Dataset known = read_lines(lines, false);
    Dataset anew = read_lines(lines, true);  // a column that differs in every line: each is read by itself
    ASSERT_EQ(anew.covariates.size(), 1U);
    anew.covariates.clear();
    anew.blank_covariates.clear();
    EXPECT_EQ(io_testing::difference(known, anew), "");
    EXPECT_LT(known.rankings.size(), 100U);
    EXPECT_FALSE(known.blanks.empty());
    EXPECT_EQ(io_testing::difference(known, read_lines(lines, false, "\r\n")), "");
  }
}

TEST(Battles, ErrorsAreToldWhereTheyAre) {
  std::string text = "model_a,model_b,winner\n";
  for (int i = 0; i < 100; ++i) text += "x,y,model_a\ny,x,tie\n";
  for (const char* wrong : {"x,y,who\n", "x,x,tie\n", "x,y,tie,more\n"}) {
    try {
      parse_dataset(text + wrong + "x,y,model_a\n\n" + wrong, "x.csv");
      FAIL() << wrong;
    } catch (const DataError& error) {
      const std::string said = error.what();
      EXPECT_NE(said.find("x.csv:202:"), std::string::npos) << said;
      EXPECT_NE(said.find("x.csv:205:"), std::string::npos) << said;
    }
  }
}

TEST(KnownLines, FindsWhatItKeptAndNothingElse) {
  KnownLines known;
  std::string text;
  for (int i = 0; i < 5000; ++i) text += fmt::format("line {}\n", i);
  for (std::size_t position = 0, number = 0; position < text.size();)
    for (const KnownLines::Line& line : known.look_ahead(std::string_view(text).substr(position))) {
      EXPECT_EQ(known.find(line), nullptr);
      known.keep(line, {{static_cast<ItemId>(number), 1}, true, 0.5});
      position += line.text.size() + 1;
      ++number;
    }
  for (std::size_t position = 0, number = 0; position < text.size();)
    for (const KnownLines::Line& line : known.look_ahead(std::string_view(text).substr(position))) {
      const KnownLines::Row* const row = known.find(line);
      ASSERT_NE(row, nullptr);
      EXPECT_EQ(row->battle[0], number++);
      position += line.text.size() + 1;
    }
  EXPECT_TRUE(known.look_ahead("no line break").empty());
  ASSERT_EQ(known.look_ahead("\nx").size(), 1U);
  EXPECT_EQ(known.find(known.look_ahead("\nx")[0]), nullptr);
}

TEST(KnownLines, GivesUpWhereMostLinesAreNew) {
  KnownLines known;
  for (int i = 0; known.on(); ++i) {
    ASSERT_LT(i, 1 << 19);
    const std::string text = fmt::format("{}\n", i);
    const KnownLines::Line line = known.look_ahead(text)[0];
    if (known.find(line) == nullptr) known.keep(line, {});
  }
}

}  // namespace
}  // namespace caucus
