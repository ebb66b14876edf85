// Awasthi, Blum, Sheffet & Vijayaraghavan (2014), Table 1, and success against sample size.
#include "paper3.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "caucus/base/parallel.h"
#include "caucus/base/random.h"
#include "caucus/infer/mallows_mixture/mallows_engine.h"
#include "caucus/infer/mallows_mixture/starts.h"
#include "caucus/infer/mallows_tensor/learn.h"
#include "caucus/infer/mallows_tensor/polish.h"
#include "caucus/model/mallows.h"
#include "harness.h"

namespace {

using namespace caucus;
using namespace caucus::experiments;
using namespace caucus::experiments::paper3;

// The family's spectral start (k-means on principal components of pairwise signs), on every k-th of about 20,000 rankings.
MallowsPair spectral_start(const SampleCounts& sample, std::size_t n, std::uint64_t seed) {
  const double stride = std::max(1.0, static_cast<double>(n) / 20000.0);
  RankingSetBuilder builder;
  double passed = 0.0, next = 0.5 * stride;
  for (std::size_t i = 0; i < sample.orders.size(); ++i) {
    passed += sample.weights[i];
    double count = 0.0;
    for (; next < passed; next += stride) count += 1.0;
    if (count > 0.0) builder.add(sample.order(i), count);
  }
  const RankingSet rankings = builder.build();
  const mallows_mixture::MallowsEngine engine(rankings, sample.num_items, ConsensusMethod::automatic, {});
  const mallows_mixture::Starts starts(engine, rankings, 2, MallowsStart::spectral, seed);
  const mallows_mixture::Parameters parameters = engine.from_labels(starts.labels(0), 2);
  MallowsPair pair;
  for (std::size_t r = 0; r < 2; ++r) {
    pair.weight[r] = parameters.weight[r];
    pair.theta[r] = parameters.theta[r][0];
    pair.center[r] = parameters.center[r];
  }
  return pair;
}

const std::array<const char*, 6> methods{
    "paper's steps", "with climbing (`--polish off`)", "polished", "EM, random start", "EM, spectral start", "EM from the truth"};

Json run_one(std::size_t d, std::size_t n, std::uint64_t index, int threads) {
  const MallowsPair truth = draw_truth(most_items, d, index);
  const SampleCounts sample = draw_sample(truth, n, 5000 + index);
  const double begun = cpu_seconds();
  const TopCounts counts = sample.count({});
  const double counted = cpu_seconds();
  const CountSource source = [&](std::span<const ItemId> deleted) { return sample.count(deleted); };
  std::string success;  // one digit per method
  const auto note = [&](const MallowsPair& found) { success += same_centers(found, truth) ? '1' : '0'; };

  LearnOptions steps_alone;
  steps_alone.climb = false;
  note(learn_two_mallows(counts, source, steps_alone, 1).pair);

  const double learning = cpu_seconds();
  const LearnResult learned = learn_two_mallows(counts, source, LearnOptions{}, 1);
  note(learned.pair);
  std::vector<std::uint64_t> bits(sample.orders.size());
  for (std::size_t i = 0; i < bits.size(); ++i) PairPolisher::set_bits(sample.order(i), std::span(&bits[i], 1));
  const PairPolisher polisher(std::move(bits), sample.weights, most_items, threads);
  std::vector<MallowsPair> starts;
  for (const Candidate& candidate : learned.candidates) starts.push_back(candidate.pair);
  note(polisher.run_best(starts, 3).pair);
  const double seconds = cpu_seconds() - learning + counted - begun;  // a whole fit: counting, learning, polishing

  PolishOptions em;
  em.exchange = false;
  RandomStream random(99, Purpose::initialise, index);
  MallowsPair guess;
  guess.center = {truth.center[0], truth.center[0]};
  for (auto& center : guess.center) random.shuffle(std::span(center));
  note(polisher.run(guess, em).pair);
  note(polisher.run(spectral_start(sample, n, index), em).pair);
  note(polisher.run(truth, em).pair);
  return {{"d", d},
          {"N", n},
          {"run", index},
          {"branch", name_of(learned.branch)},
          {"success", success},
          {"cpu_seconds", seconds},
          {"megabytes", peak_megabytes()}};
}

// The paper's experiment without HANDLE-DEGENERATE-CASES, which it describes and says it did not run: partitions, TENSOR-DECOMP,
// INFER-TOP-K, RECOVER-REST, no more.
Json run_decomposition(std::size_t d, std::size_t n, std::uint64_t index) {
  const MallowsPair truth = draw_truth(most_items, d, index);
  const SampleCounts sample = draw_sample(truth, n, 5000 + index);
  const double begun = cpu_seconds();
  LearnOptions options;
  options.climb = false;
  LearnResult report;
  const std::vector<Candidate> found = learn_by_decomposition(sample.count({}), options, 1, report);
  return {{"d", d},
          {"N", n},
          {"run", index},
          {"passed", report.partitions_passed},
          {"success", !found.empty() && same_centers(found.front().pair, truth)},
          {"cpu_seconds", cpu_seconds() - begun}};
}

void run(const Settings& settings, Results& results, const std::string& part, std::size_t d, std::size_t n, std::uint64_t index) {
  const std::string key = fmt::format("{}/d={}/N={}/run={}", part, d, n, index);
  if (results.has(key)) return;
  Json row = run_one(d, n, index, settings.threads);
  row["part"] = part;
  results.add(key, index, row);
  fmt::print(stderr, "{} {}\n", key, row["success"].get<std::string>());
}

void table1(const Settings& settings, Results& results) {
  // Run by run through all distances, so that a cut-off experiment has the same number of runs everywhere.
  for (int index = 0; index < num_runs(settings); ++index)
    for (const std::size_t d : distances)
      run(settings, results, "table1", d, settings.quick ? 20000 : 5000000, static_cast<std::uint64_t>(index) * 100 + d);
}

void decomposition(const Settings& settings, Results& results) {
  for (int index = 0; index < num_runs(settings); ++index)
    for (const std::size_t d : distances) {
      const std::size_t n = settings.quick ? 20000 : 5000000;
      const std::uint64_t run = static_cast<std::uint64_t>(index) * 100 + d;
      const std::string key = fmt::format("decomposition/d={}/N={}/run={}", d, n, run);
      if (d > 24 || results.has(key)) continue;  // beyond, the degenerate branch is not taken
      Json row = run_decomposition(d, n, run);
      row["part"] = "decomposition";
      results.add(key, run, row);
    }
}

Report decomposition_report(const Settings&, const Results& results) {
  std::map<std::size_t, Mean> alone, steps, seconds;
  for (const auto& [key, row] : results.lines()) {
    if (row["part"] == "decomposition") {
      alone[row["d"].get<std::size_t>()].add(row["success"].get<bool>() ? 1.0 : 0.0);
      seconds[row["d"].get<std::size_t>()].add(row["cpu_seconds"].get<double>());
    }
    if (row["part"] == "table1") steps[row["d"].get<std::size_t>()].add(row["success"].get<std::string>()[0] == '1' ? 1.0 : 0.0);
  }
  if (alone.empty()) return {};
  Report report{
      "Both rankings exact, N = 5,000,000: the decomposition alone against the paper; with the degenerate branch for comparison. "
      "95 % "
      "intervals; the paper's are of its 20 runs.\n\n"
      "| d | paper: tensor | decomposition alone | with the degenerate branch | CPU s of one decomposition "
      "|\n|---|---|---|---|---|\n",
      ""};
  for (const auto& [d, mean] : alone)
    report.table +=
        fmt::format("| {} | {} | {} | {} | {:.2f} |\n", d, share(printed.at(d).second / 5.0, 20.0),
                    share(mean.sum, static_cast<double>(mean.count)),
                    steps.contains(d) ? share(steps[d].sum, static_cast<double>(steps[d].count)) : "not run", seconds[d].mean());
  return report;
}

void curve(const Settings& settings, Results& results) {
  // The same mixtures at every size, at the distances of Table 1 in turn.
  for (int index = 0; index < num_runs(settings); ++index)
    for (const std::size_t n : {1000u, 3162u, 10000u, 31623u, 100000u, 316228u, 1000000u, 3162278u, 10000000u})
      if (!settings.quick || n < 30000u)
        run(settings, results, "curve", distances[static_cast<std::size_t>(index) % distances.size()], n,
            100000 + static_cast<std::uint64_t>(index));
}

Report report(const Results& results, const std::string& part, const char* key, bool with_paper) {
  std::map<std::size_t, std::array<Mean, methods.size()>> cells;
  for (const auto& [name, row] : results.lines()) {
    if (row["part"] != part) continue;
    const auto digits = row["success"].get<std::string>();
    for (std::size_t m = 0; m < methods.size(); ++m) cells[row[key].get<std::size_t>()][m].add(digits[m] == '1' ? 1.0 : 0.0);
  }
  Report result{fmt::format("| {} | runs |{}", key, with_paper ? " paper: EM | paper: tensor |" : ""), ""};
  for (const char* method : methods) result.table += fmt::format(" {} |", method);
  result.table += with_paper ? "\n|---|---|---|---|---|---|---|---|---|---|\n" : "\n|---|---|---|---|---|---|---|---|\n";
  std::vector<Series> lines;
  for (const char* method : methods) lines.push_back({method, {}});
  Series paper_em{"paper: EM", {}}, paper_tensor{"paper: tensor", {}};
  for (const auto& [at, by_method] : cells) {
    result.table += fmt::format("| {} | {} |", at, by_method[0].count);
    if (with_paper) {
      const auto [em, tensor] = printed.at(at);
      result.table += fmt::format(" {}% ({}) | {}% ({}) |", em, wilson(em / 5.0, 20.0), tensor, wilson(tensor / 5.0, 20.0));
      paper_em.points.emplace_back(static_cast<double>(at), em);
      paper_tensor.points.emplace_back(static_cast<double>(at), tensor);
    }
    for (std::size_t m = 0; m < methods.size(); ++m) {
      result.table += fmt::format(" {:.0f}%", 100.0 * by_method[m].mean());
      if (with_paper) result.table += fmt::format(" ({})", wilson(by_method[m].sum, static_cast<double>(by_method[m].count)));
      result.table += " |";
      lines[m].points.emplace_back(static_cast<double>(at), 100.0 * by_method[m].mean());
    }
    result.table += "\n";
  }
  if (with_paper) lines.insert(lines.end(), {paper_em, paper_tensor});
  const std::string chart = line_chart("Both rankings exact", with_paper ? "distance of the two rankings" : "rankings", "% of runs",
                                       lines, 70, false, !with_paper);
  if (!chart.empty()) result.svg = svg_page(620, 390, chart);
  return result;
}

Report table1_report(const Settings&, const Results& results) { return report(results, "table1", "d", true); }
Report curve_report(const Settings&, const Results& results) { return report(results, "curve", "N", false); }

}  // namespace

std::vector<Target> caucus::experiments::paper3_targets() {
  return {{"paper3-table1", "both rankings found, by distance of the two rankings", table1, table1_report},
          {"paper3-decomposition", "Table 1 without the degenerate branch, which the paper did not run", decomposition,
           decomposition_report},
          em_target(),
          items_target(),
          {"paper3-curve", "both rankings found, by number of rankings (not in the paper)", curve, curve_report}};
}
