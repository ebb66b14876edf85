// What the paper has in its text or supplement besides Figures 1, 2 and Table 1: how the error falls with L (Theorem 1), the probit
// link of Algorithm 2 for random utility models, how many passes EMM takes when each M step is solved, and the Bayesian mixture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "caucus/data/folds.h"
#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/m_steps.h"
#include "caucus/infer/pl_mixture/methods.h"
#include "caucus/infer/pl_mixture/start.h"
#include "caucus/io/io.h"
#include "paper1_starts.h"
#include "theorem1.h"

namespace {

using namespace caucus;
using namespace caucus::pl_mixture;
using namespace caucus::experiments;

constexpr std::size_t num_items = 100;

// The error of the spectral start and of EM from it, by the number of items that tell the groups apart.
void rate(const Settings& settings, Results& results) {
  const std::size_t m = settings.quick ? 500 : 5000;
  const int trials = settings.trials > 0 ? settings.trials : settings.quick ? 1 : 10;
  for (int trial = 1; trial <= trials; ++trial)
    for (const std::size_t informative : {1, 2, 5, 10, 20, 50, 100}) {
      const std::string key = fmt::format("supplement/rate/L={}/trial={}", informative, trial);
      if (results.has(key)) continue;
      const auto seed = static_cast<std::uint64_t>(trial);
      const Theorem1 drawn = draw_theorem1(num_items, 3, informative, m, seed, settings.threads);
      const Objective objective(drawn.data, 3, 0.0, settings.threads);
      Options options;
      options.components = 3;
      const Parameters start = pl_mixture::Starts(objective, options, seed).make(Init::spectral, 0);
      const Solution em = run_method(objective, Method::em, Chain::automatic, start, SolveOptions{}, Run{});
      const Solution best = run_method(objective, Method::em, Chain::automatic, drawn.parameters, SolveOptions{}, Run{});
      const auto error = [&](const Parameters& at) {
        return plackett_luce_distance(at.utilities, drawn.truth.utilities, num_items);
      };
      results.add(key, seed,
                  {{"part", "rate"},
                   {"L", informative},
                   {"start", error(start)},
                   {"em", error(em.parameters)},
                   {"truth", error(best.parameters)}});
    }
}

// Groups with normal errors (Thurstone): the utilities of Theorem 1, noise of the variance of Gumbel's, which is the scale that
// utilities have under either link.
Dataset draw_thurstone(const PlackettLuceTruth& truth, std::size_t count, std::uint64_t seed) {
  RandomStream random(seed, Purpose::generate, 7);
  Dataset data;
  data.source = "thurstone";
  for (std::size_t i = 0; i < truth.num_items; ++i) data.items.push_back(std::to_string(i + 1));
  RankingSetBuilder builder;
  std::vector<double> value(truth.num_items);
  std::vector<ItemId> order(truth.num_items);
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t k = random.below(truth.weights.size());
    for (std::size_t i = 0; i < value.size(); ++i)
      value[i] = truth.utilities[k * truth.num_items + i] + std::numbers::pi / std::sqrt(6.0) * random.normal();
    std::iota(order.begin(), order.end(), ItemId{0});
    std::ranges::sort(order, [&](ItemId a, ItemId b) { return value[a] > value[b]; });
    builder.add(order);
  }
  data.rankings = builder.build();
  return data;
}

void probit(const Settings& settings, Results& results) {
  const int trials = settings.trials > 0 ? settings.trials : settings.quick ? 1 : 10;
  for (int trial = 1; trial <= trials; ++trial)
    for (const std::size_t m : settings.quick ? std::vector<std::size_t>{500} : std::vector<std::size_t>{1000, 5000, 10000}) {
      const std::string key = fmt::format("supplement/thurstone/m={}/trial={}", m, trial);
      if (results.has(key)) continue;
      const auto seed = static_cast<std::uint64_t>(trial);
      const PlackettLuceTruth truth = theorem1_truth(num_items, 3, 20, seed);
      const Dataset data = draw_thurstone(truth, m, seed);
      const Objective objective(data, 3, 0.0, settings.threads);
      Json line{{"part", "thurstone"}, {"m", m}};
      for (const Link link : {Link::logit, Link::probit}) {
        Options options;
        options.components = 3;
        options.link = link;
        const Parameters start = pl_mixture::Starts(objective, options, seed).make(Init::spectral, 0);
        line[std::string(name_of(link))] = plackett_luce_distance(start.utilities, truth.utilities, num_items);
      }
      results.add(key, seed, std::move(line));
    }
}

struct Literal {
  Parameters parameters;
  double loglik = 0.0;
  double passes = 0.0;  // over the data: an E step is one, an MM step of all components is one
  int iterations = 0;
  bool converged = false;
};

// EMM as written: each M step solved by MM steps, no extrapolation. The M step ends as that of em-lsr does, at a gradient of 1e-7
// of the choices; EM where an iteration gains less than 1e-8 of the log-likelihood.
Literal literal_emm(const Objective& objective, Parameters at, int most_passes) {
  Literal result;
  const std::size_t n = at.num_items, num = at.num_components();
  double last = -1e300;
  while (result.passes < most_passes) {
    std::vector<double> posterior;
    const Evaluation here = objective.evaluate(at, &posterior);
    result.passes += 1.0;
    ++result.iterations;
    result.loglik = here.loglik;
    if (here.loglik - last < 1e-8 * std::abs(here.loglik)) {
      result.converged = true;
      break;
    }
    last = here.loglik;
    for (std::size_t k = 0; k < num; ++k) {
      const auto wins = std::span<const double>(here.wins).subspan(k * n, n);
      const double choices = std::accumulate(wins.begin(), wins.end(), 0.0);
      const std::span<double> utilities = at.component(k);
      while (result.passes < most_passes) {
        const std::vector<double> gradient = weighted_gradient(objective, {posterior, num, k}, utilities);
        result.passes += 1.0 / static_cast<double>(num);
        double largest = 0.0, mean = 0.0;
        for (const double g : gradient) largest = std::max(largest, std::abs(g));
        if (largest < 1e-7 * choices) break;
        for (std::size_t i = 0; i < n; ++i)
          utilities[i] += std::log(wins[i] / (wins[i] - gradient[i])), mean += utilities[i] / static_cast<double>(n);
        for (double& u : utilities) u -= mean;
      }
    }
    objective.update_weights(here, at);
  }
  result.parameters = std::move(at);
  return result;
}

void passes(const Settings& settings, Results& results) {
  const int trials = settings.trials > 0 ? std::min(settings.trials, 5) : settings.quick ? 1 : 5;
  for (int trial = 1; trial <= trials; ++trial)
    for (const std::size_t num : settings.quick ? std::vector<std::size_t>{3} : std::vector<std::size_t>{3, 8})
      for (const std::size_t m : settings.quick ? std::vector<std::size_t>{500} : std::vector<std::size_t>{1000, 2000}) {
        const std::string key = fmt::format("supplement/passes/K={}/m={}/trial={}", num, m, trial);
        if (results.has(key)) continue;
        const auto seed = static_cast<std::uint64_t>(trial);
        const Theorem1 drawn = draw_theorem1(num_items, num, 5, m, seed, settings.threads);
        const Objective objective(drawn.data, num, 0.0, settings.threads);
        Options options;
        options.components = static_cast<int>(num);
        const Parameters start = pl_mixture::Starts(objective, options, seed).make(Init::spectral, 0);
        Json line{{"part", "passes"}, {"K", num}, {"m", m}};
        const auto add = [&](const std::string& name, const Parameters& found, double loglik, double count, double seconds) {
          line[name] = {{"passes", count},
                        {"loglik", loglik},
                        {"error", plackett_luce_distance(found.utilities, drawn.truth.utilities, num_items)},
                        {"seconds", seconds}};
        };
        for (const Method method : {Method::em, Method::emm, Method::em_lsr}) {
          const double begun = cpu_seconds();
          const Solution found = run_method(objective, method, Chain::automatic, start, SolveOptions{}, Run{});
          add(std::string(name_of(method)), found.parameters, found.loglik, found.iterations, cpu_seconds() - begun);
        }
        const double begun = cpu_seconds();
        const Literal found = literal_emm(objective, start, 20000);
        add("literal", found.parameters, found.loglik, found.passes, cpu_seconds() - begun);
        line["literal"]["iterations"] = found.iterations;
        line["literal"]["converged"] = found.converged;
        results.add(key, seed, std::move(line));
      }
}

// Test log-likelihood of EM and of the Gibbs sampler's posterior mean, K as Table 1 chose it.
void bayes(const Settings& settings, Results& results) {
  struct Case {
    const char *name, *file;
    int components;
  };
  for (const Case& one : {Case{"APA", "classic/apa1980_complete.soc", 2}, Case{"Sushi", "preflib/00014-00000001.soc", 4}}) {
    const std::string key = fmt::format("supplement/bayes/{}", one.name);
    if (results.has(key) || (settings.quick && one.components > 2)) continue;
    const Split split = make_holdout(read_dataset(settings.data + "/" + one.file), 0.2, 1);
    Json line{{"part", "bayes"}, {"data", one.name}, {"K", one.components}};
    for (const Method method : {Method::em, Method::gibbs}) {
      Options options;
      options.components = one.components;
      options.method = method;
      options.init = Init::spectral;
      options.restarts = 1;
      options.standard_errors = Toggle::off;
      if (settings.quick) options.sweeps = 200, options.burnin = 50;
      Run run;
      run.threads = 1;
      const double begun = cpu_seconds();
      const Result fitted = fit(split.train, options, run);
      const double seconds = cpu_seconds() - begun;
      const FittedMixture model(split.test.items, split.test.unranked, fitted.parameters);
      const std::vector<double> rows = log_probs(model, split.test, 1);
      double total = 0.0;
      for (std::size_t i = 0; i < rows.size(); ++i) total += split.test.rankings.weight(i) * rows[i];
      line[std::string(name_of(method))] = {{"test", total / split.test.rankings.total_weight()}, {"seconds", seconds}};
    }
    results.add(key, 1, std::move(line));
  }
}

void run(const Settings& settings, Results& results) {
  rate(settings, results);
  probit(settings, results);
  passes(settings, results);
  bayes(settings, results);
}

std::string mean_and_deviation(const Mean& mean) { return fmt::format("{:.3g} ({:.2g})", mean.mean(), mean.deviation()); }

Report report(const Settings&, const Results& results) {
  std::map<std::size_t, std::array<Mean, 3>> rates;
  std::map<std::size_t, std::array<Mean, 2>> links;
  struct Passes {
    Mean passes, error, seconds, loglik, rest;
  };
  std::map<std::pair<int, int>, std::map<std::string, Passes>> counts;
  std::string bayes_rows;
  for (const auto& [key, one] : results.lines()) {
    if (one["part"] == "rate")
      for (const auto& [at, name] : {std::pair{0, "start"}, std::pair{1, "em"}, std::pair{2, "truth"}})
        rates[one["L"].get<std::size_t>()][static_cast<std::size_t>(at)].add(one[name].get<double>());
    if (one["part"] == "thurstone")
      for (const auto& [at, name] : {std::pair{0, "logit"}, std::pair{1, "probit"}})
        links[one["m"].get<std::size_t>()][static_cast<std::size_t>(at)].add(one[name].get<double>());
    if (one["part"] == "passes")
      for (const std::string name : {"em", "emm", "em-lsr", "literal"}) {
        Passes& cell = counts[{one["K"].get<int>(), one["m"].get<int>()}][name];
        const Json& value = one[name];
        cell.passes.add(value["passes"].get<double>());
        cell.error.add(value["error"].get<double>());
        cell.seconds.add(value["seconds"].get<double>());
        cell.loglik.add(value["loglik"].get<double>() - one["em-lsr"]["loglik"].get<double>());
        if (value.contains("converged")) cell.rest.add(value["converged"].get<bool>() ? 1.0 : 0.0);
      }
    if (one["part"] == "bayes")
      bayes_rows += fmt::format("| {} | {} | {:.4f} ({:.2g} s) | {:.4f} ({:.2g} s) |\n", one["data"].get<std::string>(),
                                one["K"].get<int>(), one["em"]["test"].get<double>(), one["em"]["seconds"].get<double>(),
                                one["gibbs"]["test"].get<double>(), one["gibbs"]["seconds"].get<double>());
  }
  if (rates.empty()) return {};
  Report report;
  report.table =
      "The rate in L: n = 100, K = 3, m = 5000; error, mean (standard deviation) over trials.\n\n"
      "| L | trials | spectral start | EM from it | EM from the truth |\n|---|---|---|---|---|\n";
  std::vector<Series> lines{{"spectral start", {}}, {"em", {}}, {"em from the truth", {}}};
  for (const auto& [informative, cells] : rates) {
    report.table += fmt::format("| {} | {} | {} | {} | {} |\n", informative, cells[0].count, mean_and_deviation(cells[0]),
                                mean_and_deviation(cells[1]), mean_and_deviation(cells[2]));
    for (std::size_t s = 0; s < 3; ++s) lines[s].points.emplace_back(static_cast<double>(informative), cells[s].mean());
  }
  report.svg = svg_page(580, 390, line_chart("Error by L, K = 3, m = 5000", "L", "dist to the truth", lines, 70));
  if (!links.empty()) {
    report.table +=
        "\nNormal errors in place of Gumbel's, of the same variance (n = 100, K = 3, L = 20): error of the spectral start by the "
        "link of Algorithm 2.\n\n"
        "| m | trials | logit | probit |\n|---|---|---|---|\n";
    for (const auto& [m, cells] : links)
      report.table +=
          fmt::format("| {} | {} | {} | {} |\n", m, cells[0].count, mean_and_deviation(cells[0]), mean_and_deviation(cells[1]));
  }
  if (!counts.empty()) {
    report.table +=
        "\nPasses over the data from the same spectral start; a literal EMM solves each M step by MM steps and does not "
        "extrapolate. Log-likelihood: compared with em-lsr.\n\n| K | m | trials | method | passes | CPU s | error | log-likelihood "
        "|\n|---|---|---|---|---|---|---|---|\n";
    for (const auto& [at, by_name] : counts)
      for (const std::string name : {"literal", "emm", "em-lsr", "em"}) {
        const Passes& cell = by_name.at(name);
        report.table +=
            fmt::format("| {} | {} | {} | {}{} | {:.0f} | {:.2g} | {:.3g} | {:+.3f} |\n", at.first, at.second, cell.passes.count,
                        name == "literal" ? "emm, literal" : name,
                        cell.rest.count > 0 && cell.rest.sum < static_cast<double>(cell.rest.count)
                            ? fmt::format(" ({:.0f} of {} at rest within 20,000 passes)", cell.rest.sum, cell.rest.count)
                            : "",
                        cell.passes.mean(), cell.seconds.mean(), cell.error.mean(), cell.loglik.mean());
      }
  }
  if (!bayes_rows.empty())
    report.table +=
        "\nThe Bayesian mixture (`--method gibbs`, 2000 sweeps, posterior mean): test log-likelihood per ballot next to EM, K as "
        "in "
        "Table 1.\n\n| data | K | em | gibbs |\n|---|---|---|---|\n" +
        bayes_rows;
  return report;
}

}  // namespace

caucus::experiments::Target caucus::experiments::paper1_supplement_target() {
  return {"paper1-supplement", "the rate in L, the probit link, passes of a literal EMM, the Bayesian mixture", run, report};
}
