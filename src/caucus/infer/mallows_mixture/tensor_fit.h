// Method tensor of family mallows: the learner of infer/mallows_tensor, and EM from its result.
#pragma once

#include "caucus/infer/mallows_mixture/fit.h"
#include "caucus/io/stream.h"

namespace caucus::mallows_mixture {

// Two groups, complete rankings. Without `polish` the cost after one pass over the data does not depend on their number, but for
// the degenerate branch, which counts again for each item it takes off. details["tensor"] tells which branch was taken and how far
// to trust it.
FitResult fit_by_tensor(const Dataset& data, const MallowsOptions& options, const Run& run);

// The same without `polish` from rankings that go by: one pass for the counts, one for the log-likelihood, and one for each item
// that the degenerate branch takes off. Holds counts and a piece of the rankings. Complete: log-likelihood, entropy, gaps of the
// centers and warnings are filled in.
FitResult fit_by_tensor(RankingStream& rankings, const MallowsOptions& options, const Run& run);

}  // namespace caucus::mallows_mixture
