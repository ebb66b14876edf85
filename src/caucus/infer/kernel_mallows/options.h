// Options of the kernel density and of the mean shift.
#pragma once

#include <optional>
#include <tuple>

#include "caucus/base/options.h"

namespace caucus::kernel_mallows {

struct KdeOptions {
  std::optional<double> theta;
  int left_out = 1000;

  static constexpr auto fields() {
    using O = KdeOptions;
    return std::tuple{field("theta", &O::theta, 0, 50, "kernel width: larger is narrower (auto: by leave-one-out likelihood)"),
                      field("left-out", &O::left_out, 1, 1e9, "theta auto: at most this many ballots are left out in turn")};
  }
};

struct EbmsOptions {
  std::optional<double> theta;
  int iterations = 100;
  int limit = 20000;

  static constexpr auto fields() {
    using O = EbmsOptions;
    return std::tuple{field("theta", &O::theta, 0, 50, "kernel width (auto: from the mean distance, before every pass)"),
                      field("iterations", &O::iterations, 1, 100000, "largest number of passes"),
                      field("limit", &O::limit, 1, 1e9, "refuse more distinct ballots than this: the cost is quadratic")};
  }
};

}  // namespace caucus::kernel_mallows
