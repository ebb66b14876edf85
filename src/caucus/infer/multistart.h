// Search for the best of many optima: independent starts run to their end, moves from the best of them, and an estimate of what
// was missed. README.md of this folder has the reasoning.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <vector>

#include "caucus/base/parallel.h"
#include "caucus/infer/run.h"

namespace caucus {

struct MultistartPlan {
  std::optional<int> starts;  // that many; none: until the best was found often enough or the budget is spent
  double budget = infinity;   // units of Problem::work, looked at between rounds: the same on every machine
  int threads = 1;            // the runs of a round go side by side
  double same = 1e-6;         // optima closer than this, relative, are one
  bool moves = true;
  int refined = 0;  // optima that are among the so many best when they are first seen are refined; 0: none
};

// How sure the search is of its best optimum.
struct SearchRecord {
  int tried = 0;     // starts begun
  int finished = 0;  // starts that ran to their end
  int agreeing = 0;  // of those, how many ended at the best optimum; 0 where only a move found it
  int optima = 0;    // different ones that the starts ended at

  // The chance that a better optimum exists: the rule of succession on the starts that ended at the best or above (README.md).
  double missed() const { return finished == 0 ? 1.0 : 1.0 / (2.0 + static_cast<double>(agreeing)); }
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
  };

  Multistart(Problem& problem, const MultistartPlan& plan) : problem_(problem), plan_(plan) {}

  // Rounds of starts, each followed by moves from the best optimum so far. What is done depends on what was done before alone, so
  // more starts go on where fewer end, and the result is never worse.
  Result run() {
    for (int round = 0; !done(round); ++round) {
      const int first = round * round_size;
      const int count = std::min(round_size, plan_.starts.value_or(first + round_size) - first);
      run_starts(first, count);
      if (count == round_size && plan_.moves && !convinced()) make_moves();
    }
    record_.agreeing = hits_of_best();
    record_.optima = static_cast<int>(std::ranges::count_if(optima_, [](const Optimum& o) { return o.hits > 0; }));
    return {std::move(*best_), record_};
  }

 private:
  static constexpr int round_size = 8, enough_hits = 6;
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
  bool convinced() const { return hits_of_best() >= enough_hits; }
  bool done(int round) const {
    if (round == 0) return false;
    if (stopped_) return true;
    if (plan_.starts) return round * round_size >= *plan_.starts;
    return convinced() || work_ >= plan_.budget;
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
    for (double from = -infinity; !stopped_ && work_ < plan_.budget && leader().value > from;) {
      from = leader().value + margin(leader().value);
      const auto points = problem_.moves(leader().solution, times_moved_++);
      std::vector<std::optional<Solution>> tried(points.size());
      parallel_for(points.size(), plan_.threads, [&](std::size_t p) { tried[p] = problem_.attempt(points[p]); });
      for (const auto& solution : tried) note(*solution);
      if (stopped_) return;
      std::ranges::stable_sort(tried, [&](const auto& a, const auto& b) { return problem_.value(*a) > problem_.value(*b); });
      tried.resize(std::min(tried.size(), followed));
      parallel_for(tried.size(), plan_.threads, [&](std::size_t p) { tried[p] = problem_.finish(std::move(*tried[p])); });
      for (auto& solution : tried) add(std::move(*solution), 0);
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
class SharedObserver : public Observer {
 public:
  explicit SharedObserver(Observer* observer) : observer_(observer) {}
  Flow progress(const Progress& progress) override {
    const std::lock_guard lock(mutex_);
    if (!stopped_ && observer_ != nullptr) stopped_ = observer_->progress(progress) == Flow::stop;
    return stopped_ ? Flow::stop : Flow::proceed;
  }
  void warning(std::string_view message) override {
    const std::lock_guard lock(mutex_);
    if (observer_ != nullptr) observer_->warning(message);
  }

 private:
  Observer* observer_;
  std::mutex mutex_;
  bool stopped_ = false;
};

}  // namespace caucus
