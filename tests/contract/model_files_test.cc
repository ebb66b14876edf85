// Model files that were tampered with: any value replaced by a number out of range, by null, by a text, or left out. Every reader
// of model files gives a data error or an answer in finite numbers, and soon.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "caucus/base/error.h"
#include "caucus/base/random.h"
#include "caucus/evaluate/goodness.h"
#include "caucus/evaluate/model_distance.h"
#include "caucus/evaluate/regression_scores.h"
#include "caucus/infer/pl_regression/fit.h"
#include "caucus/infer/pl_regression/predict.h"
#include "caucus/report/data.h"
#include "caucus/report/tables.h"
#include "caucus/service/families.h"
#include "caucus/service/model_file.h"
#include "caucus/service/reading.h"

namespace caucus {
namespace {

using Json = nlohmann::json;

// What is put in a value's place, as text of the file. An empty one leaves the key out.
const std::vector<std::string> replacements{"1e308", "-1e308", "1e-320", "1e400", "123456789012345678901234567890",
                                            "null",  "\"x\"",  "-1",     "0",     "18446744073709551615",
                                            "[]",    "{}",     "true",   "1e15",  "0.3",
                                            ""};
const std::string mark = "@here@";

// Paths to the values of a file: of a long list the first two, one in the middle and the last.
void collect(const Json& json, const Json::json_pointer& at, std::vector<Json::json_pointer>& paths) {
  if (!at.empty()) paths.push_back(at);
  if (json.is_object())
    for (const auto& [key, value] : json.items()) collect(value, at / key, paths);
  else if (json.is_array())
    for (std::size_t i = 0; i < json.size(); ++i)
      if (i < 2 || i + 1 == json.size() || i == json.size() / 2) collect(json[i], at / i, paths);
}

std::string tampered(Json json, const Json::json_pointer& at, const std::string& replacement) {
  if (replacement.empty()) {
    Json& parent = json.at(at.parent_pointer());
    if (parent.is_object())
      parent.erase(at.back());
    else
      parent.erase(static_cast<std::size_t>(std::stoul(at.back())));
    return json.dump();
  }
  json.at(at) = mark;
  std::string text = json.dump();
  return text.replace(text.find('"' + mark + '"'), mark.size() + 2, replacement);
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A case that never ends is named before the program gives up.
class Watchdog {
 public:
  void begin(const std::string& what) {
    what_ = what;
    begun_ = cpu_seconds();
  }
  double seconds() const { return cpu_seconds() - begun_; }

 private:
  std::string what_;
  std::atomic<double> begun_ = cpu_seconds();
  std::jthread thread_{[this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (cpu_seconds() - begun_ < 60.0) continue;
      std::fprintf(stderr, "does not end: %s\n", what_.c_str());
      std::abort();
    }
  }};
};

void expect_finite(std::span<const double> values, const char* what) {
  for (const double value : values)
    if (!std::isfinite(value)) {
      ADD_FAILURE() << what << ": " << value;
      return;
    }
}

// Neither a number nor a text of a report may be "nan" or "inf".
void expect_plain(const Json& json) {
  if (json.is_number_float() && !std::isfinite(json.get<double>())) ADD_FAILURE() << "not finite in the report";
  static const std::regex odd("(^|[^a-z])-?(nan|inf)([^a-z]|$)");
  if (json.is_string() && std::regex_search(json.get_ref<const std::string&>(), odd))
    ADD_FAILURE() << "in the report: " << json.get<std::string>();
  if (json.is_structured())
    for (const Json& child : json) expect_plain(child);
}

// Everything that is done with a model of rankings. Throws what the readers throw.
// One in eight has the rankings in its report, which takes most of the time.
void use(const std::string& text, const Dataset& data, const FittedModel& original, std::size_t number) {
  LoadedModel loaded = parse_model(text, "model.json");
  const FittedModel& model = *loaded.model;
  if (loaded.reading) recall_reading(*loaded.reading, {});
  const Dataset matched = match_items(data, model.items());
  model.check(matched);
  expect_finite(log_probs(model, matched, 1), "log P");
  const std::vector<double> members = memberships(model, matched, 1);
  expect_finite(members, "membership");
  double total = 0.0;
  for (const double value : members) total += value;
  EXPECT_NEAR(total, static_cast<double>(matched.rankings.size()), 1e-6);
  SampleRequest request;
  request.count = 5;
  EXPECT_EQ(model.sample(request).data.rankings.num_rows(), 5u);
  parse_model(model_text(model, &loaded.summary, {}, {}), "again.json");  // what we write we read
  if (!original.profile().empty() && !original.profile()[0].order.empty()) {
    const ModelDistance distance = distance_between(original, model);
    if (distance.utilities) expect_finite(std::span(&*distance.utilities, 1), "distance");
  }
  GoodnessOptions goodness;
  goodness.replicates = 19;
  goodness.threads = 1;
  for (const GoodnessCheck& check : goodness_of_fit(model, matched, goodness).checks)
    expect_finite(std::vector{check.statistic, check.p_value}, "check");
  ReportRequest report;
  report.models.push_back(read_report_model(text, "model.json"));
  if (number % 8 == 0) report.data = &matched;
  report.threads = 1;
  const Json page = report_data(report);
  expect_plain(page);
  report_tables(page);
}

// Tampers with every value of the file, or where using a model is dear with every `step`-th way; `use_it` reads and uses the text.
void tamper(const std::string& name, const std::string& text, const std::function<void(const std::string&, std::size_t)>& use_it,
            std::size_t step = 1) {
  const Json json = Json::parse(text);
  ASSERT_NO_THROW(use_it(text, 0)) << name;
  std::vector<Json::json_pointer> paths;
  collect(json, Json::json_pointer(), paths);
  Watchdog watchdog;
  std::size_t refused = 0, taken = 0, way = 0;
  for (const Json::json_pointer& path : paths)
    for (const std::string& replacement : replacements) {
      if (way++ % step != 0) continue;
      const std::string what = name + " " + path.to_string() + " = " + (replacement.empty() ? "(left out)" : replacement);
      SCOPED_TRACE(what);
      watchdog.begin(what);
      try {
        use_it(tampered(json, path, replacement), refused + taken);
        ++taken;
      } catch (const DataError& error) {
        ++refused;
        EXPECT_GT(std::string(error.what()).size(), 15u);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "no data error: " << error.what();
      }
      EXPECT_LT(watchdog.seconds(), 2.0) << "slow";
    }
  EXPECT_GT(refused, paths.size() / step) << name;
  EXPECT_GT(taken, 0u) << name;
  std::printf("%s: %zu values, %zu files refused, %zu used\n", name.c_str(), paths.size(), refused, taken);
}

Dataset ballots(bool ties = false) {
  Dataset data;
  data.source = "ballots";
  data.items = {"a", "b", "c", "d"};
  RankingSetBuilder builder;
  RandomStream stream(1, Purpose::generate);
  for (int i = 0; i < 24; ++i) {
    std::vector<ItemId> order{0, 1, 2, 3};
    if (i % 3 == 0) std::swap(order[0], order[3]), std::swap(order[1], order[2]);
    const std::size_t at = stream.below(3);
    std::swap(order[at], order[at + 1]);
    const std::vector<std::uint8_t> tied{1, 0, 1, 1};
    builder.add(order, 1.0, ties && i % 4 == 0 ? tied : std::vector<std::uint8_t>{});
  }
  data.rankings = builder.build();
  return data;
}

struct RankingCase {
  std::string name, family;
  OptionMap options;
  bool ties = false;
  std::size_t step = 1;
};
void PrintTo(const RankingCase& one, std::ostream* out) { *out << one.name; }

class ModelFileAbuse : public ::testing::TestWithParam<RankingCase> {};

TEST_P(ModelFileAbuse, ModelOfRankings) {
  const RankingCase& one = GetParam();
  const Dataset data = ballots(one.ties), strict = ballots();
  caucus::Run run;  // ::testing::Test has a Run of its own
  run.threads = 1;
  const FitOutcome outcome = find_family(one.family).fit(data, one.options, run);
  ReadOptions read;
  read.columns = {"first", "second"};
  const std::string text = model_text(*outcome.model, &outcome.summary, facts_of(data), {"test", "caucus fit"},
                                      Record().set("reading", reading_record(read, data.unranked)));
  tamper(
      one.name, text, [&](const std::string& changed, std::size_t number) { use(changed, strict, *outcome.model, number); },
      one.step);
}

INSTANTIATE_TEST_SUITE_P(
    Families, ModelFileAbuse,
    ::testing::Values(RankingCase{"pl_bootstrap", "pl", {{"components", "2"}, {"bootstrap", "4"}}},
                      RankingCase{"pl_ties", "pl", {{"components", "1"}}, true},
                      RankingCase{"pl_gibbs", "pl", {{"components", "2"}, {"method", "gibbs"}, {"sweeps", "24"}, {"burnin", "8"}}},
                      RankingCase{"mallows_bootstrap", "mallows", {{"components", "2"}, {"bootstrap", "4"}}},
                      RankingCase{"mallows_footrule", "mallows", {{"components", "1"}, {"distance", "footrule"}}, false, 37},
                      RankingCase{"gmallows", "gmallows", {{"components", "2"}}},
                      RankingCase{"m4", "m4", {{"components", "2"}, {"iterations", "10"}}, false, 11},
                      RankingCase{
                          "dpm", "dpm", {{"sweeps", "24"}, {"burnin", "8"}, {"predictive-draws", "3"}, {"chains", "2"}}, false, 3},
                      RankingCase{"kde", "kde", {}}, RankingCase{"ebms", "ebms", {}}),
    [](const auto& info) { return info.param.name; });

Table small_table() {
  Table table;
  table.source = "table.csv";
  table.num_rows = 12;
  Column size{"size", {}, {}}, color{"color", {}, {}}, kind{"kind", {}, {}};
  for (std::size_t i = 0; i < table.num_rows; ++i) {
    size.numbers.push_back(static_cast<double>((7 * i) % 12));
    color.texts.push_back(i % 3 == 0 ? "red" : "blue");
    kind.texts.push_back(i % 5 < 2 ? "yes" : "no");
  }
  table.columns = {size, color, kind};
  return table;
}

TEST(RegressionFileAbuse, EveryMethod) {
  using pl_regression::Method;
  const Table table = small_table();
  for (const Method method : {Method::em, Method::gibbs, Method::variational, Method::logit_lasso}) {
    pl_regression::InputRequest input;
    input.target = "kind";
    pl_regression::Options options;
    options.method = method;
    options.sweeps = 40;
    caucus::Run run;  // ::testing::Test has a Run of its own
    run.threads = 1;
    const std::string text = model_text(pl_regression::fit(pl_regression::class_input(table, input), options, run));
    tamper(std::string(name_of(method)), text, [&](const std::string& changed, std::size_t) {
      const pl_regression::Loaded loaded = pl_regression::parse_regression(changed, "model.json");
      const pl_regression::Predictions predictions = predict_table(loaded.model, table, {});
      expect_finite(std::span(predictions.probabilities.data(), static_cast<std::size_t>(predictions.probabilities.size())), "P");
      for (Eigen::Index i = 0; i < predictions.probabilities.rows(); ++i)
        EXPECT_NEAR(predictions.probabilities.row(i).sum(), 1.0, 1e-6);
      if (const auto scores = score_predictions(predictions)) {
        EXPECT_TRUE(std::isfinite(scores->misclassification));
        EXPECT_TRUE(!scores->log_loss || std::isfinite(*scores->log_loss));
      }
      pl_regression::parse_regression(model_text(loaded, loaded.data, loaded.provenance), "again.json");
      ReportRequest report;
      report.models.push_back(read_report_model(changed, "model.json"));
      report.threads = 1;
      const Json page = report_data(report);
      expect_plain(page);
      report_tables(page);
    });
  }
}

// A file of a million opening brackets must not use up the stack.
TEST(RegressionFileAbuse, DeepFiles) {
  const std::string deep(1000000, '[');
  EXPECT_THROW(parse_model(deep, "deep.json"), DataError);
  EXPECT_THROW(parse_model("{\"schema\":\"caucus.model/1\",\"x\":" + deep + std::string(1000000, ']') + "}", "deep.json"),
               DataError);
  EXPECT_THROW(pl_regression::parse_regression(deep + std::string(1000000, ']'), "deep.json"), DataError);
}

}  // namespace
}  // namespace caucus
