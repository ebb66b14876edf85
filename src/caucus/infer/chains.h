// Markov chains side by side: burn-in, what is kept, progress, stopping, checkpoints. For every sampler.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "caucus/base/parallel.h"
#include "caucus/infer/checkpoint.h"
#include "caucus/infer/stopping.h"

namespace caucus {

struct ChainPlan {
  int sweeps = 0;  // burn-in included
  int burnin = 0;
  int thin = 1;

  // Is the draw of this sweep kept? Sweeps count from 1.
  bool keeps(int sweep) const { return sweep > burnin && (sweep - burnin) % thin == 0; }
};

struct ChainsDone {
  std::vector<int> sweeps;  // of each chain
  StopReason stop_reason = StopReason::iteration_limit;

  int least() const { return *std::min_element(sweeps.begin(), sweeps.end()); }
};

// Where chains are saved, and how often.
struct ChainFile {
  const Checkpoint* file = nullptr;  // none: nowhere
  double every = 60.0;               // seconds
};

using AskToStop = std::function<bool()>;

namespace detail {

// Several processes have some chains each; what cannot be moved all of them run. Alone, all are mine.
template <class Chain>
class ChainShare {
  static constexpr bool movable = requires(Chain& chain, Loader& state) { chain.load(state); };

 public:
  ChainShare(std::span<Chain> chains, const Run& run) : chains_(chains), ranks_(run.workers().several() ? run.ranks : nullptr) {}

  bool is_first() const { return ranks_ == nullptr || ranks_->rank() == 0; }
  bool is_mine(std::size_t chain) const {
    return ranks_ == nullptr || !movable ||
           chain % static_cast<std::size_t>(ranks_->size()) == static_cast<std::size_t>(ranks_->rank());
  }
  // The most seconds of all processes, and how far the chains of all are.
  double longest(double seconds, std::vector<int>& sweeps) const {
    if (ranks_ == nullptr) return seconds;
    Saver mine;
    mine(seconds, sweeps);
    std::size_t rank = 0;
    for (const std::string& bytes : ranks_->exchange(mine.bytes())) {
      double theirs = 0.0;
      std::vector<int> done;
      Loader loader(bytes);
      loader(theirs, done);
      seconds = std::max(seconds, theirs);
      for (std::size_t c = 0; c < sweeps.size(); ++c)
        if (movable && c % static_cast<std::size_t>(ranks_->size()) == rank) sweeps[c] = done[c];
      ++rank;
    }
    return seconds;
  }
  // The chains of all, to all.
  void gather() const
    requires(movable)
  {
    if (ranks_ == nullptr) return;
    Saver mine;
    for (std::size_t c = 0; c < chains_.size(); ++c)
      if (is_mine(c)) chains_[c].save(mine);
    const std::vector<std::string> all = ranks_->exchange(mine.bytes());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (rank == static_cast<std::size_t>(ranks_->rank())) continue;
      Loader loader(all[rank]);
      for (std::size_t c = rank; c < chains_.size(); c += all.size()) chains_[c].load(loader);
    }
  }
  // What the first process has read.
  void tell_all(bool resumed, std::vector<int>& sweeps) const
    requires(movable)
  {
    if (ranks_ == nullptr) return;
    Saver mine;
    mine(resumed);
    if (is_first() && resumed) {
      mine(sweeps);
      for (const Chain& chain : chains_) chain.save(mine);
    }
    Loader loader(ranks_->exchange(mine.bytes()).front());
    loader(resumed);
    if (is_first() || !resumed) return;
    loader(sweeps);
    for (Chain& chain : chains_) chain.load(loader);
  }

 private:
  std::span<Chain> chains_;
  Collective* ranks_;
};

}  // namespace detail

// A Chain has
//   bool sweep(bool burnin, const AskToStop& stop)   false: `stop` cut it short, and it stands where it was before
//   void keep(int sweep)                             its state is a draw
//   double objective() const                         for the line of progress
// and for checkpoints save(Saver&) const and load(Loader&): its state, and what it kept. It draws from a stream of its own, so
// neither threads nor processes nor where a run was cut show in the draws. The observer is called from the calling thread, about
// four times a second; the stop reason of a complete run is `iteration_limit`.
template <class Chain>
ChainsDone run_chains(std::span<Chain> chains, const ChainPlan& plan, const Run& run, const ChainFile& saved = {}) {
  ChainsDone done;
  done.sweeps.assign(chains.size(), 0);
  const auto save = [&] {
    if constexpr (requires(const Chain& chain, Saver& state) { chain.save(state); }) {
      Saver state;
      state(std::span<const int>(done.sweeps));
      for (const Chain& chain : chains) chain.save(state);
      saved.file->save(state);
    }
  };
  constexpr bool movable = requires(Chain& chain, Loader& state) { chain.load(state); };
  const detail::ChainShare<Chain> share(chains, run);
  if constexpr (movable) {
    bool resumed = false;
    if (saved.file != nullptr && share.is_first())
      resumed = saved.file->resume(
          [&](Loader& state) {
            state(std::span(done.sweeps));
            for (Chain& chain : chains) chain.load(state);
          },
          [&run](std::string_view message) { run.warn(message); });
    if (saved.file != nullptr) share.tell_all(resumed, done.sweeps);
  }

  const AskToStop ask = [&run] { return should_stop(run); };
  double last_saved = run.seconds();
  for (int segment = 1; done.least() < plan.sweeps;) {
    const int begin = done.least(), end = std::min(begin + segment, plan.sweeps);
    const double begun = run.seconds();
    std::atomic<bool> cut = false;
    parallel_for(chains.size(), run.threads, [&](std::size_t c) {
      if (!share.is_mine(c)) return;
      int& sweep = done.sweeps[c];
      while (sweep < end && !cut.load(std::memory_order_relaxed)) {
        if (!chains[c].sweep(sweep < plan.burnin, ask)) {
          cut = true;
          return;
        }
        if (plan.keeps(++sweep)) chains[c].keep(sweep);
      }
    });
    // Segments of about a quarter of a second: the chains do not see where they are cut.
    const double seconds = share.longest(run.seconds() - begun, done.sweeps);
    segment = std::clamp(static_cast<int>((end - begin) * 0.25 / std::max(seconds, 1e-6)), 1, 4 * segment);
    Flow flow = run.report({"sweep", done.least(), plan.sweeps, chains[0].objective()}, done.stop_reason);
    if (run.agreed(cut) && flow == Flow::proceed) {
      flow = Flow::stop;
      done.stop_reason = why_stopped(run);
    }
    const bool over = flow == Flow::stop || done.least() >= plan.sweeps;
    if constexpr (movable)
      if (over) share.gather();
    if (saved.file != nullptr && run.agreed(over || run.seconds() - last_saved > saved.every)) {
      if constexpr (movable)
        if (!over) share.gather();
      if (share.is_first()) save();
      last_saved = run.seconds();
    }
    if (flow == Flow::stop) break;
  }
  if (done.least() >= plan.sweeps) done.stop_reason = StopReason::iteration_limit;  // told to stop when all was done
  return done;
}

}  // namespace caucus
