// Sources, safe files, CSV records and tables.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "caucus/base/error.h"
#include "caucus/io/csv.h"
#include "caucus/io/file_writer.h"
#include "caucus/io/io.h"
#include "caucus/io/source.h"
#include "caucus/io/table.h"
#include "caucus/io/text.h"
#include "caucus/io/unpack.h"

namespace caucus {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("caucus-io-" + std::to_string(::getpid()))) { fs::create_directories(path_); }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::size_t entries() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), {})); }

 private:
  fs::path path_;
};

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(WriteFile, ReplacesWholeAndLeavesNothingBehind) {
  const Folder folder;
  const std::string path = folder / "a.txt";
  write_file(path, "first");
  EXPECT_EQ(slurp(path), "first");
  ::chmod(path.c_str(), 0640);
  write_file(path, "second");
  EXPECT_EQ(slurp(path), "second");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(WriteFile, AbandonedWriterKeepsTheOldContent) {
  const Folder folder;
  const std::string path = folder / "a.txt";
  write_file(path, "old");
  {
    FileWriter writer(path);
    writer.buffer().assign(3U << 20, 'x');
    writer.checkpoint();
  }
  EXPECT_EQ(slurp(path), "old");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(WriteFile, FollowsLinksAndTakesDevices) {
  const Folder folder;
  write_file(folder / "real.txt", "old");
  fs::create_symlink("real.txt", folder / "link.txt");
  write_file(folder / "link.txt", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link.txt"));
  EXPECT_EQ(slurp(folder / "real.txt"), "new");
  EXPECT_NO_THROW(write_file("/dev/null", "gone"));
}

TEST(WriteFile, SaysWhyItCannot) {
  EXPECT_THROW(write_file("/nonexistent-folder/a.txt", "x"), IoError);
  EXPECT_THROW(write_file("/tmp", "x"), IoError);
}

TEST(WriteFile, PacksByName) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i) + "\n";
  for (const char* name : {"a.txt.gz", "a.txt.zst"}) {
    write_file(folder / name, text);
    EXPECT_LT(fs::file_size(folder / name), text.size() / 2);
    const Source source = Source::open(folder / name);
    EXPECT_EQ(source.text(), text) << name;
    EXPECT_EQ(source.extension(), "txt");
  }
}

TEST(Source, MissingFileAndFolder) {
  EXPECT_THROW(Source::open("/nonexistent/file.soi"), NoInputError);
  EXPECT_THROW(Source::open("/tmp"), NoInputError);
}

TEST(Source, SeveralGzipMembersAndPadding) {
  EXPECT_EQ(Source::from_text(gzip("one,") + gzip("two"), "x.gz").text(), "one,two");
  EXPECT_EQ(Source::from_text(gzip("one") + std::string(512, '\0'), "x.gz").text(), "one");
}

// zlib is given its input in pieces; a member may end where a piece does, or leave less of the next one than tells it apart.
TEST(Source, GzipMembersThatEndWhereAPieceDoes) {
  const std::string first = gzip("one,"), packed = first + gzip("two,") + gzip("three");
  for (std::size_t piece = 1; piece <= packed.size(); ++piece) EXPECT_EQ(unpack(packed, "x.gz", piece), "one,two,three") << piece;
  for (std::size_t piece = 1; piece <= packed.size(); ++piece)
    EXPECT_EQ(unpack(first + std::string(50, '\0'), "x.gz", piece), "one,") << piece;
}

TEST(Source, BrokenArchivesAreDataErrors) {
  const std::string packed = gzip(std::string(10000, 'a') + "b");
  EXPECT_THROW(Source::from_text(packed.substr(0, packed.size() / 2), "x.gz"), DataError);
  EXPECT_THROW(Source::from_text(packed.substr(0, 5), "x.gz"), DataError);
  EXPECT_THROW(Source::from_text(std::string("\x1f\x8bgarbage here"), "x.gz"), DataError);
  EXPECT_THROW(Source::from_text(std::string("\x28\xb5\x2f\xfd"), "x.zst"), DataError);
  EXPECT_THROW(Source::from_text(std::string("\x28\xb5\x2f\xfdgarbage here"), "x.zst"), DataError);
}

TEST(Source, RefusesAnArchiveThatUnpacksWithoutEnd) {
  // 300 MB of zeros in a few kB.
  const std::string zeros(300U << 20, '\0');
  std::string bomb(ZSTD_compressBound(zeros.size()), '\0');
  bomb.resize(ZSTD_compress(bomb.data(), bomb.size(), zeros.data(), zeros.size(), 1));
  ASSERT_GT(zeros.size(), max_unpacked_bytes(bomb.size()));
  EXPECT_THROW(Source::from_text(bomb, "bomb.zst"), DataError);
}

TEST(Source, ByteOrderMarks) {
  EXPECT_EQ(Source::from_text("\xef\xbb\xbfhello", "x").text(), "hello");
  EXPECT_THROW(Source::from_text("\xff\xfeh", "x"), DataError);
}

TEST(Source, Extension) {
  EXPECT_EQ(Source::from_text("", "a/b.c/votes.SOI.gz").extension(), "soi");
  EXPECT_EQ(Source::from_text("", "a.b/votes").extension(), "");
  EXPECT_EQ(Source::from_text("", "votes.csv").extension(), "csv");
}

std::vector<std::vector<std::string>> records(std::string_view text, char delimiter = ',') {
  std::vector<std::vector<std::string>> result;
  CsvReader reader(text, delimiter);
  while (reader.next()) {
    result.emplace_back();
    for (const CsvCell& cell : reader.cells()) result.back().emplace_back(cell.text);
  }
  return result;
}

using Records = std::vector<std::vector<std::string>>;

TEST(Csv, QuotesLineEndsAndRaggedRows) {
  EXPECT_EQ(records("a,b\r\n1,2\r\n"), (Records{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(records("a,b,\n1"), (Records{{"a", "b", ""}, {"1"}}));
  EXPECT_EQ(records("a,"), (Records{{"a", ""}}));
  EXPECT_EQ(records("\"a,b\",\"say \"\"hi\"\"\"\n"), (Records{{"a,b", "say \"hi\""}}));
  EXPECT_EQ(records("\"two\nlines\",x\ny"), (Records{{"two\nlines", "x"}, {"y"}}));
  EXPECT_EQ(records("\n\n a , b \n\r\n"), (Records{{"a", "b"}}));
  EXPECT_EQ(records("\" a \", \"b\""), (Records{{" a ", "b"}}));
  EXPECT_EQ(records("\"\"\n"), (Records{{""}}));
  EXPECT_EQ(records("a\tb c", '\t'), (Records{{"a", "b c"}}));
  EXPECT_EQ(records("\"a\"b,c"), (Records{{"ab", "c"}}));
}

TEST(Csv, LinesAndColumns) {
  CsvReader reader("h,i\n\"x\ny\",z\nq,r", ',');
  ASSERT_TRUE(reader.next());
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 2U);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.line(), 4U);
  EXPECT_EQ(reader.cells()[1].column, 3U);
  CsvReader open("\"never closed\nx", ',');
  ASSERT_TRUE(open.next());
  EXPECT_TRUE(open.unterminated());
}

TEST(Csv, WhatIsWrittenReadsBack) {
  for (const std::string cell : {"a", "a,b", "say \"hi\"", " blank ", "line\nbreak", "cr\r", "\t", "\"", "a\rb", ";"}) {
    std::string line;
    append_csv_cell(line, cell, ',');
    line += ",end\r\n";
    EXPECT_EQ(records(line), (Records{{cell, "end"}}));
  }
}

TEST(Csv, Delimiter) {
  EXPECT_EQ(guess_delimiter("a;b;c,d\n1,2,3,4,5"), ';');
  EXPECT_EQ(guess_delimiter("a\tb\n"), '\t');
  EXPECT_EQ(guess_delimiter("\"a;b;c\",d\n"), ',');
  EXPECT_EQ(guess_delimiter("a"), ',');
}

TEST(Table, NumbersTextsAndMissing) {
  const Table table = parse_table("x,class,y\n1,a,.28\nNA,,+3\n2.5,b,?\n", "t.csv");
  ASSERT_EQ(table.columns.size(), 3U);
  EXPECT_EQ(table.num_rows, 3U);
  EXPECT_TRUE(table.columns[0].is_numeric());
  EXPECT_TRUE(std::isnan(table.columns[0].numbers[1]));
  EXPECT_EQ(table.columns[0].numbers[2], 2.5);
  EXPECT_EQ(table.columns[2].numbers[0], 0.28);
  EXPECT_EQ(table.column("class").texts, (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(table.find("none"), nullptr);
  EXPECT_THROW(table.column("none"), DataError);
}

TEST(Table, RaggedRowsAreNamed) {
  try {
    parse_table("a,b\n1,2\n3\n4,5,6\n", "t.csv");
    FAIL() << "accepted";
  } catch (const DataError& error) {
    ASSERT_EQ(error.diagnostics().size(), 2U);
    EXPECT_EQ(error.diagnostics()[0].to_string(), "t.csv:3:1: found 1 cells, expected 2 as in the header");
    EXPECT_EQ(error.diagnostics()[1].line, 4U);
  }
}

TEST(Table, InfinityIsNoNumber) {
  EXPECT_FALSE(parse_table("a\n1\ninf\n", "t.csv").columns[0].is_numeric());
  EXPECT_FALSE(parse_table("a\n1\n1e999\n", "t.csv").columns[0].is_numeric());
}

TEST(Text, Patterns) {
  EXPECT_TRUE(matches_pattern("Write-in-120", "write-in*"));
  EXPECT_TRUE(matches_pattern("Uncertified Write In", "*write*in*"));
  EXPECT_FALSE(matches_pattern("Joe", "write*"));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_FALSE(matches_pattern("x", ""));
}

TEST(Text, Utf8) {
  bool converted = false;
  EXPECT_EQ(to_utf8("Fr\xfc"
                    "hst\xfc"
                    "ck \x80",
                    converted),
            "Frühstück €");
  EXPECT_TRUE(converted);
  EXPECT_TRUE(is_utf8("Frühstück €"));
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
  EXPECT_FALSE(is_utf8("\xc0\x80"));
  EXPECT_FALSE(is_utf8("\xe2\x82"));
}

TEST(Text, NumbersReadBack) {
  for (const double value : {0.1, 1.0, 1e15, 123456789.0, 1e300, -0.0, 5e-324, 2.5, 1e16}) {
    std::string text;
    append_number(text, value);
    ASSERT_TRUE(parse_number(text)) << text;
    EXPECT_EQ(*parse_number(text), value);
    EXPECT_EQ(std::signbit(*parse_number(text)), std::signbit(value));
  }
}

}  // namespace
}  // namespace caucus
