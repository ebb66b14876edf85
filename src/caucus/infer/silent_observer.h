// An observer for fits within a fit.
#pragma once

#include "caucus/infer/stopping.h"

namespace caucus {

// Passes on the question whether to stop and nothing else: many fits run at once, and nobody wants to hear of their progress.
class SilentObserver : public Observer, public StopSource {
 public:
  explicit SilentObserver(const Observer* asked) : asked_(asked) {}
  Flow progress(const Progress&) override { return stop_requested() ? Flow::stop : Flow::proceed; }
  bool stop_requested() const override { return caucus::stop_requested(asked_); }

 private:
  const Observer* asked_;
};

}  // namespace caucus
