// The search over starts.
#pragma once

#include <optional>

#include "caucus/infer/pl_mixture/methods.h"
#include "caucus/infer/pl_mixture/options.h"

namespace caucus::pl_mixture {

struct SearchResult {
  Solution best;
  int starts = 1;
  int agreeing = 1;  // of the starts run to the end, how many ended within 1e-6 (relative) of the best
  int finished = 1;  // starts run to the end
};

// The method from the given start, or from the best of several. With method em, short runs on a part of the rankings sort the
// starts, the better ones go on, and the best few are run to the end on all of them; other methods run every start to the end.
SearchResult search(const Objective& objective, const Options& options, const Run& run, const std::optional<Parameters>& init);

}  // namespace caucus::pl_mixture
