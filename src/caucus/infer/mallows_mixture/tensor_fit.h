// Method tensor of family mallows: the learner of infer/mallows_tensor, and EM from its result.
#pragma once

#include "caucus/infer/mallows_mixture/fit.h"

namespace caucus::mallows_mixture {

// Two groups, complete rankings. Without `polish` the cost after one pass over the data does not depend on their number, but for
// the degenerate branch, which counts again for each item it takes off. details["tensor"] tells which branch was taken and how far
// to trust it.
FitResult fit_by_tensor(const Dataset& data, const MallowsOptions& options, const Run& run);

}  // namespace caucus::mallows_mixture
