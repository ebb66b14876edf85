// What stages predict and weigh by their data (a, b): made by quadrature on first use.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "caucus/infer/dp_mallows/prior.h"

namespace caucus::dp_mallows {

// A rule and what it gives for every code: node by node for sums over nodes, code by code for one code.
struct TabledRule {
  TabledRule(std::size_t m, double a, double b) : rule(m, a, b) {}
  void make_tables(std::size_t m);

  StageRule rule;
  std::size_t stride = 0;           // of a row of all codes, filled up to whole vectors; 0: no tables yet
  std::vector<double> rows;         // node, code: e^(-theta s) / Z
  std::vector<double> forth, back;  // code, node: the same and its inverse
};

// Kept until it outgrows a bound. Large clusters, whose sums and counts hardly ever come back, share rules at places near theirs,
// which depend on the stage's data alone: a chain that is resumed has the same bits.
class StageCache {
 public:
  explicit StageCache(const Prior& prior) : prior_(prior) {}
  const Prior& prior() const { return prior_; }

  // log predictive of every code. With room of the caller for one table, those of large clusters are written there and not kept.
  const double* log_predictive(std::size_t stage, double a, double b, double* own = nullptr);
  double log_integral(std::size_t stage, double a, double b);
  // log of I(a + sum, b + count) / I(a, b), the probability of `count` codes of that sum and order.
  double log_ratio(std::size_t stage, double a, double b, double sum, double count) {
    return log_integral(stage, a + sum, b + count) - log_integral(stage, a, b);
  }
  // The rule that serves these data; null where there are too few.
  TabledRule* rule(std::size_t stage, double a, double b);

  bool too_large() const { return numbers_ > limit; }
  void clear();
  void trim() {
    if (too_large()) clear();
  }

 private:
  struct Key {
    std::size_t stage;
    double a, b;
    bool operator==(const Key&) const = default;
    struct Hash {
      std::size_t operator()(const Key& key) const;
    };
  };
  double* room(std::size_t size);

  static constexpr std::size_t limit = std::size_t{16} << 20;  // 128 MB
  const Prior& prior_;
  StageQuadrature quadrature_;
  std::unordered_map<Key, const double*, Key::Hash> tables_;
  std::unordered_map<Key, double, Key::Hash> integrals_;
  std::unordered_map<Key, TabledRule, Key::Hash> rules_;
  std::vector<std::unique_ptr<double[]>> pages_;  // where the tables lie
  std::size_t left_ = 0;                          // numbers on the last page
  std::size_t numbers_ = 0;
};

}  // namespace caucus::dp_mallows
