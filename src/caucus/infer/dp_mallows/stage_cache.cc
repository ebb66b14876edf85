#include "caucus/infer/dp_mallows/stage_cache.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "caucus/infer/dp_mallows/score.h"

namespace caucus::dp_mallows {

std::size_t StageCache::Key::Hash::operator()(const Key& key) const {
  std::uint64_t hash = key.stage * 0x9E3779B97F4A7C15u;
  for (std::uint64_t word : {std::bit_cast<std::uint64_t>(key.a), std::bit_cast<std::uint64_t>(key.b)}) {
    hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

void TabledRule::make_tables(std::size_t m) {
  constexpr std::size_t nodes = StageRule::size;
  stride = (m + code_block - 1) / code_block * code_block;
  rows.assign(nodes * stride, 0.0);
  forth.resize(m * nodes);
  back.resize(m * nodes);
  for (std::size_t q = 0; q < nodes; ++q)
    for (std::size_t s = 0; s < m; ++s) {
      const double log_back = rule.log_z()[q] + rule.theta()[q] * static_cast<double>(s);
      forth[s * nodes + q] = rows[q * stride + s] = std::exp(-log_back);
      back[s * nodes + q] = std::exp(log_back);
    }
}

double* StageCache::room(std::size_t size) {
  if (left_ < size) {
    left_ = std::max<std::size_t>(size, 1u << 14);
    pages_.push_back(std::make_unique_for_overwrite<double[]>(left_));
    numbers_ += left_;
  }
  left_ -= size;
  return pages_.back().get() + left_;
}

TabledRule* StageCache::rule(std::size_t stage, double a, double b) {
  const std::size_t m = prior_.stage_size(stage);
  const auto near = near_nodes(m, a, b);
  if (!near) return nullptr;
  const auto [found, fresh] = rules_.try_emplace({stage, near->a, near->b}, m, near->a, near->b);
  if (fresh) numbers_ += 128;
  return &found->second;
}

const double* StageCache::log_predictive(std::size_t stage, double a, double b, double* own) {
  const std::size_t m = prior_.stage_size(stage);
  const TabledRule* const shared = rule(stage, a, b);
  const auto make = [&](double* values) {
    if (shared != nullptr) {
      shared->rule.log_predictive(a, b, {values, m});
    } else {
      quadrature_.build(m, a, b);
      quadrature_.log_predictive({values, m});
    }
    return values;
  };
  if (shared != nullptr && own != nullptr) return make(own);
  const double*& table = tables_[{stage, a, b}];
  if (table == nullptr) {
    numbers_ += 8;  // of the map
    table = make(room(m));
  }
  return table;
}

double StageCache::log_integral(std::size_t stage, double a, double b) {
  if (const TabledRule* const shared = rule(stage, a, b)) {
    StageRule::Nodes weight;
    return shared->rule.weigh(a, b, weight);
  }
  const auto [found, fresh] = integrals_.try_emplace({stage, a, b}, 0.0);
  if (fresh) {
    numbers_ += 8;
    quadrature_.build(prior_.stage_size(stage), a, b);
    found->second = quadrature_.log_integral();
  }
  return found->second;
}

void StageCache::clear() {
  tables_.clear();
  integrals_.clear();
  rules_.clear();
  pages_.clear();
  left_ = 0;
  numbers_ = 0;
}

}  // namespace caucus::dp_mallows
