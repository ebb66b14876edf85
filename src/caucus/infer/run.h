// What a fit is given besides data and options, and how it talks back while it runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "caucus/base/numeric.h"
#include "caucus/result/fit_summary.h"

namespace caucus {

struct Progress {
  std::string_view phase;  // "em", "start 3 of 10", "sweep"
  int iteration = 0;
  int limit = 0;
  double objective = no_number;  // what the phase makes larger; no number where there is none

  static constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
};

enum class Flow { proceed, stop };

// Progress out, "stop" back: the only arrow that returns. Called from the thread that called fit()
// or, where the family says so, from worker threads one at a time.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual Flow progress(const Progress&) { return Flow::proceed; }
  virtual void warning(std::string_view) {}
};

struct Run {
  std::uint64_t seed = 1;
  int threads = 0;  // 0: all cores
  Observer* observer = nullptr;
  double time_limit = infinity;  // seconds from `started`
  // Share of the usual budget that a search over starts may spend: less for one fit of many, where the best optimum matters less.
  double effort = 1.0;
  // A group for each distinct ranking of the data, below the number of components: mixtures fitted by EM begin one more start
  // there. Empty: none. Families that have no use for it ignore it.
  std::span<const std::uint32_t> labels{};
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count(); }
  bool out_of_time() const { return time_limit < infinity && seconds() >= time_limit; }

  // Tells the observer; answers whether to go on. `why` is set when the answer is stop.
  Flow report(const Progress& progress, StopReason& why) const {
    if (observer != nullptr && observer->progress(progress) == Flow::stop) {
      why = StopReason::interrupted;
      return Flow::stop;
    }
    if (out_of_time()) {
      why = StopReason::time_limit;
      return Flow::stop;
    }
    return Flow::proceed;
  }
  void warn(std::string_view message) const {
    if (observer != nullptr) observer->warning(message);
  }
};

}  // namespace caucus
