// Bootstrap of a fitted mixture.
#pragma once

#include "caucus/base/random.h"
#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/model/plackett_luce.h"

namespace caucus::pl_mixture {

// Refits `samples` data sets, drawn from the fitted model with the ballots' lengths (or the races' entrants) as they were, or by
// resampling the rankings, each from the fit itself, and matches components by utilities, centered on the fit's references. Sample
// b draws from stream (seed, Purpose::bootstrap, b).
BootstrapResult bootstrap(const Dataset& data, const Parameters& fitted, const std::vector<Pieces>& pieces, const Options& options,
                          double strength, const Run& run, StopReason& stop_reason);

// A ranking as a voter of group k would have given where this one was given: of the same entrants, or with as many choices as the
// ballot has. A tie is one choice: to list as many items instead would go beyond the ballot whenever a tie straddles its end, and
// tell more than the data did. models: one per group.
void draw_alike(RankingView ballot, Unranked unranked, const std::vector<PlackettLuce>& models, std::size_t k, RandomStream& random,
                std::vector<ItemId>& items, std::vector<std::uint8_t>& ends);

// One bootstrap data set.
Dataset bootstrap_sample(const Dataset& data, const Parameters& fitted, Bootstrap kind, std::uint64_t seed, std::uint64_t index);

}  // namespace caucus::pl_mixture
