#include "caucus/report/data.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/model/generalized_mallows.h"
#include "caucus/model/mallows.h"
#include "caucus/report/parts.h"
#include "caucus/service/families.h"
#include "caucus/service/model_file.h"

namespace caucus {
namespace {

using Json = nlohmann::json;

Json pl_model(const std::vector<std::string>& items, const std::vector<std::pair<double, std::vector<double>>>& groups) {
  Json model = {{"schema", "caucus.model/1"}, {"family", "pl"}, {"items", items}, {"components", Json::array()}};
  for (const auto& [weight, utilities] : groups) model["components"].push_back({{"weight", weight}, {"utilities", utilities}});
  return model;
}

ReportModel loaded(const Json& model, const std::string& name = "m.json") { return read_report_model(model.dump(), name); }

std::vector<std::string> names(std::size_t n) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < n; ++i) result.push_back(fmt::format("item {}", i));
  return result;
}

// Two groups that like opposite things: easy to tell apart.
Json opposite(double weight = 0.7) {
  return pl_model(names(5), {{weight, {3, 1.5, 0, -1.5, -3}}, {1 - weight, {-3, -1.5, 0, 1.5, 3}}});
}

Dataset draw(const Json& model, std::size_t count, std::uint64_t seed = 3) {
  const ReportModel one = loaded(model);
  SampleRequest request;
  request.count = count;
  request.seed = seed;
  Dataset data = one.model->sample(request).data;
  data.source = "votes.soc";
  return data;
}

// First places, pairs and places of a strict model by summing over all orders.
struct Enumerated {
  std::vector<double> first, place, pairs;
};
template <class LogProb>
Enumerated enumerate(std::size_t n, LogProb&& log_prob) {
  Enumerated sums{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n * n)};
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  do {
    const double p = std::exp(log_prob(std::span<const ItemId>(order)));
    sums.first[order[0]] += p;
    for (std::size_t a = 0; a < n; ++a) {
      sums.place[order[a]] += p * static_cast<double>(a + 1);
      for (std::size_t b = a + 1; b < n; ++b) sums.pairs[order[a] * n + order[b]] += p;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return sums;
}

void expect_group(const report::GroupView& group, const std::vector<ItemId>& pair_items, const Enumerated& truth,
                  double tolerance) {
  const std::size_t n = truth.first.size(), m = pair_items.size();
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(group.first[i], truth.first[i], 1e-9);
    EXPECT_NEAR(group.mean_place[i], truth.place[i], tolerance * static_cast<double>(n));
  }
  for (std::size_t a = 0; a < m; ++a)
    for (std::size_t b = 0; b < m; ++b)
      if (a != b) {
        EXPECT_NEAR(group.pairs[a * m + b], truth.pairs[pair_items[a] * n + pair_items[b]], tolerance);
      }
}

TEST(ReportGroups, PlackettLuceAgreesWithEnumeration) {
  const std::vector<double> u = {0.9, -0.4, 0.3, -1.0, 0.2};
  const Json model = pl_model(names(5), {{1.0, u}});
  const report::ModelView view = report::view_model(*loaded(model).model, 1, 1);
  const Enumerated truth = enumerate(5, [&](std::span<const ItemId> order) {
    double total = 0.0;
    for (std::size_t p = 0; p < order.size(); ++p) {
      double rest = 0.0;
      for (std::size_t q = p; q < order.size(); ++q) rest += std::exp(u[order[q]]);
      total += u[order[p]] - std::log(rest);
    }
    return total;
  });
  EXPECT_EQ(view.num_draws, 0U);
  EXPECT_EQ(view.groups[0].order, (std::vector<ItemId>{0, 2, 4, 1, 3}));
  expect_group(view.groups[0], view.pair_items, truth, 1e-9);
  expect_group(view.everyone, view.pair_items, truth, 1e-9);
}

TEST(ReportGroups, MallowsAgreesWithEnumeration) {
  const std::vector<ItemId> center = {2, 0, 4, 1, 3};
  const Json model = {{"schema", "caucus.model/1"},
                      {"family", "mallows"},
                      {"items", names(5)},
                      {"components", {{{"weight", 1.0}, {"consensus", center}, {"theta", 0.6}}}}};
  const report::ModelView view = report::view_model(*loaded(model).model, 1, 1);
  const Mallows mallows(center, 0.6);
  expect_group(view.groups[0], view.pair_items,
               enumerate(5, [&](std::span<const ItemId> order) { return mallows.log_prob(RankingView(order)); }), 1e-9);
}

TEST(ReportGroups, GeneralizedMallowsAgreesWithEnumerationWithinSimulationError) {
  const std::vector<ItemId> center = {1, 3, 0, 2};
  const std::vector<double> theta = {1.1, 0.4, 0.9};
  for (const Code code : {Code::s, Code::v}) {
    const Json model = {{"schema", "caucus.model/1"},
                        {"family", "gmallows"},
                        {"items", names(4)},
                        {"components", {{{"weight", 1.0}, {"consensus", center}, {"theta", theta}, {"code", name_of(code)}}}}};
    const report::ModelView view = report::view_model(*loaded(model).model, 1, 1);
    EXPECT_GT(view.num_draws, 0U);
    const GeneralizedMallows exact(center, theta, code);
    // 4000 draws: a probability is off by more than 5 standard errors (0.04) with probability below 1e-6.
    expect_group(view.groups[0], view.pair_items,
                 enumerate(4, [&](std::span<const ItemId> order) { return exact.log_prob(order); }), 0.04);
  }
}

TEST(ReportData, AModelWrittenByHandIsEnough) {
  ReportRequest request;
  request.models.push_back(loaded(opposite()));
  const Json data = report_data(request);
  EXPECT_EQ(data["schema"], "caucus.report/1");
  const Json& model = data["models"][0];
  ASSERT_EQ(model["groups"].size(), 2U);
  EXPECT_EQ(model["groups"][0]["words"],
            "78% put item 0 first (0.2% elsewhere); item 4 is placed low, 4.8 on average (1.2 elsewhere).");
  EXPECT_FALSE(model.contains("memberships"));
  EXPECT_FALSE(data.contains("data"));
}

TEST(ReportData, MembershipsAndWordsComeFromTheRankings) {
  const Dataset data = draw(opposite(), 2000);
  ReportRequest request;
  request.models.push_back(loaded(opposite()));
  request.data = &data;
  const Json json = report_data(request);
  const Json& model = json["models"][0];
  double total = 0.0;
  for (std::size_t k = 0; k < 2; ++k) {
    const Json& group = model["memberships"]["groups"][k];
    total += group["count"].get<double>();
    EXPECT_NEAR(group["very_sure"].get<double>() + group["fairly_sure"].get<double>() + group["unsure"].get<double>(),
                group["count"].get<double>(), 1e-6);
    EXPECT_NEAR(model["groups"][k]["sure"].get<double>(), group["very_sure"].get<double>() / group["count"].get<double>(), 1e-5);
  }
  EXPECT_NEAR(total, 2000.0, 1e-6);
  const std::string words = model["groups"][1]["words"].get<std::string>();
  EXPECT_NE(words.find(" put item 4 first ("), std::string::npos) << words;
  EXPECT_NE(words.find("; item 0 is placed low, "), std::string::npos) << words;
  EXPECT_NE(words.find(" of its members belong to it clearly."), std::string::npos) << words;
  EXPECT_EQ(model["sentences"][0], "The 2,000 rankings fall into 2 groups.");
  EXPECT_EQ(json["data"]["num_rankings"], 2000);
  EXPECT_EQ(json["title"], "votes.soc");
  double firsts = 0.0;
  for (const Json& value : json["data"]["first_places"]) firsts += value.get<double>();
  EXPECT_NEAR(firsts, 2000.0, 0.01);
}

TEST(ReportData, TheMapTellsOppositeGroupsApart) {
  const Dataset data = draw(opposite(0.5), 1000);
  ReportRequest request;
  request.models.push_back(loaded(opposite(0.5)));
  request.data = &data;
  const Json map = report_data(request)["models"][0]["map"];
  double mean[2] = {0, 0}, weight[2] = {0, 0}, square = 0.0;
  for (std::size_t i = 0; i < map["x"].size(); ++i) {
    const std::size_t k = map["group"][i].get<std::size_t>();
    mean[k] += map["weight"][i].get<double>() * map["x"][i].get<double>();
    weight[k] += map["weight"][i].get<double>();
  }
  for (std::size_t k = 0; k < 2; ++k) mean[k] /= weight[k];
  for (std::size_t i = 0; i < map["x"].size(); ++i)
    square += map["weight"][i].get<double>() * std::pow(map["x"][i].get<double>() - mean[map["group"][i].get<std::size_t>()], 2);
  EXPECT_GT(std::abs(mean[0] - mean[1]), 3.0 * std::sqrt(square / (weight[0] + weight[1])))
      << "the first direction separates the groups";
}

TEST(ReportData, TheMapIsSampledWhenLarge) {
  const Dataset data = draw(pl_model(names(9), {{1.0, std::vector<double>(9, 0.0)}}), 5000);
  const report::BallotMap map = report::map_ballots(data, 300, 1);
  EXPECT_EQ(map.rankings.size(), 300U);
  EXPECT_TRUE(std::is_sorted(map.rankings.begin(), map.rankings.end()));
  EXPECT_EQ(std::adjacent_find(map.rankings.begin(), map.rankings.end()), map.rankings.end());
  EXPECT_GT(map.explained, 0.0);
  EXPECT_LE(map.explained, 1.0);
}

TEST(ReportData, SameRequestSameBytesForAnyNumberOfThreads) {
  const Dataset data = draw(opposite(), 500);
  std::string first;
  for (const int threads : {1, 2, 4}) {
    ReportRequest request;
    request.models.push_back(loaded(opposite()));
    request.data = &data;
    request.threads = threads;
    const std::string text = report_data(request).dump();
    if (first.empty()) first = text;
    EXPECT_EQ(text, first) << threads << " threads";
  }
}

TEST(ReportData, ChangesFollowTheGroupsWhenTheyAreRenumbered) {
  const Json model = opposite();
  Json turned = model;
  std::swap(turned["components"][0], turned["components"][1]);
  const Dataset data = draw(model, 800);
  for (const bool with_data : {true, false}) {
    ReportRequest request;
    request.models.push_back(loaded(model, "old.json"));
    request.models.push_back(loaded(turned, "new.json"));
    if (with_data) request.data = &data;
    const Json change = report_data(request)["changes"][0];
    EXPECT_EQ(change["match"], Json({1, 0}));
    if (!with_data) continue;
    EXPECT_EQ(change["sentences"][0], "100% of the rankings stay with the group they were with.");
    EXPECT_EQ(change["cross"][0][0], 0);
  }
}

TEST(ReportData, FiveHundredItemsAndAHundredGroupsStaySmall) {
  RandomStream stream(5);
  std::vector<std::pair<double, std::vector<double>>> groups;
  for (int k = 0; k < 100; ++k) {
    std::vector<double> u(500);
    for (double& value : u) value = stream.normal();
    groups.emplace_back(0.01, u);
  }
  std::vector<std::string> long_names;
  for (int i = 0; i < 500; ++i) long_names.push_back(fmt::format("Candidate {} of the Party for Progress and Order", i));
  ReportRequest request;
  request.models.push_back(loaded(pl_model(long_names, groups)));
  const Json data = report_data(request);
  EXPECT_EQ(data["models"][0]["groups"].size(), 100U);
  EXPECT_LT(data.dump().size(), 1600000U);
}

TEST(ReportData, SelectionAndComparisonAreReadAndPutIntoWords) {
  Json model = opposite();
  model["selection"] = {
      {"criterion", "bic"},
      {"chosen_k", 2},
      {"table",
       {{{"k", 1}, {"bic", 1200.0}, {"heldout_mean", nullptr}}, {{"k", 2}, {"bic", 1100.0}}, {{"k", 3}, {"bic", 1112.5}}}}};
  ReportRequest request;
  request.models.push_back(loaded(model));
  const Json compared = {
      {"schema", "caucus.compare/1"},
      {"folds", 5},
      {"table",
       {{{"label", "pl"}, {"heldout_mean", -3.1}, {"heldout_se", 0.02}, {"behind_best", 0.0}, {"behind_se", 0.0}},
        {{"label", "mallows"},
         {"heldout_mean", -3.3},
         {"heldout_se", 0.02},
         {"behind_best", 0.2},
         {"behind_se", 0.01},
         {"peak_bytes", 5e7}},
        {{"label", "gmallows"}, {"heldout_mean", -3.11}, {"heldout_se", 0.02}, {"behind_best", 0.01}, {"behind_se", 0.01}},
        {{"label", "m4"}, {"refused", "takes complete rankings only"}}}}};
  request.comparison = parse_comparison(compared.dump(), "c.json");
  const Json data = report_data(request);
  EXPECT_EQ(data["selection"]["sentences"], Json({"By BIC, 2 groups are best.", "Next comes 3, behind by 12.5."}));
  EXPECT_EQ(data["comparison"]["sentences"][1], "gmallows is not clearly worse.");
  EXPECT_EQ(data["comparison"]["sentences"][2], "mallows is clearly worse (by more than two standard errors).");
  EXPECT_EQ(data["comparison"]["left_out"][0]["name"], "m4");
  EXPECT_EQ(data["comparison"]["table"][1]["difference"], -0.2);
  EXPECT_EQ(data["comparison"]["table"][1]["memory_mb"], 50);
}

TEST(ReportData, TracesThatHoldTheWarmUpSayHowLongItWas) {
  FitSummary summary;
  summary.iterations = 40;
  summary.options["burnin"] = "30";
  Posterior& posterior = summary.posterior.emplace();
  posterior.num_draws = 20;
  posterior.quantities.push_back({"log_joint", 0.0, {}, {}, {std::vector<double>(20, 1.0), std::vector<double>(20, 2.0)}});
  posterior.quantities.push_back({"loglik", 0.0, {}, {}, {std::vector<double>(10, 1.0), std::vector<double>(10, 2.0)}});
  const Json traces = report::traces_json(summary);
  EXPECT_EQ(traces[0]["burnin"], 30.0);
  EXPECT_EQ(traces[0]["chains"][0]["iterations"].back(), 38);  // every second sweep
  EXPECT_FALSE(traces[1].contains("burnin"));
}

TEST(ReportData, ClusterCountsAndCoClusteringOfADirichletProcess) {
  FitSummary summary;
  Posterior& posterior = summary.posterior.emplace();
  posterior.num_groups = {{2, 70}, {3, 30}};
  posterior.co_clustering = CoClustering{{0, 1, 0}, {{1.0, 0.1, 0.9}, {0.1, 1.0, 0.2}, {0.9, 0.2, 1.0}}};
  const Json clusters = report::clusters_json(summary, 2);
  EXPECT_EQ(clusters["num_clusters"], Json({{2, 70}, {3, 30}}));
  EXPECT_EQ(clusters["coclustering"]["labels"], Json({0, 0, 1}));
  EXPECT_EQ(clusters["coclustering"]["values"], Json({1000, 900, 100, 900, 1000, 200, 100, 200, 1000}));
}

TEST(ReportData, ASamplerThatEndedAsToldIsNoLimit) {
  FitSummary summary;
  summary.loglik = -10.0;
  summary.stop_reason = StopReason::iteration_limit;
  EXPECT_EQ(report::diagnostics_json(summary, nullptr, nullptr)[0]["good"], false);
  summary.posterior.emplace();
  const Json row = report::diagnostics_json(summary, nullptr, nullptr)[0];
  EXPECT_EQ(row["value"], "all rounds done");
  EXPECT_FALSE(row.contains("good"));
}

TEST(ReportData, IntervalsSayWhatTheyCover) {
  Json model = opposite();
  for (Json& component : model["components"]) component["weight_interval"] = {{"low", 0.4}, {"high", 0.8}, {"level", 0.9}};
  ReportRequest request;
  request.models.push_back(loaded(model));
  const Json group = report_data(request)["models"][0]["groups"][0];
  EXPECT_EQ(group["weight_interval"], Json({0.4, 0.8}));
  EXPECT_EQ(group["weight_level"], 0.9);
}

TEST(ReportData, ARegressionHasCoefficientsIntervalsAndScores) {
  Json model = {{"schema", "caucus.regression/1"},
                {"family", "pl-regression"},
                {"method", "gibbs"},
                {"classes", {"no", "yes"}},
                {"covariates", {{{"name", "age"}, {"mean", 40.0}, {"scale", 10.0}}}},
                {"features", {{{"name", "exp(age)"}}, {{"name", "exp(-age)"}}, {{"name", "offset"}}}},
                {"lambda", {{0.1, 0.5, 0.2}, {0.6, 0.0, 0.3}}},
                {"draws", Json::array()}};
  for (int d = 0; d <= 40; ++d) model["draws"].push_back({{0.1, 0.01 * d, 0.2}, {0.6, 0.0, 0.3}});
  ReportRequest request;
  request.models.push_back(loaded(model));
  ASSERT_EQ(request.models[0].model, nullptr);
  request.class_scores = ClassScores{{0.9, 0.1, 0.2, 0.8, 0.6, 0.4, 0.3, 0.7}, {0, 1, 1, 1}};
  const Json one = report_data(request)["models"][0];
  const Json& regression = one["regression"];
  EXPECT_EQ(regression["intervals"][0][1], Json({0.01, 0.39}));
  EXPECT_EQ(regression["num_nonzero"], 5);
  EXPECT_EQ(regression["confusion"], Json({{1, 0}, {1, 2}}));
  EXPECT_EQ(regression["misclassification"], 0.25);
  EXPECT_EQ(one["sentences"], Json({"For no speak most: exp(-age) and exp(age).", "For yes speak most: exp(age).",
                                    "On the data given with this report, 25% of the predictions are wrong."}));
  // Scores of the rows a model was fitted to flatter it: the page says which rows they are.
  request.class_scores->fitted_to_these = true;
  EXPECT_EQ(report_data(request)["models"][0]["sentences"][2],
            "On the data it was fitted to, 25% of the predictions are wrong. New data will be predicted less well.");
}

TEST(ReportData, RankingsOfOtherItemsAreRefusedByName) {
  Dataset data = draw(opposite(), 50);
  data.items[2] = "stranger";
  ReportRequest request;
  request.models.push_back(loaded(opposite()));
  request.data = &data;
  try {
    report_data(request);
    FAIL() << "expected an error";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("stranger"), std::string::npos);
  }
}

TEST(ReportWords, NumbersAndLists) {
  EXPECT_EQ(report::whole(1234567.0), "1,234,567");
  EXPECT_EQ(report::whole(999.0), "999");
  EXPECT_EQ(report::percent(0.314), "31%");
  EXPECT_EQ(report::percent(0.0004), "under 0.1%");
  EXPECT_EQ(report::list_words({"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(report::rounded(std::nan("")), nullptr);
  EXPECT_EQ(report::rounded(0.123456789), 0.123457);
  EXPECT_EQ(report::rounded(123456789.0), 123456789);
  EXPECT_EQ(report::rounded(-1234567.89), -1234568.0);
}

}  // namespace
}  // namespace caucus
