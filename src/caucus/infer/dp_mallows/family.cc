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

// Rankings on which the error of scores is judged while there are still draws to be had.
constexpr std::size_t judged_rankings = 1000;
constexpr Accepts accepts{.complete = true, .top_t = true, .subset = false, .ties = false, .voters = true};

std::vector<GroupErrors> errors_of(const std::vector<Component>& components) {
  std::vector<GroupErrors> groups;
  const auto intervals = [](const std::vector<double>& low, const std::vector<double>& high) {
    std::vector<std::optional<Interval>> result;
    for (std::size_t j = 0; j < low.size(); ++j) result.push_back(Interval{low[j], high[j], component_interval_level});
    return result;
  };
  for (const Component& component : components) {
    GroupErrors errors;
    errors.theta_intervals = intervals(component.theta_low, component.theta_high);
    errors.place_intervals = intervals(component.position_low, component.position_high);
    groups.push_back(std::move(errors));
  }
  return groups;
}

Dataset some_of(const Dataset& data) {
  const RankingSet& rankings = data.rankings;
  const std::size_t step = (rankings.size() + judged_rankings - 1) / judged_rankings;
  RankingSetBuilder builder;
  for (std::size_t i = 0; i < rankings.size(); i += std::max<std::size_t>(step, 1)) builder.add(rankings[i], rankings.weight(i));
  return data.with(builder.build());
}

class DpMallowsFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {
        .name = "dpm",
        .title = "Dirichlet process mixture",
        .summary = "Dirichlet process mixture of generalized Mallows models: finds the number of groups by itself",
        .words =
            "The number of groups is not set beforehand: it is found together with its uncertainty. Each group has an order it "
            "agrees on and a strictness for each place.",
        .methods = {{"exact-gibbs", "collapsed Gibbs sampling with the exact integral over theta: right for all lengths", accepts,
                     true},
                    {"beta-gibbs", "Figure 5 of Meila & Chen (2010): the integral's Beta approximation, fast, for t well below n",
                     accepts, true},
                    {"slice-gibbs", "Figures 1-3 of Meila & Chen (2010): theta kept and drawn by slice sampling", accepts, true}},
        .options = describe_options<Options>()};
  }

  std::unique_ptr<FittedModel> load(const ModelRecord& file) const override { return load_fitted(file); }

 protected:
  FitOutcome do_fit(const Dataset& data, const OptionMap& values, const Run& run) const override {
    const Options options = parse_options<Options>(values);
    require_accepted(accepts, data, fmt::format("family dpm, method {}", name_of(options.method)));
    const double seated = data.voters.share() ? data.voters.total_weight() : data.rankings.total_weight();
    const std::string_view who = data.voters.share() ? "voter" : "ballot";
    if (!options.co_clustering.empty() && seated > 5000.0)
      throw UsageError(fmt::format("co-clustering takes at most 5000 {}s, here are {}; use draw-assignments", who, seated));
    const Points points = make_points(data);
    const PriorParameters parameters = prior_parameters(options, data, points.num_stages);
    const Dataset judged = data.voters.share() ? data : some_of(data);
    const ScoreError score_error = [&](const std::vector<PredictiveDraw>& draws) {
      return FittedDpm(data.items, data.unranked, parameters, {}, draws).loglik_error(judged, run.threads) /
             (data.voters.share() ? seated : judged.rankings.total_weight());
    };
    Result result = dp_mallows::fit(data, points, parameters, options, run, score_error);
    write_outputs(result, options);

    FitOutcome outcome;
    auto model = std::make_unique<FittedDpm>(data.items, data.unranked, parameters, result.components, result.predictive);
    model->set_errors(errors_of(result.components));
    FitSummary& summary = outcome.summary;
    summary.method = name_of(options.method);
    for (const Component& component : result.components)
      summary.num_parameters += static_cast<std::int64_t>(component.theta.size());
    summary.num_parameters += static_cast<std::int64_t>(model->num_components()) - 1;
    summary.iterations = result.iterations;
    summary.stop_reason = result.stop_reason;
    summary.posterior = posterior_of(result, options.alpha_prior != "none");
    summary.warnings = result.warnings;
    if (options.method == Method::beta_gibbs && 2 * points.num_stages > points.num_items)
      summary.warnings.push_back(
          fmt::format("beta-gibbs treats every stage as infinite, which is poor for {} stages of {} items: method exact-gibbs is "
                      "not an approximation",
                      points.num_stages, points.num_items));
    summary.options = show_options(options);
    if (!result.predictive.empty()) {
      const double error = model->loglik_error(data, run.threads), per_ballot = error / seated;
      summary.details.set("predictive", Record()
                                            .set("draws", result.predictive.size())
                                            .set("extra_sweeps", result.extra_sweeps)
                                            .set("loglik_error", error)
                                            .set("error_per_ballot", per_ballot));
      if (per_ballot > wanted_score_error)
        summary.warnings.push_back(
            fmt::format("the {} draws kept for score leave a Monte Carlo error of {:.2g} nats per {} (wanted: {}): more --sweeps "
                        "and --predictive-draws make it smaller",
                        result.predictive.size(), per_ballot, who, wanted_score_error));
    }
    if (options.split_merge > 0)
      summary.details.set("split_merge", Record()
                                             .set("splits_tried", result.split_merge.splits_tried)
                                             .set("splits_accepted", result.split_merge.splits_accepted)
                                             .set("merges_tried", result.split_merge.merges_tried)
                                             .set("merges_accepted", result.split_merge.merges_accepted));
    outcome.model = std::move(model);
    return outcome;
  }
};

}  // namespace
}  // namespace dp_mallows

std::unique_ptr<Family> make_dp_mallows_family() { return std::make_unique<dp_mallows::DpMallowsFamily>(); }

}  // namespace caucus
