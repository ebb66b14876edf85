// A fitted Dirichlet process mixture: the point estimate as a mixture, and draws for the posterior predictive.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "caucus/infer/dp_mallows/fit.h"
#include "caucus/result/fitted_model.h"
#include "caucus/result/model_record.h"
#include "caucus/result/monte_carlo_scores.h"
#include "caucus/result/voter_scores.h"

namespace caucus::dp_mallows {

// log_joint (assign): the point estimate's clusters, weight size / N, theta at its posterior mean.
// log_prob (score): the mean over the kept draws of the predictive of the next ballot, a new cluster included, with theta
// integrated out; without draws, the mixture of the point estimate.
class FittedDpm : public FittedModel, public MonteCarloScores, public VoterScores {
 public:
  FittedDpm(std::vector<std::string> items, Unranked unranked, PriorParameters prior, std::vector<Component> components,
            std::vector<PredictiveDraw> draws);

  std::string_view family() const override { return "dpm"; }
  std::size_t num_components() const override { return components_.size(); }
  void check(const Dataset& data) const override;
  void log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const override;
  void log_prob(const Dataset& data, std::size_t first, std::size_t count, std::span<double> out) const override;
  std::vector<double> log_probs_of_voters(const Dataset& data, int threads) const override;
  double loglik_error(const Dataset& data, int threads) const override;
  Sample sample(const SampleRequest& request) const override;
  GroupLaw law(std::size_t group) const override;
  void write(Record& model, std::span<Record> components) const override;

 protected:
  std::vector<Group> groups() const override;

 private:
  struct Prepared;
  // Tables for rankings of up to `stages` stages; made on first use and when longer rankings come.
  std::shared_ptr<const Prepared> prepare(std::size_t stages) const;
  // visit(i, log P by draw, log of their mean) for ballot first + i.
  template <class Visit>
  void for_each_ballot(const Prepared& tables, const Dataset& data, std::size_t first, std::size_t count, Visit&& visit) const;

  // The same for voters, all rankings of each together.
  template <class Visit>
  void for_each_voter(const Prepared& tables, const Dataset& data, std::size_t first, std::size_t count, Visit&& visit) const;

  PriorParameters prior_;
  std::vector<Component> components_;
  std::vector<std::vector<std::int16_t>> positions_;  // of the components' centers
  std::vector<double> log_weight_;
  std::vector<PredictiveDraw> draws_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Prepared> prepared_;
};

std::unique_ptr<FittedModel> load_fitted(const ModelRecord& file);

}  // namespace caucus::dp_mallows
