// How many groups: fits over K and a criterion.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caucus/evaluate/heldout.h"
#include "caucus/evaluate/replication.h"
#include "caucus/infer/family.h"
#include "caucus/infer/journal.h"

namespace caucus {

struct SelectRequest {
  std::string family;                // empty: the first of the list
  OptionMap options = {};            // "components" is set by the search
  std::vector<int> candidates = {};  // the K to try, ascending; none: 1, 2, ... as long as the criterion asks for more
  Criterion criterion = Criterion::halves;
  int folds = 5;                    // cv
  double holdout = 0.2;             // share of the ballots held out
  bool one_standard_error = false;  // the smallest K not worse than the best by more than one standard error (cv, holdout)
  JournalPlan checkpoint = {};
};

struct SelectRow {
  int k = 0;
  double loglik = 0.0, ebic = 0.0, bic = 0.0, aic = 0.0, icl = 0.0;
  std::optional<double> heldout_mean, heldout_se;  // per ballot
  std::vector<PairedDifference> ahead;             // held out, ballot by ballot: how far ahead of each row before this one
  std::optional<double> behind_best, behind_se;    // paired: how far behind the best K, and its standard error
  std::optional<Replication> replication;          // halves: do both find the same groups
  std::vector<double> shares;                      // of the ballots, in the groups of the fit to all of them, largest first
  double seconds = 0.0;
};

// What is remembered of a choice: the "selection" of a model file.
struct SelectionFacts {
  Criterion criterion = Criterion::halves;
  int chosen_k = 0;
  std::vector<SelectRow> table;      // of the fits that were done
  std::vector<std::string> why;      // in plain words: which, why, how sure, what the next ones were
  std::vector<int> unfinished = {};  // candidates that the time limit or a stop left out of the table
  double seconds = 0.0;              // of the whole choice: the chosen fit's own are in its summary
};

struct Selection : SelectionFacts {
  FitOutcome chosen;                              // fitted to all ballots
  bool interrupted = false, out_of_time = false;  // by the observer, by the time limit
};

// Fewer ballots than this have no halves worth the name: without a list of candidates one group is fitted.
inline constexpr double fewest_ballots_for_groups = 20.0;

// Each K starts from the K before it besides its own starts; folds run side by side. The table does not depend on the number of
// threads. When the observer says stop or time is up, unfinished K are left out and the best of the finished ones is returned; if
// none is finished the first one is completed as far as it got. Where the ballots cannot tell groups apart (why_no_groups) and no
// list of candidates was given, one group is fitted.
Selection select(const Dataset& data, const SelectRequest& request, const Run& run);

// The "selection" of a model file: {"criterion", "chosen_k", "why", "table", "unfinished"}; and back. Numbers that a file does not
// have are NaN.
Record record_of(const SelectionFacts& selection);
SelectionFacts selection_of(const RecordView& record);

// "3", "1..8", "1,2,4" -> ascending distinct numbers; "auto" -> none. Throws UsageError.
std::vector<int> parse_candidates(std::string_view text);

}  // namespace caucus
