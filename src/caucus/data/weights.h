// What the weights of rankings say about how many there are.
#pragma once

#include <span>

#include "caucus/data/ranking.h"

namespace caucus {

// A whole number, so that so many rankings may be meant.
bool is_count(double weight);

// How many independent rankings the weights stand for. Whole numbers are counts: their sum. Others are shares, scores or survey
// weights whose scale means nothing: Kish's (1965) effective sample size, (sum w)^2 / sum w^2, the same for w and for c w.
double effective_size(std::span<const double> weights);
// The same over the rows of a file.
double effective_size(const RankingSet& rankings);
// The weight that counts as one ranking: 1 where weights are counts.
double one_ballot(const RankingSet& rankings);

}  // namespace caucus
