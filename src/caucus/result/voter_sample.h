// Draws of whole voters: a group for each, then all their rankings from it.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "caucus/result/fitted_model.h"

namespace caucus {

// Rankings of a stated group, from a model that draws group and ranking together: those of other groups are kept until they are
// asked for. Given its group a ranking is independent of all others, so this is a draw from the group.
class GroupSampler {
 public:
  GroupSampler(const FittedModel& model, const SampleRequest& request)
      : model_(model), request_(request), queues_(model.num_components()) {}
  // Valid as long as this lives.
  RankingView next(std::size_t group);

 private:
  const FittedModel& model_;
  SampleRequest request_;
  std::deque<Sample> drawn_;
  struct Place {
    const Sample* sample;
    std::size_t row;
  };
  std::vector<std::deque<Place>> queues_;
  std::uint64_t next_ = 0;
};

struct VoterSampleRequest {
  std::size_t voters = 0;
  std::size_t least = 1, most = 1;  // rankings per voter, every number between them equally likely
  std::size_t menu = 0;             // each ranking orders so many items, chosen at random; 0: all. Then unlisted items are absent
  std::size_t length = 0;           // list only the first so many items; 0: all
  std::uint64_t seed = 1;
  int threads = 0;
};
// The data have voters "v1", "v2", ..., whose names are a column "voter"; labels are the voters'. Throws UsageError.
Sample sample_voters(const FittedModel& model, const VoterSampleRequest& request);

}  // namespace caucus
