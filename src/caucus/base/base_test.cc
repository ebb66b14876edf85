#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>
#include <vector>

#include "caucus/base/numeric.h"
#include "caucus/base/options.h"
#include "caucus/base/parallel.h"
#include "caucus/base/random.h"
#include "caucus/base/renamed_options.h"

namespace caucus {

enum class Flavour { sweet, sour };
template <>
inline constexpr std::array<std::string_view, 2> enum_names<Flavour>{"sweet", "sour"};

namespace {

struct Options {
  int components = 2;
  double tolerance = 1e-8;
  std::optional<double> strength;
  Flavour flavour = Flavour::sour;
  bool polish = true;
  std::string start;
  static constexpr auto fields() {
    using O = Options;
    return std::tuple{field("components", &O::components, 1, 1000, "number of groups"),
                      field("tolerance", &O::tolerance, 0.0, 1.0, "when to stop"),
                      field("strength", &O::strength, 0.0, 10.0, "of the prior"),
                      field("flavour", &O::flavour, "which one"),
                      field("polish", &O::polish, "afterwards"),
                      field("start", &O::start, "a file")};
  }
};

std::string message_of(const OptionMap& values) {
  try {
    parse_options<Options>(values);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Options, DefaultsStandOnceAndRoundTrip) {
  const Options defaults = parse_options<Options>({});
  EXPECT_EQ(defaults.components, 2);
  EXPECT_FALSE(defaults.strength.has_value());
  const OptionMap shown = show_options(defaults);
  EXPECT_EQ(shown.at("strength"), "auto");
  EXPECT_EQ(shown.at("flavour"), "sour");
  EXPECT_EQ(shown.at("polish"), "on");
  EXPECT_EQ(show_options(parse_options<Options>(shown)), shown);
}

TEST(Options, ReadsEveryKind) {
  const Options options = parse_options<Options>({{"components", "7"},
                                                  {"tolerance", "1e-3"},
                                                  {"strength", "0.5"},
                                                  {"flavour", "sweet"},
                                                  {"polish", "off"},
                                                  {"start", "a.json"}});
  EXPECT_EQ(options.components, 7);
  EXPECT_EQ(options.tolerance, 1e-3);
  EXPECT_EQ(options.strength, 0.5);
  EXPECT_EQ(options.flavour, Flavour::sweet);
  EXPECT_FALSE(options.polish);
  EXPECT_EQ(options.start, "a.json");
}

TEST(Options, OldWordsNameTheNewOnes) {
  EXPECT_EQ(renamed_option("starts", {"restarts", "iterations"}), "restarts");
  EXPECT_EQ(renamed_option("max-iterations", {"iterations", "sweeps"}), "iterations");
  EXPECT_EQ(renamed_option("iterations", {"sweeps", "burnin"}), "sweeps");
  EXPECT_EQ(renamed_option("iterations", {"iterations", "sweeps"}), "");
  EXPECT_EQ(renamed_option("errors", {"restarts"}), "");
}

TEST(Options, BadValuesAreNamed) {
  EXPECT_EQ(message_of({{"components", "0"}}), "components = 0 is outside [1, 1000]");
  EXPECT_EQ(message_of({{"components", "2.5"}}), "components = '2.5' is not a whole number");
  EXPECT_EQ(message_of({{"tolerance", "nan"}}), "tolerance = 'nan' is not a number");
  EXPECT_EQ(message_of({{"flavour", "salty"}}), "flavour = 'salty' is not one of sweet, sour");
  EXPECT_NE(message_of({{"colour", "red"}}).find("there is no option 'colour'"), std::string::npos);
  Options filled;
  filled.components = 0;
  EXPECT_THROW(validate_options(filled), UsageError);
}

TEST(Parallel, SameBitsForAnyNumberOfThreads) {
  std::vector<double> values(100003);
  RandomStream stream(3);
  for (double& value : values) value = stream.normal() * 1e8 + stream.uniform();
  const auto total = [&](int threads) {
    return parallel_fold(
        Blocks(values.size()), threads, [] { return 0.0; },
        [&](double& partial, std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) partial += values[i];
        },
        [](double& sum, double partial) { sum += partial; });
  };
  const double one = total(1);
  EXPECT_EQ(one, total(2));
  EXPECT_EQ(one, total(4));
  EXPECT_NEAR(one, std::accumulate(values.begin(), values.end(), 0.0), 1.0);
}

TEST(Parallel, BlocksCoverTheRangeOnce) {
  for (std::size_t size : {0u, 1u, 1023u, 1024u, 70000u, 1000000u}) {
    const Blocks blocks(size);
    std::size_t next = 0;
    for (std::size_t b = 0; b < blocks.count(); ++b) {
      EXPECT_EQ(blocks.begin(b), next);
      next = blocks.end(b);
    }
    EXPECT_EQ(next, size);
    EXPECT_LE(blocks.count(), 64u);
  }
}

TEST(Parallel, RunsEveryIndexAndPassesExceptionsOn) {
  std::vector<std::atomic<int>> hits(1000);
  parallel_for(hits.size(), 4, [&](std::size_t i) { ++hits[i]; });
  for (const auto& hit : hits) EXPECT_EQ(hit, 1);
  EXPECT_THROW(parallel_for(10, 2,
                            [](std::size_t i) {
                              if (i == 7) throw DataError("seven");
                            }),
               DataError);
}

TEST(Numeric, StableLogs) {
  EXPECT_EQ(log_sum_exp(std::vector<double>{}), -infinity);
  EXPECT_EQ(log_sum_exp(std::vector<double>{-infinity, -infinity}), -infinity);
  EXPECT_NEAR(log_sum_exp(std::vector<double>{-1000.0, -1000.0}), -1000.0 + std::log(2.0), 1e-12);
  EXPECT_NEAR(log1mexp(1e-10), std::log(1e-10), 1e-9);
  EXPECT_NEAR(log1mexp(50.0), -std::exp(-50.0), 1e-30);
}

}  // namespace
}  // namespace caucus
