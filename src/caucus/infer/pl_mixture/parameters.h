// The parameters of a mixture of Plackett-Luce models.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "caucus/base/bytes.h"
#include "caucus/base/numeric.h"
#include "caucus/model/plackett_luce.h"

namespace caucus::pl_mixture {

struct Parameters {
  std::size_t num_items = 0;
  std::vector<double> weights;    // [k], sums to one
  std::vector<double> utilities;  // [k * num_items + i]
  TieStrengths ties;              // shared by all components
  // Where weights depend on what is known of a voter (infer/membership_logit.h): coefficients of groups 2 to K. `weights` are their
  // mean then.
  std::vector<double> gamma;

  Parameters() = default;
  Parameters(std::size_t num_components, std::size_t items)
      : num_items(items),
        weights(num_components, 1.0 / static_cast<double>(num_components)),
        utilities(num_components * items, 0.0) {}

  std::size_t num_components() const { return weights.size(); }
  std::span<double> component(std::size_t k) { return std::span(utilities).subspan(k * num_items, num_items); }
  std::span<const double> component(std::size_t k) const { return std::span(utilities).subspan(k * num_items, num_items); }

  void center_all() {
    for (std::size_t k = 0; k < num_components(); ++k) center(component(k));
  }

  // Components by weight, largest first. Returns the order applied: new component k was order[k].
  std::vector<std::size_t> sort_by_weight() {
    std::vector<std::size_t> order(num_components());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
    permute(order);
    return order;
  }
  void permute(std::span<const std::size_t> order) {
    Parameters copy = *this;
    for (std::size_t k = 0; k < order.size(); ++k) {
      weights[k] = copy.weights[order[k]];
      std::ranges::copy(copy.component(order[k]), component(k).begin());
    }
    // The first group is the reference.
    const std::size_t p = order.size() > 1 ? gamma.size() / (order.size() - 1) : 0;
    const auto of = [&](std::size_t k, std::size_t j) { return k == 0 ? 0.0 : copy.gamma[(k - 1) * p + j]; };
    for (std::size_t k = 1; k < order.size(); ++k)
      for (std::size_t j = 0; j < p; ++j) gamma[(k - 1) * p + j] = of(order[k], j) - of(order[0], j);
  }
};

auto parts(IsA<Parameters> auto& p) {
  return std::tie(p.num_items, p.weights, p.utilities, p.ties.orders, p.ties.log_delta, p.gamma);
}

}  // namespace caucus::pl_mixture
