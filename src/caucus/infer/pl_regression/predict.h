// What a fitted regression says about new rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "caucus/infer/pl_regression/fitted.h"
#include "caucus/io/table.h"

namespace caucus::pl_regression {

struct Predictions {
  std::vector<std::size_t> rows;  // of the table, from 0
  RowMatrix probabilities;        // one row per entry of `rows`
  std::vector<std::uint32_t> predicted;
  std::vector<std::size_t> labelled;  // positions in `rows` whose target is known and a class of the model
  std::vector<std::uint32_t> labels;  // of those
  std::size_t num_unseen = 0;         // rows whose target is a class that training did not see
  std::vector<std::string> warnings;
};
Predictions predict_table(const Fitted& model, const Table& table, std::optional<MissingValues> missing = {});

// Ballots with covariates under a model of rankings, averaged over the posterior.
struct BallotPredictions {
  RegressionData ballots;        // of the rows that were kept
  std::vector<double> log_prob;  // of the whole ballot
  RowMatrix first;               // P(item comes first)
};
BallotPredictions predict_ballots(const Fitted& model, const Dataset& ballots, std::optional<MissingValues> missing = {});

}  // namespace caucus::pl_regression
