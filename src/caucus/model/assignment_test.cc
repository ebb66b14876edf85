#include "caucus/model/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"

namespace caucus {
namespace {

TEST(Assignment, AgreesWithEnumeration) {
  for (std::uint64_t instance = 0; instance < 50; ++instance) {
    RandomStream random(3, Purpose::test, instance);
    const std::size_t n = 1 + random.below(6);
    std::vector<double> cost(n * n);
    for (double& c : cost) c = random.normal();
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    double least = infinity;
    do {
      double sum = 0.0;
      for (std::size_t i = 0; i < n; ++i) sum += cost[i * n + order[i]];
      least = std::min(least, sum);
    } while (std::next_permutation(order.begin(), order.end()));
    const std::vector<std::size_t> found = solve_assignment(cost, n);
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum += cost[i * n + found[i]];
    EXPECT_NEAR(sum, least, 1e-12);
  }
}

// A cost that is no number, or no finite one, must not keep the search going for ever.
TEST(Assignment, EndsOnCostsThatAreNoNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (double bad : {nan, infinity, -infinity, 1e308, -1e308}) {
    for (std::uint64_t instance = 0; instance < 50; ++instance) {
      RandomStream random(4, Purpose::test, instance);
      const std::size_t n = 1 + random.below(6);
      std::vector<double> cost(n * n);
      for (double& c : cost) c = random.uniform() < 0.5 ? bad : random.normal();
      std::vector<std::size_t> found = solve_assignment(cost, n);
      std::ranges::sort(found);
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(found[i], i);
    }
  }
  const std::vector<double> cost{nan, 1.0, 1.0, 5.0};
  EXPECT_EQ(solve_assignment(cost, 2), (std::vector<std::size_t>{1, 0}));
}

}  // namespace
}  // namespace caucus
