#include "caucus/infer/kernel_mallows/family.h"

#include <cmath>

#include "caucus/data/weights.h"
#include "caucus/infer/kernel_mallows/fit.h"
#include "caucus/infer/kernel_mallows/fitted.h"

namespace caucus {

namespace kernel_mallows {
namespace {

constexpr Accepts with_ties{.complete = true, .top_t = true, .subset = false, .ties = true};
constexpr Accepts strict{.complete = true, .top_t = true, .subset = false, .ties = false};

class KdeFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {.name = "kde",
            .title = "Kernel density",
            .summary = "kernel density of partial rankings with a Mallows kernel: a smooth histogram, no groups",
            .words = "There are no groups here: every ranking in the data spreads some probability to rankings like it.",
            .methods = {{"parzen", "one kernel per ballot, closed-form sums over the complete rankings behind partial ones",
                         with_ties}},
            .options = describe_options<KdeOptions>()};
  }

  std::unique_ptr<FittedModel> load(const ModelRecord& file) const override { return load_kde(file); }

 protected:
  FitOutcome do_fit(const Dataset& data, const OptionMap& values, const Run& run) const override {
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
    outcome.summary.details.set("theta", bandwidth.theta);
    outcome.summary.trace = {"leave-one-out log-likelihood", bandwidth.trace};
    if (!options.theta && !(effective_size(data.rankings) > 1.0))
      outcome.summary.warnings.emplace_back("one ballot says nothing about the kernel's width: theta = 1 was taken");
    return outcome;
  }
};

class EbmsFamily : public Family {
 public:
  FamilyInfo info() const override {
    return {.name = "ebms",
            .title = "Mean shift",
            .summary = "exponential blurring mean-shift: ballots drift together until the groups are left",
            .words = "Rankings drift towards the rankings around them until they meet; those that meet are a group.",
            .methods = {{"blurring", "all ballots move at once to the consensus of their neighbourhood", strict, true}},
            .options = describe_options<EbmsOptions>()};
  }

  std::unique_ptr<FittedModel> load(const ModelRecord& file) const override { return load_ebms(file); }

 protected:
  FitOutcome do_fit(const Dataset& data, const OptionMap& values, const Run& run) const override {
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
    summary.details.set("kernel_theta", result.kernel_theta);
    summary.trace = {"distinct rankings left", result.trace};
    return outcome;
  }
};

}  // namespace
}  // namespace kernel_mallows

std::unique_ptr<Family> make_kde_family() { return std::make_unique<kernel_mallows::KdeFamily>(); }
std::unique_ptr<Family> make_ebms_family() { return std::make_unique<kernel_mallows::EbmsFamily>(); }

}  // namespace caucus
