#include "caucus/infer/mallows_mixture/tensor_fit.h"

#include <fmt/format.h>

#include "caucus/base/error.h"
#include "caucus/infer/family.h"
#include "caucus/infer/mallows_tensor/learn.h"
#include "caucus/infer/mallows_tensor/polish.h"

namespace caucus::mallows_mixture {

namespace {

Parameters to_parameters(const tensor::MallowsPair& pair) {
  Parameters parameters;
  for (std::size_t r = 0; r < 2; ++r) {
    parameters.weight.push_back(pair.weight[r]);
    parameters.theta.push_back({pair.theta[r]});
    parameters.centre.push_back(pair.centre[r]);
  }
  return parameters;
}

nlohmann::json report(const tensor::LearnResult& learned, const Dataset& data) {
  nlohmann::json prefix = nlohmann::json::array();
  for (ItemId item : learned.common_prefix) prefix.push_back(data.items[item]);
  return {{"branch", tensor::name_of(learned.branch)},
          {"recover_rest", learned.rest},
          {"partitions_tried", learned.partitions_tried},
          {"partitions_passed", learned.partitions_passed},
          {"conditioning", learned.conditioning},
          {"threshold", learned.threshold},
          {"second_singular_values", learned.second_singular_value},
          {"unfolding_singular_values", learned.unfolding},
          {"evidence", learned.evidence},
          {"top3_misfit", learned.misfit},
          {"common_prefix", std::move(prefix)},
          {"trusted", learned.trusted()}};
}

}  // namespace

FitResult fit_by_tensor(const Dataset& data, const MallowsOptions& options, const Run& run) {
  if (options.components != 2)
    throw UsageError(
        fmt::format("method tensor fits two groups, not {}; say --components 2, or --method em --init tensor", options.components));
  require_accepted({true, false, false, false}, data, "method tensor of family mallows");
  const std::size_t n = data.num_items();
  const tensor::CountSource source = [&](std::span<const ItemId> deleted) {
    return tensor::count_rankings(data.rankings, n, run.threads, deleted);
  };
  const tensor::LearnResult learned = tensor::learn_two_mallows(source({}), source, {}, run.seed);
  FitResult result;
  result.method = "tensor";
  result.stop_reason = StopReason::closed_form;
  result.details["tensor"] = report(learned, data);
  result.warnings = learned.warnings;
  result.parameters = to_parameters(learned.pair);
  if (!options.polish) return result;

  StopReason why = StopReason::converged;
  if (n <= tensor::PairPolisher::max_items) {
    std::vector<tensor::MallowsPair> starts;
    for (const tensor::Candidate& candidate : learned.candidates) starts.push_back(candidate.pair);
    const tensor::PairPolisher polisher(data.rankings, n, run.threads);
    tensor::PolishOptions polish;
    polish.iterations = options.iterations;
    polish.accelerate = options.accelerate;
    polish.stop = [&] { return run.report({"em from the tensor", 0, options.iterations, 0.0}, why) == Flow::stop; };
    tensor::PolishResult end = polisher.run_best(starts, 3, polish);
    result.parameters = to_parameters(end.pair);
    result.iterations = end.iterations;
    result.trace = std::move(end.trace);
    result.stop_reason = end.stop_reason == StopReason::interrupted ? why : end.stop_reason;
    result.details["tensor"]["passes"] = end.tallies;
    result.details["tensor"]["exchanges"] = end.exchanges;
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

}  // namespace caucus::mallows_mixture
