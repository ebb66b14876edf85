// A fitted model with its type erased: what score, assign, sample and the model file need of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "caucus/data/dataset.h"

namespace caucus {

struct SampleRequest {
  std::size_t count = 0;
  std::uint64_t seed = 1;
  int threads = 0;
  std::size_t length = 0;  // list only the first `length` items of each ranking; 0: all
  // The number of the first draw, a multiple of `block`: a long sample drawn in pieces is the same as one drawn at once.
  std::uint64_t first = 0;
  static constexpr std::size_t block = 8192;
};

struct Sample {
  Dataset data;             // one row per draw, in draw order
  std::vector<int> labels;  // the component each row came from, 0-based
};

class FittedModel {
 public:
  virtual ~FittedModel() = default;

  virtual std::string_view family() const = 0;
  virtual std::size_t num_components() const = 0;

  const std::vector<std::string>& items() const { return items_; }
  Unranked unranked() const { return unranked_; }

  // Throws DataError, naming the reason, if the model gives no probability to rankings of this kind.
  virtual void check(const Dataset& data) const = 0;

  // joint[(i - first) * K + k] = log weight_k + log P_k(ranking i), for i in [first, first + count).
  // `data` has been matched to items() and checked. Thread-safe.
  virtual void log_joint(const Dataset& data, std::size_t first, std::size_t count, std::span<double> joint) const = 0;

  // log P(ranking i). By default the log-sum over log_joint.
  virtual void log_prob(const Dataset& data, std::size_t first, std::size_t count, std::span<double> out) const;

  virtual Sample sample(const SampleRequest& request) const = 0;

  // The family's keys of the model file: "components" and what stands beside it ("ties", ...).
  virtual nlohmann::json to_json() const = 0;

 protected:
  FittedModel(std::vector<std::string> items, Unranked unranked) : items_(std::move(items)), unranked_(unranked) {}

 private:
  std::vector<std::string> items_;
  Unranked unranked_;
};

// log P of every distinct ranking, in parallel.
std::vector<double> log_probs(const FittedModel& model, const Dataset& data, int threads);
// Posterior memberships of every distinct ranking, K numbers each, in parallel.
std::vector<double> memberships(const FittedModel& model, const Dataset& data, int threads);

}  // namespace caucus
