// Many starts of EM and moves from the best, and how sure the search is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "caucus/infer/mallows_mixture/em.h"
#include "caucus/infer/mallows_mixture/mallows_engine.h"
#include "caucus/infer/mallows_mixture/options.h"
#include "caucus/infer/search_record.h"

namespace caucus::mallows_mixture {

struct MultistartResult {
  EmResult best;
  SearchRecord starts;
  std::size_t screened_on = 0;  // distinct rankings that the starts saw; fewer than all in large data
};

// Makes an engine for a set of rankings.
// From here on starts see a part of the rankings, and several processes hold a part each of what is made of them.
inline constexpr std::size_t many_rankings = 20'000;

using MakeEngine = std::function<std::unique_ptr<Engine>(const RankingSet&)>;

// The search of infer/multistart.h: starts side by side, each on one thread, to convergence; optima that look good are improved by
// swaps of neighbours in their centers. Beyond 20,000 distinct rankings starts see a part drawn by weight, and those optima are
// finished on all the data. step_cost: of an EM step, in units of one of the plain model.
MultistartResult run_multistart(const RankingSet& rankings, std::size_t num_items, const MallowsMixtureOptions& options,
                                const MakeEngine& make_engine, const Run& run, double step_cost = 1.0);

// Ordered by weight, largest first.
void sort_components(Parameters& parameters);

}  // namespace caucus::mallows_mixture
