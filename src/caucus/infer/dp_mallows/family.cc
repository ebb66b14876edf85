#include "caucus/infer/dp_mallows/family.h"

#include <fmt/format.h>

#include <cmath>

#include "caucus/base/error.h"
#include "caucus/infer/dp_mallows/fit.h"
#include "caucus/infer/dp_mallows/fitted.h"
#include "caucus/infer/dp_mallows/output.h"

namespace caucus {

namespace dp_mallows {
namespace {

constexpr Accepts accepts{.complete = true, .top_t = true, .subset = false, .ties = false};

class DpMallowsFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {
        "dpm",
        "Dirichlet process mixture of generalized Mallows models: finds the number of groups by itself",
        {{"exact-gibbs", "collapsed Gibbs sampling with the exact integral over theta: right for all lengths", accepts},
         {"beta-gibbs", "Figure 5 of Meila & Chen (2010): the integral's Beta approximation, fast, for t well below n", accepts},
         {"slice-gibbs", "Figures 1-3 of Meila & Chen (2010): theta kept and drawn by slice sampling", accepts}},
        describe_options<Options>()};
  }

  FitOutcome fit(const Dataset& data, const OptionMap& values, const Run& run) const override {
    const Options options = parse_options<Options>(values);
    require_accepted(accepts, data, fmt::format("family dpm, method {}", name_of(options.method)));
    if (!options.co_clustering.empty() && data.rankings.total_weight() > 5000.0)
      throw UsageError(
          fmt::format("co-clustering takes at most 5000 ballots, here are {}; use draw-assignments", data.rankings.total_weight()));
    const Points points = make_points(data);
    const PriorParameters parameters = prior_parameters(options, data, points.num_stages);
    Result result = dp_mallows::fit(data, points, parameters, options, run);
    write_outputs(result, options);

    FitOutcome outcome;
    auto model = std::make_unique<FittedDpm>(data.items, data.unranked, parameters, result.components, result.predictive);
    model->posterior = posterior_json(result, options.alpha_prior != "none");
    FitSummary& summary = outcome.summary;
    summary.method = name_of(options.method);
    const std::vector<double> log_prob = log_probs(*model, data, run.threads);
    const std::vector<double> member = memberships(*model, data, run.threads);
    const std::size_t k = model->num_components();
    double entropy = 0.0;
    for (std::size_t i = 0; i < log_prob.size(); ++i) {
      summary.loglik += data.rankings.weight(i) * log_prob[i];
      for (std::size_t c = 0; c < k; ++c)
        if (member[i * k + c] > 0.0) entropy -= data.rankings.weight(i) * member[i * k + c] * std::log(member[i * k + c]);
    }
    if (k > 1) summary.entropy = entropy;
    summary.num_rankings = data.rankings.total_weight();
    for (const Component& component : result.components)
      summary.num_parameters += static_cast<std::int64_t>(component.theta.size());
    summary.num_parameters += static_cast<std::int64_t>(k) - 1;
    summary.iterations = result.iterations;
    summary.stop_reason = result.stop_reason;
    summary.seed = run.seed;
    summary.threads = run.threads;
    for (const Trace& trace : result.traces)
      if (summary.trace.empty()) summary.trace = trace.log_joint;
    if (summary.trace.empty()) summary.trace.push_back(result.draws.back().log_joint);
    summary.warnings = result.warnings;
    if (options.method == Method::beta_gibbs && 2 * points.num_stages > points.num_items)
      summary.warnings.push_back(
          fmt::format("beta-gibbs treats every stage as infinite, which is poor for {} stages of {} items: method exact-gibbs is "
                      "not an approximation",
                      points.num_stages, points.num_items));
    summary.options = show_options(options);
    summary.details["num_draws"] = result.draws.size();
    if (options.split_merge > 0)
      summary.details["split_merge"] = {{"splits_tried", result.split_merge.splits_tried},
                                        {"splits_accepted", result.split_merge.splits_accepted},
                                        {"merges_tried", result.split_merge.merges_tried},
                                        {"merges_accepted", result.split_merge.merges_accepted}};
    summary.seconds = run.seconds();
    outcome.model = std::move(model);
    return outcome;
  }

  std::unique_ptr<FittedModel> load(const nlohmann::json& model) const override { return load_fitted(model); }
};

}  // namespace
}  // namespace dp_mallows

std::unique_ptr<Family> make_dp_mallows_family() { return std::make_unique<dp_mallows::DpMallowsFamily>(); }

}  // namespace caucus
