// The search over starts.
#pragma once

#include <optional>

#include "caucus/infer/pl_mixture/methods.h"
#include "caucus/infer/pl_mixture/options.h"
#include "caucus/infer/search_record.h"

namespace caucus::pl_mixture {

struct SearchResult {
  Solution best;
  SearchRecord record{1, 1, 1, 1};
};

// The method from the given start, or from several, the best kept (multistart.h). Where one pass over the rankings costs much, the
// starts run on a part of them drawn by weight, and the better optima go on with all.
SearchResult search(const Objective& objective, const Options& options, const Run& run, const std::optional<Parameters>& init);

}  // namespace caucus::pl_mixture
