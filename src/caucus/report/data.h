// The report's data: one JSON object, schema caucus.report/1 (docs/report-data.md), from fitted models and, where given, the
// rankings. The views read this object and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/evaluate/election.h"
#include "caucus/infer/pl_regression/fitted.h"
#include "caucus/infer/pl_regression/path.h"
#include "caucus/report/describe.h"
#include "caucus/result/fit_summary.h"
#include "caucus/result/fitted_model.h"
#include "caucus/service/compare.h"
#include "caucus/service/model_file.h"

namespace caucus {

inline constexpr const char* report_schema = "caucus.report/1";

// A model file as a report needs it: of rankings, or of a regression.
struct ReportModel {
  std::string name;                          // how the report calls it
  std::shared_ptr<const FittedModel> model;  // nullptr: a regression, which gives no probabilities of rankings
  FitSummary summary;
  ModelFacts facts;
  std::optional<ReadOptions> reading;
  std::optional<SelectionFacts> selection;
  std::shared_ptr<const pl_regression::Fitted> regression;
  std::vector<pl_regression::PathPoint> path;  // of the regression
};

// Predicted probabilities, num_classes per row, and the true classes.
struct ClassScores {
  std::vector<double> probabilities;
  std::vector<std::uint32_t> labels;
  bool fitted_to_these = false;  // then new data will be predicted worse, and the report says so
};

struct ReportRequest {
  std::vector<ReportModel> models;
  const Dataset* data = nullptr;            // rankings the models are of; items are matched by name
  std::optional<Comparison> comparison;     // what `compare` found
  std::optional<ClassScores> class_scores;  // predictions of the first model, a regression, for data whose classes are known
  std::string title;                        // empty: the data's name, else the first model's
  std::vector<std::string> names;           // of the first model's groups; empty: as the model file calls them, else "Group 1" ...
  report::Nouns nouns;
  ElectionOptions election;  // how ballots are counted
  std::string version;
  std::string command;
  int threads = 0;
  std::uint64_t seed = 1;          // of the sample of ballots and of simulated probabilities
  std::size_t max_points = 20000;  // ballots on the map, all models together
};

// Throws DataError where a model and the data do not go together. Same request, same bytes.
nlohmann::json report_data(const ReportRequest& request);

// Reads a model file for a report, of rankings or of a regression.
ReportModel read_report_model(std::string_view text, const std::string& name);

}  // namespace caucus
