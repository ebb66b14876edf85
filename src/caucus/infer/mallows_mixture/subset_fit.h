// Mallows mixtures on rankings of subsets of the items: exact EM where it can be afforded, else Monte Carlo EM with its error.
#pragma once

#include "caucus/infer/mallows_mixture/fit.h"

namespace caucus::mallows_mixture {

MakeEngine subset_engines(const Dataset& data, const MallowsOptions& options, const Run& run);

// details["monte_carlo"] is there when probabilities were estimated.
FitResult fit_subsets(const Dataset& data, const MallowsOptions& options, const MakeEngine& make_engine, const Run& run);

}  // namespace caucus::mallows_mixture
