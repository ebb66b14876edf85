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
#include "caucus/infer/tasks.h"

namespace caucus {

struct MultistartPlan {
  std::optional<int> starts;  // that many; none: until the budget is spent, sooner where searches agree
  double budget = infinity;   // units of Problem::work, looked at between steps: the same on every machine
  double least = 0.004;       // share of the budget spent even where all agree; least_share() says how much. It comes on top, too
  Workers workers = 1;        // the runs of a step go side by side
  double same = 1e-6;         // optima closer than this, relative, are one
  bool moves = true;
  int refined = 0;  // optima that are among the so many best when they are first seen are refined; 0: none
};

// Few ballots per parameter make rough likelihoods, whose poor optima are found again and again: there all of the budget is spent
// unless very many agree. Many ballots make them smooth.
inline double least_share(double ballots, std::size_t parameters) {
  const double each = ballots / static_cast<double>(std::max<std::size_t>(parameters, 1));
  return std::clamp(std::pow(30.0 / each, 2.0), 0.004, 1.0);
}

// Problem:
//   Solution, Point                     where a run ended; where one may begin
//   Solution start(int number)          a full run from start `number`: a function of the seed and the number alone
//   vector<Point> moves(best, time)     places near an optimum from where a better one may be reached, others each time
//   vector<Point> cross(one, two, time) places that have some groups of one optimum and some of another
//   Solution attempt(Point), attempt(Solution)   a short run, and some more of it
//   Solution finish(Solution)           goes on to the end
//   Solution refine(Solution)           what is too dear for all: on all rankings where the others see a part, or a wider search
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

  // Independent searches: a few starts each, and moves from the best of them. What is done depends on what was done before alone,
  // so more starts go on where fewer end, and the result is never worse.
  Result run() {
    for (int number = 0; !done(number); ++number) {
      const int first = number * starts_per_search;
      const int count = std::min(starts_per_search, plan_.starts.value_or(first + starts_per_search) - first);
      pool_.clear();
      run_starts(first, count);
      if (count < starts_per_search || !plan_.moves) continue;
      // Starts that disagree say that the likelihood is rough: one search in full at least, however dear its starts were.
      const bool in_full = number == 0 && !plan_.starts && hits_of_best() < record_.finished;
      if (in_full || worth_moving()) evolve(true);
      enter(champions_, pool_.front());
      if (number % searches_per_meeting == searches_per_meeting - 1) meet();
    }
    record_.agreeing = hits_of_best();
    record_.optima = static_cast<int>(std::ranges::count_if(optima_, [](const Optimum& o) { return o.hits > 0; }));
    return {std::move(*best_), record_, stopped_};
  }

 private:
  static constexpr int starts_per_search = 4, agreed = 6;
  static constexpr std::size_t followed = 2;  // moves run to their end, of those attempted
  static constexpr std::size_t rivals = 3;    // optima that the best one is crossed with at a time
  static constexpr std::size_t pool_size = 12;
  // Rough likelihoods go on rising after rounds that led nowhere.
  int patience() const { return plan_.least < 0.5 ? 3 : 6; }
  static constexpr int searches_per_meeting = 3;

  struct Optimum {
    double value;
    int hits;                    // starts that ended here, and searches that came here by moves
    Solution solution;           // the best that did
    double refined = -infinity;  // the value after refinement
  };

  struct Member {
    double value;
    Solution solution;
  };

  // Independent runs whose optima lead to the best.
  int hits_of_best() const {
    const double best = problem_.value(*best_);
    int hits = 0;
    for (const Optimum& optimum : optima_) hits += std::abs(optimum.refined - best) <= margin(best) ? optimum.hits : 0;
    return hits;
  }
  // The surer, the less work is worth while: all of the budget for an optimum found once, a quarter after four times; far
  // less where no start ended anywhere else.
  bool enough() const {
    const int hits = hits_of_best();
    const bool unanimous = hits == record_.finished;
    const double missed = SearchRecord::missed_after(hits);
    const double share = unanimous ? std::pow(2.0 * missed, 5.0) : std::min(1.0, std::pow(3.0 * missed, 2.0));
    const double least = plan_.least * std::min(1.0, unanimous ? std::pow(6.0 * missed, 4.0) : 20.0 * missed);
    return work_ >= plan_.budget * (1.0 + plan_.least) * std::max(share, least);
  }
  bool worth_moving() const { return plan_.starts ? hits_of_best() < agreed : !enough(); }
  bool done(int number) const {
    if (number == 0) return false;
    if (stopped_) return true;
    if (plan_.starts) return number * starts_per_search >= *plan_.starts;
    return enough();
  }

  void run_starts(int first, int count) {
    std::atomic<bool> stop = false;
    auto ended = side_by_side(static_cast<std::size_t>(count), [&](std::size_t s) -> std::optional<Solution> {
      if (stop && s > 0) return std::nullopt;
      Solution solution = problem_.start(first + static_cast<int>(s));
      if (problem_.stopped(solution)) stop = true;
      return solution;
    });
    record_.tried += count;
    for (auto& solution : ended) {
      if (!solution) continue;
      const bool whole = !problem_.stopped(*solution);
      record_.finished += whole ? 1 : 0;
      add(std::move(*solution), whole ? 1 : 0);
    }
  }

  // Moves from the best of this search, and crossings with its others: short runs from all, the better ones to the end; again from
  // there until nothing better turns up patience() times.
  void evolve(bool independent) {
    bool by_start = true;
    for (int failed = 0, round = 0; failed < patience() && !stopped_ && (round == 0 || worth_moving()); ++round) {
      const double from = pool_.front().value + margin(pool_.front().value);
      std::vector<typename Problem::Point> points = problem_.moves(pool_.front().solution, times_moved_);
      for (std::size_t r = 1; r < pool_.size() && r <= rivals; ++r) {
        const std::size_t other = 1 + (r - 1 + static_cast<std::size_t>(failed) * rivals) % (pool_.size() - 1);
        for (auto& point : problem_.cross(pool_.front().solution, pool_[other].solution, times_moved_ * 64 + static_cast<int>(r)))
          points.push_back(std::move(point));
      }
      ++times_moved_;
      if (points.empty()) return;
      std::vector<Solution> tried = sorted_by_short_runs(points);
      if (stopped_) return;
      for (auto& solution : side_by_side(tried.size(), [&](std::size_t p) { return problem_.finish(std::move(tried[p])); }))
        add(std::move(*solution), 0);
      const bool rose = pool_.front().value > from;
      by_start = by_start && !rose;
      failed = rose ? 0 : failed + 1;
    }
    // Where the moves led to, this search has found once.
    if (independent && !by_start && !stopped_) optimum_at(pool_.front().value)->hits += 1;
  }

  // The better ones, after short runs from all and, of the best third, once more.
  std::vector<Solution> sorted_by_short_runs(const std::vector<typename Problem::Point>& points) {
    std::vector<Solution> tried;
    // The first that is told to stop is the last that is tried: with a hundred groups there are hundreds of them.
    std::atomic<bool> stop = false;
    const auto run_all = [&](std::size_t count, auto&& attempt) {
      auto ended = side_by_side(count, [&](std::size_t p) -> std::optional<Solution> {
        if (stop) return std::nullopt;
        Solution solution = attempt(p);
        if (problem_.stopped(solution)) stop = true;
        return solution;
      });
      tried.clear();
      for (auto& solution : ended)
        if (solution) note(*solution), tried.push_back(std::move(*solution));
      std::ranges::stable_sort(tried, std::greater(), [&](const Solution& solution) { return problem_.value(solution); });
    };
    run_all(points.size(), [&](std::size_t p) { return problem_.attempt(points[p]); });
    if (stopped_) return {};
    tried.resize(std::min(tried.size(), std::max(followed, tried.size() / 3)));
    if (tried.size() > followed) {
      std::vector<Solution> begun = std::move(tried);
      run_all(begun.size(), [&](std::size_t p) { return problem_.attempt(std::move(begun[p])); });
      tried.resize(std::min(tried.size(), followed));
    }
    return tried;
  }

  // Searches have each some groups of the best optimum: now and then their best are crossed with each other. What comes of it was
  // not found independently, so it counts for nothing in the chance that something was missed.
  void meet() {
    if (champions_.size() < 2 || !worth_moving()) return;
    pool_ = champions_;
    evolve(false);
    enter(champions_, pool_.front());
  }

  template <class Body>
  std::vector<std::optional<Solution>> side_by_side(std::size_t count, Body&& body) {
    return run_tasks<Solution>(plan_.workers, count, body, [&](const Solution& one) { return !problem_.stopped(one); });
  }

  void note(const Solution& solution) {
    work_ += problem_.work(solution);
    if constexpr (requires { problem_.count(solution); }) problem_.count(solution);
    stopped_ = stopped_ || problem_.stopped(solution);
  }
  double margin(double value) const { return plan_.same * (1.0 + std::abs(value)); }
  auto optimum_at(double value) {
    return std::ranges::find_if(optima_, [&](const Optimum& o) { return std::abs(o.value - value) <= margin(value); });
  }

  // Best first, none twice.
  void enter(std::vector<Member>& pool, Member member) {
    if (std::ranges::any_of(pool, [&](const Member& m) { return std::abs(m.value - member.value) <= margin(member.value); }))
      return;
    const auto at = std::ranges::find_if(pool, [&](const Member& m) { return m.value < member.value; });
    pool.insert(at, std::move(member));
    if (pool.size() > pool_size) pool.pop_back();
  }

  void add(Solution solution, int hits) {
    note(solution);
    const double value = problem_.value(solution);
    enter(pool_, {value, solution});
    auto at = optimum_at(value);
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
  std::vector<Member> pool_;       // different optima of the search at hand, best first
  std::vector<Member> champions_;  // the best of each search
  std::optional<Solution> best_;   // refined
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
