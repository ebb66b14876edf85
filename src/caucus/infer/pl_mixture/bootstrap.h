// Bootstrap of a fitted mixture.
#pragma once

#include "caucus/infer/pl_mixture/fit.h"

namespace caucus::pl_mixture {

// Refits `samples` data sets, drawn from the fitted model with the ballots' lengths (or the races' entrants) as they were, or by
// resampling the rankings, each from the fit itself, and matches components by utilities, centered on the fit's references. Sample
// b draws from stream (seed, Purpose::bootstrap, b).
BootstrapResult bootstrap(const Dataset& data, const Parameters& fitted, const std::vector<Pieces>& pieces, const Options& options,
                          double strength, const Run& run, StopReason& stop_reason);

// One bootstrap data set.
Dataset bootstrap_sample(const Dataset& data, const Parameters& fitted, Bootstrap kind, std::uint64_t seed, std::uint64_t index);

}  // namespace caucus::pl_mixture
