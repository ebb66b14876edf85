#include "caucus/evaluate/heldout.h"

#include <cmath>

#include "caucus/data/weights.h"

namespace caucus {

namespace {

// Weighted mean and the standard error of that mean. A ballot of whole weight w is w ballots; of other weights only their ratios
// count, and the number of ballots is the effective one.
PairedDifference mean_and_error(std::span<const double> values, std::span<const double> weights) {
  double total = 0.0, sum = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) total += weights[i], sum += weights[i] * values[i];
  if (!(total > 0.0)) return {};
  const double mean = sum / total;
  double squares = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) squares += weights[i] * (values[i] - mean) * (values[i] - mean);
  const double size = effective_size(weights);
  return {mean, size > 1.0 ? std::sqrt(squares / (size - 1.0) / total) : 0.0};
}

}  // namespace

void HeldoutScores::append(const FittedModel& model, const Dataset& test, int threads) {
  if (counts_voters(model, test)) {
    const std::vector<double> scores = voter_log_probs(model, test, threads);
    log_prob.insert(log_prob.end(), scores.begin(), scores.end());
    weight.insert(weight.end(), test.voters.weights.begin(), test.voters.weights.end());
    return;
  }
  const std::vector<double> scores = log_probs(model, test, threads);
  // Voters of one ranking each: in their order, so that models that look at the voters and models that do not can be compared.
  if (test.voters.given()) {
    for (std::size_t v = 0; v < test.voters.size(); ++v) log_prob.push_back(scores[test.voters.rankings.other[v]]);
    weight.insert(weight.end(), test.voters.weights.begin(), test.voters.weights.end());
    return;
  }
  log_prob.insert(log_prob.end(), scores.begin(), scores.end());
  weight.insert(weight.end(), test.rankings.weights().begin(), test.rankings.weights().end());
}

double HeldoutScores::mean() const { return mean_and_error(log_prob, weight).mean; }
double HeldoutScores::standard_error() const { return mean_and_error(log_prob, weight).standard_error; }

PairedDifference paired_difference(const HeldoutScores& a, const HeldoutScores& b) {
  std::vector<double> difference(a.log_prob.size());
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] = a.log_prob[i] - b.log_prob[i];
  return mean_and_error(difference, a.weight);
}

}  // namespace caucus
