// Awasthi, Blum, Sheffet & Vijayaraghavan (2014), Table 1, and success against sample size.
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
using namespace caucus::mallows_tensor;
using namespace caucus::experiments;

constexpr std::size_t num_items = 10;

// Uniform over rankings at distance d from the identity: a uniform solution of x_1 + .. + x_n = d with x_i <= n - i, as the paper
// draws it.
std::vector<ItemId> ranking_at_distance(std::size_t d, RandomStream& random) {
  std::vector<std::vector<double>> ways(num_items + 1, std::vector<double>(d + 1, 0.0));
  ways[num_items][0] = 1.0;
  for (std::size_t i = num_items; i-- > 0;)
    for (std::size_t left = 0; left <= d; ++left)
      for (std::size_t x = 0; x <= std::min(left, num_items - 1 - i); ++x) ways[i][left] += ways[i + 1][left - x];
  std::vector<std::uint32_t> code(num_items);
  std::size_t left = d;
  for (std::size_t i = 0; i < num_items; ++i) {
    std::vector<double> weights;
    for (std::size_t x = 0; x <= std::min(left, num_items - 1 - i); ++x) weights.push_back(ways[i + 1][left - x]);
    const std::size_t x = random.categorical(weights);
    code[i] = static_cast<std::uint32_t>(x);
    left -= x;
  }
  // x_i is the number of larger items before item i.
  std::vector<ItemId> order(num_items);
  std::vector<ItemId> identity(num_items);
  std::iota(identity.begin(), identity.end(), ItemId{0});
  decode_v(code, identity, order);
  return order;
}

MallowsPair draw_truth(std::size_t d, std::uint64_t index) {
  RandomStream random(1410, Purpose::generate, index);
  MallowsPair truth;
  truth.weight[0] = random.uniform_open();
  truth.weight[1] = 1.0 - truth.weight[0];
  for (double& theta : truth.theta) theta = 5.0 * random.uniform_open();
  truth.center[0].resize(num_items);
  std::iota(truth.center[0].begin(), truth.center[0].end(), ItemId{0});
  truth.center[1] = ranking_at_distance(d, random);
  return truth;
}

// A sample as counts of distinct rankings: 10! cells at most, however large N is.
struct SampleCounts {
  std::vector<std::array<ItemId, num_items>> orders;
  std::vector<double> weights;

  TopCounts count(std::span<const ItemId> deleted) const {
    std::array<ItemId, num_items> renumbered{};
    ItemId kept = 0;
    for (ItemId item = 0; item < num_items; ++item)
      renumbered[item] = std::find(deleted.begin(), deleted.end(), item) == deleted.end() ? kept++ : ItemId{num_items};
    TopCounts counts(kept);
    std::vector<ItemId> rest(kept);
    for (std::size_t i = 0; i < orders.size(); ++i) {
      std::size_t length = 0;
      for (ItemId item : orders[i])
        if (renumbered[item] < num_items) rest[length++] = renumbered[item];
      counts.add(rest, weights[i]);
    }
    return counts;
  }
};

SampleCounts draw_sample(const MallowsPair& truth, std::size_t n, std::uint64_t seed) {
  static_assert(num_items == 10);
  constexpr std::size_t factorial = 3628800;
  std::vector<std::uint32_t> cells(factorial, 0);
  const MallowsSampler first(truth.center[0], truth.theta[0]), second(truth.center[1], truth.theta[1]);
  constexpr std::size_t block = 65536;
  std::array<ItemId, num_items> order{};
  for (std::size_t begin = 0; begin < n; begin += block) {
    RandomStream random(seed, Purpose::sample, begin / block);
    for (std::size_t i = begin; i < std::min(n, begin + block); ++i) {
      (random.uniform() < truth.weight[0] ? first : second).draw(random, order);
      std::size_t rank = 0;
      std::uint32_t left = (1u << num_items) - 1;
      for (std::size_t j = 0; j < num_items; ++j) {
        rank = rank * (num_items - j) + static_cast<std::size_t>(__builtin_popcount(left & ((1u << order[j]) - 1)));
        left &= ~(1u << order[j]);
      }
      ++cells[rank];
    }
  }
  SampleCounts sample;
  for (std::size_t rank = 0; rank < factorial; ++rank) {
    if (cells[rank] == 0) continue;
    std::array<std::size_t, num_items> digit{};
    std::size_t rest = rank;
    for (std::size_t j = num_items; j-- > 0;) {
      digit[j] = rest % (num_items - j);
      rest /= num_items - j;
    }
    std::vector<ItemId> unused(num_items);
    std::iota(unused.begin(), unused.end(), ItemId{0});
    for (std::size_t j = 0; j < num_items; ++j) {
      order[j] = unused[digit[j]];
      unused.erase(unused.begin() + static_cast<std::ptrdiff_t>(digit[j]));
    }
    sample.orders.push_back(order);
    sample.weights.push_back(cells[rank]);
  }
  return sample;
}

// The family's spectral start (k-means on principal components of pairwise signs), on every k-th of about 20,000 rankings.
MallowsPair spectral_start(const SampleCounts& sample, std::size_t n, std::uint64_t seed) {
  const double stride = std::max(1.0, static_cast<double>(n) / 20000.0);
  RankingSetBuilder builder;
  double passed = 0.0, next = 0.5 * stride;
  for (std::size_t i = 0; i < sample.orders.size(); ++i) {
    passed += sample.weights[i];
    double count = 0.0;
    for (; next < passed; next += stride) count += 1.0;
    if (count > 0.0) builder.add(sample.orders[i], count);
  }
  const RankingSet rankings = builder.build();
  const mallows_mixture::MallowsEngine engine(rankings, num_items, ConsensusMethod::automatic, {});
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
  const MallowsPair truth = draw_truth(d, index);
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
  for (std::size_t i = 0; i < bits.size(); ++i) PairPolisher::set_bits(sample.orders[i], std::span(&bits[i], 1));
  const PairPolisher polisher(std::move(bits), sample.weights, num_items, threads);
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
  return {{"d", d}, {"N", n}, {"run", index}, {"branch", name_of(learned.branch)}, {"success", success}, {"cpu_seconds", seconds}};
}

// The paper's experiment without HANDLE-DEGENERATE-CASES, which it describes and says it did not run: partitions, TENSOR-DECOMP,
// INFER-TOP-K, RECOVER-REST, no more.
Json run_decomposition(std::size_t d, std::size_t n, std::uint64_t index) {
  const MallowsPair truth = draw_truth(d, index);
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

constexpr std::array<std::size_t, 10> distances{0, 2, 4, 8, 16, 24, 30, 35, 40, 45};
const std::map<std::size_t, std::pair<int, int>> printed{{0, {0, 10}},    {2, {0, 10}},    {4, {0, 40}},    {8, {10, 70}},
                                                         {16, {30, 60}},  {24, {30, 100}}, {30, {60, 100}}, {35, {60, 100}},
                                                         {40, {80, 100}}, {45, {60, 100}}};  // d: EM, tensor

void run(const Settings& settings, Results& results, const std::string& part, std::size_t d, std::size_t n, std::uint64_t index) {
  const std::string key = fmt::format("{}/d={}/N={}/run={}", part, d, n, index);
  if (results.has(key)) return;
  Json row = run_one(d, n, index, settings.threads);
  row["part"] = part;
  results.add(key, index, row);
  fmt::print(stderr, "{} {}\n", key, row["success"].get<std::string>());
}

int num_runs(const Settings& settings) { return settings.trials > 0 ? settings.trials : settings.quick ? 2 : 20; }

void table1(const Settings& settings, Results& results) {
  // Run by run through all distances, so that a cut-off experiment has the same number of runs everywhere.
  for (int index = 0; index < num_runs(settings); ++index)
    for (const std::size_t d : distances)
      run(settings, results, "table1", d, settings.quick ? 20000 : 5000000, static_cast<std::uint64_t>(index) * 100 + d);
}

void decomposition(const Settings& settings, Results& results) {
  for (int index = 0; index < std::min(num_runs(settings), 10); ++index)
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

// "34 to 74": the interval of Wilson (1927), 95 %, in percent.
std::string wilson(double successes, double runs) {
  const double z = 1.96, p = successes / runs, centre = (p + z * z / (2.0 * runs)) / (1.0 + z * z / runs),
               half = z * std::sqrt(p * (1.0 - p) / runs + z * z / (4.0 * runs * runs)) / (1.0 + z * z / runs);
  return fmt::format("{:.0f} to {:.0f}", 100.0 * std::max(0.0, centre - half), 100.0 * std::min(1.0, centre + half));
}

std::string share(double successes, double runs) {
  return fmt::format("{:.0f} of {:.0f} ({} %)", successes, runs, wilson(successes, runs));
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
  if (!chart.empty()) result.svg = svg_page(600, 390, chart);
  return result;
}

Report table1_report(const Settings&, const Results& results) { return report(results, "table1", "d", true); }
Report curve_report(const Settings&, const Results& results) { return report(results, "curve", "N", false); }

}  // namespace

std::vector<Target> caucus::experiments::paper3_targets() {
  return {{"paper3-table1", "both rankings found, by distance of the two rankings", table1, table1_report},
          {"paper3-decomposition", "Table 1 without the degenerate branch, which the paper did not run", decomposition,
           decomposition_report},
          {"paper3-curve", "both rankings found, by number of rankings (not in the paper)", curve, curve_report}};
}
