#include "caucus/service/regress.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/evaluate/regression_scores.h"
#include "caucus/infer/pl_regression/predict.h"
#include "support/shared_data.h"

namespace caucus {
namespace {

using pl_regression::class_input;
using pl_regression::Input;
using pl_regression::InputRequest;
using pl_regression::Method;
using pl_regression::Options;
using pl_regression::parse_regression;
using pl_regression::PathPoint;
using pl_regression::predict_ballots;
using pl_regression::predict_table;
using pl_regression::Predictions;
using RegressionFit = pl_regression::Result;

struct Request {
  InputRequest input;
  Options options;
};
RegressionFit train_classes(const Table& table, const Request& request, const Run& run) {
  return pl_regression::fit(class_input(table, request.input), request.options, run);
}
RegressionFit train_rankings(const Dataset& data, const Request& request, const Run& run) {
  return pl_regression::fit(pl_regression::ranking_input(data, request.input), request.options, run);
}

// Three classes that a number and a text tell apart, mostly.
Table example(std::size_t rows, std::uint64_t seed) {
  RandomStream stream(seed);
  Table table;
  table.source = "example.csv";
  table.num_rows = rows;
  Column size{"size", {}, {}}, noise{"noise", {}, {}}, colour{"colour", {}, {}}, kind{"kind", {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t k = stream.below(3);
    kind.texts.push_back(std::string(1, static_cast<char>('a' + k)));
    size.numbers.push_back(10.0 * static_cast<double>(k) + 3.0 * stream.normal());
    noise.numbers.push_back(stream.normal());
    colour.texts.push_back(stream.uniform() < 0.8 ? (k == 1 ? "red" : "blue") : "green");
  }
  table.columns = {size, noise, colour, kind};
  return table;
}

Request request(Method method) {
  Request result;
  result.options.method = method;
  result.input.target = "kind";
  result.options.sweeps = 600;
  return result;
}

TEST(Regression, EveryMethodLearnsAndItsFileSaysTheSame) {
  const Table train_table = example(150, 1), test_table = example(200, 2);
  for (const Method method : {Method::em, Method::gibbs, Method::variational, Method::logit_lasso}) {
    const RegressionFit fit = train_classes(train_table, request(method), {});
    EXPECT_TRUE(std::isfinite(fit.summary.loglik));
    EXPECT_TRUE(std::isfinite(fit.summary.log_posterior));
    EXPECT_LT(fit.summary.loglik, 0.0);
    EXPECT_EQ(fit.summary.sampling.has_value(), method == Method::gibbs || method == Method::logit_lasso);
    Table shuffled = test_table;
    std::reverse(shuffled.columns.begin(), shuffled.columns.end());
    const Predictions predictions = predict_table(fit.model, shuffled, {});
    ASSERT_EQ(predictions.labels.size(), 200u);
    const PredictionScores scores = score_predictions(predictions).value();
    EXPECT_LT(scores.misclassification, 0.25) << name_of(method);
    EXPECT_GT(scores.auc.value(), 0.9) << name_of(method);
    for (Eigen::Index i = 0; i < predictions.probabilities.rows(); ++i)
      EXPECT_NEAR(predictions.probabilities.row(i).sum(), 1.0, 1e-9);
    const pl_regression::Loaded again = parse_regression(model_text(fit), "m.json");
    EXPECT_EQ(predict_table(again.model, test_table, {}).probabilities, predictions.probabilities) << name_of(method);
    EXPECT_TRUE(nlohmann::json::parse(model_text(again)) == nlohmann::json::parse(model_text(fit))) << name_of(method);
  }
}

TEST(Regression, FileKeysOfTheContract) {
  const RegressionFit fit = train_classes(example(60, 1), request(Method::em), {});
  const auto json = nlohmann::json::parse(model_text(fit));
  EXPECT_EQ(json["schema"], "caucus.regression/1");
  EXPECT_EQ(json["family"], "pl-regression");
  EXPECT_EQ(json["classes"], nlohmann::json({"a", "b", "c"}));
  ASSERT_EQ(json["features"].size(), 8u);  // 2 numbers twice, 3 colours, offset
  for (const char* key : {"name", "kind", "mean", "scale"}) EXPECT_TRUE(json["features"][0].contains(key));
  EXPECT_EQ(json["lambda"].size(), 3u);
  EXPECT_EQ(json["lambda"][0].size(), 8u);
  EXPECT_EQ(json["fit"]["loglik"], json["fit"]["log_posterior"]) << "em is maximum likelihood by default";
}

TEST(Regression, ShapeByCrossValidation) {
  Request asked = request(Method::em);
  asked.options.a = "cv";
  const RegressionFit fit = train_classes(example(60, 1), asked, {});
  EXPECT_EQ(fit.summary.cross_validation.size(), 12u);
  double best = infinity, chosen = 0.0;
  for (const pl_regression::ShapeTrial& row : fit.summary.cross_validation)
    if (row.log_loss < best) best = row.log_loss, chosen = row.a;
  EXPECT_EQ(fit.model.a, chosen);
}

TEST(Regression, WrongRequestsAreRefusedWithARemedy) {
  const Table table = example(40, 1);
  const auto message = [&](auto&& change) {
    Request asked = request(Method::em);
    Table data = table;
    change(asked, data);
    try {
      train_classes(data, asked, {});
      return std::string("accepted");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_NE(message([](auto& r, auto&) { r.input.target = "klass"; }).find("klass"), std::string::npos);
  EXPECT_NE(message([](auto& r, auto&) {
              r.options.a = "2";
              r.options.b = 0.0;
            }).find("b > 0"),
            std::string::npos);
  EXPECT_NE(message([](auto& r, auto&) { r.options.a = "-1"; }).find("outside"), std::string::npos);
  EXPECT_NE(message([](auto& r, auto&) { r.options.a = "many"; }).find("a number"), std::string::npos);
  EXPECT_NE(message([](auto& r, auto&) { r.options.a = "learn"; }).find("gibbs"), std::string::npos);
  EXPECT_NE(message([](auto& r, auto&) {
              r.options.method = Method::gibbs;
              r.options.burnin = 600;
            }).find("burn-in"),
            std::string::npos);
  EXPECT_NE(message([](auto& r, auto&) { r.input.ignore = {"nope"}; }).find("nope"), std::string::npos);
  EXPECT_NE(message([](auto& r, auto&) { r.input.features.formulas = {"exp(height)"}; }).find("height"), std::string::npos);
  EXPECT_NE(message([](auto&, auto& t) { t.columns[0].numbers[3] = std::nan(""); }).find("example.csv: row 4, column 'size'"),
            std::string::npos);
  EXPECT_NE(message([](auto&, auto& t) { t.columns[3].texts[2] = ""; }).find("row 3"), std::string::npos);
  EXPECT_NE(message([](auto&, auto& t) { t.columns[3].texts.assign(40, "a"); }).find("at least two"), std::string::npos);
  EXPECT_NE(message([](auto& r, auto&) { r.input.target = "size"; }).find("different values"), std::string::npos);
  const RegressionFit fit = train_classes(table, request(Method::em), {});
  const std::string text = model_text(fit);
  EXPECT_THROW(parse_regression("{}", "m"), DataError);
  EXPECT_THROW(parse_regression(text.substr(0, text.size() / 2), "m"), DataError);
  auto json = nlohmann::json::parse(text);
  json["lambda"][0].erase(0);
  EXPECT_THROW(parse_regression(json.dump(), "m"), DataError);
  json = nlohmann::json::parse(text);
  json["lambda"][1][0] = -1.0;
  EXPECT_THROW(parse_regression(json.dump(), "m"), DataError);
}

TEST(Regression, MissingValuesAtPrediction) {
  Table table = example(60, 1);
  Request asked = request(Method::em);
  asked.input.features.missing = MissingValues::mean;
  const RegressionFit fit = train_classes(table, asked, {});
  table.columns[0].numbers[5] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(predict_table(fit.model, table, {}).rows.size(), 60u);
  EXPECT_EQ(predict_table(fit.model, table, MissingValues::drop).rows.size(), 59u);
  EXPECT_THROW(predict_table(fit.model, table, MissingValues::error), DataError);
}

TEST(Regression, CheckpointFileIsResumed) {
  const std::string path = (std::filesystem::temp_directory_path() / fmt::format("caucus-regression-{}.cbor", ::getpid())).string();
  std::filesystem::remove(path);
  const Table table = example(40, 1);
  Request asked = request(Method::gibbs);
  const RegressionFit straight = train_classes(table, asked, {});
  struct Stop : Observer {
    Flow progress(const Progress& progress) override { return progress.iteration >= 100 ? Flow::stop : Flow::proceed; }
  } stop;
  asked.options.checkpoint = path;
  caucus::Run stopped;
  stopped.observer = &stop;
  const RegressionFit partial = train_classes(table, asked, stopped);
  EXPECT_EQ(partial.summary.stop_reason, StopReason::interrupted);
  const RegressionFit resumed = train_classes(table, asked, {});
  EXPECT_EQ(resumed.model.lambda, straight.model.lambda);
  EXPECT_EQ(resumed.summary.sampling->ess_min, straight.summary.sampling->ess_min);
  // More sweeps go on from there, if the burn-in is the one it had.
  asked.options.sweeps = 900;
  EXPECT_THROW(train_classes(table, asked, {}), DataError);
  asked.options.burnin = 300;
  const RegressionFit longer = train_classes(table, asked, {});
  asked.options.checkpoint.clear();
  EXPECT_EQ(longer.model.lambda, train_classes(table, asked, {}).model.lambda);
  asked.options.checkpoint = path;
  caucus::Run other;
  other.seed = 2;
  try {
    train_classes(table, asked, other);
    ADD_FAILURE() << "a checkpoint of another seed was taken";
  } catch (const DataError& failure) {
    EXPECT_NE(std::string(failure.what()).find(path), std::string::npos) << failure.what();
  }
  std::filesystem::remove(path);
}

Dataset ballots(std::size_t rows) {
  RandomStream stream(3);
  Dataset data;
  data.source = "ballots.csv";
  data.items = {"x", "y", "z"};
  RankingSetBuilder builder;
  Column age{"age", {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    age.numbers.push_back(stream.normal());
    std::vector<double> strength{std::exp(2.0 * age.numbers.back()), 1.0, std::exp(-2.0 * age.numbers.back())};
    std::vector<ItemId> order;
    for (int t = 0; t < 2; ++t) {
      order.push_back(static_cast<ItemId>(stream.categorical(strength)));
      strength[order.back()] = 0.0;
    }
    builder.add(order);
  }
  data.rankings = builder.build();
  data.covariates = {age};
  return data;
}

TEST(Regression, CovariatesExplainBallots) {
  const Dataset data = ballots(300);
  for (const Method method : {Method::em, Method::gibbs, Method::variational}) {
    Request asked = request(method);
    asked.input.target.clear();
    const RegressionFit fit = train_rankings(data, asked, {});
    // Better than the best that ignores the covariate by far more than chance: a gain of 2 per parameter is BIC-like.
    Request blind = asked;
    blind.options.method = Method::em;
    Dataset constant = data;
    constant.covariates[0].numbers.assign(300, 1.0);
    EXPECT_GT(fit.summary.loglik, train_rankings(constant, blind, {}).summary.loglik + 30.0) << name_of(method);
    RowMatrix x(2, 1);
    x << 2.0, -2.0;
    const RowMatrix p = fit.model.predict(x);
    EXPECT_GT(p(0, 0), 0.6);
    EXPECT_GT(p(1, 2), 0.6);
    const pl_regression::Loaded again = parse_regression(model_text(fit), "m.json");
    EXPECT_EQ(again.model.predict(x), p);
  }
  Request rival = request(Method::logit_lasso);
  EXPECT_THROW(train_rankings(data, rival, {}), UsageError);
}

TEST(Regression, BallotsAreScoredByWholeBallot) {
  const Dataset data = ballots(120);
  for (const Method method : {Method::em, Method::gibbs, Method::variational}) {
    Request asked = request(method);
    asked.input.target.clear();
    const RegressionFit fit = train_rankings(data, asked, {});
    const BallotScores scores = score_ballots(predict_ballots(fit.model, data)).value();
    EXPECT_EQ(scores.num_scored, 120.0);
    if (method == Method::em) {
      EXPECT_NEAR(-120.0 * scores.log_loss.value(), fit.summary.loglik, 1e-8);
    }
    EXPECT_LT(scores.misclassification, 0.5);
    // Averaged over the posterior, the probabilities of all six orders of three still sum to one, and so do those of the three
    // first places.
    double whole = 0.0, first = 0.0;
    const auto probability = [&](std::vector<ItemId> order) {
      Dataset one;
      one.items = {"z", "y", "x"};  // found by name, not by place
      RankingSetBuilder builder;
      builder.add(order);
      one.rankings = builder.build();
      one.covariates = {Column{"age", {0.7}, {}}};
      return std::exp(predict_ballots(fit.model, one).log_prob.at(0));
    };
    std::vector<ItemId> order{0, 1, 2};
    do whole += probability(order);
    while (std::next_permutation(order.begin(), order.end()));
    for (ItemId item = 0; item < 3; ++item) first += probability({item});
    EXPECT_NEAR(whole, 1.0, 1e-9) << name_of(method);
    EXPECT_NEAR(first, 1.0, 1e-9) << name_of(method);
    RowMatrix x(1, 1);
    x << (0.7 - fit.model.features.covariates()[0].mean) / fit.model.features.covariates()[0].scale;
    EXPECT_NEAR(probability({2}), fit.model.predict(x)(0, 0), 1e-9) << name_of(method);
  }
}

TEST(Regression, UnusedFlagsAreSaid) {
  const Table table = example(40, 1);
  Request asked = request(Method::logit_lasso);
  EXPECT_TRUE(asked.options.a == "auto");
  const auto says = [](const RegressionFit& fit, const char* word) {
    return std::any_of(fit.summary.warnings.begin(), fit.summary.warnings.end(),
                       [&](const std::string& text) { return text.find(word) != std::string::npos; });
  };
  EXPECT_FALSE(says(train_classes(table, asked, {}), "lasso-shape"));
  asked.options.a = "0.5";
  EXPECT_TRUE(says(train_classes(table, asked, {}), "lasso-shape"));
}

TEST(Regression, StepsGoOnFromTheirCheckpoint) {
  const Table table = example(3000, 1);
  for (const Method method : {Method::em, Method::variational}) {
    const std::string path = ::testing::TempDir() + "steps.ckpt";
    std::filesystem::remove(path);
    Request asked = request(method);
    const RegressionFit whole = train_classes(table, asked, {});
    asked.options.checkpoint = path;
    asked.options.checkpoint_every = 0.0;
    for (int time = 0; time < 2; ++time) {
      const RegressionFit kept = train_classes(table, asked, {});
      EXPECT_EQ(kept.model.lambda, whole.model.lambda) << name_of(method);
      EXPECT_EQ(kept.summary.loglik, whole.summary.loglik);
    }
    asked.options.tolerance = 1e-4;
    EXPECT_THROW(train_classes(table, asked, {}), DataError);
    std::filesystem::remove(path);
  }
}

TEST(Regression, PathThinsOutAsTheShapeFalls) {
  Request asked = request(Method::em);
  asked.options.sweeps = 300;
  const Input input = class_input(example(60, 1), asked.input);
  const auto path = regularization_path(input, asked.options, {1.0, 0.5, 0.1}, {});
  ASSERT_EQ(path.size(), 12u);
  const auto nonzero = [](const RowMatrix& lambda) { return (lambda.array() > 0.0).count(); };
  EXPECT_GE(nonzero(path[0].lambda), nonzero(path[4].lambda));
  EXPECT_GE(nonzero(path[4].lambda), nonzero(path[8].lambda));
  for (const PathPoint& point : path) {
    if (point.estimate == "posterior-median") continue;
    EXPECT_NEAR(point.lambda.sum(), 1.0, 1e-6) << point.estimate;
  }
  const std::string csv = path_csv(path, input);
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), 1u + 12u * 3u * 8u);
  EXPECT_NE(path_svg(path, input).find("</svg>"), std::string::npos);
}

// Half of wine, by EM: about 94 % right with exp(x), exp(-x) in an independent program; six standard errors of 89 rows below that.
TEST(Regression, Wine) {
  const std::string wine = testing::shared_data("uci/wine.csv");
  CAUCUS_NEEDS(wine);
  const Table table = read_table(wine);
  Request asked = request(Method::em);
  asked.input.target = "class";
  const Input all = class_input(table, asked.input);
  std::vector<std::size_t> order(178), first, second;
  for (std::size_t i = 0; i < 178; ++i) order[i] = i;
  RandomStream(4).shuffle(std::span(order));
  Input half = all;
  half.data = all.data.select(std::span(order).first(89));
  const RegressionFit fit = pl_regression::fit(half, asked.options, {});
  const RegressionData rest = all.data.select(std::span(order).last(89));
  const RowMatrix p = class_probabilities(rest.w, fit.model.lambda);
  EXPECT_LT(misclassification(std::span(p.data(), static_cast<std::size_t>(p.size())), 3, rest.outcome), 0.06 + 6.0 * 0.025);
  EXPECT_EQ(fit.summary.stop_reason, StopReason::converged);
}

}  // namespace
}  // namespace caucus
