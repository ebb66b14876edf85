#include "caucus/infer/m4/family.h"

#include <fmt/format.h>

#include <cmath>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/infer/m4/model.h"

namespace caucus {

namespace {

using namespace m4;

class M4Family : public Family {
 public:
  FamilyInfo info() const override {
    const Accepts complete{true, false, false, false};
    return {"m4",
            "multiplicative mixture of Mallows models: every ballot is a weighted product of two groups",
            {{"exact", "alternation with exact weights, dispersions and consensus rankings", complete},
             {"cccp", "the paper's majoriser, minimised exactly", complete},
             {"sgd", "the paper's majoriser by stochastic gradients", complete},
             {"searchpi", "the paper's joint greedy search of all consensus rankings", complete}},
            describe_options<M4Options>()};
  }

  FitOutcome fit(const Dataset& data, const OptionMap& options, const Run& run) const override {
    const auto parsed = parse_options<M4Options>(options);
    require_accepted({true, false, false, false}, data, "family m4");
    if (data.num_items() < 2) throw DataError(fmt::format("{}: family m4 needs at least two items", data.source));
    Result result = fit_m4(data, parsed, run);
    FitOutcome outcome;
    FitSummary& summary = outcome.summary;
    const double n = static_cast<double>(data.num_items()), num = parsed.components;
    summary.method = name_of(parsed.method);
    const bool exact = parsed.normalizer == M4Normalizer::exact;
    summary.loglik = exact ? result.loglik_exact : result.loglik_paper;
    summary.num_rankings = data.rankings.total_weight();
    summary.num_parameters = static_cast<std::int64_t>(num * (n - 1) + num * (num - 1));  // M(n-1) + 2 C(M,2)
    summary.entropy = result.z_entropy;
    summary.iterations = result.iterations;
    summary.stop_reason = result.stop_reason;
    summary.seconds = run.seconds();
    summary.seed = run.seed;
    summary.trace = result.trace;
    if (summary.trace.empty() || summary.trace.back() != summary.loglik) summary.trace.push_back(summary.loglik);
    summary.options = show_options(parsed);
    nlohmann::json& details = summary.details;
    details["normalizer"] = name_of(parsed.normalizer);
    details["loglik_paper_normalizer"] = result.loglik_paper;
    details["loglik_exact_normalizer"] = result.loglik_exact;
    if (!result.normalizers.exact) details["loglik_exact_normalizer_error"] = result.loglik_exact_error;
    details["loglik_marginal"] = result.loglik_marginal;
    const double paper_bic =
        2.0 * result.loglik_paper - static_cast<double>(summary.num_parameters) * std::log(summary.num_rankings);
    details["paper_bic"] = paper_bic;
    details["paper_icl"] = paper_bic - 2.0 * result.z_entropy;
    details["restarts"] = {{"starts", parsed.components == 1 ? 1 : parsed.restarts}, {"agreed", result.agreed}};
    if (parsed.components > 1)
      summary.warnings.push_back(
          "loglik, aic and bic are at weights fitted to every ballot, which the parameter count leaves out: compare families by "
          "fit.loglik_marginal or held-out scores");
    outcome.model = std::make_unique<M4Model>(data.items, data.unranked, std::move(result.state.components),
                                              std::move(result.prior), std::move(result.normalizers));
    return outcome;
  }

  std::unique_ptr<FittedModel> load(const nlohmann::json& json) const override {
    std::vector<std::string> items = model_json::items(json);
    if (items.size() < 2) throw DataError("model file: items: expected at least two items");
    const nlohmann::json& list = model_json::components(json);
    Components components;
    for (std::size_t m = 0; m < list.size(); ++m) {
      const std::string where = fmt::format("components[{}]", m);
      components.centre.push_back(model_json::permutation(list[m], "consensus", items.size(), where));
      components.theta.push_back(model_json::numbers(list[m], "theta", items.size() - 1, where));
      for (double theta : components.theta.back())
        if (theta < 0.0) throw DataError(fmt::format("model file: {}.theta: expected numbers not below zero", where));
    }
    const std::size_t num_pairs = all_pairs(components.size()).size(),
                      points = components.size() == 1 ? 1 : NormalizerTable::cells + 1;
    Prior prior;
    const auto found = json.find("weights_prior");
    if (found == json.end()) {
      // Without a prior every pair and share is as likely as any other.
      prior.probability.assign(num_pairs, std::vector<double>(points, 1.0 / static_cast<double>(num_pairs * points)));
    } else {
      const auto fail = [&] {
        throw DataError(
            fmt::format("model file: weights_prior.probability: expected {} lists of {} numbers not below zero that sum to 1",
                        num_pairs, points));
      };
      if (!found->is_object() || !found->contains("probability") || !(*found)["probability"].is_array() ||
          (*found)["probability"].size() != num_pairs)
        fail();
      double total = 0.0;
      for (const auto& row : (*found)["probability"]) {
        if (!row.is_array() || row.size() != points) fail();
        prior.probability.emplace_back();
        for (const auto& value : row) {
          if (!value.is_number() || value.get<double>() < 0.0) fail();
          prior.probability.back().push_back(value.get<double>());
          total += value.get<double>();
        }
      }
      if (std::abs(total - 1.0) > 1e-6) fail();
    }
    // The normalisers follow from the components; the file may spare the sum over all rankings.
    NormalizerTable table;
    const auto stored = json.find("log_normalizer");
    bool usable = stored != json.end() && stored->is_object() && stored->contains("values") && (*stored)["values"].is_array() &&
                  (*stored)["values"].size() == num_pairs;
    if (usable) {
      for (const auto& row : (*stored)["values"]) {
        usable = usable && row.is_array() && row.size() == NormalizerTable::cells + 1;
        if (!usable) break;
        table.log_c.emplace_back();
        for (const auto& value : row) table.log_c.back().push_back(value.is_number() ? value.get<double>() : infinity);
      }
      table.exact = stored->value("exact", true);
      table.standard_error.assign(num_pairs, std::vector<double>(NormalizerTable::cells + 1, 0.0));
    }
    if (!usable) table = exact_normalizers(components, 1);
    return std::make_unique<M4Model>(std::move(items), model_json::unranked(json), std::move(components), std::move(prior),
                                     std::move(table));
  }
};

}  // namespace

std::unique_ptr<Family> make_m4_family() { return std::make_unique<M4Family>(); }

}  // namespace caucus
