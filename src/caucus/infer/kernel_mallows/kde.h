// Kernel density of partial rankings.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "caucus/base/options.h"
#include "caucus/infer/kernel_mallows/kernel.h"
#include "caucus/infer/run.h"
#include "caucus/result/fitted_model.h"
#include "caucus/result/model_record.h"

namespace caucus::kernel_mallows {

struct KdeOptions {
  std::optional<double> theta;
  int left_out = 1000;

  static constexpr auto fields() {
    using O = KdeOptions;
    return std::tuple{field("theta", &O::theta, 0, 50, "kernel width: larger is narrower (auto: by leave-one-out likelihood)"),
                      field("left-out", &O::left_out, 1, 1e9, "theta auto: at most this many ballots are left out in turn")};
  }
};

// sum over the given rankings of their log density when one ballot like them is left out.
double leave_one_out(const RankingSet& rankings, std::size_t num_items, double theta, std::span<const std::size_t> left_out,
                     int threads, const std::function<bool()>& stop = {});

struct Bandwidth {
  double theta = 1.0;
  std::vector<double> trace;  // leave-one-out log-likelihood of the values tried, the best last
  StopReason stop_reason = StopReason::converged;
};
Bandwidth choose_bandwidth(const RankingSet& rankings, std::size_t num_items, const KdeOptions& options, const Run& run);

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

}  // namespace caucus::kernel_mallows
