// What a checkpoint of the chains holds. The file itself: infer/checkpoint.h.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "caucus/infer/checkpoint.h"
#include "caucus/infer/dp_mallows/fit.h"

namespace caucus::dp_mallows {

// What is kept of a chain, besides its state.
struct ChainRecord {
  Trace trace;
  std::vector<Draw> draws;
  std::vector<ClusterLabels> assignments;
  std::vector<PredictiveDraw> predictive;
};

auto parts(IsA<ChainState> auto& state) { return std::tie(state.labels, state.centers, state.theta, state.alpha, state.drawn); }
auto parts(IsA<Trace> auto& trace) { return std::tie(trace.num_clusters, trace.log_joint, trace.alpha); }
auto parts(IsA<Draw> auto& draw) {
  return std::tie(draw.chain, draw.iteration, draw.num_clusters, draw.log_joint, draw.alpha, draw.largest_share);
}
auto parts(IsA<PredictiveCluster> auto& cluster) { return std::tie(cluster.order, cluster.size, cluster.sums, cluster.counts); }
auto parts(IsA<PredictiveDraw> auto& draw) { return std::tie(draw.alpha, draw.clusters); }
auto parts(IsA<ChainRecord> auto& record) { return std::tie(record.trace, record.draws, record.assignments, record.predictive); }

// The file that the options name, for a run on these data: what must agree are data, seed and every option that bears on the draws.
Checkpoint checkpoint_of(const Dataset& data, const Options& options, std::uint64_t seed);

}  // namespace caucus::dp_mallows
