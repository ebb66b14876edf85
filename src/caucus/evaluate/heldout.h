// Held-out log-likelihood per ballot, its standard error, and paired differences.
#pragma once

#include <vector>

#include "caucus/result/fitted_model.h"

namespace caucus {

// Log-probabilities of held-out ballots in the order they were scored, with their weights. All ballots of a voter are one.
struct HeldoutScores {
  std::vector<double> log_prob;
  std::vector<double> weight;
  double one = 1.0;  // the weight that counts as one ballot: see one_ballot_of()

  void append(const FittedModel& model, const Dataset& test, int threads);
  // False where stop() came true before all were scored; nothing is appended then.
  bool append_unless(const std::function<bool()>& stop, const FittedModel& model, const Dataset& test, int threads);
  void append(const HeldoutScores& more);
  double mean() const;
  double standard_error() const;  // of the mean over ballots
};

// Of the whole data that the held-out parts are taken from, where ballots still stand one by one (data/weights.h): equal ballots of
// a part are one entry.
double one_ballot_of(const Dataset& whole);

struct PairedDifference {
  double mean = 0.0;
  double standard_error = 0.0;
};
// a - b, ballot by ballot; both must have scored the same ballots in the same order.
PairedDifference paired_difference(const HeldoutScores& a, const HeldoutScores& b);

}  // namespace caucus
