// The fitted kernel density, and the mixture that a mean shift leaves.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "caucus/infer/kernel_mallows/kernel.h"
#include "caucus/model/mallows.h"
#include "caucus/result/fitted_model.h"
#include "caucus/result/model_record.h"

namespace caucus::kernel_mallows {

class FittedKde : public FittedModel {
 public:
  FittedKde(std::vector<std::string> items, Unranked unranked, RankingSet rankings, double theta);

  std::string_view family() const override { return "kde"; }
  std::size_t num_components() const override { return 1; }
  void check(const Dataset& data) const override;
  void log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const override;
  Sample sample(const SampleRequest& request) const override;
  std::vector<ModelFact> facts() const override;
  void write(Record& model, std::span<Record> components) const override;

 protected:
  // One group that is everybody: a density has no groups, and its theta is the kernel's width, not a group's.
  std::vector<Group> groups() const override { return {Group{}}; }

 private:
  RankingSet rankings_;
  Kernel kernel_;
};

std::unique_ptr<FittedModel> load_kde(const ModelRecord& file);

class FittedEbms : public FittedModel {
 public:
  FittedEbms(std::vector<std::string> items, Unranked unranked, std::vector<double> sizes, std::vector<std::vector<ItemId>> centers,
             std::vector<double> theta);

  std::string_view family() const override { return "ebms"; }
  std::size_t num_components() const override { return models_.size(); }
  void check(const Dataset& data) const override;
  void log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const override;
  Sample sample(const SampleRequest& request) const override;
  GroupLaw law(std::size_t group) const override { return mallows_law(models_[group]); }

 protected:
  std::vector<Group> groups() const override;

 private:
  std::vector<double> sizes_;
  std::vector<double> weights_;
  std::vector<Mallows> models_;
};

std::unique_ptr<FittedModel> load_ebms(const ModelRecord& file);

}  // namespace caucus::kernel_mallows
