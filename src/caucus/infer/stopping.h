// Asking whether to go on from within a step: every loop that may take more than a fraction of a second does, and what has been
// found by then is the answer.
#pragma once

#include "caucus/infer/run.h"

namespace caucus {

// An observer that can be asked for its answer without being told of progress: from any thread, at any time, cheaply.
class StopSource {
 public:
  virtual ~StopSource() = default;
  virtual bool stop_requested() const = 0;
};

inline bool stop_requested(const Observer* observer) {
  const auto* source = dynamic_cast<const StopSource*>(observer);
  return source != nullptr && source->stop_requested();
}

// A flag and a clock, some 50 ns.
inline bool should_stop(const Run& run) { return stop_requested(run.observer) || run.out_of_time(); }
inline StopReason why_stopped(const Run& run) {
  return stop_requested(run.observer) ? StopReason::interrupted : StopReason::time_limit;
}

}  // namespace caucus
