// The seeds, every prefix and some damaged forms of them, and all inputs that once broke a parser, without a fuzzer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "check.h"
#include "seeds.h"
#include "support/source_dir.h"

namespace caucus::fuzz {
namespace {

TEST(Fuzz, SeedsAreReadAndRoundTrip) {
  for (const Seed& seed : seeds()) {
    ReadOptions options;
    options.format = seed.format;
    EXPECT_NO_THROW(parse_dataset(seed.text, "x", options)) << name_of(seed.format) << "\n" << seed.text;
    EXPECT_NO_THROW(check_reader(seed.format, seed.text)) << name_of(seed.format) << "\n" << seed.text;
    EXPECT_NO_THROW(check_reader(Format::automatic, seed.text));
    EXPECT_NO_THROW(check_table(seed.text));
  }
}

TEST(Fuzz, DamagedSeedsDoNoHarm) {
  for (const Seed& seed : seeds()) {
    for (std::size_t cut = 0; cut < seed.text.size(); ++cut) {
      EXPECT_NO_THROW(check_reader(seed.format, std::string_view(seed.text).substr(0, cut)));
      std::string damaged = seed.text;
      damaged[cut] = "{},:\"\n#0=-[]\r;"[cut % 14];
      EXPECT_NO_THROW(check_reader(seed.format, damaged)) << damaged;
    }
  }
}

// Every reader on every other format's text.
TEST(Fuzz, WrongFormatsDoNoHarm) {
  for (const Seed& seed : seeds())
    for (const FormatInfo& info : formats())
      EXPECT_NO_THROW(check_reader(info.format, seed.text)) << name_of(info.format) << "\n" << seed.text;
}

TEST(Fuzz, OldFindingsStayFixed) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::source_dir() + "/tests/fuzz/regressions")) {
    if (!entry.is_regular_file() || entry.path().filename() == "README.md") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    const auto format = enum_from_name<Format>(entry.path().parent_path().filename().string());
    if (format)
      EXPECT_NO_THROW(check_reader(*format, text.str())) << entry.path();
    else
      EXPECT_NO_THROW(check_table(text.str())) << entry.path();
  }
}

}  // namespace
}  // namespace caucus::fuzz
