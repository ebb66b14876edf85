#include "caucus/infer/m4/family.h"

#include <fmt/format.h>

#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/infer/m4/fitted.h"

namespace caucus {

namespace {

using namespace m4;

class M4Family : public Family {
 public:
  FamilyInfo info() const override {
    const Accepts complete{true, false, false, false};
    return {.name = "m4",
            .title = "Multiplicative Mallows mixture",
            .summary = "multiplicative mixture of Mallows models: every ballot is a weighted product of two groups",
            .words = "In this model there are a few orders, and every voter blends two of them with weights of his or her own.",
            .methods = {{"exact", "alternation with exact weights, dispersions and consensus rankings", complete, true},
                        {"cccp", "the paper's majoriser, minimised exactly", complete, true},
                        {"sgd", "the paper's majoriser by stochastic gradients", complete, true},
                        {"searchpi", "the paper's joint greedy search of all consensus rankings", complete, true}},
            .options = describe_options<M4Options>(),
            .quick_criterion = Criterion::cv,
            .fits_ballot_weights = true};
  }

  std::unique_ptr<FittedModel> load(const ModelRecord& file) const override {
    const std::size_t n = file.items.size();
    if (n < 2) file.model.fail("items", "at least two items");
    Components components;
    for (const RecordView& component : file.components) {
      components.center.push_back(component.permutation("consensus", n));
      components.theta.push_back(component.non_negatives("theta", n - 1, n - 1));
    }
    const std::size_t num_pairs = all_pairs(components.size()).size(),
                      points = components.size() == 1 ? 1 : NormalizerTable::cells + 1;
    Prior prior;
    if (file.model.has("weights_prior")) {
      const RecordView given = file.model.object("weights_prior");
      prior.probability = given.matrix("probability", num_pairs, points);
      double total = 0.0;
      for (const auto& row : prior.probability)
        for (const double value : row) total += value >= 0.0 ? value : infinity;
      if (!(std::abs(total - 1.0) <= 1e-6)) given.fail("probability", "numbers not below zero that sum to 1");
    } else {
      // Without a prior every pair and share is as likely as any other.
      prior.probability.assign(num_pairs, std::vector<double>(points, 1.0 / static_cast<double>(num_pairs * points)));
    }
    // The normalisers follow from the components; the file may spare the sum over all rankings.
    NormalizerTable table;
    if (file.model.has("log_normalizer")) {
      const RecordView given = file.model.object("log_normalizer");
      table.log_c = given.matrix("values", num_pairs, NormalizerTable::cells + 1);
      table.exact = given.flag("exact", true);
      table.standard_error.assign(num_pairs, std::vector<double>(NormalizerTable::cells + 1, 0.0));
    } else {
      table = exact_normalizers(components, 1);
    }
    return std::make_unique<M4Model>(file.items, file.unranked, std::move(components), std::move(prior), std::move(table));
  }

 protected:
  FitOutcome do_fit(const Dataset& data, const OptionMap& options, const Run& run) const override {
    const auto parsed = parse_options<M4Options>(options);
    require_accepted({true, false, false, false}, data, "family m4");
    if (data.num_items() < 2) throw DataError(fmt::format("{}: family m4 needs at least two items", data.source));
    Result result = fit_m4(data, parsed, run);
    FitOutcome outcome;
    FitSummary& summary = outcome.summary;
    const double n = static_cast<double>(data.num_items()), num = parsed.components;
    summary.method = name_of(parsed.method);
    summary.num_parameters = static_cast<std::int64_t>(num * (n - 1) + num * (num - 1));  // M(n-1) + 2 C(M,2)
    summary.iterations = result.iterations;
    summary.stop_reason = result.stop_reason;
    summary.trace = {"log-likelihood at the weights fitted to each ballot, the paper's normaliser", result.trace};
    if (summary.trace.values.empty() || summary.trace.values.back() != result.loglik_paper)
      summary.trace.values.push_back(result.loglik_paper);
    summary.options = show_options(parsed);
    summary.loglik_is_estimated = !result.normalizers.exact;
    if (parsed.components > 1) summary.starts = Starts{parsed.restarts, parsed.restarts, result.agreed, {}, {}};
    // fit.loglik is the marginal over the prior of the weights; these are at the weights fitted to each ballot.
    const double paper_bic =
        2.0 * result.loglik_paper - static_cast<double>(summary.num_parameters) * std::log(data.rankings.total_weight());
    summary.details.set("normalizer", name_of(parsed.normalizer))
        .set("profile_loglik", parsed.normalizer == M4Normalizer::exact ? result.loglik_exact : result.loglik_paper)
        .set("loglik_paper_normalizer", result.loglik_paper)
        .set("loglik_exact_normalizer", result.loglik_exact)
        .set("paper_bic", paper_bic)
        .set("paper_icl", paper_bic - 2.0 * result.z_entropy);
    if (!result.normalizers.exact) summary.details.set("loglik_exact_normalizer_error", result.loglik_exact_error);
    outcome.model = std::make_unique<M4Model>(data.items, data.unranked, std::move(result.state.components),
                                              std::move(result.prior), std::move(result.normalizers));
    return outcome;
  }
};

}  // namespace

std::unique_ptr<Family> make_m4_family() { return std::make_unique<M4Family>(); }

}  // namespace caucus
