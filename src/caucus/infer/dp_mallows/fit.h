// Chains of the Dirichlet process mixture, and what they say about the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/infer/dp_mallows/chain.h"
#include "caucus/infer/dp_mallows/options.h"
#include "caucus/infer/run.h"
#include "caucus/model/clustering.h"
#include "caucus/result/fit_summary.h"

namespace caucus::dp_mallows {

// One kept sweep.
struct Draw {
  int chain = 0;      // from 1
  int iteration = 0;  // from 1, burn-in counted
  std::uint32_t num_clusters = 0;
  double log_joint = 0.0;
  double alpha = 0.0;
  double largest_share = 0.0;
};

// A cluster as the posterior predictive needs it.
struct PredictiveCluster {
  std::vector<Item> order;
  double size = 0.0;
  std::vector<double> sums, counts;
};
struct PredictiveDraw {
  double alpha = 1.0;
  std::vector<PredictiveCluster> clusters;
};

inline constexpr double component_interval_level = 0.9;
// One cluster of the point estimate, its center and theta given its members.
struct Component {
  double size = 0.0;
  std::vector<Item> consensus;
  std::vector<double> theta, theta_low, theta_high;  // mean and 90 % interval of each stage
  std::vector<double> position_low, position_high;   // 90 % intervals of the first consensus items' positions, from 1
};

struct Trace {
  std::vector<double> num_clusters, log_joint, alpha;  // every sweep, burn-in included
};

struct Result {
  std::vector<Draw> draws;
  std::vector<ClusterLabels> assignments;  // of the draws
  std::vector<Trace> traces;               // one per chain
  std::vector<PredictiveDraw> predictive;
  int extra_sweeps = 0;  // of each chain, after those asked for, to take the predictive's draws from
  ClusterLabels labels;  // the point estimate, labelled by size
  double expected_vi = 0.0;
  std::vector<Component> components;  // largest first
  SplitMergeCounts split_merge;
  int iterations = 0;  // sweeps done by the slowest chain
  StopReason stop_reason = StopReason::iteration_limit;
  std::vector<std::string> warnings;
};

// The prior that the options and the data say. Throws UsageError.
PriorParameters prior_parameters(const Options& options, const Dataset& data, std::size_t num_stages);

// Monte Carlo error in nats per ballot that is small enough for scores.
inline constexpr double wanted_score_error = 0.01;
// The error that draws leave in the score of a ballot.
using ScoreError = std::function<double(const std::vector<PredictiveDraw>&)>;

// Runs the chains; resumes from options.checkpoint if that file exists. Where the number of predictive draws is left open, they are
// doubled, and the chains run on for them alone, until score_error is small enough or a bound is reached; without score_error their
// number is the smallest. Cost per sweep O(N C t + sum of t^2 * gibbs-steps).
Result fit(const Dataset& data, const Points& points, const PriorParameters& parameters, const Options& options, const Run& run,
           const ScoreError& score_error = {});

// A center's summary given its members: `passes` draws of (sigma, theta), fewer where `stop` says so.
Component summarise_cluster(const Points& points, const Prior& prior, std::span<const Member> members, int passes, RandomStream rng,
                            const std::function<bool()>& stop = {});

}  // namespace caucus::dp_mallows
