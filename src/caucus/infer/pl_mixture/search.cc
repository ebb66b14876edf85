#include "caucus/infer/pl_mixture/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "caucus/base/random.h"
#include "caucus/infer/pl_mixture/start.h"

namespace caucus::pl_mixture {

namespace {

bool stopped(const Solution& solution) {
  return solution.stop_reason == StopReason::interrupted || solution.stop_reason == StopReason::time_limit;
}

bool better(const Solution& a, const Solution& b) { return a.objective > b.objective; }

// A random part of the rankings that is enough to tell good starts from bad ones, or nothing where all are few.
std::unique_ptr<Dataset> screening_part(const Objective& objective, std::uint64_t seed) {
  const Dataset& data = objective.data();
  const std::size_t size = std::max<std::size_t>(1000, 30 * objective.num_components() * objective.num_items());
  if (data.rankings.size() < 2 * size) return nullptr;
  RandomStream random(seed, Purpose::initialise, ~std::uint64_t{0});
  auto part = std::make_unique<Dataset>();
  part->items = data.items;
  part->unranked = data.unranked;
  part->source = data.source;
  RankingSetBuilder builder;
  const RankingSet& rankings = data.rankings;
  // One from each of `size` equal stretches: neighbours in a file are often alike.
  for (std::size_t s = 0; s < size; ++s) {
    const std::size_t begin = rankings.size() * s / size, end = rankings.size() * (s + 1) / size;
    const std::size_t i = begin + random.below(end - begin);
    const auto ends = rankings.has_ties() ? rankings.group_ends().subspan(rankings.offsets()[i], rankings.length(i))
                                          : std::span<const std::uint8_t>{};
    builder.add(rankings[i].items(), rankings.weight(i), ends);
  }
  part->rankings = builder.build();
  return part;
}

class Search {
 public:
  Search(const Objective& objective, const Options& options, const Run& run)
      : objective_(objective), options_(options), run_(run), starts_(objective, options, run.seed) {}

  SearchResult run_all(int restarts) {
    // A start from labels comes on top, and first, so that it is run to the end.
    warm_ = run_.labels.size() == objective_.data().rankings.size() && objective_.num_components() > 1 ? 1 : 0;
    restarts += warm_;
    if (options_.method == Method::em && restarts > 1) return halving(restarts);
    std::vector<Solution> field;
    int spent = 0;
    for (int r = 0; r < restarts; ++r) {
      const std::string phase =
          restarts == 1 ? std::string(name_of(options_.method)) : fmt::format("start {} of {}", r + 1, restarts);
      field.push_back(go(objective_, options_.method, start(r), options_.iterations, phase));
      spent += field.back().iterations;
      if (stopped(field.back())) break;
    }
    return finish(field, spent, restarts);
  }

 private:
  Parameters start(int number) {
    return number < warm_ ? starts_.from_labels(run_.labels)
                          : starts_.make(options_.init, static_cast<std::uint64_t>(number - warm_));
  }

  Solution go(const Objective& objective, Method method, Parameters start, int max_iterations, std::string_view phase) {
    const SolveOptions solve{max_iterations, options_.tolerance, !options_.estimate_weights, phase};
    return run_method(objective, method, options_.chain, std::move(start), solve, run_);
  }

  void go_on(const Objective& objective, Solution& solution, int max_iterations, int& spent) {
    Solution next = go(objective, Method::em, solution.parameters, max_iterations, "em");
    spent += next.iterations;
    if (&objective == &objective_) next.trace.insert(next.trace.begin(), solution.trace.begin(), solution.trace.end());
    solution = std::move(next);
  }

  SearchResult halving(int restarts) {
    const std::unique_ptr<Dataset> part = screening_part(objective_, run_.seed);
    std::optional<Objective> small;
    // The small objective must not see another set of tie orders than the whole.
    if (part && !objective_.has_ties())
      small.emplace(*part, objective_.num_components(), objective_.strength(), objective_.threads());
    const Objective& screen = small ? *small : objective_;
    constexpr int short_run = 10;
    std::vector<Solution> field;
    int spent = 0;
    bool cut_short = false;
    for (int r = 0; r < restarts && !cut_short; ++r) {
      const std::string phase = fmt::format("start {} of {}", r + 1, restarts);
      field.push_back(go(screen, Method::em, start(r), short_run, phase));
      spent += field.back().iterations;
      cut_short = stopped(field.back());
    }
    Solution first = field.front();
    first.trace.clear();
    std::stable_sort(field.begin(), field.end(), better);
    for (int limit = 2 * short_run; !cut_short && field.size() > finalists_for(small.has_value()); limit *= 2) {
      field.resize(std::max(finalists_for(small.has_value()), field.size() / 2));
      for (Solution& solution : field) {
        if (solution.stop_reason != StopReason::iteration_limit) continue;
        go_on(screen, solution, limit, spent);
        cut_short = cut_short || stopped(solution);
        if (cut_short) break;
      }
      std::stable_sort(field.begin(), field.end(), better);
    }
    if (small) {
      // On all rankings from here on: finalists that reached the same place are one, and the first start always is one, because a
      // part of the rankings may prefer another maximum than all of them do.
      std::vector<Solution> distinct;
      for (Solution& solution : field) {
        const bool known = std::ranges::any_of(distinct, [&](const Solution& other) {
          return std::abs(other.objective - solution.objective) <= 1e-6 * std::abs(solution.objective);
        });
        if (known) continue;
        solution.trace.clear();
        distinct.push_back(std::move(solution));
        if (distinct.size() == most_on_all || cut_short) break;
      }
      field = std::move(distinct);
      if (!cut_short) field.push_back(std::move(first));
      for (Solution& solution : field) {
        if (cut_short) break;
        go_on(objective_, solution, short_run, spent);
        cut_short = stopped(solution);
      }
      std::stable_sort(field.begin(), field.end(), better);
      if (field.size() > 2) field.resize(2);
    }
    if (cut_short) field.resize(1);
    for (Solution& solution : field)
      if (solution.stop_reason == StopReason::iteration_limit) go_on(objective_, solution, options_.iterations, spent);
    return finish(field, spent, restarts);
  }

  static std::size_t finalists_for(bool part) { return part ? most_on_all : finalists; }

  static SearchResult finish(std::vector<Solution>& field, int spent, int restarts) {
    std::stable_sort(field.begin(), field.end(), better);
    SearchResult result;
    result.starts = restarts;
    result.finished = static_cast<int>(field.size());
    result.agreeing = static_cast<int>(std::ranges::count_if(field, [&](const Solution& s) {
      return s.objective >= field.front().objective - 1e-6 * std::abs(field.front().objective);
    }));
    result.best = std::move(field.front());
    result.best.iterations = spent;
    return result;
  }

  static constexpr std::size_t finalists = 3, most_on_all = 5;
  const Objective& objective_;
  const Options& options_;
  const Run& run_;
  Starts starts_;
  int warm_ = 0;
};

}  // namespace

SearchResult search(const Objective& objective, const Options& options, const Run& run, const std::optional<Parameters>& init) {
  const int num = options.components;
  if (init) {
    Parameters start = *init;
    if (start.ties.orders != objective.tie_orders()) start.ties = initial_ties(objective);
    const SolveOptions solve{options.iterations, options.tolerance, !options.estimate_weights, name_of(options.method)};
    SearchResult result;
    result.best = run_method(objective, options.method, options.chain, std::move(start), solve, run);
    return result;
  }
  const bool embeds = !objective.has_ties() && objective.num_items() > 1;
  if (num > 1 && (options.init == Init::spectral || options.init == Init::kmeans) && !embeds)
    throw UsageError(fmt::format("init = {} does not take rankings with ties; choose init = random", name_of(options.init)));
  if (num > 1 && options.init == Init::moments && (objective.has_ties() || objective.data().unranked == Unranked::absent))
    throw UsageError("init = moments takes complete rankings and ballots that stop early; choose init = spectral or random");
  if (options.init == Init::tensor && num > 1 && objective.data().unranked == Unranked::absent)
    throw UsageError(
        "init = tensor takes complete rankings and ballots whose unlisted items are last; choose init = spectral or random");
  // A start from the first places alone, from k-means and the like is one thing; random ones want company.
  const int automatic = options.method != Method::em ? 1 : std::min(2 + 2 * num, 30);
  const bool trivial = num == 1 || !(objective.total_weight() > 0.0);
  return Search(objective, options, run).run_all(trivial ? 1 : options.restarts.value_or(automatic));
}

}  // namespace caucus::pl_mixture
