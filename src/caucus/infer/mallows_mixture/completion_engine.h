// Monte Carlo EM for mixtures of Mallows models on rankings of subsets of the items, where exact probabilities are too dear.
#pragma once

#include "caucus/base/numeric.h"
#include "caucus/infer/mallows_mixture/engine.h"
#include "caucus/model/consensus.h"

namespace caucus::mallows_mixture {

// What the draws leave open: standard errors of the log-likelihood and of every dispersion (of the root of its estimating
// equation).
struct MonteCarloError {
  std::size_t completions = 0;  // per ballot and group
  double loglik = 0.0;
  std::vector<double> theta;
};

// The E-step completes every ballot `completions` times under every component (model/mallows_completion.h). Streams are addressed
// by ballot and component alone, so that steps differ by the parameters, not by luck.
class CompletionEngine : public Engine {
 public:
  CompletionEngine(const RankingSet& rankings, std::size_t num_items, ConsensusMethod consensus, std::size_t completions,
                   std::uint64_t seed, ConsensusLimits limits = {})
      : rankings_(rankings),
        num_items_(num_items),
        consensus_(consensus),
        completions_(completions),
        seed_(seed),
        limits_(std::move(limits)) {}

  std::size_t num_items() const override { return num_items_; }
  std::size_t num_rankings() const override { return rankings_.size(); }
  double total_weight() const override { return rankings_.total_weight(); }
  // Minus infinity where it was stopped: what it has seen by then is no likelihood.
  double step(const Parameters& now, bool move_centers, int threads, Parameters& next) const override;
  Parameters from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const override;
  // As score gives it: exact for ballots whose recursion is small enough.
  void log_joint(const Parameters& now, int threads, std::span<double> out) const override;
  std::vector<double> center_gaps(const Parameters& now, int) const override {
    return std::vector<double>(now.weight.size(), infinity);
  }
  // No closed form: standard errors are left out.
  void derivatives(const Parameters& now, std::size_t k, std::span<double> score, std::span<double> information) const override;
  MonteCarloError error(const Parameters& now, int threads) const;

 private:
  struct Stats;
  Stats pass(const Parameters& now, bool want_pairs, int threads) const;

  const RankingSet& rankings_;
  std::size_t num_items_;
  ConsensusMethod consensus_;
  std::size_t completions_;
  std::uint64_t seed_;
  ConsensusLimits limits_;
};

}  // namespace caucus::mallows_mixture
