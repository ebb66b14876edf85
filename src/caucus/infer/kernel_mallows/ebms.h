// Exponential blurring mean-shift on rankings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/infer/run.h"
#include "caucus/model/mallows.h"
#include "caucus/result/fitted_model.h"
#include "caucus/result/model_record.h"

namespace caucus::kernel_mallows {

struct EbmsOptions {
  std::optional<double> theta;
  int iterations = 100;
  int limit = 20000;

  static constexpr auto fields() {
    using O = EbmsOptions;
    return std::tuple{field("theta", &O::theta, 0, 50, "kernel width (auto: from the mean distance, before every pass)"),
                      field("iterations", &O::iterations, 1, 100000, "largest number of passes"),
                      field("limit", &O::limit, 1, 1e9, "refuse more distinct ballots than this: the cost is quadratic")};
  }
};

struct EbmsResult {
  std::vector<std::uint32_t> cluster;  // of each distinct ranking, 0 the largest
  std::vector<double> sizes;
  std::vector<std::vector<ItemId>> centers;
  double theta = 1.0;         // of the mixture
  double kernel_theta = 1.0;  // of the last pass
  std::vector<double> trace;  // distinct rankings left after each pass
  int iterations = 0;
  StopReason stop_reason = StopReason::converged;
};

EbmsResult ebms(const Dataset& data, const EbmsOptions& options, const Run& run);

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
