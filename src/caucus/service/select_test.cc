#include "caucus/service/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "caucus/base/random.h"
#include "caucus/service/compare.h"
#include "caucus/service/families.h"
#include "caucus/service/model_file.h"
#include "caucus/service/selection_rule.h"

namespace caucus {
namespace {

constexpr std::size_t num_items = 7;

// A mixture of K clearly different groups, as a model file of the family.
nlohmann::json separated_mixture(const std::string& family, int k, std::uint64_t seed) {
  RandomStream random(seed, Purpose::generate, 0);
  nlohmann::json model{{"schema", "caucus.model/1"}, {"family", family}};
  for (std::size_t i = 0; i < num_items; ++i) model["items"].push_back("i" + std::to_string(i + 1));
  std::vector<std::vector<ItemId>> centers;
  const auto distance = [](const std::vector<ItemId>& a, const std::vector<ItemId>& b) {
    std::size_t discordant = 0;
    const auto place = [](const std::vector<ItemId>& order, ItemId item) { return std::ranges::find(order, item) - order.begin(); };
    for (ItemId i = 0; i < num_items; ++i)
      for (ItemId j = 0; j < i; ++j) discordant += (place(a, i) < place(a, j)) != (place(b, i) < place(b, j)) ? 1 : 0;
    return discordant;
  };
  while (centers.size() < static_cast<std::size_t>(k)) {
    std::vector<ItemId> order(num_items);
    std::iota(order.begin(), order.end(), ItemId{0});
    random.shuffle(std::span<ItemId>(order));
    if (std::ranges::all_of(centers, [&](const auto& other) { return distance(order, other) >= 8; })) centers.push_back(order);
  }
  for (const auto& center : centers) {
    nlohmann::json component{{"weight", 1.0 / k}};
    if (family == "pl") {
      std::vector<double> utilities(num_items);
      for (std::size_t p = 0; p < num_items; ++p) utilities[center[p]] = 1.2 * (3.0 - static_cast<double>(p));
      component["utilities"] = utilities;
    } else {
      component["consensus"] = center;
      if (family == "mallows")
        component["theta"] = 1.2;
      else
        component["theta"] = std::vector<double>(num_items - 1, 1.2);
    }
    model["components"].push_back(component);
  }
  return model;
}

Dataset draw(const nlohmann::json& model, std::size_t count, std::uint64_t seed) {
  SampleRequest request;
  request.count = count;
  request.seed = seed;
  request.threads = 1;
  return parse_model(model.dump(), "truth").model->sample(request).data;
}

class SelectFinds : public testing::TestWithParam<std::string> {};

TEST_P(SelectFinds, TheGeneratingNumberOfGroups) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const int truth = 1 + static_cast<int>(seed % (GetParam() == "m4" ? 3 : 4));
    const Dataset data = draw(separated_mixture(GetParam(), truth, seed), GetParam() == "m4" ? 300 : 500, 100 + seed);
    SelectRequest request;
    request.family = GetParam();
    request.candidates = {1, 2, 3, 4};
    if (GetParam() != "m4") request.candidates.push_back(5);
    if (GetParam() != "pl") request.options["restarts"] = GetParam() == "m4" ? "2" : "4";
    caucus::Run run;
    run.seed = seed;
    run.threads = 2;
    const Selection selection = select(data, request, run);
    found += selection.chosen_k == truth ? 1 : 0;
    ASSERT_EQ(selection.table.size(), request.candidates.size());
    // A fit begins near the one before it too, so more groups hardly ever fit worse.
    if (!find_family(GetParam()).info().starts_from_labels) continue;
    for (std::size_t i = 1; i < selection.table.size(); ++i)
      EXPECT_GE(selection.table[i].loglik, selection.table[i - 1].loglik - 1e-3 * std::abs(selection.table[i].loglik))
          << GetParam() << " seed " << seed << " K " << i + 1;
  }
  EXPECT_GE(found, 18) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Families, SelectFinds, testing::Values("pl", "mallows", "gmallows", "m4"),
                         [](const auto& one) { return one.param; });

// With one poor start of its own, a fit is saved by the one before it.
TEST(Select, StartsFromTheFitBefore) {
  int worse_alone = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Dataset data = draw(separated_mixture("pl", 6, seed), 500, 200 + seed);
    SelectRequest request;
    request.criterion = Criterion::ebic;
    request.options = {{"init", "random"}, {"restarts", "1"}, {"standard-errors", "off"}};
    request.candidates = {1, 2, 3, 4, 5, 6};
    caucus::Run run;
    run.seed = seed;
    run.threads = 1;
    const Selection chain = select(data, request, run);
    request.candidates = {6};
    const Selection alone = select(data, request, run);
    ASSERT_EQ(chain.table.size(), 6u);
    EXPECT_GE(chain.table[5].loglik, alone.table[0].loglik - 1e-6 * std::abs(alone.table[0].loglik)) << seed;
    worse_alone += alone.table[0].loglik < chain.table[5].loglik - 1e-4 * std::abs(chain.table[5].loglik) ? 1 : 0;
  }
  EXPECT_GT(worse_alone, 0);  // the start from labels is what makes the difference
}

TEST(Select, TheSameForAnyNumberOfThreads) {
  const Dataset data = draw(separated_mixture("mallows", 2, 5), 300, 6);
  for (const Criterion criterion : {Criterion::halves, Criterion::bic, Criterion::cv}) {
    std::vector<Selection> all;
    for (const int threads : {1, 2, 4}) {
      SelectRequest request;
      request.family = "mallows";
      request.candidates = {1, 2, 3};
      request.criterion = criterion;
      request.folds = 3;
      caucus::Run run;
      run.threads = threads;
      all.push_back(select(data, request, run));
    }
    for (const Selection& other : all) {
      ASSERT_EQ(other.table.size(), 3u);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(other.table[i].loglik, all[0].table[i].loglik);
        EXPECT_EQ(other.table[i].heldout_mean, all[0].table[i].heldout_mean);
        EXPECT_EQ(other.table[i].replication.has_value(), criterion == Criterion::halves);
        if (other.table[i].replication) {
          EXPECT_EQ(other.table[i].replication->groups, all[0].table[i].replication->groups);
        }
      }
    }
  }
}

// One ballot ties three items. A fit to the part without it knows nothing of such ties, so nobody scores that ballot.
TEST(Select, ATieOfASizeThatOnePartLacks) {
  RandomStream random(3, Purpose::generate, 0);
  RankingSetBuilder builder;
  std::vector<ItemId> order{0, 1, 2, 3};
  for (int i = 0; i < 60; ++i) {
    random.shuffle(std::span<ItemId>(order));
    if (i % 3 == 0)
      builder.add(order, 1.0, std::vector<std::uint8_t>{1, 0, 1, 1});
    else
      builder.add(order);
  }
  builder.add(order, 1.0, std::vector<std::uint8_t>{0, 0, 1, 1});
  Dataset data;
  data.items = {"a", "b", "c", "d"};
  data.rankings = builder.build();
  for (const Criterion criterion : {Criterion::halves, Criterion::cv, Criterion::holdout}) {
    SelectRequest request;
    request.candidates = {1, 2};
    request.criterion = criterion;
    request.folds = 3;
    const Selection selection = select(data, request, caucus::Run{});
    ASSERT_EQ(selection.table.size(), 2u);
    for (const SelectRow& row : selection.table) EXPECT_TRUE(std::isfinite(*row.heldout_mean));
    // In a holdout that one ballot may be among those that the fit saw.
    if (criterion != Criterion::holdout) {
      EXPECT_TRUE(selection.why.back().starts_with("Not scored: 1 ballot ")) << selection.why.back();
    }
  }
  CompareRequest request;
  request.contenders = {parse_contender("pl:k=1"), parse_contender("pl:k=2")};
  const Comparison comparison = compare(data, request, caucus::Run{});
  for (const CompareRow& row : comparison.table) EXPECT_FALSE(row.refused) << *row.refused;
  EXPECT_TRUE(comparison.note.starts_with("Not scored: 1 ballot ")) << comparison.note;
}

// A stop in the middle leaves whole rows.
TEST(Select, AStopKeepsWhatIsDone) {
  struct StopLater : Observer {
    Flow progress(const Progress& progress) override {
      return progress.phase == "fits" && progress.iteration >= 9 ? Flow::stop : Flow::proceed;
    }
  } observer;
  const Dataset data = draw(separated_mixture("pl", 2, 5), 400, 6);
  SelectRequest request;
  request.candidates = {1, 2, 3, 4, 5};
  request.criterion = Criterion::cv;
  request.folds = 3;
  caucus::Run run;
  run.threads = 2;
  run.observer = &observer;
  const Selection selection = select(data, request, run);
  EXPECT_TRUE(selection.interrupted);
  ASSERT_EQ(selection.table.size(), 2u);  // eight fits are two rows of four
  EXPECT_EQ(selection.chosen_k, 2);
}

// The penalty of one ballot is log 1: only how far each fit went tells the K apart, and that must not choose.
TEST(Select, OneBallotIsOneGroup) {
  const Dataset data = draw(separated_mixture("pl", 1, 5), 1, 6);
  for (const Criterion criterion : {Criterion::ebic, Criterion::bic, Criterion::aic, Criterion::icl}) {
    SelectRequest request;
    request.candidates = {1, 2, 3, 4, 5, 6};
    request.criterion = criterion;
    EXPECT_EQ(select(data, request, caucus::Run{}).chosen_k, 1) << name_of(criterion);
  }
}

// Rows by hand: held-out means of one ballot each way, gains over the rows before, agreement of the halves.
std::vector<SelectRow> rows(const std::vector<double>& means, const std::vector<double>& agreement, double error) {
  std::vector<SelectRow> table;
  for (std::size_t i = 0; i < means.size(); ++i) {
    SelectRow row;
    row.k = static_cast<int>(i) + 1;
    row.heldout_mean = means[i];
    row.heldout_se = error;
    for (std::size_t j = 0; j < i; ++j) row.ahead.push_back({means[i] - means[j], error});
    row.replication = Replication{{agreement[i]}, agreement[i], 1.0, 1.0};
    row.shares = {1.0 / row.k};
    table.push_back(row);
  }
  return table;
}

TEST(HalvesRule, TakesTheLastThatPredictsBetterAndComesBack) {
  const auto k = [](const std::vector<double>& means, const std::vector<double>& agreement) {
    return choose_row(rows(means, agreement, 0.01), Criterion::halves) + 1;
  };
  EXPECT_EQ(k({-3.0}, {1.0}), 1u);
  EXPECT_EQ(k({-3.0, -2.9, -2.895}, {1.0, 0.9, 0.9}), 2u);   // the third gains half a standard error
  EXPECT_EQ(k({-3.0, -2.9, -2.8}, {1.0, 0.9, 0.2}), 2u);     // the third is another one in each half
  EXPECT_EQ(k({-3.0, -2.9, -2.8}, {1.0, 0.2, 0.9}), 3u);     // two of three are merged at random, three are not
  EXPECT_EQ(k({-3.0, -2.985, -2.97}, {1.0, 0.9, 0.9}), 3u);  // small steps add up
  EXPECT_EQ(k({-3.0, -3.1, -3.2}, {1.0, 1.0, 1.0}), 1u);
  EXPECT_EQ(k({-3.0, -2.9, -2.8, -2.7, -2.6, -2.5}, {1.0, 0.9, 0.1, 0.1, 0.1, 0.9}), 2u);  // no search would have come so far
  EXPECT_EQ(k({-3.0, -2.9, -infinity}, {1.0, 0.9, 0.9}), 2u);  // a ballot that is impossible under the fit
}

TEST(HalvesRule, GoesOnUntilThreeInARowAreNotTaken) {
  const auto on = [](const std::vector<double>& means) {
    return goes_on(rows(means, std::vector<double>(means.size(), 0.9), 0.01), Criterion::halves);
  };
  EXPECT_TRUE(on({}));
  EXPECT_TRUE(on({-3.0}));
  EXPECT_TRUE(on({-3.0, -2.9}));
  EXPECT_TRUE(on({-3.0, -2.9, -2.9}));
  EXPECT_TRUE(on({-3.0, -2.9, -2.9, -2.9}));
  EXPECT_FALSE(on({-3.0, -2.9, -2.9, -2.9, -2.9}));
  EXPECT_TRUE(on({-3.0, -2.9, -2.9, -2.5}));
}

// No range is given: seven groups are found although nobody asked for seven, and the search ends three beyond.
TEST(Select, GoesOnAsLongAsItPays) {
  const Dataset data = draw(separated_mixture("pl", 7, 3), 4000, 4);
  caucus::Run run;
  run.threads = 2;
  const Selection selection = select(data, {}, run);
  EXPECT_EQ(selection.chosen_k, 7);
  EXPECT_EQ(selection.table.size(), 10u);
  ASSERT_EQ(selection.why.size(), 4u);
  EXPECT_TRUE(selection.why[0].starts_with("7 groups: ")) << selection.why[0];
  EXPECT_TRUE(selection.why[2].starts_with("8 groups: ")) << selection.why[2];
}

// Time that is up leaves the rows that are done, and says so.
TEST(Select, EndsWhenTimeIsUp) {
  const Dataset data = draw(separated_mixture("pl", 7, 3), 4000, 4);
  SelectRequest request;
  for (int k = 1; k <= 60; ++k) request.candidates.push_back(k);
  caucus::Run run;
  run.threads = 2;
  run.time_limit = 0.5;
  const Selection selection = select(data, request, run);
  EXPECT_LT(selection.table.size(), 60u);
  EXPECT_FALSE(selection.interrupted);
  EXPECT_TRUE(selection.out_of_time);
  ASSERT_NE(selection.chosen.model, nullptr);
  if (!selection.why.empty()) {
    EXPECT_NE(selection.why.back().find("Time was up"), std::string::npos) << selection.why.back();
  }
}

class CompareWithItself : public testing::TestWithParam<std::string> {};

// The same family under two seeds: a difference within two standard errors, or none at all.
TEST_P(CompareWithItself, ShowsNoSignificantDifference) {
  const Dataset data = draw(separated_mixture("mallows", 2, 11), 400, 12);
  CompareRequest request;
  const std::string joint = GetParam().find(':') == std::string::npos ? ":" : ";";
  request.contenders = {parse_contender(GetParam() + joint + "seed=1"), parse_contender(GetParam() + joint + "seed=2")};
  request.folds = 4;
  caucus::Run run;
  run.threads = 2;
  const Comparison comparison = compare(data, request, run);
  ASSERT_EQ(comparison.table.size(), 2u);
  for (const CompareRow& row : comparison.table) ASSERT_FALSE(row.refused) << *row.refused;
  const PairedDifference& behind = comparison.table[1].behind_best;
  EXPECT_LE(behind.mean, std::max(2.0 * behind.standard_error, 1e-6)) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Families, CompareWithItself,
                         testing::Values("pl:2", "mallows:2", "gmallows:2", "m4:2", "dpm:sweeps=400;burnin=100",
                                         "dpm:method=slice-gibbs;sweeps=400;burnin=100", "kde", "ebms"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
                           return name;
                         });

// A range of K belongs to one contender; one that ends too early is said.
TEST(Compare, EachContenderHasItsOwnRange) {
  const Dataset data = draw(separated_mixture("pl", 3, 11), 600, 12);
  CompareRequest request;
  request.contenders = {parse_contender("pl:1..4"), parse_contender("pl:k=1..2;restarts=3")};
  request.candidates = {1};
  caucus::Run run;
  run.threads = 2;
  const Comparison comparison = compare(data, request, run);
  ASSERT_EQ(comparison.table.size(), 2u);
  EXPECT_EQ(comparison.table[0].label, "pl:1..4");
  EXPECT_EQ(comparison.table[0].groups, 3.0);
  EXPECT_EQ(comparison.table[0].folds_at_largest, 0);
  EXPECT_EQ(comparison.table[1].groups, 2.0);
  EXPECT_EQ(comparison.table[1].folds_at_largest, 5);
  EXPECT_NE(comparison.note.find("pl:k=1..2;restarts=3 (5 of 5 folds)"), std::string::npos) << comparison.note;
  EXPECT_THROW(parse_contender("dpm:1..3"), UsageError);
  EXPECT_THROW(parse_contender("pl:3..1"), UsageError);
}

// And a worse family is told apart.
TEST(Compare, TellsFamiliesApart) {
  const Dataset data = draw(separated_mixture("mallows", 2, 11), 400, 12);
  CompareRequest request;
  request.contenders = {parse_contender("mallows:2"), parse_contender("mallows:1")};
  caucus::Run run;
  run.threads = 2;
  const Comparison comparison = compare(data, request, run);
  ASSERT_EQ(comparison.table.size(), 2u);
  EXPECT_EQ(comparison.table[0].label, "mallows:2");
  EXPECT_GT(comparison.table[1].behind_best.mean, 4.0 * comparison.table[1].behind_best.standard_error);
}

}  // namespace
}  // namespace caucus
