// The state of all chains in a file: CBOR, arrays as raw bytes, so that a resumed run continues to the same bits.
#pragma once

#include <string>
#include <vector>

#include "caucus/infer/dp_mallows/fit.h"

namespace caucus::dp_mallows {

struct ChainRecord {
  int sweeps = 0;  // done
  ChainState state;
  Trace trace;
  std::vector<Draw> draws;
  std::vector<ClusterLabels> assignments;
  std::vector<PredictiveDraw> predictive;
};

// What must agree for a checkpoint to be resumed: data, seed and every option that bears on the draws.
std::string checkpoint_key(const Dataset& data, const Options& options, std::uint64_t seed);

void write_checkpoint(const std::string& path, const std::string& key, const std::vector<ChainRecord>& chains);
// Empty where there is no such file. Throws DataError for a file that is broken or of another run.
std::vector<ChainRecord> read_checkpoint(const std::string& path, const std::string& key);

}  // namespace caucus::dp_mallows
