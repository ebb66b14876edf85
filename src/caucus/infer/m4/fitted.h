// The fitted multiplicative mixture.
#pragma once

#include "caucus/infer/m4/fit.h"
#include "caucus/result/fitted_model.h"

namespace caucus::m4 {

class M4Model : public FittedModel {
 public:
  M4Model(std::vector<std::string> items, Unranked unranked, Components components, Prior prior, NormalizerTable normalizers);

  std::string_view family() const override { return "m4"; }
  std::size_t num_components() const override { return components_.size(); }
  void check(const Dataset& data) const override;
  // log P(ballot) + log E[z_m | ballot]: memberships are the expected weights, and their log-sum is the marginal likelihood over
  // the prior.
  void log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const override;
  Sample sample(const SampleRequest& request) const override;
  GroupLaw law(std::size_t group) const override;
  bool blends_groups() const override { return num_components() > 1; }
  void write(Record& model, std::span<Record> components) const override;

 protected:
  // The weight of a group is its mean weight under the prior.
  std::vector<Group> groups() const override;

 private:
  Components components_;
  Prior prior_;
  NormalizerTable normalizers_;
};

}  // namespace caucus::m4
