// A fit from data or a file to a finished result: the one way in for the command line, select, compare, and whoever comes next.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "caucus/infer/family.h"
#include "caucus/infer/journal.h"
#include "caucus/io/io.h"
#include "caucus/result/model_record.h"

namespace caucus::service {

struct FitRequest {
  std::string family;  // empty: the first of the list
  OptionMap options;

  const Dataset* data = nullptr;        // the rankings; nullptr: read them from `paths`
  std::vector<std::string> paths = {};  // files read as one, or - for standard input
  ReadOptions reading = {};
  bool keep_data = false;         // the caller wants to look at the rankings afterwards: they are never read piece by piece then
  std::string spool_folder = {};  // for rankings that went by and are asked for again; empty: where the program stands
  // Called once the rankings are there and before they are fitted; the argument has no rankings where they go by in pieces, and
  // then the call comes last.
  std::function<void(const Dataset&)> on_data = {};
  JournalPlan checkpoint = {};  // not where rankings go by in pieces
};

struct FitResult {
  std::unique_ptr<FittedModel> model;
  FitSummary summary;
  DataFacts data;               // of rankings read from a file; facts_of() gives those of rankings in memory
  std::optional<Dataset> kept;  // with keep_data
};

// Will fit() take the rankings piece by piece, reading and fitting at once?
bool goes_by(const FitRequest& request);

// Reads where it must, piece by piece where the family can, and fits. The time limit and the seconds count from the moment the data
// are there. Throws UsageError, NoInputError, DataError, IoError; being stopped is a result (summary.stop_reason).
FitResult fit(const FitRequest& request, const Run& run);

}  // namespace caucus::service
