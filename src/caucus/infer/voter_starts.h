// Where a search for groups of voters may begin.
#pragma once

#include <cstdint>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

// A group for each voter. Start number `index`: k-means of the voters by how each item fared in their rankings, from other seeds
// every time (the first the best of ten); every third is dealt at random. Of many voters a part decides where the centers are.
// O(rows + voters x items x groups).
std::vector<std::uint32_t> voter_labels(const Dataset& data, std::size_t num_groups, std::uint64_t seed, std::uint64_t index,
                                        int threads);

}  // namespace caucus
