// Awasthi, Blum, Sheffet & Vijayaraghavan (2014), Table 1, and success against sample size.
//
//   paper3_two_mallows table1|curve [--quick] [--out FILE] [--threads T] [--runs R]
//
// One line of JSON per run is appended to FILE; runs that are there already are skipped, so a stopped experiment goes on where it
// was. `paper3_two_mallows tables --out FILE` prints the Markdown tables of what FILE holds.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "caucus/base/parallel.h"
#include "caucus/base/random.h"
#include "caucus/infer/mallows_mixture/mallows_engine.h"
#include "caucus/infer/mallows_mixture/starts.h"
#include "caucus/infer/mallows_tensor/learn.h"
#include "caucus/infer/mallows_tensor/polish.h"
#include "caucus/model/mallows.h"

namespace {

using namespace caucus;
using namespace caucus::tensor;
using nlohmann::json;

constexpr std::size_t num_items = 10;

struct Clock {
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  std::clock_t processor = std::clock();
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); }
  // Of all threads; unlike the wall's it does not depend on what else the machine does.
  double cpu_seconds() const { return static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC; }
};

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
  truth.centre[0].resize(num_items);
  std::iota(truth.centre[0].begin(), truth.centre[0].end(), ItemId{0});
  truth.centre[1] = ranking_at_distance(d, random);
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
  const MallowsSampler first(truth.centre[0], truth.theta[0]), second(truth.centre[1], truth.theta[1]);
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
    pair.centre[r] = parameters.centre[r];
  }
  return pair;
}

bool success(const MallowsPair& found, const MallowsPair& truth) { return same_centres(found, truth); }

json run_one(std::size_t d, std::size_t n, std::uint64_t index, int threads) {
  const MallowsPair truth = draw_truth(d, index);
  Clock sampling;
  const SampleCounts sample = draw_sample(truth, n, 5000 + index);
  json row{
      {"d", d}, {"N", n}, {"run", index}, {"weight", truth.weight[0]}, {"theta", truth.theta}, {"distinct", sample.orders.size()}};
  row["seconds"]["sample"] = sampling.seconds();

  Clock counting;
  const TopCounts counts = sample.count({});
  const double count_seconds = counting.seconds(), count_cpu = counting.cpu_seconds();
  const CountSource source = [&](std::span<const ItemId> deleted) { return sample.count(deleted); };

  Clock plain;
  LearnOptions steps_alone;
  steps_alone.climb = false;
  row["success"]["steps"] = success(learn_two_mallows(counts, source, steps_alone, 1).pair, truth);
  row["seconds"]["steps"] = plain.seconds();

  Clock pure;
  const LearnResult learned = learn_two_mallows(counts, source, LearnOptions{}, 1);
  row["success"]["pure"] = success(learned.pair, truth);
  row["seconds"]["pure"] = pure.seconds() + count_seconds;
  row["branch"] = name_of(learned.branch);
  row["conditioning"] = learned.conditioning;
  row["misfit"] = learned.misfit;

  Clock polishing;
  std::vector<std::uint64_t> bits(sample.orders.size());
  for (std::size_t i = 0; i < bits.size(); ++i) PairPolisher::set_bits(sample.orders[i], std::span(&bits[i], 1));
  const PairPolisher polisher(std::move(bits), sample.weights, num_items, threads);
  std::vector<MallowsPair> starts;
  for (const Candidate& candidate : learned.candidates) starts.push_back(candidate.pair);
  const PolishResult polished = polisher.run_best(starts, 3);
  row["success"]["polished"] = success(polished.pair, truth);
  row["seconds"]["polished"] = pure.seconds() + count_seconds;  // the whole fit
  row["cpu_seconds"] = pure.cpu_seconds() + count_cpu;
  row["loglik"]["polished"] = polished.loglik;
  row["polished"] = {{"weight", polished.pair.weight[0]},
                     {"theta", polished.pair.theta},
                     {"distance", kendall(polished.pair.centre[0], polished.pair.centre[1])},
                     {"tallies", polished.tallies},
                     {"exchanges", polished.exchanges}};

  PolishOptions em;
  em.exchange = false;
  Clock ceiling;
  const PolishResult from_truth = polisher.run(truth, em);
  row["success"]["truth"] = success(from_truth.pair, truth);
  row["loglik"]["truth"] = from_truth.loglik;
  row["seconds"]["truth"] = ceiling.seconds();

  Clock random_clock;
  RandomStream random(99, Purpose::initialise, index);
  MallowsPair guess;
  guess.centre = {truth.centre[0], truth.centre[0]};
  for (auto& centre : guess.centre) random.shuffle(std::span(centre));
  const PolishResult from_random = polisher.run(guess, em);
  row["success"]["random"] = success(from_random.pair, truth);
  row["loglik"]["random"] = from_random.loglik;
  row["seconds"]["random"] = random_clock.seconds();

  Clock spectral_clock;
  const PolishResult from_spectral = polisher.run(spectral_start(sample, n, index), em);
  row["success"]["spectral"] = success(from_spectral.pair, truth);
  row["loglik"]["spectral"] = from_spectral.loglik;
  row["seconds"]["spectral"] = spectral_clock.seconds();
  return row;
}

std::map<std::string, double> paper_em{{"0", 0},   {"2", 0},   {"4", 0},   {"8", 10},  {"16", 30},
                                       {"24", 30}, {"30", 60}, {"35", 60}, {"40", 80}, {"45", 60}};
std::map<std::string, double> paper_tensor{{"0", 10},   {"2", 10},   {"4", 40},   {"8", 70},   {"16", 60},
                                           {"24", 100}, {"30", 100}, {"35", 100}, {"40", 100}, {"45", 100}};
const std::array<const char*, 6> methods{"steps", "pure", "polished", "random", "spectral", "truth"};

void print_tables(const std::vector<json>& rows) {
  const auto print = [&](const char* kind, const char* key, bool with_paper) {
    std::map<std::size_t, std::map<std::string, std::pair<int, int>>> cells;
    std::map<std::size_t, double> slowest;  // processor time; rows of old files have none
    for (const json& row : rows) {
      if (row.at("experiment") != kind) continue;
      const std::size_t at = row.at(key);
      for (const char* method : methods)
        if (row.at("success").contains(method)) {
          auto& [hits, tries] = cells[at][method];
          hits += row["success"][method].get<bool>();
          ++tries;
        }
      slowest[at] = std::max(slowest[at], row.value("cpu_seconds", 0.0));
    }
    if (cells.empty()) return;
    fmt::print(
        "\n| {} | runs |{} paper's steps | with climbing (`--polish off`) | polished | EM, random start | EM, spectral start | EM "
        "from the truth | slowest fit (CPU s) |\n",
        key, with_paper ? " paper: EM | paper: tensor |" : "");
    fmt::print("|---|---|{}---|---|---|---|---|---|---|\n", with_paper ? "---|---|" : "");
    for (const auto& [at, by_method] : cells) {
      int runs = 0;
      for (const auto& [name, cell] : by_method) runs = std::max(runs, cell.second);
      std::string line = fmt::format("| {} | {} |", at, runs);
      const std::string name = std::to_string(at);
      if (with_paper) line += fmt::format(" {:.0f}% | {:.0f}% |", paper_em[name], paper_tensor[name]);
      for (const char* method : methods) {
        const auto found = by_method.find(method);
        line += found == by_method.end() ? " - |" : fmt::format(" {:.0f}% |", 100.0 * found->second.first / found->second.second);
      }
      fmt::print("{} {:.1f} |\n", line, slowest[at]);
    }
  };
  print("table1", "d", true);
  print("curve", "N", false);
}

}  // namespace

int main(int argc, char** argv) {
  std::string mode, out = "paper3.jsonl";
  bool quick = false;
  int threads = 1, runs = 20;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick")
      quick = true;
    else if (word == "--out" && i + 1 < argc)
      out = argv[++i];
    else if (word == "--threads" && i + 1 < argc)
      threads = std::atoi(argv[++i]);
    else if (word == "--runs" && i + 1 < argc)
      runs = std::atoi(argv[++i]);
    else
      mode = word;
  }
  if (mode != "table1" && mode != "curve" && mode != "tables") {
    fmt::print(stderr, "usage: paper3_two_mallows table1|curve|tables [--quick] [--out FILE] [--threads T] [--runs R]\n");
    return 64;
  }
  std::vector<json> rows;
  std::set<std::string> done;
  const auto key = [](const std::string& kind, std::size_t d, std::size_t n, std::uint64_t run) {
    return fmt::format("{} {} {} {}", kind, d, n, run);
  };
  {
    std::ifstream file(out);
    for (std::string line; std::getline(file, line);) {
      json row = json::parse(line, nullptr, false);
      if (row.is_discarded()) continue;  // the last line of a run that was cut off
      done.insert(key(row["experiment"], row["d"], row["N"], row["run"]));
      rows.push_back(std::move(row));
    }
  }
  if (mode == "tables") {
    print_tables(rows);
    return 0;
  }
  struct Task {
    std::size_t d, n;
    std::uint64_t run;
  };
  std::vector<Task> tasks;
  const std::array<std::size_t, 10> distances{0, 2, 4, 8, 16, 24, 30, 35, 40, 45};
  if (mode == "table1") {
    // Run by run through all distances, so that a cut-off experiment has the same number of runs everywhere.
    for (int run = 0; run < (quick ? 2 : runs); ++run)
      for (const std::size_t d : distances)
        tasks.push_back({d, quick ? std::size_t{200000} : std::size_t{5000000}, static_cast<std::uint64_t>(run) * 100 + d});
  } else {
    for (int run = 0; run < (quick ? 2 : runs); ++run)
      for (const std::size_t n : {1000u, 3162u, 10000u, 31623u, 100000u, 316228u, 1000000u, 3162278u, 10000000u}) {
        if (quick && n > 100000u) continue;
        // The distance of two random rankings of ten is 22.5 on average.
        tasks.push_back({distances[static_cast<std::size_t>(run) % distances.size()], n, 100000 + static_cast<std::uint64_t>(run)});
      }
  }
  std::ofstream file(out, std::ios::app);
  for (const Task& task : tasks) {
    if (done.contains(key(mode, task.d, task.n, task.run))) continue;
    Clock clock;
    json row = run_one(task.d, task.n, task.run, threads);
    row["experiment"] = mode;
    file << row.dump() << std::endl;
    rows.push_back(row);
    fmt::print(stderr, "{} d {} N {} run {}: {} {} {:.1f} s\n", mode, task.d, task.n, task.run, row["success"].dump(),
               row["branch"].dump(), clock.seconds());
  }
  print_tables(rows);
  return 0;
}
