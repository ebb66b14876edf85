// The exact search behind find_consensus. Internal.
#pragma once

#include "caucus/model/consensus.h"

namespace caucus::detail {

Consensus search_consensus(const PairMatrix& pairs, const ConsensusLimits& limits);

}  // namespace caucus::detail
