// The rival of the paper's Table 1, EM whose M step is a local search, and Table 1 with other numbers of items.
#include <bit>
#include <map>

#include "caucus/infer/mallows_tensor/polish.h"
#include "caucus/model/mallows.h"
#include "caucus/model/stage.h"
#include "paper3.h"

namespace caucus::experiments::paper3 {

namespace {

// Plain EM. The likelihood sees a ranking through its two distances, so rankings are tallied by them, with how often each pair
// stands in order within a cell; the tally holds until a center moves.
class LocalSearchEm {
 public:
  LocalSearchEm(const SampleCounts& sample) : sample_(sample), num_pairs_(sample.num_items * (sample.num_items - 1) / 2) {
    for (std::size_t i = 0; i < sample.orders.size(); ++i) bits_.push_back(bits_of(sample.order(i))), total_ += sample.weights[i];
  }

  // After how many iterations each of `ends` was reached, or convergence: whether the centers are the truth's then.
  std::string run(MallowsPair now, const MallowsPair& truth, std::span<const int> ends, int& iterations, bool& converged) {
    std::string success;
    tally(now);
    double last = -1e300;
    converged = false;
    for (iterations = 0; success.size() < ends.size();) {
      const double loglik = step(now);
      ++iterations;
      converged = loglik - last < 1e-12 * std::abs(loglik);
      last = loglik;
      while (success.size() < ends.size() && (converged || iterations >= ends[success.size()]))
        success += same_centers(now, truth) ? '1' : '0';
    }
    return success;
  }

 private:
  static std::uint64_t bits_of(std::span<const ItemId> order) {
    std::uint64_t word = 0;
    PairPolisher::set_bits(order, std::span(&word, 1));
    return word;
  }

  void tally(const MallowsPair& pair) {
    const std::uint64_t first = bits_of(pair.center[0]), second = bits_of(pair.center[1]);
    const std::size_t side = num_pairs_ + 1;
    count_.assign(side * side, 0.0);
    ahead_.assign(side * side * num_pairs_, 0.0);
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      const std::size_t cell = static_cast<std::size_t>(std::popcount(bits_[i] ^ first)) * side +
                               static_cast<std::size_t>(std::popcount(bits_[i] ^ second));
      count_[cell] += sample_.weights[i];
      double* row = ahead_.data() + cell * num_pairs_;
      for (std::uint64_t word = bits_[i]; word != 0; word &= word - 1) row[std::countr_zero(word)] += sample_.weights[i];
    }
  }

  // One EM iteration: memberships, then for each component exchanges of neighbours in its center while they lower the mean distance
  // to the weighted rankings, then weight and theta.
  double step(MallowsPair& now) {
    const std::size_t n = sample_.num_items, side = num_pairs_ + 1;
    std::array<double, 2> offset{}, weight{}, distance{};
    for (std::size_t r = 0; r < 2; ++r) offset[r] = std::log(std::max(now.weight[r], 1e-300)) - log_q_factorial(now.theta[r], n);
    std::array<std::vector<double>, 2> ahead{std::vector<double>(num_pairs_, 0.0), std::vector<double>(num_pairs_, 0.0)};
    double loglik = 0.0;
    for (std::size_t cell = 0; cell < count_.size(); ++cell) {
      if (count_[cell] == 0.0) continue;
      const auto d1 = static_cast<double>(cell / side), d2 = static_cast<double>(cell % side);
      const double a = offset[0] - now.theta[0] * d1, b = offset[1] - now.theta[1] * d2;
      const double high = std::max(a, b), sum = std::exp(a - high) + std::exp(b - high);
      loglik += count_[cell] * (high + std::log(sum));
      const std::array<double, 2> part{std::exp(a - high) / sum, std::exp(b - high) / sum};
      const double* row = ahead_.data() + cell * num_pairs_;
      for (std::size_t r = 0; r < 2; ++r) {
        weight[r] += count_[cell] * part[r];
        distance[r] += count_[cell] * part[r] * (r == 0 ? d1 : d2);
        for (std::size_t p = 0; p < num_pairs_; ++p) ahead[r][p] += part[r] * row[p];
      }
    }
    bool moved = false;
    for (std::size_t r = 0; r < 2; ++r) {
      if (weight[r] <= 1e-9 * total_) continue;
      const auto before = [&](ItemId a, ItemId b) {  // weight with a before b
        return a < b ? ahead[r][PairPolisher::pair_index(a, b)] : weight[r] - ahead[r][PairPolisher::pair_index(b, a)];
      };
      std::vector<ItemId>& center = now.center[r];
      for (bool better = true; better;) {
        better = false;
        for (std::size_t i = 0; i + 1 < n; ++i) {
          const double gain = before(center[i + 1], center[i]) - before(center[i], center[i + 1]);
          if (gain <= 1e-9 * weight[r]) continue;
          std::swap(center[i], center[i + 1]);
          distance[r] -= gain;
          better = moved = true;
        }
      }
      now.weight[r] = weight[r] / total_;
      now.theta[r] = std::min(solve_mallows_theta(distance[r], weight[r], n, {}), max_pair_theta);
    }
    if (moved) tally(now);
    return loglik;
  }

  const SampleCounts& sample_;
  std::size_t num_pairs_;
  std::vector<std::uint64_t> bits_;
  double total_ = 0.0;
  std::vector<double> count_, ahead_;  // by cell; by cell and pair
};

constexpr std::array<int, 4> ends{10, 100, 1000, 20000};

// The start of paper3-table1's "EM, random start".
MallowsPair random_guess(const MallowsPair& truth, std::uint64_t index) {
  RandomStream random(99, Purpose::initialise, index);
  MallowsPair guess;
  guess.center = {truth.center[0], truth.center[0]};
  for (auto& center : guess.center) random.shuffle(std::span(center));
  return guess;
}

void run_em(const Settings& settings, Results& results) {
  const std::size_t count = settings.quick ? 20000 : 5000000;
  for (int index = 0; index < num_runs(settings); ++index)
    for (const std::size_t d : distances) {
      const std::uint64_t run = static_cast<std::uint64_t>(index) * 100 + d;
      const std::string key = fmt::format("em/d={}/N={}/run={}", d, count, run);
      if (results.has(key)) continue;
      const MallowsPair truth = draw_truth(most_items, d, run);
      const SampleCounts sample = draw_sample(truth, count, 5000 + run);
      const double begun = cpu_seconds();
      int iterations = 0;
      bool converged = false;
      const std::string success = LocalSearchEm(sample).run(random_guess(truth, run), truth, ends, iterations, converged);
      results.add(key, run,
                  {{"part", "em"},
                   {"d", d},
                   {"N", count},
                   {"run", run},
                   {"success", success},
                   {"iterations", iterations},
                   {"converged", converged},
                   {"cpu_seconds", cpu_seconds() - begun}});
    }
}

Report report_em(const Settings&, const Results& results) {
  std::map<std::size_t, std::array<Mean, ends.size()>> cells;
  std::map<std::size_t, Mean> converged, exact;
  std::map<std::size_t, std::vector<double>> iterations;
  std::set<std::size_t> seen;
  for (const auto& [key, row] : results.lines()) {
    if (row["part"] != "em") continue;
    const auto d = row["d"].get<std::size_t>();
    const auto digits = row["success"].get<std::string>();
    for (std::size_t e = 0; e < ends.size(); ++e) cells[d][e].add(digits[e] == '1' ? 1.0 : 0.0);
    converged[d].add(row["converged"].get<bool>() ? 1.0 : 0.0);
    iterations[d].push_back(row["iterations"].get<double>());
    seen.insert(row["run"].get<std::size_t>());
  }
  if (cells.empty()) return {};
  for (const auto& [key, row] : results.lines())  // the same data and start, exact consensus
    if (row["part"] == "table1" && seen.contains(row["run"].get<std::size_t>()))
      exact[row["d"].get<std::size_t>()].add(row["success"].get<std::string>()[3] == '1' ? 1.0 : 0.0);
  Report report{
      "Both rankings exact: plain EM from one random start, centers by local search, looked at after so many iterations; 95 % "
      "intervals.\n\n| d | paper: EM | after 10 | after 100 | after 1000 | at rest | exact consensus, same data and start | "
      "iterations, median | came to rest within 20,000 |\n|---|---|---|---|---|---|---|---|---|\n",
      ""};
  std::vector<Series> lines{{"paper: EM", {}}, {"after 10", {}}, {"after 100", {}}, {"after 1000", {}}, {"at rest", {}}};
  for (auto& [d, by_end] : cells) {
    const double paper = printed.at(d).first, x = static_cast<double>(d);
    report.table += fmt::format("| {} | {} |", d, share(paper / 5.0, 20.0));
    lines[0].points.emplace_back(x, paper);
    for (std::size_t e = 0; e < ends.size(); ++e) {
      report.table += fmt::format(" {} |", share(by_end[e].sum, static_cast<double>(by_end[e].count)));
      lines[e + 1].points.emplace_back(x, 100.0 * by_end[e].mean());
    }
    std::ranges::sort(iterations[d]);
    report.table +=
        fmt::format(" {} | {:.0f} | {:.0f} of {} |\n",
                    exact.contains(d) ? share(exact[d].sum, static_cast<double>(exact[d].count)) : std::string("not run"),
                    iterations[d][iterations[d].size() / 2], converged[d].sum, converged[d].count);
  }
  report.svg = svg_page(560, 390,
                        line_chart("EM with local search: both rankings exact", "distance of the two rankings", "% of runs", lines,
                                   70, false, false));
  return report;
}

// Table 1 with fewer items: the decomposition alone and the default, and what a fit costs.
void run_items(const Settings& settings, Results& results) {
  const std::size_t count = settings.quick ? 20000 : 5000000;
  for (int index = 0; index < num_runs(settings); ++index)
    for (const std::size_t n : {6, 8, 10})
      for (const std::size_t d : distances) {
        if (d > n * (n - 1) / 2 || (n == 10 && index >= 2)) continue;  // n = 10 is Table 1; two runs for time and memory
        const std::uint64_t run = static_cast<std::uint64_t>(index) * 100 + d;
        const std::string key = fmt::format("items/n={}/d={}/N={}/run={}", n, d, count, run);
        if (results.has(key)) continue;
        const MallowsPair truth = draw_truth(n, d, run);
        const SampleCounts sample = draw_sample(truth, count, 5000 + run);
        const CountSource source = [&](std::span<const ItemId> deleted) { return sample.count(deleted); };
        const double begun = cpu_seconds();
        const TopCounts counts = sample.count({});
        const double counted = cpu_seconds();
        LearnOptions alone;
        alone.climb = false;
        LearnResult report;
        const std::vector<Candidate> found = learn_by_decomposition(counts, alone, 1, report);
        const double decomposed = cpu_seconds();
        const LearnResult learned = learn_two_mallows(counts, source, LearnOptions{}, 1);
        std::vector<std::uint64_t> bits(sample.orders.size());
        for (std::size_t i = 0; i < bits.size(); ++i) PairPolisher::set_bits(sample.order(i), std::span(&bits[i], 1));
        const PairPolisher polisher(std::move(bits), sample.weights, n, settings.threads);
        std::vector<MallowsPair> starts;
        for (const Candidate& candidate : learned.candidates) starts.push_back(candidate.pair);
        const MallowsPair polished = polisher.run_best(starts, 3).pair;
        const double whole = cpu_seconds() - decomposed + counted - begun;
        results.add(key, run,
                    {{"part", "items"},
                     {"n", n},
                     {"d", d},
                     {"N", count},
                     {"run", run},
                     {"decomposition", !found.empty() && same_centers(found.front().pair, truth)},
                     {"climbed", same_centers(learned.pair, truth)},
                     {"polished", same_centers(polished, truth)},
                     {"decomposition_seconds", decomposed - counted},
                     {"cpu_seconds", whole},
                     {"megabytes", peak_megabytes()}});
      }
}

Report report_items(const Settings&, const Results& results) {
  struct Cell {
    Mean alone, climbed, polished, alone_seconds, seconds, megabytes;
  };
  std::map<std::pair<std::size_t, std::size_t>, Cell> cells;
  for (const auto& [key, row] : results.lines()) {
    if (row["part"] != "items") continue;
    Cell& cell = cells[{row["n"].get<std::size_t>(), row["d"].get<std::size_t>()}];
    cell.alone.add(row["decomposition"].get<bool>() ? 1.0 : 0.0);
    cell.climbed.add(row["climbed"].get<bool>() ? 1.0 : 0.0);
    cell.polished.add(row["polished"].get<bool>() ? 1.0 : 0.0);
    cell.alone_seconds.add(row["decomposition_seconds"].get<double>());
    cell.seconds.add(row["cpu_seconds"].get<double>());
    cell.megabytes.add(row["megabytes"].get<double>());
  }
  if (cells.empty()) return {};
  Report report{
      "Both rankings exact, N = 5,000,000, other numbers of items; 95 % intervals. Seconds of one core: the decomposition alone, "
      "and a whole default fit (counting, learning, polishing). Memory: the most of the process so far.\n\n"
      "| n | d | decomposition alone | with climbing | polished (default) | s, decomposition | s, whole fit | MB |\n"
      "|---|---|---|---|---|---|---|---|\n",
      ""};
  for (const auto& [at, cell] : cells) {
    const auto runs = static_cast<double>(cell.alone.count);
    report.table += fmt::format("| {} | {} | {} | {} | {} | {:.2f} | {:.2f} | {:.0f} |\n", at.first, at.second,
                                share(cell.alone.sum, runs), share(cell.climbed.sum, runs), share(cell.polished.sum, runs),
                                cell.alone_seconds.mean(), cell.seconds.mean(), cell.megabytes.mean());
  }
  return report;
}

}  // namespace

Target em_target() { return {"paper3-em", "the paper's rival: EM with local search, by number of iterations", run_em, report_em}; }
Target items_target() { return {"paper3-items", "Table 1 with 6 and 8 items, and what a fit costs", run_items, report_items}; }

}  // namespace caucus::experiments::paper3
