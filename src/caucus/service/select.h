// How many groups: fits over K and a criterion.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "caucus/infer/family.h"

namespace caucus {

struct SelectRequest {
  std::string family;                                 // empty: the first of the list
  OptionMap options;                                  // "components" is set by the search
  std::vector<int> candidates;                        // the K to try, ascending
  std::optional<Criterion> criterion = std::nullopt;  // none: the family's default
  int folds = 5;                                      // cv
  double holdout = 0.2;                               // share of the ballots held out
  bool one_standard_error = false;  // the smallest K not worse than the best by more than one standard error (cv, holdout)
};

struct SelectRow {
  int k = 0;
  double loglik = 0.0, ebic = 0.0, bic = 0.0, aic = 0.0, icl = 0.0;
  std::optional<double> heldout_mean, heldout_se;  // per ballot
  std::optional<double> behind_best, behind_se;    // paired: how far behind the best K, and its standard error
  double seconds = 0.0;
};

struct Selection {
  Criterion criterion = Criterion::ebic;
  int chosen_k = 0;
  std::vector<SelectRow> table;  // of the fits that were done
  FitOutcome chosen;             // fitted to all ballots
  std::vector<int> unfinished;   // K that the time limit or a stop left out of the table
  bool interrupted = false;      // by the observer; else `unfinished` is the time limit's
};

// Each K starts from the K before it besides its own starts; folds run side by side. The table does not depend on the number of
// threads. When the observer says stop, unfinished K are left out and the best of the finished ones is returned; if none is
// finished the first one is completed as far as it got.
Selection select(const Dataset& data, const SelectRequest& request, const Run& run);

// "3", "1..8", "1,2,4" -> ascending distinct numbers. Throws UsageError.
std::vector<int> parse_candidates(std::string_view text);

}  // namespace caucus
