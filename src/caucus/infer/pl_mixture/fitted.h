// A mixture of Plackett-Luce models as a FittedModel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caucus/infer/pl_mixture/parameters.h"
#include "caucus/result/fitted_model.h"
#include "caucus/result/item_utilities.h"
#include "caucus/result/model_record.h"

namespace caucus::pl_mixture {

class FittedMixture : public FittedModel, public KnowsItems {
 public:
  FittedMixture(std::vector<std::string> items, Unranked unranked, Parameters parameters);

  const Parameters& parameters() const { return parameters_; }
  // What a fit adds to the model file, to each component and beside them.
  std::vector<Record> component_extras;
  Record extras;
  std::vector<ModelFact> told;                       // in words: what puts voters into groups, what makes an item preferred
  std::shared_ptr<const ItemUtilities> items_known;  // how utilities follow from what is known of an item
  // Of each group, the exponents of the second choice and later ones (structured.h); empty: 1.
  std::vector<std::vector<double>> exponents;

  std::string_view family() const override { return "pl"; }
  std::size_t num_components() const override { return parameters_.num_components(); }
  void check(const Dataset& data) const override;
  void log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const override;
  Sample sample(const SampleRequest& request) const override;
  GroupLaw law(std::size_t group) const override;
  bool ties_are_outcomes() const override { return !parameters_.ties.empty(); }
  std::vector<ModelFact> facts() const override { return told; }
  const ItemUtilities* item_utilities() const override { return items_known.get(); }
  void write(Record& model, std::span<Record> components) const override;

 protected:
  std::vector<Group> groups() const override;

 private:
  void sample_strict(const SampleRequest& request, Sample& sample) const;

  Parameters parameters_;
  std::vector<PlackettLuce> models_;
};

// From a model file.
std::unique_ptr<FittedMixture> load_mixture(const ModelRecord& file);

}  // namespace caucus::pl_mixture
