// What the stages of every cluster predict, kept up to date while ballots come and go: for few items, where a table of all codes is
// small. Probabilities, not logarithms: a cluster whose product underflows is nothing beside a new one, whose weight does not.
#pragma once

#include <cstddef>
#include <vector>

#include "caucus/infer/dp_mallows/options.h"
#include "caucus/infer/dp_mallows/stage_cache.h"

namespace caucus::dp_mallows {

class StageTables {
 public:
  static constexpr std::size_t most_items = 64;  // 1 / 64! is a number still

  StageTables(StageCache& cache, Method method);

  void grow(std::size_t slots);
  // The stage's data (a, b) anew; of slice-gibbs theta and log Z.
  void set(std::size_t slot, std::size_t stage, double a, double b);
  void set_theta(std::size_t slot, std::size_t stage, double theta, double log_z);
  // A code comes (sign 1) or goes (-1).
  void shift(std::size_t slot, std::size_t stage, std::size_t code, double sign);

  // The next code's probability: of stage j from first(j) on.
  const double* next(std::size_t slot) const { return table_.data() + slot * width_; }
  std::size_t first(std::size_t stage) const { return first_[stage]; }
  // That of a code which is among the data, given the others.
  double among(std::size_t slot, std::size_t stage, std::size_t code);

 private:
  // exact-gibbs: the weights of a rule's nodes take a factor e^(-theta s) / Z when a code comes, and its inverse when it goes,
  // until theta's density has moved too far from the rule's. Few data have a table each, remembered.
  struct Stage {
    double a = 0.0, b = 0.0;
    const TabledRule* rule = nullptr;
    double mean = 0.0, reach = 0.0;  // how far the rule serves
    double total = 1.0;
    StageRule::Nodes weight;
  };
  void fill(std::size_t slot, std::size_t j);

  StageCache& cache_;
  const Prior& prior_;
  Method method_;
  std::size_t num_stages_, width_ = 0;
  std::vector<std::size_t> first_;
  std::vector<double> table_;  // slot, stage, code
  std::vector<Stage> stages_;  // slot, stage
};

}  // namespace caucus::dp_mallows
