// How a fit went: the "fit" and "posterior" objects of a model file.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/result/record.h"

namespace caucus {

enum class StopReason { converged, iteration_limit, time_limit, interrupted, closed_form };
template <>
inline constexpr std::array<std::string_view, 5> enum_names<StopReason>{"converged", "iteration_limit", "time_limit", "interrupted",
                                                                        "closed_form"};
// The fit was told to end before it was done: what it returns is the best so far.
inline bool was_cut_short(StopReason reason) { return reason == StopReason::time_limit || reason == StopReason::interrupted; }

// What a search for the best optimum did.
struct Starts {
  int tried = 1;
  int finished = 1;                          // run to the end
  int agreeing = 1;                          // of those, ended where the best one did
  std::optional<std::size_t> screened_on;    // distinct rankings of the sample that all starts were first tried on
  std::optional<double> chance_of_a_better;  // estimated chance that a better optimum has not been seen
};

// Some number step by step; its last value is that of the parameters returned.
struct Trace {
  std::string measures = "log-likelihood";
  std::vector<double> values;

  bool operator==(const Trace&) const = default;
};

// One quantity that the chains of a sampler report.
struct ChainQuantity {
  std::string name;  // "num_clusters", "log_joint", "alpha", "loglik"
  double mean = 0.0;
  std::optional<double> effective_sample_size, rhat;  // none: too few draws, or it never moved
  std::vector<std::vector<double>> traces;            // one per chain, perhaps thinned
};

// Of some of the ballots: how often two of them were in one group.
struct CoClustering {
  std::vector<std::size_t> labels;            // the group of each, from 0
  std::vector<std::vector<double>> together;  // shares of the draws
};

// What the draws of a sampler say beyond the groups.
struct Posterior {
  std::size_t num_draws = 0;
  std::vector<std::pair<std::size_t, std::size_t>> num_groups;  // (number of groups, draws with it); empty: their number was fixed
  std::optional<double> expected_vi;                            // expected variation of information of the point estimate
  std::vector<ChainQuantity> quantities;
  std::optional<CoClustering> co_clustering;
};

struct FitSummary {
  std::string method;
  double loglik = std::numeric_limits<double>::quiet_NaN();  // log P(observed data), natural, weighted by counts, no prior term:
                                                             // what scoring the data gives
  double num_rankings = 0.0;                                 // sum of weights
  double num_voters = 0.0;                                   // sum of their weights; 0 where every ranking is a voter of its own
  std::int64_t num_parameters = 0;
  double log_discrete_values = 0.0;  // log of the number of values that discrete parameters can take
  std::optional<double> entropy;     // of the memberships: -sum_i w_i sum_k p_ik log p_ik; mixtures only
  int iterations = 0;
  StopReason stop_reason = StopReason::converged;
  double seconds = 0.0;
  std::uint64_t seed = 1;
  int threads = 1;
  Trace trace;
  std::optional<Starts> starts;  // none: nothing to search
  std::optional<Posterior> posterior;
  std::optional<double> regularization;  // strength used
  bool loglik_is_estimated = false;      // its normaliser has no formula here and was estimated by sampling
  std::vector<std::string> warnings;     // in plain words
  OptionMap options;                     // as used
  Record details;                        // a family's own keys for the "fit" object

  double aic() const { return -2.0 * loglik + 2.0 * static_cast<double>(num_parameters); }
  // -2 loglik + p log N: lower is better. N counts what is independent: voters, or rankings where each is a voter of its own.
  double bic() const;
  // Chen & Chen (2008), gamma = 1: the consensus rankings of Mallows models are free to be chosen among n!, which BIC leaves out.
  double ebic() const { return bic() + 2.0 * log_discrete_values; }
  double icl() const { return bic() + 2.0 * entropy.value_or(0.0); }  // Biernacki, Celeux & Govaert 2000
};

}  // namespace caucus
