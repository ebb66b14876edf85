#include "caucus/evaluate/heldout.h"

#include <cmath>

#include "caucus/data/weights.h"

namespace caucus {

namespace {

// Weighted mean and the standard error of that mean. A ballot of whole weight w is w ballots; of other weights only their ratios
// count, and the number of ballots is the effective one (data/weights.h).
PairedDifference mean_and_error(std::span<const double> values, const HeldoutScores& ballots) {
  double total = 0.0, sum = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    total += ballots.weight[i];
    sum += ballots.weight[i] * values[i];
  }
  if (!(total > 0.0)) return {};
  const double mean = sum / total;
  double squares = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) squares += ballots.weight[i] * (values[i] - mean) * (values[i] - mean);
  const double size = total / ballots.one;
  return {mean, size > 1.0 ? std::sqrt(squares / (size - 1.0) / total) : 0.0};
}

void append_to(std::vector<double>& all, std::span<const double> more) { all.insert(all.end(), more.begin(), more.end()); }

}  // namespace

double one_ballot_of(const Dataset& whole) {
  if (!whole.voters.given()) return one_ballot(whole.rankings);
  const double size = effective_size(whole.voters.weights);
  return size > 0.0 ? whole.voters.total_weight() / size : 1.0;
}

void HeldoutScores::append(const FittedModel& model, const Dataset& test, int threads) {
  append_unless([] { return false; }, model, test, threads);
}

bool HeldoutScores::append_unless(const std::function<bool()>& stop, const FittedModel& model, const Dataset& test, int threads) {
  const bool voters = counts_voters(model, test);
  const auto scored = voters ? voter_log_probs(model, test, threads) : log_probs_unless(stop, model, test, threads);
  if (!scored) return false;
  const std::vector<double>& scores = *scored;
  if (voters || test.voters.given()) {
    // Voters of one ranking each: in their order, so that models that look at the voters and models that do not can be compared.
    for (std::size_t v = 0; v < test.voters.size(); ++v) log_prob.push_back(scores[voters ? v : test.voters.rankings.other[v]]);
    append_to(weight, test.voters.weights);
    return true;
  }
  append_to(log_prob, scores);
  append_to(weight, test.rankings.weights());
  return true;
}

void HeldoutScores::append(const HeldoutScores& more) {
  append_to(log_prob, more.log_prob);
  append_to(weight, more.weight);
}

double HeldoutScores::mean() const { return mean_and_error(log_prob, *this).mean; }
double HeldoutScores::standard_error() const { return mean_and_error(log_prob, *this).standard_error; }

PairedDifference paired_difference(const HeldoutScores& a, const HeldoutScores& b) {
  std::vector<double> difference(a.log_prob.size());
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] = a.log_prob[i] - b.log_prob[i];
  return mean_and_error(difference, a);
}

}  // namespace caucus
