// Which family: held-out log-likelihood per ballot on the same folds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "caucus/evaluate/heldout.h"
#include "caucus/infer/family.h"
#include "caucus/infer/journal.h"
#include "caucus/result/model_record.h"

namespace caucus {

struct Contender {
  std::string label;  // as the user wrote it
  std::string family;
  OptionMap options;
  std::vector<int> candidates;        // K to choose from, where they are not the request's
  std::optional<std::uint64_t> seed;  // of its fits, where it is not the run's
};
// FAMILY, FAMILY:3, FAMILY:1..8, FAMILY:k=2;method=em, FAMILY:seed=2. Throws UsageError.
Contender parse_contender(std::string_view text);

struct CompareRequest {
  std::vector<Contender> contenders;
  std::vector<int> candidates;  // K to choose from by the family's default criterion on each training part, where it is not fixed
  int folds = 5;
  // Peak memory is the operating system's to tell: the front door says how to start and read the measure, or leaves it out.
  std::function<void()> reset_peak_memory;
  std::function<double()> peak_memory_bytes;
  JournalPlan checkpoint = {};
};

struct CompareRow {
  std::string label;
  std::string family;
  std::optional<std::string> refused;  // why it is not compared
  bool unfinished = false;             // because the time limit came first
  double heldout_mean = 0.0, heldout_se = 0.0;
  std::optional<double> monte_carlo_error;  // of heldout_mean, where scores are means over draws
  PairedDifference behind_best;             // the best one's mean minus this one's, ballot by ballot
  double groups = 0.0;                      // mean number of groups over the folds
  int folds_at_largest = 0;                 // folds on which the largest K offered was chosen: more might do better
  double seconds = 0.0;                     // fitting and scoring, all folds
  std::optional<double> peak_bytes;         // of the whole process while this one ran
};

struct Comparison {
  std::vector<CompareRow> table;  // best first, then the refused ones
  bool interrupted = false;
  std::string note;  // on sample spaces, where they differ, and on K that wanted to be larger
  int folds = 0;
  std::uint64_t seed = 1;
  double num_rankings = 0.0;  // sum of weights
  DataFacts data;
};

Comparison compare(const Dataset& data, const CompareRequest& request, const Run& run);

// What `compare --out` writes, schema caucus.compare/1.
std::string comparison_text(const Comparison& comparison);
// None where the text is no such file. Throws DataError for a wrong one.
std::optional<Comparison> parse_comparison(std::string_view text, const std::string& name);

}  // namespace caucus
