// The family as its users meet it: options by name, model files.
#include "caucus/infer/pl_mixture/family.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "caucus/infer/pl_mixture/testing.h"
#include "caucus/model/plackett_luce_mixture.h"
#include "caucus/result/model_record.h"

namespace caucus::pl_mixture {
namespace {

using testing::Kind;

// A file to start from was not looked at unless init = file stood beside it.
TEST(Family, AnInitFileIsUsedOrRefused) {
  const std::string path = ::testing::TempDir() + "caucus-init.json";
  std::ofstream(path) << R"({"schema":"caucus.model/1","family":"pl","items":["i1","i2","i3","i4"],"components":)"
                      << R"([{"weight":0.5,"utilities":[1,0,0,-1]},{"weight":0.5,"utilities":[-1,0,0,1]}]})";
  Dataset data = testing::draw(testing::random_parameters(2, 4, 3), 200, Kind::complete, 3);
  data.items = {"i1", "i2", "i3", "i4"};
  const auto family = make_pl_mixture_family();
  const OptionMap from_file{{"components", "2"}, {"init-file", path}};
  OptionMap said = from_file, otherwise = from_file;
  said["init"] = "file";
  otherwise["init"] = "random";
  const FitOutcome one = family->fit(data, from_file, caucus::Run{}), two = family->fit(data, said, caucus::Run{});
  EXPECT_EQ(one.summary.trace.values, two.summary.trace.values);
  EXPECT_FALSE(one.summary.starts);
  EXPECT_THROW(family->fit(data, otherwise, caucus::Run{}), UsageError);
  std::filesystem::remove(path);
}

TEST(Family, RefusesByNameAndLoadsAHandWrittenModel) {
  const auto family = make_pl_mixture_family();
  const Dataset tied = testing::draw(testing::random_parameters(1, 5, 3), 50, Kind::ties, 3);
  try {
    family->fit(tied, {{"method", "em-lsr"}}, caucus::Run{});
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("em-lsr"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("ties"), std::string::npos);
  }
  const ModelDocument written = ModelDocument::parse(R"({"schema":"caucus.model/1","family":"pl","items":["a","b"],"components":)"
                                                     R"([{"weight":0.25,"utilities":[1,0]},{"weight":0.75,"utilities":[0,0]}]})",
                                                     "test");
  const auto model = family->load(written.record());
  Dataset data;
  data.items = {"a", "b"};
  RankingSetBuilder builder;
  builder.add(std::vector<ItemId>{0, 1});
  data.rankings = builder.build();
  EXPECT_NEAR(log_probs(*model, data, 1)[0], std::log(0.25 / (1.0 + std::exp(-1.0)) + 0.375), 1e-12);
  EXPECT_THROW(model->check(tied), DataError);
  EXPECT_EQ(model->sample({1000, 1, 1, 0}).data.rankings.total_weight(), 1000.0);
  const caucus::Run run;
  const FitOutcome outcome = family->fit(tied, {}, run);
  EXPECT_EQ(outcome.summary.num_parameters, 4 + 2);
  const ModelDocument file = ModelDocument::parse(model_text(*outcome.model), "test");
  const auto again = family->load(file.record());
  const auto before = log_probs(*outcome.model, tied, 1), after = log_probs(*again, tied, 1);
  double total = 0.0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(before[i], after[i], 1e-12);
    total += tied.rankings.weight(i) * before[i];
  }
  EXPECT_NEAR(total, outcome.summary.loglik, 1e-8 * std::abs(total));
}

}  // namespace
}  // namespace caucus::pl_mixture
