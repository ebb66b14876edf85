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
//   vector<Point> moves(best, round)  places near the best optimum from where a better one may be reached
//   Solution attempt(Point)           a short run
//   Solution finish(Solution)         goes on to the end
//   bool on_part()                    do these see a part of the data only? Then
//   Solution confirm(Solution)        goes on, on all of them
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
      if (count == round_size && plan_.moves && !convinced()) make_moves(round);
    }
    record_.agreeing = optima_[best_].hits;
    record_.optima = static_cast<int>(std::ranges::count_if(optima_, [](const Optimum& o) { return o.hits > 0; }));
    return {std::move(*confirmed_), record_};
  }

 private:
  static constexpr int round_size = 8, enough_hits = 6;
  static constexpr std::size_t followed = 2;  // moves run to their end, of those attempted

  struct Optimum {
    double value;
    int hits;           // starts that ended here
    Solution solution;  // the best that did
  };

  bool convinced() const { return !optima_.empty() && optima_[best_].hits >= enough_hits; }
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
  void make_moves(int round) {
    while (!stopped_ && work_ < plan_.budget && leader().value > moved_from_) {
      moved_from_ = leader().value + margin(leader().value);
      const auto points = problem_.moves(leader().solution, round);
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
  // The best as the runs see it; on a part of the data it need not be the best on all.
  const Optimum& leader() const {
    return *std::ranges::max_element(optima_, {}, [](const Optimum& o) { return o.value; });
  }

  void add(Solution solution, int hits) {
    note(solution);
    const double value = problem_.value(solution);
    const auto known = std::ranges::find_if(optima_, [&](const Optimum& o) { return std::abs(o.value - value) <= margin(value); });
    const auto at = static_cast<std::size_t>(known - optima_.begin());
    const bool fresh = known == optima_.end();
    if (fresh) {
      optima_.push_back({value, hits, std::move(solution)});
    } else {
      known->hits += hits;
      if (!(value > known->value)) return;
      known->value = value;
      known->solution = std::move(solution);
      if (problem_.on_part()) return;
    }
    const auto above = std::ranges::count_if(optima_, [&](const Optimum& o) { return o.value > value; });
    if (above >= (problem_.on_part() ? 2 : 1)) return;
    Solution last = optima_[at].solution;
    if (problem_.on_part()) {
      if (stopped_ && confirmed_) return;
      last = problem_.confirm(std::move(last));
      note(last);
    }
    if (!confirmed_ || problem_.value(last) > problem_.value(*confirmed_)) confirmed_ = std::move(last), best_ = at;
  }

  Problem& problem_;
  const MultistartPlan& plan_;
  std::vector<Optimum> optima_;
  std::optional<Solution> confirmed_;  // the best on all data
  std::size_t best_ = 0;               // the optimum it came from
  SearchRecord record_;
  double work_ = 0.0, moved_from_ = -infinity;
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
