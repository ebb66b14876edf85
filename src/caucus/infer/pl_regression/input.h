// What a regression learns from: the features of a table's rows, and their classes or ballots.
#pragma once

#include <string>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/io/table.h"
#include "caucus/model/pl_regression.h"

namespace caucus::pl_regression {

struct InputRequest {
  FeatureRequest features;
  std::string target;               // labels: the column of classes
  std::vector<std::string> ignore;  // columns left out
};

struct Input {
  FeatureMap map;
  RegressionData data;
  RowMatrix x;
  std::string target;
  std::vector<std::string> classes;
  std::vector<std::string> warnings;
};

// The class that a cell of the target column names; empty where it is missing.
std::string class_in(const Column& column, std::size_t row);
// Class labels in a column of the table. Throws UsageError, DataError.
Input class_input(const Table& table, const InputRequest& request);
// Rankings with covariates. em, gibbs and variational take them.
Input ranking_input(const Dataset& data, const InputRequest& request);
// The ballots of these rows as outcomes, without features.
RegressionData ballots_of(const Dataset& data, std::span<const std::size_t> rows);

}  // namespace caucus::pl_regression
