#include "caucus/infer/kernel_mallows/family.h"

#include <cmath>

#include "caucus/infer/kernel_mallows/ebms.h"
#include "caucus/infer/kernel_mallows/kde.h"

namespace caucus {

namespace kernel_mallows {
namespace {

constexpr Accepts with_ties{.complete = true, .top_t = true, .subset = false, .ties = true};
constexpr Accepts strict{.complete = true, .top_t = true, .subset = false, .ties = false};

void fill_summary(const FittedModel& model, const Dataset& data, const Run& run, FitSummary& summary) {
  const std::vector<double> log_prob = log_probs(model, data, run.threads);
  for (std::size_t i = 0; i < log_prob.size(); ++i) summary.loglik += data.rankings.weight(i) * log_prob[i];
  summary.num_rankings = data.rankings.total_weight();
  summary.seed = run.seed;
  summary.threads = run.threads;
  summary.seconds = run.seconds();
}

class KdeFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {"kde",
            "kernel density of partial rankings with a Mallows kernel: a smooth histogram, no groups",
            {{"parzen", "one kernel per ballot, closed-form sums over the complete rankings behind partial ones", with_ties}},
            describe_options<KdeOptions>()};
  }

  FitOutcome fit(const Dataset& data, const OptionMap& values, const Run& run) const override {
    const KdeOptions options = parse_options<KdeOptions>(values);
    require_accepted(with_ties, data, "family kde");
    const Bandwidth bandwidth = choose_bandwidth(data.rankings, data.num_items(), options, run);
    FitOutcome outcome;
    outcome.model = std::make_unique<FittedKde>(data.items, data.unranked, data.rankings, bandwidth.theta);
    outcome.summary.method = "parzen";
    outcome.summary.num_parameters = 1;
    outcome.summary.iterations = static_cast<int>(bandwidth.trace.size());
    outcome.summary.stop_reason = bandwidth.stop_reason;
    outcome.summary.options = show_options(options);
    outcome.summary.details["theta"] = bandwidth.theta;
    fill_summary(*outcome.model, data, run, outcome.summary);
    outcome.summary.trace = bandwidth.trace;
    if (outcome.summary.trace.empty()) outcome.summary.trace.push_back(outcome.summary.loglik);
    if (!options.theta && !(data.rankings.total_weight() > 1.0))
      outcome.summary.warnings.emplace_back("one ballot says nothing about the kernel's width: theta = 1 was taken");
    return outcome;
  }

  std::unique_ptr<FittedModel> load(const nlohmann::json& model) const override { return load_kde(model); }
};

class EbmsFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {"ebms",
            "exponential blurring mean-shift: ballots drift together until the groups are left",
            {{"blurring", "all ballots move at once to the consensus of their neighbourhood", strict}},
            describe_options<EbmsOptions>()};
  }

  FitOutcome fit(const Dataset& data, const OptionMap& values, const Run& run) const override {
    const EbmsOptions options = parse_options<EbmsOptions>(values);
    require_accepted(strict, data, "family ebms");
    EbmsResult result = ebms(data, options, run);
    const std::size_t k = result.sizes.size();
    FitOutcome outcome;
    outcome.model =
        std::make_unique<FittedEbms>(data.items, data.unranked, result.sizes, result.centers, std::vector<double>(k, result.theta));
    FitSummary& summary = outcome.summary;
    summary.method = "blurring";
    summary.num_parameters = static_cast<std::int64_t>(k);  // the weights and theta
    summary.iterations = result.iterations;
    summary.stop_reason = result.stop_reason;
    summary.options = show_options(options);
    summary.details["kernel_theta"] = result.kernel_theta;
    summary.trace = result.trace;
    fill_summary(*outcome.model, data, run, summary);
    if (k > 1) {
      const std::vector<double> member = memberships(*outcome.model, data, run.threads);
      double entropy = 0.0;
      for (std::size_t i = 0; i < member.size(); ++i)
        if (member[i] > 0.0) entropy -= data.rankings.weight(i / k) * member[i] * std::log(member[i]);
      summary.entropy = entropy;
    }
    return outcome;
  }

  std::unique_ptr<FittedModel> load(const nlohmann::json& model) const override { return load_ebms(model); }
};

}  // namespace
}  // namespace kernel_mallows

std::unique_ptr<Family> make_kde_family() { return std::make_unique<kernel_mallows::KdeFamily>(); }
std::unique_ptr<Family> make_ebms_family() { return std::make_unique<kernel_mallows::EbmsFamily>(); }

}  // namespace caucus
