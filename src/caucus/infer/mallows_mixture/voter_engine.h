// EM for voters who cast several rankings, over any engine for rankings.
//
// The units are voters: log P_k of a voter is the sum over the rankings cast, and given the memberships of the voters each group is
// a model of one group fitted to rankings weighted by the memberships of those who cast them, which is what the engine below does.
#pragma once

#include <memory>
#include <vector>

#include "caucus/data/dataset.h"
#include "caucus/infer/mallows_mixture/multistart.h"
#include "caucus/infer/mallows_mixture/uncertainty.h"

namespace caucus::mallows_mixture {

class VoterEngine : public Engine {
 public:
  VoterEngine(const Dataset& data, MakeEngine make_engine);

  std::size_t num_items() const override { return data_.num_items(); }
  std::size_t num_rankings() const override { return data_.voters.size(); }  // units: voters
  double total_weight() const override { return data_.voters.total_weight(); }
  double step(const Parameters& now, bool move_centers, const Workers& workers, Parameters& next) const override;
  Parameters from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const override;
  void log_joint(const Parameters& now, int threads, std::span<double> out) const override;
  std::vector<double> center_gaps(const Parameters& now, const Workers& workers) const override;
  void derivatives(const Parameters& now, std::size_t k, std::span<double> score, std::span<double> information) const override;

 private:
  // The weight of each distinct ranking in each group: [k][ranking].
  std::vector<std::vector<double>> shares(std::span<const double> memberships, std::size_t num_components) const;

  const Dataset& data_;
  MakeEngine make_;
  std::unique_ptr<Engine> rankings_;
};

// Starts from groups of voters (infer/voter_starts.h), each run to its end; the best is kept.
MultistartResult search_voters(const Dataset& data, const MallowsMixtureOptions& options, const MakeEngine& make_engine,
                               const Run& run);

// Resamples voters, continues EM from the fit.
Stability bootstrap_voters(const Dataset& data, const Parameters& fitted, const EmOptions& options, const MakeEngine& make_engine,
                           int resamples, const Run& run);

}  // namespace caucus::mallows_mixture
