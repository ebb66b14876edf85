// The block kernel of the tie pass: rankings [begin, end) of the batch into sums.
#pragma once

#include "caucus/infer/pl_mixture/tie_batch.h"

namespace caucus::pl_mixture {

void run_tie_block(const TieBatch& batch, const TieInput& input, std::size_t begin, std::size_t end, TieSums& sums);

}  // namespace caucus::pl_mixture
