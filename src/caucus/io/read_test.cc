// Every format from small texts: what is read, what is warned of, and what is refused where.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "caucus/base/error.h"
#include "caucus/io/io.h"

namespace caucus {
namespace {

using Strings = std::vector<std::string>;

// A row as text: "2 a>b=c" is a ranking of weight 2.
Strings rows(const Dataset& data) {
  Strings result;
  for (std::size_t row = 0; row < data.rankings.num_rows(); ++row) {
    std::string text = std::to_string(data.rankings.row_weight(row));
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    char separator = ' ';
    data.rankings[data.rankings.row_ranking(row)].for_each_group([&](std::span<const ItemId> group) {
      for (const ItemId item : group) {
        text += separator + data.items.at(item);
        separator = '=';
      }
      separator = '>';
    });
    result.push_back(text);
  }
  return result;
}

Dataset parse(std::string_view text, const std::string& name = "x", const ReadOptions& options = {}) {
  return parse_dataset(text, name, options);
}

Strings errors(std::string_view text, const std::string& name = "x", const ReadOptions& options = {}) {
  try {
    parse_dataset(text, name, options);
  } catch (const DataError& error) {
    Strings lines;
    for (const Diagnostic& diagnostic : error.diagnostics()) lines.push_back(diagnostic.to_string());
    return lines;
  }
  return {};
}

bool warned(const Dataset& data, std::string_view part) {
  for (const std::string& warning : data.warnings)
    if (warning.find(part) != std::string::npos) return true;
  return false;
}

constexpr std::string_view preflib_head =
    "# FILE NAME: x.toi\n# DATA TYPE: toi\n# NUMBER ALTERNATIVES: 4\n# NUMBER VOTERS: 6\n# NUMBER UNIQUE ORDERS: 3\n"
    "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b b\n# ALTERNATIVE NAME 3: c: d\n# ALTERNATIVE NAME 4: e\n";

TEST(Preflib, TiesBracesBlanksAndLineEnds) {
  const Dataset data = parse(std::string(preflib_head) + "3: 1,{2,3},4\r\n2: {2}, 1\r\n\r\n1: {},{4, 3},{}\n");
  EXPECT_EQ(data.items, (Strings{"a", "b b", "c: d", "e"}));
  EXPECT_EQ(rows(data), (Strings{"3 a>b b=c: d>e", "2 b b>a", "1 c: d=e"}));
  EXPECT_EQ(data.unranked, Unranked::last);
  EXPECT_TRUE(data.warnings.empty());
}

TEST(Preflib, HeaderCountsAreCheckedAndTheBodyTrusted) {
  const Dataset data = parse(std::string(preflib_head) + "3: 1,2\n1: 2\n", "x.toi");
  EXPECT_EQ(data.rankings.total_weight(), 4.0);
  EXPECT_TRUE(warned(data, "6 voters, the file has 4"));
  EXPECT_TRUE(warned(data, "3 unique rankings, the file has 2"));
  EXPECT_TRUE(warned(parse("# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: a\n1: 1\n"), "3 alternatives, the file has 1"));
  EXPECT_TRUE(warned(parse("# DATA TYPE: soc\n# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n1: 1\n"), "do not list all items"));
  EXPECT_TRUE(warned(parse("# DATA TYPE: soc\n# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n1: {1,2}\n"), "has ties"));
}

TEST(Preflib, NumbersFromZeroUnnamedAndNeverListed) {
  const Dataset zero = parse("# ALTERNATIVE NAME 0: x\n# ALTERNATIVE NAME 1: y\n# ALTERNATIVE NAME 2: z\n1: 2,0\n");
  EXPECT_EQ(zero.items, (Strings{"x", "y", "z"}));
  EXPECT_EQ(rows(zero), (Strings{"1 z>x"}));
  const Dataset unnamed = parse("# NUMBER ALTERNATIVES: 12\n2: 11,2\n");
  EXPECT_EQ(unnamed.num_items(), 12U);
  EXPECT_EQ(unnamed.items[10], "11");
  EXPECT_EQ(rows(unnamed), (Strings{"2 11>2"}));
  const Dataset bare = parse("1: 30,4\n2: 4\n");
  EXPECT_EQ(bare.items, (Strings{"4", "30"}));
}

TEST(Preflib, AHeaderThatClaimsABillionItemsAllocatesNothing) {
  const Dataset data = parse("# NUMBER ALTERNATIVES: 1000000000\n1: 999999999,2\n");
  EXPECT_EQ(data.items, (Strings{"2", "999999999"}));
  EXPECT_TRUE(warned(data, "1000000000 alternatives, the file has 2"));
  EXPECT_EQ(parse("1000000000\n1,a\n2,b\n5,5,1\n5,2,1\n", "x.soi").num_items(), 2U);
  EXPECT_EQ(parse("1000000000 1\n1 2 0\n0\na\nb\n", "x.blt").num_items(), 2U);
}

TEST(Preflib, CategoriesBestFirst) {
  const std::string names = "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n# ALTERNATIVE NAME 3: c\n";
  const std::string body = "1: 1,{},{2,3}\n";
  const Dataset best =
      parse("# DATA TYPE: cat\n# CATEGORY NAME 1: Yes\n# CATEGORY NAME 2: Perhaps\n# CATEGORY NAME 3: No\n" + names + body);
  EXPECT_EQ(rows(best), (Strings{"1 a>b=c"}));
  const std::string worst_head =
      "# DATA TYPE: cat\n# CATEGORY NAME 0: Disapproved\n# CATEGORY NAME 1: Neutral/Skipped\n# CATEGORY NAME 2: Approved\n";
  const Dataset worst = parse(worst_head + names + body + "2: 3,1,2\n");
  EXPECT_EQ(rows(worst), (Strings{"1 b=c>a", "2 b>a>c"}));
  EXPECT_TRUE(warned(worst, "worst first"));
  ReadOptions as_listed;
  as_listed.categories = CategoryOrder::best_first;
  EXPECT_EQ(rows(parse(worst_head + names + body, "x", as_listed)), (Strings{"1 a>b=c"}));
  ReadOptions turned;
  turned.categories = CategoryOrder::worst_first;
  EXPECT_EQ(rows(parse("# DATA TYPE: cat\n" + names + "1: {1,2},3\n", "x", turned)), (Strings{"1 c>a=b"}));
}

TEST(Preflib, NamesAreMadeValid) {
  const Dataset data = parse(
      "# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: x\n# ALTERNATIVE NAME 3:\n# ALTERNATIVE NAME 4: M\xfcller\n1: 1,2,3,4\n");
  EXPECT_EQ(data.items, (Strings{"x", "x (2)", "3", "Müller"}));
  EXPECT_TRUE(warned(data, "several items"));
  EXPECT_TRUE(warned(data, "Windows-1252"));
  // U+0085 is a line break for some; here it is part of the name.
  EXPECT_EQ(parse("# ALTERNATIVE NAME 1: a\xc2\x85z\n1: 1\n").items, (Strings{"a\xc2\x85z"}));
}

TEST(Preflib, LargeFractionalAndZeroCounts) {
  const Dataset data = parse("# ALTERNATIVE NAME 1: a\n1595526: 1\n0: 1\n0.25 : 1\n");
  EXPECT_EQ(rows(data), (Strings{"1595526 a", "0.25 a"}));
  EXPECT_TRUE(warned(data, "1 rows of weight 0"));
}

TEST(Preflib, PairwiseGraphsAreComparisonsAndMatchingIsRefused) {
  const Dataset data = parse("2\n1,a\n2,b\n7,7,2\n4,1,2\n3,2,1\n", "x.pwg");
  EXPECT_EQ(rows(data), (Strings{"4 a>b", "3 b>a"}));
  EXPECT_EQ(data.unranked, Unranked::absent);
  EXPECT_NE(
      errors("# DATA TYPE: wmd\n# NUMBER EDGES: 1\n# ALTERNATIVE NAME 1: a\n1,2,3.5\n", "x.wmd").at(0).find("weighted matching"),
      std::string::npos);
}

TEST(Preflib, SaysWhereItIsWrong) {
  EXPECT_EQ(
      errors("# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n3: 1,12\n1: 1,2,1\n1 1,2\nx: 1\n2: 1,{2\n2: 1;2\n", "votes.soi"),
      (Strings{"votes.soi:3:6: found item 12, expected one of the 2 that the header names",
               "votes.soi:4:8: found item 1 a second time, expected each item once in a ranking",
               "votes.soi:5:3: found '1', expected ':' after the count", "votes.soi:6:1: found 'x: 1', expected a count",
               "votes.soi:7:8: found the end of the line, expected ',' or '}'",
               "votes.soi:8:5: found ';2', expected ',' or the end of the line"}));
}

TEST(Preflib, AtMostTwentyDiagnostics) {
  std::string text = "# ALTERNATIVE NAME 1: a\n";
  for (int i = 0; i < 100; ++i) text += "1: 2\n";
  EXPECT_EQ(errors(text).size(), 20U);
}

TEST(Preflib, EmptyFilesAreRefused) {
  EXPECT_FALSE(errors("").empty());
  EXPECT_FALSE(errors("\n\n").empty());
  EXPECT_FALSE(errors("# ALTERNATIVE NAME 1: a\n").empty());
  EXPECT_FALSE(errors("# ALTERNATIVE NAME 1: a\n1: {}\n").empty());
}

TEST(PreflibOld, Reads) {
  const Dataset data = parse("3\n1,a, the first \n2,200 \n3,c\n9,9,2\n5,2,{1,3}\n4,3\n", "x.toi");
  EXPECT_EQ(data.items, (Strings{"a, the first", "200", "c"}));
  EXPECT_EQ(rows(data), (Strings{"5 200>a, the first=c", "4 c"}));
  EXPECT_TRUE(data.warnings.empty());
  EXPECT_EQ(rows(parse("2\r\n1,1\r\n2,2\r\n1,1,1\r\n1,1,2\r\n", "x.soc")), (Strings{"1 1>2"}));
}

TEST(PreflibOld, SaysWhereItIsWrong) {
  EXPECT_EQ(errors("2\n1,a\n2,b\n3,3\n", "x.soi"),
            (Strings{"x.soi:4:1: found '3,3', expected the line 'voters,sum,unique' after 2 alternatives"}));
  EXPECT_EQ(errors("2\n1,a\n2,b\n3,3,1\n1,4\n", "x.soi"),
            (Strings{"x.soi:5:3: found item 4, expected one of the 2 that the header names"}));
}

TEST(Blt, ThreeStylesOfNames) {
  const Strings expected{"3 Adam>Charlotte", "1.5 Basil>Adam=Charlotte", "1 Adam>Basil"};
  const std::string body = "3 2\n3 1 3 0\n1.5 2 1=3 0\n(id 7) 1 1 - 2 0\n2 0\n0\n";
  for (const std::string names :
       {"Adam\nBasil\nCharlotte\nTitle", "\"Adam\"\n\"Basil\"\n\"Charlotte\"\n\"Title\"\n",
        "\"Adam\" \"Basil\" \"Charlotte\" \"Title\"\n",
        "# ALTERNATIVE NAME 1: Adam\n# ALTERNATIVE NAME 2: Basil\n# ALTERNATIVE NAME 3: Charlotte\nTitle\n"}) {
    const Dataset data = parse(body + names);
    EXPECT_EQ(rows(data), expected) << names;
    EXPECT_EQ(data.items.size(), 3U);
    EXPECT_TRUE(warned(data, "2 blank ballots"));
  }
}

TEST(Blt, CommasAtLineEndsWithdrawnAndComments) {
  const Dataset data =
      parse("2 1,\n# a comment\n-2\n5 1 0,\n4 1 2 0, # tail\n0,\nKathleen BAIRD,\nWilma,LUMSDEN\nWard 9,\n", "x.blt");
  EXPECT_EQ(data.items, (Strings{"Kathleen BAIRD", "Wilma,LUMSDEN"}));
  EXPECT_EQ(rows(data), (Strings{"5 Kathleen BAIRD", "4 Kathleen BAIRD>Wilma,LUMSDEN"}));
  EXPECT_TRUE(warned(data, "withdrawn"));
}

TEST(Blt, TheCommaFormOfCouncils) {
  const Dataset data =
      parse("2,1,\n61,1,\n4,2,1,\n\"Candidate 1\",\"Ann A\",\"Labour (Lab)\",\n\"Candidate 2\",\"Bo B\",\"Green\",\n\"Ward 12\",\n",
            "ward.csv");
  EXPECT_EQ(data.items, (Strings{"Ann A", "Bo B"}));
  EXPECT_EQ(rows(data), (Strings{"61 Ann A", "4 Bo B>Ann A"}));
}

TEST(Blt, SaysWhereItIsWrong) {
  EXPECT_EQ(errors("2 1\n1 3 0\n1 1 1 0\nx\n", "x.blt"),
            (Strings{"x.blt:2:3: found '3', expected a candidate from 1 to 2",
                     "x.blt:3:5: found candidate 1 a second time, expected each once in a ballot"}));
}

TEST(CsvWide, CastVoteRecords) {
  const Dataset data =
      parse(",Precinct,Rank 1,Rank 2,Rank 3\n0,P1,Ann,skipped,Bo\n1,P2,overvote,,\n2,P1,Bo,Bo,Write-in-1\n3,P3,\"Lee, C\",Ann,\n",
            "x.csv");
  EXPECT_EQ(data.items, (Strings{"Ann", "Bo", "Lee, C", "Write-in-1"}));
  EXPECT_EQ(rows(data), (Strings{"1 Ann>Bo", "1 Bo>Write-in-1", "1 Lee, C>Ann"}));
  ASSERT_EQ(data.covariates.size(), 1U);
  EXPECT_EQ(data.covariates[0].name, "Precinct");
  EXPECT_EQ(data.covariates[0].texts, (Strings{"P1", "P1", "P3"}));
  EXPECT_TRUE(warned(data, "1 blank ballots"));
  EXPECT_TRUE(warned(data, "1 rows list an item more than once"));
  EXPECT_TRUE(warned(data, "2 cells that name no item"));
  ReadOptions options;
  options.drop = {"write-in*"};
  options.keep = {"Overvote"};
  EXPECT_EQ(parse("rank1,rank2\nAnn,Write-in-7\novervote,Ann\n", "x.csv", options).items, (Strings{"Ann", "overvote"}));
}

// An item that is left out was named all the same: its cells are neither words that name nobody nor places left empty.
TEST(CsvWide, DroppedItemsAreNoBlankCells) {
  ReadOptions options;
  options.drop = {"Write-in*"};
  const Dataset data = parse("rank1,rank2,rank3\nWrite-in 1,Ann,skipped\nAnn,Write-in 2,Bo\nBo,skipped,Ann\n", "x.csv", options);
  EXPECT_EQ(rows(data), (Strings{"1 Ann", "1 Ann>Bo", "1 Bo>Ann"}));
  EXPECT_TRUE(warned(data, "2 cells that name no item were dropped: 'skipped'"));
  EXPECT_EQ(data.facts.skipped, 1.0);
}

// Blank ballots as "row:weight", rows from 1 as in the file.
Strings blanks(const Dataset& data) {
  Strings found;
  for (const BlankRow& one : data.blanks) found.push_back(fmt::format("{}:{}", one.row + 1, one.weight));
  return found;
}

TEST(BlankRows, KeepTheirPlaceInEveryFormat) {
  const Dataset wide = parse("id,Count,rank1,rank2\n007,2,,\n008,3,a,b\n009,0,b,a\n010,5,b,\n011,4,skipped,\n");
  EXPECT_EQ(rows(wide), (Strings{"3 a>b", "5 b"}));
  EXPECT_EQ(blanks(wide), (Strings{"1:2", "3:0", "5:4"}));
  EXPECT_EQ(wide.blank_weight(), 6.0);
  EXPECT_EQ(wide.num_listed(), 5U);
  EXPECT_TRUE(warned(wide, "6 blank ballots"));
  EXPECT_TRUE(warned(wide, "1 rows of weight 0"));
  // Ids stay as they are written, with the rows they belong to.
  EXPECT_EQ(wide.covariates.at(0).texts, (Strings{"008", "010"}));
  EXPECT_EQ(wide.blank_covariates.at(0).texts, (Strings{"007", "009", "011"}));

  const Dataset matrix = parse("age,rank_a,rank_b\n30,,\n31,2,1\n32,NA,\n");
  EXPECT_EQ(blanks(matrix), (Strings{"1:1", "3:1"}));
  EXPECT_EQ(matrix.covariates.at(0).numbers, (std::vector<double>{31}));
  EXPECT_EQ(matrix.blank_covariates.at(0).numbers, (std::vector<double>{30, 32}));

  const Dataset triples = parse("voter,item,rank\nv1,,\nv2,a,1\nv3,b,\nv2,b,2\n");
  EXPECT_EQ(rows(triples), (Strings{"1 a>b"}));
  EXPECT_EQ(blanks(triples), (Strings{"1:1", "3:1"}));
  EXPECT_EQ(triples.blank_covariates.at(0).texts, (Strings{"v1", "v3"}));

  EXPECT_EQ(blanks(parse("a,b,winner\nx,y,\nx,y,x\n")), (Strings{"1:1"}));
  const Dataset preflib = parse("# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n19: \n2: 1,2\n3: {}\n0: 2\n1: 2\n");
  EXPECT_EQ(rows(preflib), (Strings{"2 a>b", "1 b"}));
  EXPECT_EQ(blanks(preflib), (Strings{"1:19", "3:3", "4:0"}));
  EXPECT_TRUE(warned(preflib, "22 blank ballots"));
  EXPECT_EQ(blanks(parse("2\n1,a\n2,b\n3,3,2\n1,\n2,2,1\n")), (Strings{"1:1"}));
  EXPECT_EQ(blanks(parse("2 1\n4 0\n1 2 1 0\n3 0\n0\n\"a\"\n\"b\"\n", "x.blt")), (Strings{"1:4", "3:3"}));
  const Dataset lines = parse("{\"ranking\":[],\"id\":\"x\"}\n[\"a\",\"b\"]\n{\"ranking\":[],\"weight\":2.5,\"id\":\"z\"}\n");
  EXPECT_EQ(blanks(lines), (Strings{"1:1", "3:2.5"}));
  EXPECT_EQ(lines.covariates.at(0).texts, (Strings{""}));
  EXPECT_EQ(lines.blank_covariates.at(0).texts, (Strings{"x", "z"}));
  EXPECT_THROW(parse("rank1,rank2\n,skipped\n"), DataError);
}

TEST(CsvWide, OtherNamesOrdersDelimitersAndColumns) {
  EXPECT_EQ(rows(parse("2nd choice;1st choice\nb;a\n")), (Strings{"1 a>b"}));
  EXPECT_EQ(rows(parse("choice_1\tchoice_2\n10\t9\n")), (Strings{"1 10>9"}));
  EXPECT_EQ(rows(parse("count,pos1,pos2\n3,x,y\n0.5,y,\n0,y,x\n")), (Strings{"3 x>y", "0.5 y"}));
  ReadOptions options;
  options.format = Format::csv_wide;
  options.columns = {"best", "next"};
  options.weight_column = "n";
  EXPECT_EQ(rows(parse("next,age,best,n\nb,31,a,2\n", "x", options)), (Strings{"2 a>b"}));
  options.columns = {"nothing"};
  EXPECT_THROW(parse("next,age,best,n\nb,31,a,2\n", "x", options), UsageError);
}

TEST(CsvMatrix, RanksTiesMissingAndCovariates) {
  const Dataset data = parse("sex,rank_Ann,rank_Bo,rank_Cy\nm,1,2,3\nf,2,,1\nm,1,1,3\nf,,0,NA\n");
  EXPECT_EQ(data.items, (Strings{"Ann", "Bo", "Cy"}));
  EXPECT_EQ(rows(data), (Strings{"1 Ann>Bo>Cy", "1 Cy>Ann", "1 Ann=Bo>Cy"}));
  EXPECT_EQ(data.covariates[0].texts, (Strings{"m", "f", "m"}));
  EXPECT_EQ(data.unranked, Unranked::last);
  EXPECT_EQ(rows(parse("x,y,z\n3,1,2\n1,2,3\n2,1,\n")), (Strings{"1 y>z>x", "1 x>y>z", "1 y>x"}));
  EXPECT_EQ(errors("rank_a,rank_b\n1,two\n"),
            (Strings{"x:2:3: found 'two', expected a rank, or nothing for an item that is not ranked"}));
}

TEST(CsvLong, VotersAnywhereTiesAndCovariates) {
  const Dataset data = parse("voter,item,rank,age\nv2,b,1,30\nv1,a,2,20\nv2,a,1,30\nv1,c,1,20\nv1,b,,20\n");
  EXPECT_EQ(rows(data), (Strings{"1 a=b", "1 c>a"}));
  ASSERT_EQ(data.covariates.size(), 2U);
  EXPECT_EQ(data.covariates[0].texts, (Strings{"v2", "v1"}));
  EXPECT_EQ(data.covariates[1].numbers, (std::vector<double>{30, 20}));
  EXPECT_NE(errors("voter,item,rank\n1,b,1\n1,a,1\n1,a,2\n").at(0).find("x:3:1: found item 'a' for voter '1', and again below"),
            std::string::npos);
  const Dataset varying = parse("voter,item,rank,time\n1,a,1,5\n1,b,2,6\n");
  EXPECT_TRUE(varying.covariates.empty());
  EXPECT_TRUE(warned(varying, "'time'"));
}

TEST(CsvPairwise, WinnersTiesAndEmpty) {
  const Dataset data =
      parse("model_a,model_b,winner,judge\nx,y,model_a,j1\nx,y,model_b,j2\ny,z,tie (bothbad),j1\nx,z,,j1\nz,x,z,j3\nx,y,tie,j1\n");
  EXPECT_EQ(rows(data), (Strings{"1 x>y", "1 y>x", "1 y=z", "1 z>x", "1 x=y"}));
  EXPECT_EQ(data.unranked, Unranked::absent);
  EXPECT_TRUE(warned(data, "1 rows without a winner"));
  EXPECT_EQ(data.covariates[0].texts, (Strings{"j1", "j2", "j1", "j3", "j1"}));
  EXPECT_EQ(errors("a,b,winner\nx,y,q\nx,x,a\n"), (Strings{"x:2:5: found 'q', expected a, b, one of the two items, or tie",
                                                           "x:3:3: found 'x' against itself, expected two items"}));
}

TEST(CsvPairwise, CountsAndWinnerLoser) {
  const Dataset counts = parse("model_a,model_b,win_a,win_b,tie,both_bad\nx,y,10,3,2,1\ny,z,0,4,,0\n");
  EXPECT_EQ(rows(counts), (Strings{"10 x>y", "3 y>x", "3 x=y", "4 z>y"}));
  const Dataset pairs = parse("assessor,preferred,not_preferred\n1,15,2\n2,3,15\n");
  EXPECT_EQ(rows(pairs), (Strings{"1 15>2", "1 3>15"}));
  EXPECT_EQ(pairs.items, (Strings{"2", "3", "15"}));
  EXPECT_EQ(pairs.covariates[0].numbers, (std::vector<double>{1, 2}));
}

TEST(CsvRatings, LongWideAndTop) {
  const std::string text = "userId,movieId,rating,timestamp\n1,10,4,99\n1,9,5,98\n2,9,3,97\n1,30,4,96\n";
  const Dataset data = parse(text);
  EXPECT_EQ(rows(data), (Strings{"1 9>10=30", "1 9"}));
  EXPECT_EQ(data.unranked, Unranked::absent);
  ReadOptions top;
  top.top = 2;
  EXPECT_EQ(rows(parse(text, "x", top)), (Strings{"1 9>10", "1 9"}));
  const Dataset wide = parse("user,j1,j2,j10\n1,-7.8,8.5,\n2,1,1,3\n");
  EXPECT_EQ(rows(wide), (Strings{"1 j2>j1", "1 j10>j1=j2"}));
  EXPECT_EQ(wide.items, (Strings{"j1", "j2", "j10"}));
  EXPECT_EQ(rows(parse("user,j1,j2,j10\n1,-7.8,8.5,\n2,1,1,3\n", "x", top)), (Strings{"1 j2>j1", "1 j10>j1"}));
}

TEST(Csv, TablesWithoutARankingAreRefusedWithAWayOut) {
  for (const std::string text :
       {"sepal_length,class\n5.1,Iris\n4.9,Iris\n", "age,prescription,class\n1,1,3\n1,2,2\n", "item_id,name,style\n0,ebi,1\n"}) {
    const Strings found = errors(text, "t.csv");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NE(found[0].find("no ranking in it"), std::string::npos);
    EXPECT_NE(found[0].find("--columns"), std::string::npos);
  }
}

TEST(Csv, RowsLongerThanTheHeaderAndOpenQuotes) {
  EXPECT_EQ(errors("rank1,rank2\na,b,c\n"), (Strings{"x:2:5: found 'c' in cell 3, expected the 2 columns of the header"}));
  EXPECT_TRUE(errors("rank1,rank2\na,b,,\n").empty());
  EXPECT_EQ(errors("rank1,rank2\na,\"b\n").at(0), "x:2:3: found a quote that is never closed, expected a closing quote");
}

TEST(Jsonl, Everything) {
  const Dataset data = parse(
      "{\"schema\":\"caucus.rankings/1\",\"items\":[\"a\",\"b\",\"c\",\"never\"],\"unranked\":\"absent\","
      "\"covariates\":[{\"name\":\"age\",\"type\":\"number\"},{\"name\":\"town\",\"type\":\"text\"}]}\n"
      "{\"ranking\":[\"a\",[\"c\",\"b\"]],\"weight\":2.5,\"covariates\":[31,\"K\\u00f6ln\"]}\n\n"
      "{\"ranking\":[2,0],\"covariates\":[null,null]}\r\n");
  EXPECT_EQ(data.items, (Strings{"a", "b", "c", "never"}));
  EXPECT_EQ(rows(data), (Strings{"2.5 a>b=c", "1 c>a"}));
  EXPECT_EQ(data.unranked, Unranked::absent);
  ASSERT_EQ(data.covariates.size(), 2U);
  EXPECT_EQ(data.covariates[0].numbers[0], 31.0);
  EXPECT_TRUE(std::isnan(data.covariates[0].numbers[1]));
  EXPECT_EQ(data.covariates[1].texts, (Strings{"Köln", ""}));
}

TEST(Jsonl, PlainArraysAndLooseKeys) {
  const Dataset data = parse("[\"b\",\"a\"]\n[[\"a\",\"b\"]]\n[10,9]\n");
  EXPECT_EQ(rows(data), (Strings{"1 b>a", "1 a=b", "1 10>9"}));
  const Dataset loose =
      parse("{\"ranking\":[\"x\"],\"age\":3,\"deep\":{\"a\":[1,{}]}}\n{\"ranking\":[\"y\"],\"town\":\"K\",\"age\":\"old\"}\n");
  ASSERT_EQ(loose.covariates.size(), 2U);
  EXPECT_EQ(loose.covariates[0].texts, (Strings{"3", "old"}));
  EXPECT_EQ(loose.covariates[1].texts, (Strings{"", "K"}));
}

TEST(Jsonl, SaysWhereItIsWrong) {
  EXPECT_EQ(
      errors("[\"a\",\"a\"]\n{\"x\":1}\n[\"a\"\n[\"a\",]\n{\"ranking\":[\"a\"],\"weight\":-1}\n[\"a\"]x\n[\"\\q\"]\n", "x.jsonl"),
      (Strings{"x.jsonl:1:6: found item 'a' a second time, expected each item once in a ranking",
               "x.jsonl:2:2: found no 'ranking' in the object, expected one such as [\"a\",[\"b\",\"c\"]], or the keys model_a, "
               "model_b and winner",
               "x.jsonl:3:5: found the end of the line, expected ',' or ']'", "x.jsonl:4:6: found ']', expected a value after ','",
               "x.jsonl:5:27: found weight -1, expected one from 0 to 1e15", "x.jsonl:6:6: found 'x', expected the end of the line",
               "x.jsonl:7:3: found an unknown escape in a string"}));
  EXPECT_EQ(errors("{\"items\":[\"a\"]}\n[\"b\"]\n[1]\n", "x.jsonl"),
            (Strings{"x.jsonl:2:2: found item 'b', expected one of the 1 that the first line names",
                     "x.jsonl:3:2: found item 1, expected a position from 0 to 0"}));
}

TEST(Jsonl, DepthAndSparseKeysCostNothing) {
  std::string deep = "{\"ranking\":[\"a\"],\"x\":" + std::string(1000000, '[') + std::string(1000000, ']') + "}\n";
  EXPECT_EQ(rows(parse(deep)), (Strings{"1 a"}));
  std::string sparse;
  for (int i = 0; i < 9000; ++i) sparse += "{\"ranking\":[\"a\"],\"k" + std::to_string(i) + "\":1}\n";
  EXPECT_FALSE(errors(sparse).empty());
}

TEST(Options, UnrankedAndFormatCanBeStated) {
  ReadOptions options;
  options.unranked = Unranked::absent;
  EXPECT_EQ(parse("1: 1,2\n", "x", options).unranked, Unranked::absent);
  EXPECT_EQ(parse("{\"unranked\":\"last\"}\n[\"a\"]\n", "x", options).unranked, Unranked::absent);
  options = {};
  options.format = Format::blt;
  EXPECT_EQ(rows(parse("2 1\n3 2 1 0\n0\na\nb\n", "x.csv", options)), (Strings{"3 b>a"}));
}

}  // namespace
}  // namespace caucus
