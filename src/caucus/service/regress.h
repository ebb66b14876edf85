// A regression from a table, ballots or a file to a finished result: what service::fit is for rankings.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "caucus/infer/pl_regression/fit.h"
#include "caucus/infer/pl_regression/path.h"
#include "caucus/io/io.h"

namespace caucus::service {

struct RegressRequest {
  OptionMap options;                  // of pl_regression::Options
  pl_regression::InputRequest input;  // without a target the outcome is a whole ballot

  const Table* table = nullptr;   // rows with a class
  const Dataset* data = nullptr;  // ballots with covariates
  std::string path = {};          // without both: the file to read, or - for standard input
  ReadOptions reading = {};       // of ballots
  // Called once the rows are there and before they are fitted, with what reading them warned of.
  std::function<void(const std::string& source, const std::vector<std::string>& warnings)> on_data = {};

  std::optional<std::vector<double>> path_grid = {};  // the weights as a function of a are wanted as well, at these a
};

struct RegressResult : pl_regression::Result {
  DataFacts data;
  pl_regression::Input input;
  std::vector<pl_regression::PathPoint> path;
  std::optional<Table> table;  // rows with a class that were read
};

// The time limit and the seconds count from the moment the data are there. Throws UsageError, NoInputError, DataError, IoError;
// being stopped is a result (summary.stop_reason).
RegressResult regress(const RegressRequest& request, const Run& run);

}  // namespace caucus::service
