#include "caucus/infer/mallows_mixture/tensor_fit.h"

#include <fmt/format.h>

#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/family.h"
#include "caucus/infer/mallows_mixture/mallows_engine.h"
#include "caucus/infer/mallows_tensor/learn.h"
#include "caucus/infer/mallows_tensor/polish.h"
#include "caucus/infer/stopping.h"

namespace caucus::mallows_mixture {

namespace {

Parameters to_parameters(const mallows_tensor::MallowsPair& pair) {
  Parameters parameters;
  for (std::size_t r = 0; r < 2; ++r) {
    parameters.weight.push_back(pair.weight[r]);
    parameters.theta.push_back({pair.theta[r]});
    parameters.center.push_back(pair.center[r]);
  }
  return parameters;
}

Record report(const mallows_tensor::LearnResult& learned, std::span<const std::string> items) {
  std::vector<std::string> prefix;
  for (ItemId item : learned.common_prefix) prefix.push_back(items[item]);
  std::vector<std::vector<double>> unfolding;
  for (const auto& values : learned.unfolding) unfolding.emplace_back(values.begin(), values.end());
  return Record()
      .set("branch", mallows_tensor::name_of(learned.branch))
      .set("recover_rest", learned.rest)
      .set("partitions_tried", learned.partitions_tried)
      .set("partitions_passed", learned.partitions_passed)
      .set("conditioning", learned.conditioning)
      .set("threshold", learned.threshold)
      .set("second_singular_values",
           std::vector<double>(learned.second_singular_value.begin(), learned.second_singular_value.end()))
      .set("unfolding_singular_values", unfolding)
      .set("evidence", learned.evidence)
      .set("top3_misfit", learned.misfit)
      .set("common_prefix", prefix)
      .set("trusted", learned.trusted());
}

void require_two(const MallowsOptions& options) {
  if (options.components != 2)
    throw UsageError(
        fmt::format("method tensor fits two groups, not {}; say --components 2, or --method em --init tensor", options.components));
}

constexpr Accepts complete_only{true, false, false, false};
constexpr std::string_view who = "method tensor of family mallows";

// n^3 counts, gone through for every pair of items: seconds for 100 items, hours for 300.
constexpr std::size_t max_items = 100;
void require_few(std::size_t num_items, const std::string& source) {
  if (num_items > max_items)
    throw DataError(fmt::format("{}: {} counts triples of items and takes {} items at most, not {}; say --method em", source, who,
                                max_items, num_items));
}

mallows_tensor::LearnOptions learn_options(const Run& run) {
  mallows_tensor::LearnOptions options;
  options.stop = [&run] { return should_stop(run); };
  return options;
}

FitResult from_learned(const mallows_tensor::LearnResult& learned, std::span<const std::string> items) {
  FitResult result;
  result.method = "tensor";
  result.stop_reason = StopReason::closed_form;
  result.details.set("tensor", report(learned, items));
  result.warnings = learned.warnings;
  result.parameters = to_parameters(learned.pair);
  return result;
}

// What a pass over the rankings gives for fixed parameters: log-likelihood, entropy of the memberships, and for each group the
// pairwise weights of its share.
struct Evaluation {
  double loglik = 0.0, entropy = 0.0;
  std::vector<double> mass;
  std::vector<PairMatrix> pairs;

  explicit Evaluation(std::size_t num_items) : mass(2, 0.0), pairs(2, PairMatrix(num_items)) {}
  void add(const Evaluation& part) {
    loglik += part.loglik;
    entropy += part.entropy;
    for (std::size_t k = 0; k < 2; ++k) {
      mass[k] += part.mass[k];
      for (std::size_t c = 0; c < pairs[k].values().size(); ++c) pairs[k].values()[c] += part.pairs[k].values()[c];
    }
  }
};

void evaluate(const RankingSet& piece, const Parameters& parameters, const Run& run, Evaluation& total) {
  const std::size_t n = total.pairs[0].num_items();
  const MallowsEngine engine(piece, n, ConsensusMethod::automatic, {});
  std::vector<double> joint(piece.size() * 2);
  engine.log_joint(parameters, run.threads, joint);
  total.add(parallel_fold(
      Blocks(piece.size(), 2048, 16), run.threads, [&] { return Evaluation(n); },
      [&](Evaluation& part, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const auto row = std::span(joint).subspan(2 * i, 2);
          const double log_prob = log_sum_exp(row), weight = piece.weight(i);
          part.loglik += weight * log_prob;
          for (std::size_t k = 0; k < 2; ++k) {
            const double share = std::exp(row[k] - log_prob);
            if (!(share > 0.0)) continue;
            part.entropy -= weight * share * (row[k] - log_prob);
            part.mass[k] += weight * share;
            part.pairs[k].add(piece[i], weight * share);
          }
        }
      },
      [](Evaluation& sum, const Evaluation& part) { sum.add(part); }));
}

}  // namespace

FitResult fit_by_tensor(const Dataset& data, const MallowsOptions& options, const Run& run) {
  require_two(options);
  require_accepted(complete_only, data, who);
  require_few(data.num_items(), data.source);
  const std::size_t n = data.num_items();
  const mallows_tensor::CountSource source = [&](std::span<const ItemId> deleted) {
    return mallows_tensor::count_rankings(data.rankings, n, run.threads, deleted);
  };
  const mallows_tensor::LearnResult learned = mallows_tensor::learn_two_mallows(source({}), source, learn_options(run), run.seed);
  FitResult result = from_learned(learned, data.items);
  if (should_stop(run)) {
    result.stop_reason = why_stopped(run);
    return result;
  }
  if (!options.polish) return result;

  StopReason why = StopReason::converged;
  if (n <= mallows_tensor::PairPolisher::max_items) {
    std::vector<mallows_tensor::MallowsPair> starts;
    for (const mallows_tensor::Candidate& candidate : learned.candidates) starts.push_back(candidate.pair);
    const mallows_tensor::PairPolisher polisher(data.rankings, n, run.threads);
    mallows_tensor::PolishOptions polish;
    polish.iterations = options.iterations;
    polish.accelerate = options.accelerate;
    polish.stop = [&] { return run.report({"em from the tensor", 0, options.iterations}, why) == Flow::stop; };
    mallows_tensor::PolishResult end = polisher.run_best(starts, 3, polish);
    result.parameters = to_parameters(end.pair);
    result.iterations = end.iterations;
    result.trace = std::move(end.trace);
    result.stop_reason = end.stop_reason == StopReason::interrupted ? why : end.stop_reason;
    result.details.set("tensor", report(learned, data.items).set("passes", end.tallies).set("exchanges", end.exchanges));
    return result;
  }
  const MallowsEngine engine(data.rankings, n, options.consensus, {});
  EmResult end =
      run_em(engine, result.parameters, {options.iterations, options.tolerance, options.accelerate}, run.threads,
             [&](int iteration, double loglik) {
               return run.report({"em from the tensor", iteration, options.iterations, loglik}, why) == Flow::stop ? &why : nullptr;
             });
  result.parameters = std::move(end.parameters);
  sort_components(result.parameters);
  result.iterations = end.iterations;
  result.trace = std::move(end.trace);
  result.stop_reason = end.stop_reason;
  return result;
}

FitResult fit_by_tensor(RankingStream& rankings, const MallowsOptions& options, const Run& run) {
  require_two(options);
  const std::size_t n = rankings.num_items();
  require_few(n, "the data");
  mallows_tensor::TopCounts counts(n);
  RankingSet piece;
  Dataset refused;  // the first piece with rankings that are not complete orders
  StopReason why = StopReason::closed_form;
  for (int pieces = 1; rankings.next(piece); ++pieces) {
    // After a stop the counts are of what has gone by; the rest is only read, since the file records the digest of all.
    const bool stopped = counts.total() > 0.0 && run.report({"counting", pieces, 0, counts.total()}, why) == Flow::stop;
    if (stopped || !refused.rankings.empty()) continue;
    bool complete = !piece.has_ties();
    for (std::size_t i = 0; i < piece.size() && complete; ++i) complete = piece.length(i) == n;
    if (complete)
      counts.add(mallows_tensor::count_rankings(piece, n, run.threads));
    else
      refused.rankings = std::move(piece);
  }
  // Only now: what is wrong with the text comes first.
  const Dataset& head = rankings.head();
  if (!refused.rankings.empty()) {
    refused.items = head.items;
    refused.unranked = head.unranked;
    refused.source = head.source;
    require_accepted(complete_only, refused, who);
  }
  if (n < 2) throw DataError(fmt::format("{}: family mallows needs at least two items", head.source));

  const mallows_tensor::CountSource again = [&](std::span<const ItemId> deleted) {
    mallows_tensor::TopCounts rest(n - deleted.size());
    rankings.rewind();
    while (!should_stop(run) && rankings.next(piece)) rest.add(mallows_tensor::count_rankings(piece, n, run.threads, deleted));
    return rest;
  };
  FitResult result = from_learned(mallows_tensor::learn_two_mallows(counts, again, learn_options(run), run.seed), head.items);

  Evaluation total(n);
  rankings.rewind();
  bool all = true;
  for (bool first = true; rankings.next(piece) && all; first = false) {
    all = first || !should_stop(run);
    if (all) evaluate(piece, result.parameters, run, total);
  }
  if (should_stop(run)) result.stop_reason = why_stopped(run);
  // After a stop the first pieces stand for the rest.
  const double share = rankings.total_weight() / (total.mass[0] + total.mass[1]);
  if (!all) {
    total.loglik *= share;
    total.entropy *= share;
    result.warnings.push_back(
        fmt::format("stopped: the log-likelihood is extrapolated from {:.0f} % of the rankings", 100.0 / share));
  }
  result.loglik = total.loglik;
  result.entropy = total.entropy;
  result.trace.push_back(total.loglik);
  result.center_gaps =
      consensus_gaps(result.parameters, total.mass, total.pairs, rankings.total_weight(), options.consensus, limits_of(run));
  warn_about_groups(result, n, rankings.total_weight());
  return result;
}

}  // namespace caucus::mallows_mixture
