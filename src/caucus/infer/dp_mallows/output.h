// The files a run leaves, and the posterior in its summary.
#pragma once

#include "caucus/infer/dp_mallows/fit.h"

namespace caucus::dp_mallows {

// Writes draws, draw-assignments, draws-cmdstan and co-clustering as far as the options name them.
void write_outputs(const Result& result, const Options& options);

// Number of clusters with its counts, alpha, R-hat and effective sample sizes, expected distance of the point estimate,
// traces (at most 2000 points per chain).
Posterior posterior_of(const Result& result, bool alpha_sampled);

}  // namespace caucus::dp_mallows
