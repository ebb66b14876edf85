// The fitted mixtures, for score, assign, sample and the model file.
#pragma once

#include <memory>

#include "caucus/infer/mallows_mixture/engine.h"
#include "caucus/model/distances.h"
#include "caucus/model/generalized_mallows.h"
#include "caucus/model/mallows.h"
#include "caucus/model/mallows_completion.h"
#include "caucus/result/fitted_model.h"
#include "caucus/result/monte_carlo_scores.h"

namespace caucus::mallows_mixture {

class MallowsMixture : public FittedModel, public MonteCarloScores {
 public:
  // `normalizer`: of a distance other than Kendall's, where the fit has made one that reaches as far.
  MallowsMixture(std::vector<std::string> items, Unranked unranked, Parameters parameters, Distance distance,
                 const DistanceNormalizer* normalizer = nullptr);

  std::string_view family() const override { return "mallows"; }
  std::size_t num_components() const override { return parameters_.weight.size(); }
  void check(const Dataset& data) const override;
  void log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const override;
  // Of long rankings of subsets.
  double loglik_error(const Dataset& data, int threads) const override;
  Sample sample(const SampleRequest& request) const override;
  GroupLaw law(std::size_t group) const override;
  void write(Record& model, std::span<Record> components) const override;
  const Parameters& parameters() const { return parameters_; }
  const DistanceNormalizer* normalizer() const { return normalizer_.get(); }

 protected:
  std::vector<Group> groups() const override;

 private:
  SubsetEstimate subset_probability(const Dataset& data, std::size_t ranking, std::size_t k) const {
    return scored_probability(data.rankings[ranking], completions_[k], subsets_[k], ranking * num_components() + k);
  }

  Parameters parameters_;
  Distance distance_;
  std::vector<Mallows> models_;                     // kendall
  std::vector<SubsetProbabilities> subsets_;        // kendall, rankings of subsets
  std::vector<CompletionSampler> completions_;      // the same, where the exact recursion is too large
  std::unique_ptr<DistanceNormalizer> normalizer_;  // other distances
  std::vector<std::vector<std::uint32_t>> position_;
};

class GeneralizedMallowsMixture : public FittedModel {
 public:
  GeneralizedMallowsMixture(std::vector<std::string> items, Unranked unranked, Parameters parameters, Code code);

  std::string_view family() const override { return "gmallows"; }
  std::size_t num_components() const override { return parameters_.weight.size(); }
  void check(const Dataset& data) const override;
  void log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const override;
  Sample sample(const SampleRequest& request) const override;
  GroupLaw law(std::size_t group) const override;
  void write(Record& model, std::span<Record> components) const override;

 protected:
  std::vector<Group> groups() const override;

 private:
  Parameters parameters_;
  Code code_;
  std::vector<GeneralizedMallows> models_;
};

}  // namespace caucus::mallows_mixture
