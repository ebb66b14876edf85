// Nguyen & Zhang (2023): starts and fits on data from the generator of Theorem 1.
// How often each start reaches an error within 5 % of EM started at the truth, and the error before and after EM.
#include "paper1_starts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/methods.h"
#include "caucus/infer/pl_mixture/start.h"
#include "theorem1.h"

namespace {

using namespace caucus;
using namespace caucus::pl_mixture;
using namespace caucus::experiments;

struct Variant {
  std::string name;
  OptionMap options;
};

const std::vector<Variant> variants{
    {"default (plain fit)", {{"components", "3"}, {"standard-errors", "off"}}},
    {"spectral, centered, r = K, 20 k-means restarts", {{"components", "3"}, {"init", "spectral"}, {"restarts", "1"}}},
    {"spectral, not centered", {{"components", "3"}, {"init", "spectral"}, {"restarts", "1"}, {"center", "off"}}},
    {"spectral, paper's threshold",
     {{"components", "3"}, {"init", "spectral"}, {"restarts", "1"}, {"rank-rule", "paper"}, {"center", "off"}}},
    {"spectral, one k-means start", {{"components", "3"}, {"init", "spectral"}, {"restarts", "1"}, {"kmeans-restarts", "1"}}},
    {"spectral, 5 starts", {{"components", "3"}, {"init", "spectral"}, {"restarts", "5"}}},
    {"k-means on the raw embedding", {{"components", "3"}, {"init", "kmeans"}, {"restarts", "1"}, {"kmeans-restarts", "3"}}},
    {"moments", {{"components", "3"}, {"init", "moments"}, {"restarts", "1"}}},
    {"one random start", {{"components", "3"}, {"init", "random"}, {"restarts", "1"}}},
    {"20 random starts", {{"components", "3"}, {"init", "random"}, {"restarts", "20"}}}};

constexpr std::size_t num = 3, informative = 5;

void run_starts(const Settings& settings, Results& results) {
  const std::size_t n = settings.quick ? 20 : 100, m = settings.quick ? 1000 : 10000;
  const int seeds = settings.trials > 0 ? settings.trials : settings.quick ? 2 : 25;
  for (int trial = 1; trial <= seeds; ++trial) {
    const auto key = [&](const std::string& start) { return fmt::format("starts/seed={}/{}", trial, start); };
    if (std::ranges::all_of(variants, [&](const Variant& variant) { return results.has(key(variant.name)); })) continue;
    const auto seed = static_cast<std::uint64_t>(trial);
    const auto [truth, at, data] = draw_theorem1(n, num, informative, m, seed, settings.threads);
    const Objective objective(data, num, 0.0, settings.threads);
    const Solution reference = run_method(objective, Method::em, Chain::automatic, at, SolveOptions{}, Run{});
    const double best = plackett_luce_distance(reference.parameters.utilities, truth.utilities, n);
    for (const Variant& variant : variants) {
      if (results.has(key(variant.name))) continue;
      Options options = parse_options<Options>(variant.options);
      options.standard_errors = Toggle::off;
      Run run;
      run.seed = seed;
      run.threads = settings.threads;
      const double begun = cpu_seconds();
      const Result result = fit(data, options, run);
      const double seconds = cpu_seconds() - begun;
      const Parameters start = pl_mixture::Starts(objective, options, seed).make(options.init, 0);
      results.add(key(variant.name), seed,
                  {{"part", "starts"},
                   {"start", variant.name},
                   {"seed", trial},
                   {"seconds", seconds},
                   {"best", best},
                   {"before", plackett_luce_distance(start.utilities, truth.utilities, n)},
                   {"after", plackett_luce_distance(result.parameters.utilities, truth.utilities, n)},
                   {"likelihood_reached", result.loglik >= reference.loglik - 1e-6 * std::abs(reference.loglik)}});
    }
  }
}

Report report_starts(const Settings&, const Results& results) {
  Report report{
      "| start | within 5 % of EM from the truth | likelihood at least as high | mean error of the start | after EM | s per fit "
      "|\n|---|---|---|---|---|---|\n",
      ""};
  std::vector<std::pair<std::string, std::vector<Series>>> rows;
  for (const Variant& variant : variants) {
    Mean reached, likelihood, before, after, seconds;
    for (const auto& [key, one] : results.lines()) {
      if (one["part"] != "starts" || one["start"] != variant.name) continue;
      reached.add(one["after"].get<double>() <= 1.05 * one["best"].get<double>() ? 1.0 : 0.0);
      likelihood.add(one["likelihood_reached"].get<bool>() ? 1.0 : 0.0);
      before.add(one["before"].get<double>());
      after.add(one["after"].get<double>());
      seconds.add(one["seconds"].get<double>());
    }
    if (reached.count == 0) {
      report.table += fmt::format("| {} | not run | | | | |\n", variant.name);
      continue;
    }
    report.table += fmt::format("| {} | {:.0f} of {} | {:.0f} of {} | {:.3f} | {:.3f} | {:.2f} |\n", variant.name, reached.sum,
                                reached.count, likelihood.sum, likelihood.count, before.mean(), after.mean(), seconds.mean());
    rows.push_back({variant.name, {{"start", {{before.mean(), 0.0}}}, {"after EM", {{after.mean(), 0.0}}}}});
  }
  report.svg = dot_chart("Error of the start and after EM", "dist to the truth", rows);
  return report;
}

}  // namespace

caucus::experiments::Target caucus::experiments::paper1_starts_target() {
  return {"paper1-starts", "how often each start leads EM to the truth (not in the paper)", run_starts, report_starts};
}
