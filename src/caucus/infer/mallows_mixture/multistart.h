// Many starts of EM, the best kept, and how many of them agree.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "caucus/infer/mallows_mixture/em.h"
#include "caucus/infer/mallows_mixture/mallows_engine.h"
#include "caucus/infer/mallows_mixture/options.h"

namespace caucus::mallows_mixture {

struct MultistartResult {
  EmResult best;
  int starts = 0;               // made
  int finished = 0;             // ran to their end
  int agreed = 0;               // ended (after improvement, for the few best) within 1e-7 (relative) of the best log-likelihood
  bool improved = false;        // moves of the centres found more than all starts did
  std::size_t screened_on = 0;  // distinct rankings that the starts saw; fewer than all in large data
};

// Makes an engine for a set of rankings.
using MakeEngine = std::function<std::unique_ptr<Engine>(const RankingSet&)>;

// Starts run in parallel, each on one thread, to convergence. Beyond 20,000 distinct rankings they run on a weighted
// subsample and the best few different optima are finished on all the data.
MultistartResult run_multistart(const RankingSet& rankings, std::size_t num_items, const MallowsMixtureOptions& options,
                                const MakeEngine& make_engine, const Run& run);

// Ordered by weight, largest first.
void sort_components(Parameters& parameters);

}  // namespace caucus::mallows_mixture
