// Markov chains side by side: burn-in, what is kept, progress, stopping, checkpoints. For every sampler.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <span>
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

// A Chain has
//   bool sweep(bool burnin, const AskToStop& stop)   false: `stop` cut it short, and it stands where it was before
//   void keep(int sweep)                             its state is a draw
//   double objective() const                         for the line of progress
// and for checkpoints save(Saver&) const and load(Loader&): its state, and what it kept. It draws from a stream of its own, so
// neither threads nor where a run was cut show in the draws. The observer is called from the calling thread, about four times a
// second; the stop reason of a complete run is `iteration_limit`.
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
  if constexpr (requires(Chain& chain, Loader& state) { chain.load(state); })
    if (saved.file != nullptr)
      saved.file->resume([&](Loader& state) {
        state(std::span(done.sweeps));
        for (Chain& chain : chains) chain.load(state);
      });

  const AskToStop ask = [&run] { return should_stop(run); };
  double last_saved = run.seconds();
  for (int segment = 1; done.least() < plan.sweeps;) {
    const int begin = done.least(), end = std::min(begin + segment, plan.sweeps);
    const double begun = run.seconds();
    std::atomic<bool> cut = false;
    parallel_for(chains.size(), run.threads, [&](std::size_t c) {
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
    const double seconds = run.seconds() - begun;
    segment = std::clamp(static_cast<int>((end - begin) * 0.25 / std::max(seconds, 1e-6)), 1, 4 * segment);
    Flow flow = run.report({"sweep", done.least(), plan.sweeps, chains[0].objective()}, done.stop_reason);
    if (cut && flow == Flow::proceed) {
      flow = Flow::stop;
      done.stop_reason = why_stopped(run);
    }
    const bool over = flow == Flow::stop || done.least() >= plan.sweeps;
    if (saved.file != nullptr && (over || run.seconds() - last_saved > saved.every)) {
      save();
      last_saved = run.seconds();
    }
    if (flow == Flow::stop) break;
  }
  if (done.least() >= plan.sweeps) done.stop_reason = StopReason::iteration_limit;  // told to stop when all was done
  return done;
}

}  // namespace caucus
