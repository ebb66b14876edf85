// What the weights of rankings say about how many there are.
#pragma once

#include <span>

#include "caucus/data/ranking.h"

namespace caucus {

// How many independent rankings the weights stand for. Whole numbers are counts: their sum. Others are shares, scores or survey
// weights whose scale means nothing: Kish's (1965) effective sample size, (sum w)^2 / sum w^2, the same for w and for c w.
double effective_size(std::span<const double> weights);
// The same over the rows of a file.
double effective_size(const RankingSet& rankings);

}  // namespace caucus
