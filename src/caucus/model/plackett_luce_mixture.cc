#include "caucus/model/plackett_luce_mixture.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/model/assignment.h"

namespace caucus {

PlackettLuceTruth theorem1_truth(std::size_t num_items, std::size_t num_components, std::size_t informative, std::uint64_t seed) {
  PlackettLuceTruth truth;
  truth.num_items = num_items;
  truth.weights.assign(num_components, 1.0 / static_cast<double>(num_components));
  truth.utilities.assign(num_components * num_items, 0.0);
  RandomStream random(seed, Purpose::generate, 0);
  for (std::size_t k = 0; k < num_components; ++k)
    for (std::size_t i = 0; i < std::min(informative, num_items); ++i) truth.utilities[k * num_items + i] = random.normal();
  return truth;
}

double plackett_luce_distance(std::span<const double> a, std::span<const double> b, std::size_t num_items,
                              std::vector<std::size_t>* matched) {
  const std::size_t num = b.size() / num_items;
  std::vector<double> x(a.begin(), a.end()), y(b.begin(), b.end()), cost(num * num, 0.0);
  for (std::size_t k = 0; k < num; ++k) {
    center(std::span(x).subspan(k * num_items, num_items));
    center(std::span(y).subspan(k * num_items, num_items));
  }
  for (std::size_t h = 0; h < num; ++h)
    for (std::size_t k = 0; k < num; ++k)
      for (std::size_t i = 0; i < num_items; ++i) {
        const double gap = y[h * num_items + i] - x[k * num_items + i];
        cost[h * num + k] += gap * gap;
      }
  const std::vector<std::size_t> choice = solve_assignment(cost, num);
  double total = 0.0;
  for (std::size_t h = 0; h < num; ++h) total += cost[h * num + choice[h]];
  if (matched != nullptr) *matched = choice;
  return std::sqrt(total);
}

}  // namespace caucus
