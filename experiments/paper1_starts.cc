// Nguyen & Zhang (2023): starts and fits on data from the generator of Theorem 1.
//
//   paper1_starts [--seeds S] [--variants V] [--items N] [--components K] [--informative L] [--rankings M] [--threads T]
//
// Prints one line per seed, then the Markdown table of the family's README: how often each start reaches an error within 5 % of EM started at the
// truth, and the error before and after EM.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/methods.h"
#include "caucus/infer/pl_mixture/start.h"
#include "theorem1.h"

namespace {

using namespace caucus;
using namespace caucus::pl_mixture;

struct Variant {
  std::string name;
  OptionMap options;
};

struct Tally {
  int reached = 0, better_likelihood = 0;
  double before = 0.0, after = 0.0, seconds = 0.0;
};

}  // namespace

int main(int argc, char** argv) {
  std::size_t num_variants = 100, seeds = 25, n = 100, num = 3, informative = 5, m = 10000;
  int threads = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const auto value = static_cast<std::size_t>(std::stoul(argv[i + 1]));
    if (flag == "--seeds") seeds = value;
    if (flag == "--variants") num_variants = value;
    if (flag == "--items") n = value;
    if (flag == "--components") num = value;
    if (flag == "--informative") informative = value;
    if (flag == "--rankings") m = value;
    if (flag == "--threads") threads = static_cast<int>(value);
  }
  const std::string k = std::to_string(num);
  std::vector<Variant> variants{
      {"default (plain fit)", {{"components", k}, {"standard-errors", "off"}}},
      {"spectral, centred, r = K, 20 k-means restarts", {{"components", k}, {"init", "spectral"}, {"restarts", "1"}}},
      {"spectral, not centred", {{"components", k}, {"init", "spectral"}, {"restarts", "1"}, {"centre", "off"}}},
      {"spectral, paper's threshold", {{"components", k}, {"init", "spectral"}, {"restarts", "1"}, {"rank-rule", "paper"}, {"centre", "off"}}},
      {"spectral, one k-means start", {{"components", k}, {"init", "spectral"}, {"restarts", "1"}, {"kmeans-restarts", "1"}}},
      {"spectral, 5 starts", {{"components", k}, {"init", "spectral"}, {"restarts", "5"}}},
      {"k-means on the raw embedding", {{"components", k}, {"init", "kmeans"}, {"restarts", "1"}, {"kmeans-restarts", "3"}}},
      {"moments", {{"components", k}, {"init", "moments"}, {"restarts", "1"}}},
      {"one random start", {{"components", k}, {"init", "random"}, {"restarts", "1"}}},
      {"20 random starts", {{"components", k}, {"init", "random"}, {"restarts", "20"}}}};
  variants.resize(std::min(variants.size(), num_variants));
  std::vector<Tally> tallies(variants.size());
  double truth_error = 0.0;
  for (std::size_t seed = 1; seed <= seeds; ++seed) {
    const auto [truth, at, data] = experiments::draw_theorem1(n, num, informative, m, seed, threads);
    const Objective objective(data, num, 0.0, threads);
    const Solution reference = run_method(objective, Method::em, Chain::automatic, at, SolveOptions{}, Run{});
    const double best = plackett_luce_distance(reference.parameters.utilities, truth.utilities, n);
    truth_error += best;
    std::string line = fmt::format("seed {}: from the truth {:.4f}", seed, best);
    for (std::size_t v = 0; v < variants.size(); ++v) {
      Options options = parse_options<Options>(variants[v].options);
      options.standard_errors = Toggle::off;
      Run run;
      run.seed = seed;
      run.threads = threads;
      const auto begun = std::chrono::steady_clock::now();
      const Result result = fit(data, options, run);
      tallies[v].seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      const double after = plackett_luce_distance(result.parameters.utilities, truth.utilities, n);
      const Parameters start = Starts(objective, options, seed).make(options.init, 0);
      tallies[v].before += plackett_luce_distance(start.utilities, truth.utilities, n);
      tallies[v].after += after;
      tallies[v].reached += after <= 1.05 * best ? 1 : 0;
      tallies[v].better_likelihood += result.loglik >= reference.loglik - 1e-6 * std::abs(reference.loglik) ? 1 : 0;
      line += fmt::format("  {:.4f}", after);
    }
    std::cout << line << std::endl;
  }
  const auto count = static_cast<double>(seeds);
  std::cout << fmt::format("\nn = {}, K = {}, L = {}, m = {}, {} seeds; EM from the truth: mean error {:.4f}\n\n", n, num, informative, m, seeds,
                           truth_error / count)
            << "| start | within 5 % of EM from the truth | likelihood at least as high | mean error of the start | after EM | s per fit |\n"
            << "|---|---|---|---|---|---|\n";
  for (std::size_t v = 0; v < variants.size(); ++v)
    std::cout << fmt::format("| {} | {} of {} | {} of {} | {:.3f} | {:.3f} | {:.2f} |\n", variants[v].name, tallies[v].reached, seeds,
                             tallies[v].better_likelihood, seeds, tallies[v].before / count, tallies[v].after / count, tallies[v].seconds / count);
  return 0;
}
