// Search for the best of many optima: independent starts run to their end, moves from the best of them, and an estimate of what
// was missed. README.md of this folder has the reasoning.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "caucus/base/parallel.h"
#include "caucus/infer/run.h"
#include "caucus/infer/search_record.h"
#include "caucus/infer/stopping.h"

namespace caucus {

struct MultistartPlan {
  std::optional<int> starts;  // that many; none: until the budget is spent, sooner where starts agree
  double budget = infinity;   // units of Problem::work, looked at between rounds: the same on every machine
  int threads = 1;            // the runs of a round go side by side
  double same = 1e-6;         // optima closer than this, relative, are one
  bool moves = true;
  int refined = 0;  // optima that are among the so many best when they are first seen are refined; 0: none
};

// Problem:
//   Solution, Point                   where a run ended; where one may begin
//   Solution start(int number)        a full run from start `number`: a function of the seed and the number alone
//   vector<Point> moves(best, time)   places near the best optimum from where a better one may be reached, others each time
//   Solution attempt(Point)           a short run
//   Solution finish(Solution)         goes on to the end
//   Solution refine(Solution)         what is too dear for all: on all rankings where the others see a part, or a wider search
//   double value(Solution), double work(Solution), bool stopped(Solution)
// start, attempt and finish are called from several threads.
template <class Problem>
class Multistart {
 public:
  using Solution = typename Problem::Solution;
  struct Result {
    Solution best;
    SearchRecord record;
    bool stopped;  // from outside, before the search had ended, whatever the best solution says of itself
  };

  Multistart(Problem& problem, const MultistartPlan& plan) : problem_(problem), plan_(plan) {}

  // Rounds of starts, each followed by moves from the best optimum so far. What is done depends on what was done before alone, so
  // more starts go on where fewer end, and the result is never worse.
  Result run() {
    for (int round = 0; !done(round); ++round) {
      const int first = round * round_size;
      const int count = std::min(round_size, plan_.starts.value_or(first + round_size) - first);
      run_starts(first, count);
      if (count == round_size && plan_.moves && worth_moving()) make_moves();
    }
    record_.agreeing = hits_of_best();
    record_.optima = static_cast<int>(std::ranges::count_if(optima_, [](const Optimum& o) { return o.hits > 0; }));
    return {std::move(*best_), record_, stopped_};
  }

 private:
  static constexpr int round_size = 4, agreed = 6;
  static constexpr double least_share = 0.004;
  static constexpr std::size_t followed = 2;  // moves run to their end, of those attempted

  struct Optimum {
    double value;
    int hits;                    // starts that ended here
    Solution solution;           // the best that did
    double refined = -infinity;  // the value after refinement
  };

  // Starts whose optima lead to the best.
  int hits_of_best() const {
    const double best = problem_.value(*best_);
    int hits = 0;
    for (const Optimum& optimum : optima_) hits += std::abs(optimum.refined - best) <= margin(best) ? optimum.hits : 0;
    return hits;
  }
  // The surer, the less work is worth while: all of the budget for an optimum that no start found, a ninth after four; far less
  // where no start ended anywhere else.
  bool enough() const {
    const int hits = hits_of_best();
    const bool unanimous = hits == record_.finished;
    const double share = std::pow(2.0 * SearchRecord::missed_after(hits), unanimous ? 5.0 : 2.0);
    return work_ >= plan_.budget * std::max(share, least_share);
  }
  bool worth_moving() const { return plan_.starts ? hits_of_best() < agreed : !enough(); }
  bool done(int round) const {
    if (round == 0) return false;
    if (stopped_) return true;
    if (plan_.starts) return round * round_size >= *plan_.starts;
    return enough();
  }

  void run_starts(int first, int count) {
    std::vector<std::optional<Solution>> ended(static_cast<std::size_t>(count));
    std::atomic<bool> stop = false;
    parallel_for(ended.size(), plan_.threads, [&](std::size_t s) {
      if (stop && s > 0) return;
      ended[s] = problem_.start(first + static_cast<int>(s));
      if (problem_.stopped(*ended[s])) stop = true;
    });
    record_.tried += count;
    for (auto& solution : ended) {
      if (!solution) continue;
      const bool whole = !problem_.stopped(*solution);
      record_.finished += whole ? 1 : 0;
      add(std::move(*solution), whole ? 1 : 0);
    }
  }

  // Short runs from all moves, the better ones to the end; again from there while the best rises.
  void make_moves() {
    for (double from = -infinity; !stopped_ && (plan_.starts || work_ < plan_.budget) && leader().value > from;) {
      from = leader().value + margin(leader().value);
      const auto points = problem_.moves(leader().solution, times_moved_++);
      std::vector<Solution> tried(points.size());
      parallel_for(points.size(), plan_.threads, [&](std::size_t p) { tried[p] = problem_.attempt(points[p]); });
      for (const Solution& solution : tried) note(solution);
      if (stopped_) return;
      std::ranges::stable_sort(tried, std::greater(), [&](const Solution& solution) { return problem_.value(solution); });
      tried.resize(std::min(tried.size(), followed));
      parallel_for(tried.size(), plan_.threads, [&](std::size_t p) { tried[p] = problem_.finish(std::move(tried[p])); });
      for (Solution& solution : tried) add(std::move(solution), 0);
    }
  }

  void note(const Solution& solution) {
    work_ += problem_.work(solution);
    stopped_ = stopped_ || problem_.stopped(solution);
  }
  double margin(double value) const { return plan_.same * (1.0 + std::abs(value)); }
  // The best before refinement.
  const Optimum& leader() const {
    return *std::ranges::max_element(optima_, {}, [](const Optimum& o) { return o.value; });
  }

  void add(Solution solution, int hits) {
    note(solution);
    const double value = problem_.value(solution);
    auto at = std::ranges::find_if(optima_, [&](const Optimum& o) { return std::abs(o.value - value) <= margin(value); });
    if (at == optima_.end()) {
      optima_.push_back({value, hits, std::move(solution)});
      at = optima_.end() - 1;
      const auto above = std::ranges::count_if(optima_, [&](const Optimum& o) { return o.value > value; });
      if (plan_.refined > 0 && above < plan_.refined && !(stopped_ && best_)) {
        Solution refined = problem_.refine(at->solution);
        note(refined);
        at->refined = problem_.value(refined);
        keep(std::move(refined));
      }
    } else {
      at->hits += hits;
      if (value > at->value) at->value = value, at->solution = std::move(solution);
    }
    if (plan_.refined == 0) {
      at->refined = at->value;
      keep(at->solution);
    }
  }
  void keep(Solution solution) {
    if (!best_ || problem_.value(solution) > problem_.value(*best_)) best_ = std::move(solution);
  }

  Problem& problem_;
  const MultistartPlan& plan_;
  std::vector<Optimum> optima_;
  std::optional<Solution> best_;  // refined
  SearchRecord record_;
  double work_ = 0.0;
  int times_moved_ = 0;
  bool stopped_ = false;
};

// An observer that several threads may call: one at a time, and once it says stop it goes on saying so.
class SharedObserver : public Observer, public StopSource {
 public:
  explicit SharedObserver(Observer* observer) : observer_(observer) {}
  Flow progress(const Progress& progress) override {
    const std::lock_guard lock(mutex_);
    if (!stopped_ && observer_ != nullptr) stopped_ = observer_->progress(progress) == Flow::stop;
    return stopped_ ? Flow::stop : Flow::proceed;
  }
  bool stop_requested() const override { return stopped_ || caucus::stop_requested(observer_); }
  void warning(std::string_view message) override {
    const std::lock_guard lock(mutex_);
    if (observer_ != nullptr) observer_->warning(message);
  }

 private:
  Observer* observer_;
  std::mutex mutex_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace caucus
