#include "caucus/infer/mallows_mixture/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/data/weights.h"
#include "caucus/infer/family.h"
#include "caucus/infer/mallows_mixture/distance_engine.h"
#include "caucus/infer/mallows_mixture/generalized_engine.h"
#include "caucus/infer/mallows_mixture/subset_engine.h"
#include "caucus/infer/mallows_mixture/subset_fit.h"
#include "caucus/infer/mallows_mixture/tensor_fit.h"
#include "caucus/infer/mallows_mixture/voter_engine.h"
#include "caucus/infer/stopping.h"
#include "caucus/model/stage.h"

namespace caucus::mallows_mixture {

ConsensusLimits limits_of(const Run& run) {
  ConsensusLimits limits;
  limits.stop = [&run] { return should_stop(run); };
  return limits;
}

void warn_about_groups(FitResult& result, std::size_t num_items, double total_weight) {
  const std::size_t num_components = result.parameters.weight.size();
  const Parameters& p = result.parameters;
  for (std::size_t a = 0; a < num_components; ++a)
    for (std::size_t b = a + 1; b < num_components; ++b)
      if (p.center[a] == p.center[b])
        result.warnings.push_back(fmt::format(
            "groups {} and {} have the same consensus ranking and differ in dispersion only; fewer groups may do", a + 1, b + 1));
  for (std::size_t k = 0; k < num_components; ++k) {
    const double largest = p.theta[k].empty() ? 0.0 : *std::max_element(p.theta[k].begin(), p.theta[k].end());
    if (p.weight[k] * total_weight < 0.5)
      result.warnings.push_back(fmt::format("group {} is empty: the data do not hold {} groups", k + 1, num_components));
    else if (num_items > 1 && largest == 0.0)
      result.warnings.push_back(
          fmt::format("group {} is spread evenly over all rankings (theta = 0): its consensus means nothing", k + 1));
    else if (largest >= max_theta)
      result.warnings.push_back(
          fmt::format("group {}: a dispersion is at its bound theta = {}: ballots there do not vary", k + 1, max_theta));
  }
}

namespace {

// One group is the same with and without voters.
bool by_voter(const Dataset& data, const MallowsMixtureOptions& options) { return data.voters.share() && options.components > 1; }

MultistartResult search(const Dataset& data, const MallowsMixtureOptions& options, const MakeEngine& make, const Run& run,
                        double step_cost = 1.0) {
  return by_voter(data, options) ? search_voters(data, options, make, run)
                                 : run_multistart(data.rankings, data.num_items(), options, make, run, step_cost);
}

// What the end of a fit adds up over the rankings.
struct EndSums {
  double loglik = 0.0, entropy = 0.0;
  std::vector<double> information;

  // joint: log of weight and probability, K for each ranking.
  void add(std::span<const double> joint, std::span<const double> weights) {
    const std::size_t num = joint.size() / std::max<std::size_t>(weights.size(), 1);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto row = joint.subspan(i * num, num);
      const double total = log_sum_exp(row), weight = weights[i];
      loglik += weight * total;
      for (double value : row) {
        const double share = std::exp(value - total);
        if (share > 0.0) entropy -= weight * share * (value - total);
      }
    }
  }
};
auto parts(IsA<EndSums> auto& sums) { return std::tie(sums.loglik, sums.entropy, sums.information); }

std::vector<double> scaled(std::span<const double> weights, double factor) {
  std::vector<double> result(weights.begin(), weights.end());
  for (double& weight : result) weight *= factor;
  return result;
}

// Many rankings, a few thousand at a time: nothing of the size of the data is held, and processes share the blocks. scale: of
// weights, for the information; 0 where there is to be none.
EndSums sums_by_pieces(const RankingSet& rankings, const Parameters& parameters, const MakeEngine& make_engine, double scale,
                       const Workers& workers) {
  constexpr std::size_t piece = 4096;
  const std::size_t num = parameters.weight.size();
  const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
    if (to.empty()) to.assign(from.size(), 0.0);
    for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
  };
  return parallel_fold(
      Blocks(rankings.size()), workers.without_journal(), [] { return EndSums{}; },
      [&](EndSums& sums, std::size_t begin, std::size_t end) {
        std::vector<double> joint;
        for (std::size_t first = begin; first < end; first += piece) {
          const RankingSet part = rankings.part(first, std::min(first + piece, end));
          const std::unique_ptr<Engine> engine = make_engine(part);
          joint.resize(part.size() * num);
          engine->log_joint(parameters, 1, joint);
          sums.add(joint, part.weights());
          if (scale > 0.0) add(sums.information, information_of(*engine, parameters, scaled(part.weights(), scale), 1));
        }
      },
      [&](EndSums& total, const EndSums& part) {
        total.loglik += part.loglik;
        total.entropy += part.entropy;
        add(total.information, part.information);
      });
}

// simple: probabilities of rankings know nothing of the other rankings, and an engine of a few is made at once.
void finish(FitResult& result, const Dataset& data, const MallowsMixtureOptions& options, const MakeEngine& make_engine,
            bool with_errors, const Run& run, bool simple = false) {
  const bool voters = by_voter(data, options);
  const std::unique_ptr<Engine> engine = voters ? std::make_unique<VoterEngine>(data, make_engine) : make_engine(data.rankings);
  const std::span<const double> weights = voters ? std::span<const double>(data.voters.weights) : data.rankings.weights();
  const std::size_t num_components = result.parameters.weight.size();
  const bool stopped = result.stop_reason == StopReason::interrupted || result.stop_reason == StopReason::time_limit;
  const double size = voters ? effective_size(data.voters.weights) : effective_size(data.rankings);
  // Weights that are no counts have no scale of their own (data/weights.h): the information is that of as many voters or ballots
  // as they stand for.
  const bool errors = !stopped && with_errors && options.standard_errors;
  const double scale = errors ? size / sum(weights) : 0.0;
  const bool in_pieces = simple && !voters && engine->num_rankings() > many_rankings;
  EndSums sums;
  if (in_pieces) {
    const bool affordable = errors && affordable_errors(result.parameters, engine->num_rankings());
    sums = sums_by_pieces(data.rankings, result.parameters, make_engine, affordable ? scale : 0.0, run.workers());
  } else {
    Buffer<double> joint = scratch_array<double>(data.rankings.scratch(), engine->num_rankings() * num_components);
    engine->log_joint(result.parameters, run.threads, joint);
    sums.add(joint, weights);
  }
  // The likelihood as score gives it.
  const double loglik = sums.loglik;
  result.entropy = sums.entropy;
  result.loglik = loglik;
  if (result.trace.empty() || result.trace.back() != loglik) {
    if (!result.trace.empty() && std::abs(result.trace.back() - loglik) <= 1e-9 * (1.0 + std::abs(loglik)))
      result.trace.back() = loglik;
    else
      result.trace.push_back(loglik);
  }
  // After a stop the search ends at once, and the gap is that of its first bound, or of the best one that the fit of one group has
  // seen; with many items that alone takes a second, and so does the pass over many rankings that counts their pairs.
  constexpr std::size_t most_items_after_a_stop = 500, most_places_after_a_stop = 10'000'000;
  if (stopped && (data.num_items() > most_items_after_a_stop ||
                  engine->num_rankings() * data.num_items() * num_components > most_places_after_a_stop))
    result.center_gaps.assign(num_components, infinity);
  else if (result.center_gaps.empty())
    result.center_gaps = engine->center_gaps(result.parameters, run.workers());
  if (errors)
    result.errors = in_pieces ? standard_errors(result.parameters, sums.information)
                              : standard_errors(*engine, result.parameters, scaled(weights, scale), run.threads);
  const EmOptions em{options.iterations, options.tolerance, options.accelerate};
  if (!stopped && options.bootstrap > 0)
    result.stability = voters
                           ? bootstrap_voters(data, result.parameters, em, make_engine, options.bootstrap, run)
                           : bootstrap(data.rankings, data.num_items(), result.parameters, em, make_engine, options.bootstrap, run);

  warn_about_groups(result, data.num_items(), size);
  if (result.starts.finished > 1 && result.starts.agreeing < 2 && !stopped)
    result.warnings.push_back(fmt::format("{} of {} starts ended at the best log-likelihood: more --restarts may find a better one",
                                          result.starts.agreeing == 0 ? "none" : "only one", result.starts.finished));
}

// Of all rankings, where they are many, each process keeps the bits of its own blocks.
std::pair<std::size_t, std::size_t> kept_bits(const RankingSet& rankings, const Dataset& data, const Run& run) {
  if (&rankings != &data.rankings || data.voters.given() || rankings.size() <= many_rankings) return {0, rankings.size()};
  return own_range(Blocks(rankings.size()), run.workers());
}

FitResult from_multistart(MultistartResult best) {
  FitResult result;
  result.parameters = std::move(best.best.parameters);
  result.iterations = best.best.iterations;
  result.stop_reason = best.best.stop_reason;
  result.trace = std::move(best.best.trace);
  result.starts = best.starts;
  result.screened_on = best.screened_on;
  return result;
}

}  // namespace

namespace {

// Rankings of subsets with exact probabilities; the Monte Carlo of longer ones has no voters.
FitResult fit_voter_subsets(const Dataset& data, const MallowsOptions& options, const MakeEngine& make, const Run& run) {
  if (!SubsetEngine::affordable(data.rankings, data.num_items()))
    throw DataError(
        fmt::format("{}: family mallows takes several rankings by one voter only where the probabilities of rankings of subsets "
                    "are exact, and these are too long; choose family pl",
                    data.source));
  return from_multistart(search_voters(data, options, make, run));
}

}  // namespace

FitResult fit_mallows(const Dataset& data, const MallowsOptions& options, const Run& run) {
  validate_options(options);
  const std::size_t n = data.num_items();
  if (options.method == MallowsMethod::tensor && options.distance != Distance::kendall)
    throw UsageError(fmt::format("method tensor needs the kendall distance, not {}", name_of(options.distance)));
  if (options.distance != Distance::kendall) {
    require_accepted({true, false, false, false, true}, data,
                     fmt::format("family mallows under the {} distance", name_of(options.distance)));
    const std::function<bool()> stop = [&run] { return should_stop(run); };
    const auto shared = std::make_shared<const DistanceNormalizer>(options.distance, n, 50.0, 1, false, stop);
    const DistanceNormalizer& normalizer = *shared;
    const MakeEngine make = [&](const RankingSet& rankings) -> std::unique_ptr<Engine> {
      return std::make_unique<DistanceEngine>(rankings, normalizer, stop);
    };
    FitResult result = from_multistart(search(data, options, make, run, 4.0));
    finish(result, data, options, make, true, run);
    if (!normalizer.exact())
      result.warnings.push_back(
          fmt::format("the normaliser of the {} distance is estimated for {} items: its logarithm has standard error {:.3g}",
                      name_of(options.distance), n, normalizer.standard_error(result.parameters.theta[0][0])));
    result.normalizer = shared;
    return result;
  }
  if (options.method == MallowsMethod::tensor) {
    FitResult result = fit_by_tensor(data, options, run);
    const MakeEngine make = [&](const RankingSet& rankings) -> std::unique_ptr<Engine> {
      return std::make_unique<MallowsEngine>(rankings, n, options.consensus, limits_of(run), kept_bits(rankings, data, run));
    };
    finish(result, data, options, make, options.polish, run, true);
    return result;
  }
  require_accepted({true, true, true, true, true}, data, "family mallows");
  if (traits(data).subset) {
    const MakeEngine make = subset_engines(data, options, run);
    FitResult result =
        by_voter(data, options) ? fit_voter_subsets(data, options, make, run) : fit_subsets(data, options, make, run);
    finish(result, data, options, make, !result.monte_carlo, run);
    return result;
  }
  ConsensusLimits limits = limits_of(run);
  limits.memory = std::make_shared<ConsensusMemory>();
  const MakeEngine make = [&](const RankingSet& rankings) -> std::unique_ptr<Engine> {
    return std::make_unique<MallowsEngine>(rankings, n, options.consensus, limits, kept_bits(rankings, data, run));
  };
  FitResult result = from_multistart(search(data, options, make, run));
  finish(result, data, options, make, true, run, true);
  return result;
}

FitResult fit_generalized_mallows(const Dataset& data, const GeneralizedMallowsOptions& options, const Run& run) {
  validate_options(options);
  require_accepted({true, options.code == Code::s, false, false, true}, data,
                   fmt::format("family gmallows in code {}", name_of(options.code)));
  const std::size_t n = data.num_items();
  const MakeEngine make = [&](const RankingSet& rankings) -> std::unique_ptr<Engine> {
    return std::make_unique<GeneralizedEngine>(rankings, n, options.code, options.consensus, limits_of(run));
  };
  FitResult result = from_multistart(search(data, options, make, run, 1.2));
  const bool stopped = result.stop_reason == StopReason::interrupted || result.stop_reason == StopReason::time_limit;
  const bool search = options.consensus == ConsensusMethod::exact || options.consensus == ConsensusMethod::automatic;
  if (options.components == 1 && n > 1 && search && !stopped) {
    // One group: center and dispersions together, exactly where n allows.
    const GeneralizedConsensusSolver solver(n);
    GeneralizedConsensus exact;
    if (options.code == Code::v && n <= 64) {
      const ConsensusMethod method = n <= 16 ? ConsensusMethod::exact : options.consensus;
      exact = solver.solve_v(pair_matrix(data.rankings, n), data.rankings.total_weight(), method, limits_of(run),
                             result.parameters.center[0]);
    } else if (options.code == Code::s && n <= 32) {
      StagePairs pairs(n);
      for (std::size_t i = 0; i < data.rankings.size(); ++i) pairs.add(data.rankings[i].items(), data.rankings.weights()[i]);
      const ConsensusMethod method =
          n <= GeneralizedConsensusSolver::max_enumerated_items ? ConsensusMethod::exact : options.consensus;
      exact = solver.solve_s(pairs, method, limits_of(run), result.parameters.center[0]);
    }
    if (!exact.order.empty()) {
      result.parameters.center[0] = exact.order;
      result.parameters.theta[0] = exact.theta;
      // Without a bound of its own (code s beyond enumeration) the gap is not known.
      result.center_gaps = {exact.optimal ? 0.0 : exact.lower_bound > 0.0 ? exact.cost - exact.lower_bound : infinity};
    }
  }
  finish(result, data, options, make, true, run, true);
  return result;
}

}  // namespace caucus::mallows_mixture
