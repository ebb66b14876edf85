#include "caucus/evaluate/goodness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/infer/pl_mixture/family.h"
#include "caucus/infer/pl_mixture/fitted.h"

namespace caucus {
namespace {

using pl_mixture::FittedMixture;
using pl_mixture::Parameters;

constexpr std::size_t n = 6;

FittedMixture model_of(const Parameters& parameters, Unranked unranked = Unranked::last) {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < n; ++i) items.push_back(fmt::format("i{}", i + 1));
  return FittedMixture(items, unranked, parameters);
}

// Two groups that want the opposite of each other.
Parameters opposites(double strength) {
  Parameters result(2, n);
  result.weights = {0.5, 0.5};
  for (std::size_t i = 0; i < n; ++i) {
    result.component(0)[i] = strength * (2.5 - static_cast<double>(i));
    result.component(1)[i] = -result.component(0)[i];
  }
  return result;
}

enum class Cut { none, top, subset };

// Ballots of the model, listed in part; how much is listed has nothing to do with the preferences.
Dataset ballots(const FittedMixture& model, std::size_t count, std::uint64_t seed, Cut cut) {
  SampleRequest request;
  request.count = count;
  request.seed = seed;
  request.threads = 1;
  Dataset data = model.sample(request).data;
  if (cut == Cut::none) return data;
  data.unranked = cut == Cut::subset ? Unranked::absent : Unranked::last;
  RandomStream random(seed, Purpose::generate, 99);
  RankingSetBuilder builder;
  for (std::size_t row = 0; row < data.rankings.num_rows(); ++row) {
    const auto all = data.rankings[data.rankings.row_ranking(row)].items();
    std::vector<ItemId> kept(all.begin(), all.end());
    if (cut == Cut::top)
      kept.resize(1 + random.below(n - 1));
    else
      std::erase_if(kept, [&, gone = static_cast<ItemId>(random.below(n)),
                           too = static_cast<ItemId>(random.below(n))](ItemId item) { return item == gone || item == too; });
    builder.add(kept);
  }
  data.rankings = builder.build();
  return data;
}

const GoodnessCheck& check(const Goodness& goodness, const std::string& name) {
  const auto found = std::ranges::find(goodness.checks, name, &GoodnessCheck::name);
  EXPECT_NE(found, goodness.checks.end()) << name;
  return *found;
}

class GoodnessOfTheTruth : public testing::TestWithParam<Cut> {};

// Data of the model itself: each p-value is uniform on 1/20, ..., 20/20, so that "p <= 0.1" is wrong one time in ten.
TEST_P(GoodnessOfTheTruth, PValuesAreUniform) {
  const FittedMixture model = model_of(opposites(0.4), GetParam() == Cut::subset ? Unranked::absent : Unranked::last);
  GoodnessOptions options;
  options.replicates = 19;
  options.threads = 1;
  constexpr int trials = 400;
  std::map<std::string, std::vector<double>> values;
  for (int trial = 0; trial < trials; ++trial) {
    options.seed = static_cast<std::uint64_t>(10 + trial);
    for (const GoodnessCheck& one :
         goodness_of_fit(model, ballots(model, 120, 5000 + static_cast<std::uint64_t>(trial), GetParam()), options).checks)
      values[one.name].push_back(one.p_value);
  }
  EXPECT_EQ(values.size(), GetParam() == Cut::none ? 2u : 3u);
  for (auto& [name, p] : values) {
    ASSERT_EQ(p.size(), static_cast<std::size_t>(trials));
    // Four standard errors of a share of 400.
    for (const double level : {0.1, 0.5, 0.9}) {
      const auto below =
          static_cast<double>(std::ranges::count_if(p, [&](double value) { return value <= level + 1e-9; })) / trials;
      EXPECT_NEAR(below, level, 4.0 * std::sqrt(level * (1.0 - level) / trials)) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GoodnessOfTheTruth, testing::Values(Cut::none, Cut::top, Cut::subset));

// Fitted to the data it is held against, with as few as 120 ballots: the plain p-values never fall below a half, those of the
// refitted check do so half the time.
class GoodnessOfAFit : public testing::TestWithParam<Cut> {};

TEST_P(GoodnessOfAFit, RefittedPValuesAreUniform) {
  const FittedMixture truth = model_of(opposites(0.4), GetParam() == Cut::subset ? Unranked::absent : Unranked::last);
  const auto family = make_pl_mixture_family();
  const Refit refit = [&](const Dataset& data, std::span<const std::uint32_t> labels) {
    caucus::Run run;
    run.threads = 1;
    run.labels = labels;
    return family->fit(data, {{"components", "2"}, {"restarts", "1"}, {"standard-errors", "off"}}, run).model;
  };
  GoodnessOptions options;
  options.replicates = 19;
  options.threads = 1;
  constexpr int trials = 120;
  std::map<std::string, std::vector<double>> refitted, plain;
  for (int trial = 0; trial < trials; ++trial) {
    options.seed = static_cast<std::uint64_t>(10 + trial);
    const Dataset data = ballots(truth, 120, 7000 + static_cast<std::uint64_t>(trial), GetParam());
    const Goodness goodness = goodness_of_fit_refitted(truth, refit, data, options);
    EXPECT_TRUE(goodness.refitted);
    EXPECT_EQ(goodness.replicates, 19);
    for (const GoodnessCheck& one : goodness.checks) refitted[one.name].push_back(one.p_value);
    for (const GoodnessCheck& one : goodness_of_fit(*refit(data, {}), data, options).checks) plain[one.name].push_back(one.p_value);
  }
  const auto share_below = [&](const std::vector<double>& p, double level) {
    return static_cast<double>(std::ranges::count_if(p, [&](double value) { return value <= level + 1e-9; })) / trials;
  };
  for (const char* name : {"first places", "pairs"}) {
    ASSERT_EQ(refitted[name].size(), static_cast<std::size_t>(trials));
    // Five standard errors of a share of 120.
    for (const double level : {0.1, 0.5, 0.9})
      EXPECT_NEAR(share_below(refitted[name], level), level, 5.0 * std::sqrt(level * (1.0 - level) / trials)) << name;
    EXPECT_LT(share_below(plain[name], 0.5), 0.25) << name << ": the plain check is conservative";
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GoodnessOfAFit, testing::Values(Cut::none, Cut::top, Cut::subset));

// Two opposite groups, one fitted: refitting does not hide it.
TEST(Goodness, RefittedFindsAMissingGroup) {
  const Dataset data = ballots(model_of(opposites(1.0)), 600, 3, Cut::none);
  const auto family = make_pl_mixture_family();
  const Refit refit = [&](const Dataset& other, std::span<const std::uint32_t>) {
    return family->fit(other, {{"components", "1"}, {"standard-errors", "off"}}, caucus::Run{}).model;
  };
  GoodnessOptions options;
  options.replicates = 39;
  const std::unique_ptr<FittedModel> one = refit(data, {});
  const Goodness goodness = goodness_of_fit_refitted(*one, refit, data, options);
  EXPECT_EQ(check(goodness, "first places").p_value, 1.0 / 40.0);
  const Discrepancy& worst = check(goodness, "first places").worst[0];
  EXPECT_GT(std::abs(worst.z), 5.0);
  // What the fit expects, from its worths. Twenty simulated data sets, and the mean of 39 replicates: a standard deviation of 2.4.
  const std::vector<double> utilities = one->profile()[0].utilities;
  double total = 0.0;
  for (const double utility : utilities) total += std::exp(utility);
  const auto item = static_cast<std::size_t>(worst.what.back() - '1');
  EXPECT_NEAR(worst.expected, 600.0 * std::exp(utilities[item]) / total, 12.0);
}

// Ties that are events, and voters with several ballots, come back in the replicates as they were.
TEST(Goodness, RefittedKeepsVotersAndLengths) {
  const FittedMixture model = model_of(opposites(1.0));
  Dataset data = ballots(model, 200, 9, Cut::top);
  std::vector<std::uint32_t> of_row;
  for (std::uint32_t row = 0; row < 200; ++row) of_row.push_back(row / 2);
  set_voters(data, of_row, {}, std::vector<double>(100, 1.0));
  std::vector<std::size_t> lengths(n + 1, 0);
  for (std::size_t row = 0; row < 200; ++row) ++lengths[data.rankings.length(data.rankings.row_ranking(row))];
  int calls = 0;
  const Refit refit = [&](const Dataset& other, std::span<const std::uint32_t> labels) -> std::unique_ptr<FittedModel> {
    ++calls;
    EXPECT_EQ(other.voters.size(), 100u);
    EXPECT_TRUE(other.voters.share());
    EXPECT_EQ(labels.size(), other.rankings.size());
    std::vector<std::size_t> own(n + 1, 0);
    for (std::size_t row = 0; row < other.rankings.num_rows(); ++row) ++own[other.rankings.length(other.rankings.row_ranking(row))];
    EXPECT_EQ(own, lengths);
    return std::make_unique<FittedMixture>(model_of(opposites(1.0)));
  };
  GoodnessOptions options;
  options.replicates = 19;
  options.threads = 1;
  EXPECT_EQ(goodness_of_fit_refitted(model, refit, data, options).checks.size(), 3u);
  EXPECT_EQ(calls, 20);
}

// A run that is out of time gives no p-values rather than some from too few replicates.
TEST(Goodness, StopsWhenTold) {
  const FittedMixture model = model_of(opposites(0.4));
  const Dataset data = ballots(model, 100, 7, Cut::none);
  caucus::Run run;
  run.time_limit = 0.0;
  GoodnessOptions options;
  options.threads = 1;
  options.run = &run;
  const Goodness goodness = goodness_of_fit(model, data, options);
  EXPECT_EQ(goodness.replicates, 1);
  EXPECT_TRUE(goodness.checks.empty());
  EXPECT_EQ(goodness.stop_reason, StopReason::time_limit);
}

// Two opposite groups under a model of one: every candidate has half of each pair, so pairs agree, but the ends come first too
// often.
TEST(Goodness, AMissingGroupShowsInFirstPlaces) {
  const Dataset data = ballots(model_of(opposites(1.0)), 2000, 3, Cut::none);
  const Goodness goodness = goodness_of_fit(model_of(Parameters(1, n)), data, {});
  EXPECT_EQ(goodness.num_ballots, 2000u);
  EXPECT_EQ(check(goodness, "first places").p_value, 0.01);
  EXPECT_GT(check(goodness, "pairs").p_value, 0.01);
  const Discrepancy& worst = check(goodness, "first places").worst[0];
  EXPECT_TRUE(worst.what == "first places of i1" || worst.what == "first places of i6" || worst.what == "first places of i3" ||
              worst.what == "first places of i4")
      << worst.what;
  EXPECT_GT(std::abs(worst.z), 5.0);
  EXPECT_NEAR(worst.expected, 2000.0 / 6.0, 15.0);
}

TEST(Goodness, AWrongOrderShowsInPairs) {
  Parameters truth(1, n), wrong(1, n);
  for (std::size_t i = 0; i < n; ++i)
    truth.utilities[i] = 0.2 * (2.5 - static_cast<double>(i)), wrong.utilities[i] = -truth.utilities[i];
  const Goodness goodness = goodness_of_fit(model_of(wrong), ballots(model_of(truth), 1000, 4, Cut::none), {});
  EXPECT_EQ(check(goodness, "pairs").p_value, 0.01);
  EXPECT_EQ(check(goodness, "pairs").worst[0].what, "i1 above i6");
  EXPECT_GT(check(goodness, "pairs").worst[0].z, 5.0);
}

// Those who begin with i1 list one place only: the preferences fit, the lengths do not.
TEST(Goodness, LengthThatGoesWithPreferenceShowsInLengths) {
  Parameters truth(1, n);
  const FittedMixture model = model_of(truth);
  Dataset data = ballots(model, 1500, 5, Cut::none);
  RankingSetBuilder builder;
  for (std::size_t row = 0; row < data.rankings.num_rows(); ++row) {
    const auto all = data.rankings[data.rankings.row_ranking(row)].items();
    builder.add(all.first(all[0] == 0 ? 1 : 4));
  }
  data.rankings = builder.build();
  const Goodness goodness = goodness_of_fit(model, data, {});
  EXPECT_EQ(check(goodness, "ballot lengths").p_value, 0.01);
  EXPECT_EQ(check(goodness, "ballot lengths").worst[0].what, "places listed on ballots that begin with i1");
  EXPECT_LT(check(goodness, "ballot lengths").worst[0].z, -5.0);
  EXPECT_GT(check(goodness, "first places").p_value, 0.01);
}

TEST(Goodness, SameForAnyNumberOfThreads) {
  const FittedMixture model = model_of(opposites(0.4));
  const Dataset data = ballots(model, 300, 7, Cut::top);
  GoodnessOptions one, three;
  one.threads = 1;
  three.threads = 3;
  const Goodness a = goodness_of_fit(model, data, one), b = goodness_of_fit(model, data, three);
  for (std::size_t i = 0; i < a.checks.size(); ++i) EXPECT_EQ(a.checks[i].statistic, b.checks[i].statistic);
}

}  // namespace
}  // namespace caucus
