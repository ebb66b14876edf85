// Which K, from the table of the fits: the rules alone, without a fit.
#pragma once

#include <span>

#include "caucus/service/select.h"

namespace caucus {

// The rule of the halves. Of the rows so far the last one is taken that
//   - predicts ballots it has not seen better than the one taken before it, by more than `errors` standard errors of the paired
//     difference, and
//   - whose groups both halves find: none of them has memberships less correlated than `agreement`.
// Rows beyond `patience` that are not taken are not looked at, so that a longer table does not answer otherwise.
// docs/choosing.md has the evidence for the three numbers.
struct HalvesRule {
  double errors = 1.0;
  double agreement = 0.6;
  int patience = 3;  // so many K in a row that are not taken end the search
};

// The row to choose; rows are in ascending order of K and there is at least one.
std::size_t choose_row(std::span<const SelectRow> table, Criterion criterion, bool one_standard_error = false,
                       const HalvesRule& rule = {});

// Is a K beyond these worth a try?
bool goes_on(std::span<const SelectRow> table, Criterion criterion, bool one_standard_error = false, const HalvesRule& rule = {});

// In plain words: which row, why, how sure, and what the next ones were.
std::vector<std::string> explain(const Selection& selection);

}  // namespace caucus
