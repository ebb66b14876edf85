// The speed of the Plackett-Luce family: answers are checked first, then ratios within this run are printed.
//
//   pl_speed_bench [pass|voters|scale|threads|large|fit DATA K|gibbs DATA K]...     (no argument: pass, threads, scale)
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "caucus/infer/pl_mixture/family.h"
#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/fitted.h"
#include "caucus/infer/pl_mixture/objective.h"
#include "caucus/io/io.h"

namespace {

using namespace caucus;
using namespace caucus::pl_mixture;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double wall_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

template <class Work>
double best_of(int repeats, int times, Work&& work) {
  double best = 1e300;
  for (int r = 0; r < repeats; ++r) {
    const double begun = cpu_seconds();
    for (int t = 0; t < times; ++t) work();
    best = std::min(best, (cpu_seconds() - begun) / times);
  }
  return best;
}

Parameters mixture(std::size_t num, std::size_t n, std::uint64_t seed) {
  Parameters p(num, n);
  RandomStream random(seed, Purpose::generate, 0);
  for (double& utility : p.utilities) utility = random.normal();
  p.center_all();
  return p;
}

Dataset drawn(const Parameters& truth, std::size_t count, std::size_t length, std::uint64_t seed) {
  std::vector<std::string> items;
  for (std::size_t i = 0; i < truth.num_items; ++i) items.push_back(std::to_string(i + 1));
  return FittedMixture(items, Unranked::last, truth).sample({count, seed, 2, length}).data;
}

// What any pass must do at the least: for each ranking and place, load the item's worths of all components and add them up, and add
// a vector to the item's accumulators (and, for ballots that stop early, to its wins). In vectors as wide as the kernel's, or it
// would be no yardstick.
#if defined(__x86_64__)
#define CAUCUS_WIDE __attribute__((target("avx2")))
#else
#define CAUCUS_WIDE
#endif

typedef double Vector2 __attribute__((vector_size(16)));
typedef double Vector4 __attribute__((vector_size(32)));

// parts: a vector has at most four doubles, so eight lanes are two of them.
template <class Vector, std::size_t parts>
CAUCUS_WIDE double bare_gathers(const Batch& batch, const std::vector<double>& worths, std::vector<double>& exposure,
                                std::vector<double>& wins) {
  constexpr std::size_t width = sizeof(Vector) / sizeof(double), lanes = parts * width;
  double check = 0.0;
  const bool with_wins = !batch.all_complete;
  const double* const from = worths.data();
  double* const to = exposure.data();
  double* const won = wins.data();
  for (const Batch::Group& group : batch.groups) {
    const std::uint16_t* items = batch.items16.data() + group.begin;
    for (std::size_t r = 0; r < group.count; ++r, items += group.length) {
      Vector sums[parts] = {};
      Vector value;
      for (std::size_t p = 0; p < group.length; ++p)
        for (std::size_t c = 0; c < parts; ++c) {
          std::memcpy(&value, from + items[p] * lanes + c * width, sizeof value);
          sums[c] += value;
        }
      for (std::size_t p = 0; p < group.length; ++p)
        for (std::size_t c = 0; c < parts; ++c) {
          std::memcpy(&value, to + items[p] * lanes + c * width, sizeof value);
          value += sums[c];
          std::memcpy(to + items[p] * lanes + c * width, &value, sizeof value);
          if (!with_wins) continue;
          std::memcpy(&value, won + items[p] * lanes + c * width, sizeof value);
          value += sums[c];
          std::memcpy(won + items[p] * lanes + c * width, &value, sizeof value);
        }
      check += sums[0][0];
    }
  }
  return check;
}

double bare_gathers(const Batch& batch, std::size_t lanes, const std::vector<double>& worths, std::vector<double>& exposure,
                    std::vector<double>& wins) {
  if (lanes == 2) return bare_gathers<Vector2, 1>(batch, worths, exposure, wins);
  if (lanes == 4) return bare_gathers<Vector4, 1>(batch, worths, exposure, wins);
  return bare_gathers<Vector4, 2>(batch, worths, exposure, wins);
}

void pass() {
  std::cout << "One fused pass against the bare gathers and adds of the same data (at most 2 wanted):\n";
  for (const auto& [n, m, length, num] :
       std::vector<std::array<std::size_t, 4>>{{10, 5000, 10, 4}, {10, 5000, 10, 2}, {30, 20000, 10, 8}, {100, 5000, 100, 4}}) {
    const Dataset data = drawn(mixture(num, n, 1), m, length, 2);
    const Parameters at = mixture(num, n, 3);
    const Objective objective(data, num, 0.0, 1);
    const FittedMixture model(data.items, Unranked::last, at);
    double slow = 0.0;
    const auto rows = log_probs(model, data, 1);
    for (std::size_t i = 0; i < rows.size(); ++i) slow += data.rankings.weight(i) * rows[i];
    const double fast = objective.evaluate(at).loglik;
    if (std::abs(fast - slow) > 1e-9 * std::abs(slow)) {
      std::cout << "  WRONG ANSWER\n";
      std::exit(1);
    }
    const std::size_t lanes = padded_components(num);
    std::vector<double> worths(n * lanes, 0.5), exposure(n * lanes, 0.0), wins(n * lanes, 0.0);
    volatile double sink = 0.0;
    const int times = static_cast<int>(std::max<std::size_t>(1, 20'000'000 / (m * length)));
    const double fused = best_of(9, times, [&] { sink = objective.evaluate(at).loglik; });
    const double bare = best_of(9, times, [&] { sink = bare_gathers(objective.batch(), lanes, worths, exposure, wins); });
    std::cout << fmt::format("  n={:<4} m={:<6} length={:<4} K={}: {:.2f} ns per place fused, {:.2f} bare, ratio {:.2f}\n", n, m,
                             length, num, fused * 1e9 / static_cast<double>(m * length),
                             bare * 1e9 / static_cast<double>(m * length), fused / bare);
  }
}

// The same rankings, five to a voter. Cost per stored ranking without voters, per ranking that a voter cast with them.
void voters() {
  std::cout << "One pass with voters against one without, per ranking (at most 1.5 wanted):\n";
  for (const auto& [n, m, length, num] :
       std::vector<std::array<std::size_t, 4>>{{10, 50000, 10, 4}, {10, 50000, 10, 2}, {30, 20000, 10, 8}, {10, 50000, 3, 4}}) {
    const Dataset data = drawn(mixture(num, n, 1), m, length, 2);
    Dataset with = data;
    std::vector<std::uint32_t> of_row(data.rankings.num_rows());
    for (std::size_t row = 0; row < of_row.size(); ++row) of_row[row] = static_cast<std::uint32_t>(row / 5);
    set_voters(with, of_row, {}, std::vector<double>((of_row.size() + 4) / 5, 1.0));
    const Parameters at = mixture(num, n, 3);
    const Objective plain(data, num, 0.0, 1), by_voter(with, num, 0.0, 1);
    const FittedMixture model(data.items, Unranked::last, at);
    if (std::abs(by_voter.evaluate(at).loglik / log_likelihood(model, with, 1) - 1.0) > 1e-9) {
      std::cout << "  WRONG ANSWER\n";
      std::exit(1);
    }
    volatile double sink = 0.0;
    const int times = static_cast<int>(std::max<std::size_t>(1, 500'000 / (m * length)));
    // In turn and in many short rounds, so that whatever else the machine does falls on both and leaves some rounds to each.
    double without = infinity, together = infinity;
    for (int round = 0; round < 200; ++round) {
      without = std::min(without, best_of(1, times, [&] { sink = plain.evaluate(at).loglik; }));
      together = std::min(together, best_of(1, times, [&] { sink = by_voter.evaluate(at).loglik; }));
    }
    without /= static_cast<double>(data.rankings.size());
    together /= static_cast<double>(with.voters.rankings.other.size());
    std::cout << fmt::format(
        "  n={:<4} m={:<6} length={:<4} K={}: {:.1f} ns per ranking with voters, {:.1f} without, ratio {:.2f}\n", n, m, length, num,
        together * 1e9, without * 1e9, together / without);
  }
}

void scale() {
  std::cout << "Cost of one pass, top-10 ballots over 30 items, K = 5 (constant time per ballot wanted):\n";
  for (const std::size_t m : {10'000u, 100'000u, 1'000'000u, 10'000'000u}) {
    const long pages = sysconf(_SC_AVPHYS_PAGES);
    if (m == 10'000'000u && static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) < 3e9) {
      std::cout << "  10000000 ballots: left out, less than 3 GB free\n";
      continue;
    }
    const Dataset data = drawn(mixture(5, 30, 1), m, 10, 2);
    const Objective objective(data, 5, 0.0, 1);
    const Parameters at = mixture(5, 30, 3);
    const double seconds = best_of(3, static_cast<int>(std::max<std::size_t>(1, 500'000 / m)), [&] { objective.evaluate(at); });
    std::cout << fmt::format("  {:>9} ballots: {:.1f} ns per ballot\n", m, seconds * 1e9 / static_cast<double>(m));
  }
}

void threads() {
  const Dataset data = drawn(mixture(5, 30, 1), 300'000, 10, 2);
  const Parameters at = mixture(5, 30, 3);
  double seconds[2];
  double loglik[2];
  for (int t = 0; t < 2; ++t) {
    const Objective objective(data, 5, 0.0, t + 1);
    loglik[t] = objective.evaluate(at).loglik;
    seconds[t] = 1e300;
    for (int r = 0; r < 7; ++r) {
      const double begun = wall_seconds();
      for (int i = 0; i < 5; ++i) objective.evaluate(at);
      seconds[t] = std::min(seconds[t], (wall_seconds() - begun) / 5);
    }
  }
  if (loglik[0] != loglik[1]) {
    std::cout << "DIFFERENT BITS on 1 and 2 threads\n";
    std::exit(1);
  }
  std::cout << fmt::format("Two threads against one: {:.2f} times as fast (at least 1.8 wanted on two free cores)\n",
                           seconds[0] / seconds[1]);
}

void large() {
  const Parameters truth = mixture(5, 30, 1);
  const Dataset data = drawn(truth, 1'000'000, 10, 2);
  Run run;
  run.threads = 2;
  const double before = cpu_seconds();
  const auto outcome = make_pl_mixture_family()->fit(data, {{"components", "5"}, {"standard-errors", "off"}}, run);
  const Objective objective(data, 5, 0.0, 2);
  if (outcome.summary.loglik < objective.evaluate(truth).loglik) {
    std::cout << "WRONG OPTIMUM: below the truth's likelihood\n";
    std::exit(1);
  }
  std::cout << fmt::format(
      "1,000,000 top-10 ballots over 30 items, K = 5: {:.1f} s wall, {:.1f} s CPU, peak {:.0f} MB, {} passes, {} (60 s and 1 GB "
      "wanted)\n",
      run.seconds(), cpu_seconds() - before, peak_megabytes(), outcome.summary.iterations, name_of(outcome.summary.stop_reason));
}

void fit_file(const std::string& path, const std::string& num, OptionMap options) {
  const Dataset data = read_dataset(path);
  options["components"] = num;
  double best = 1e300, loglik = 0.0;
  for (int r = 0; r < 5; ++r) {
    Run run;
    run.threads = 1;
    const double begun = cpu_seconds();
    loglik = make_pl_mixture_family()->fit(data, options, run).summary.loglik;
    best = std::min(best, cpu_seconds() - begun);
  }
  std::cout << fmt::format("{{\"data\":\"{}\",\"k\":{},\"loglik\":{:.6f},\"cpu_seconds\":{:.5f},\"peak_mb\":{:.1f}}}\n", path, num,
                           loglik, best, peak_megabytes());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) {
    pass();
    threads();
    scale();
  }
  for (int i = 1; i < argc; ++i) {
    const std::string what = argv[i];
    if (what == "pass") pass();
    if (what == "voters") voters();
    if (what == "scale") scale();
    if (what == "threads") threads();
    if (what == "large") large();
    if ((what == "fit" || what == "gibbs") && i + 2 < argc) {
      OptionMap options;
      if (what == "gibbs") options = {{"method", "gibbs"}, {"sweeps", "1000"}, {"burnin", "100"}, {"restarts", "1"}};
      fit_file(argv[i + 1], argv[i + 2], options);
      i += 2;
    }
  }
  return 0;
}
