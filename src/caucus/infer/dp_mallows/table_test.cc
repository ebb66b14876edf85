// Tables that follow the ballots against quadratures made anew.
#include "caucus/infer/dp_mallows/table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/testing.h"

namespace caucus::dp_mallows {
namespace {

using testing::parameters;

double log_ratio(Method method, std::size_t m, double a, double b, double s) {
  if (method == Method::beta_gibbs) return log_beta_integral(a + s, b + 1.0) - log_beta_integral(a, b);
  return log_stage_integral(m, a + s, b + 1.0) - log_stage_integral(m, a, b);
}

// Codes come and go, from few of them to many and back: what comes next and what is among them, at every size. Half of the stages
// are next to chance, where theta's density is cut off at zero.
TEST(StageTables, FollowTheData) {
  constexpr std::size_t n = 12, slots = 3;
  for (const Method method : {Method::exact_gibbs, Method::beta_gibbs}) {
    const Prior prior(parameters(1.0, 1.5, {0.7}), n, 4, method == Method::beta_gibbs);
    StageCache cache(prior);
    StageTables tables(cache, method);
    tables.grow(slots);
    RandomStream rng(21, Purpose::test, 1);
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t slot = j % slots, m = prior.stage_size(j);
      const double theta = j % 2 == 0 ? 0.6 : 0.01;
      std::vector<std::size_t> codes;
      double a = prior.a(j), b = prior.nu();
      tables.set(slot, j, a, b);
      for (int step = 0; step < 4000; ++step) {
        const bool comes = codes.size() < 2 || rng.uniform() < (step < 2500 ? 0.7 : 0.2);
        std::size_t code = 0;
        if (comes) {
          while (rng.uniform() < std::exp(-theta)) code = (code + 1) % m;
          codes.push_back(code);
        } else {
          std::swap(codes[rng.below(codes.size())], codes.back());
          code = codes.back();
          codes.pop_back();
        }
        tables.shift(slot, j, code, comes ? 1.0 : -1.0);
        a += (comes ? 1.0 : -1.0) * static_cast<double>(code), b += comes ? 1.0 : -1.0;
        if (step % 37 != 0 || codes.empty()) continue;
        double total = 0.0;
        for (std::size_t s = 0; s < m; ++s) {
          const double next = tables.next(slot)[tables.first(j) + s], expected = log_ratio(method, m, a, b, static_cast<double>(s));
          ASSERT_NEAR(std::log(next), expected, 1e-9 * std::max(1.0, std::abs(expected)))
              << step << ' ' << codes.size() << ' ' << s;
          total += next;
        }
        if (method == Method::exact_gibbs) {
          ASSERT_NEAR(total, 1.0, 1e-9);
        }
        for (const std::size_t member : {codes.front(), codes.back()}) {
          const double s = static_cast<double>(member), expected = log_ratio(method, m, a - s, b - 1.0, s);
          ASSERT_NEAR(std::log(tables.among(slot, j, member)), expected, 1e-9 * std::max(1.0, std::abs(expected)));
        }
      }
    }
  }
}

// The weights without logarithms are the scores with them: of a ballot that is nowhere else, and of one that is a member.
TEST(ClusterTable, WeighsAsItScores) {
  constexpr std::size_t n = 9, stages = 6, clusters = 19;
  for (const Method method : {Method::exact_gibbs, Method::beta_gibbs, Method::slice_gibbs}) {
    const Prior prior(parameters(1.0, 1.0, {1.0}), n, stages, method == Method::beta_gibbs);
    StageCache cache(prior);
    ClusterTable weighing(cache, method, true), scoring(cache, method);
    weighing.reset(clusters);
    scoring.reset(clusters);
    RandomStream rng(22, Purpose::test, 1);
    std::vector<std::vector<Item>> members;
    for (std::size_t slot = 0; slot < clusters; ++slot) {
      Cluster cluster;
      sample_uniform(n, cluster.center, rng);
      cluster.prior.assign(stages, 1.0);
      cluster.sums.assign(stages, 0.0);
      cluster.counts.assign(stages, 0.0);
      for (std::size_t j = 0; j < stages; ++j) cluster.theta.push_back(rng.exponential());
      weighing.set(slot, cluster);
      scoring.set(slot, cluster);
      for (std::size_t i = 0; i <= 4 * slot; ++i) {
        Center ballot;
        sample_uniform(n, ballot, rng);
        ballot.order.resize(1 + rng.below(stages));
        weighing.add(slot, ballot.order);
        scoring.add(slot, ballot.order);
        if (i == 0) members.push_back(ballot.order);
      }
    }
    for (int round = 0; round < 200; ++round) {
      const std::size_t own = rng.below(clusters), other = (own + 1 + rng.below(clusters - 1)) % clusters;
      const std::span<double> weights = weighing.weigh(members[own], own);
      scoring.remove(own, members[own]);
      const std::span<double> scores = scoring.score(members[own]);
      for (std::size_t slot = 0; slot < clusters; ++slot)
        ASSERT_NEAR(weights[slot], std::exp(scores[slot]), 1e-9 * std::exp(scores[slot])) << slot << ' ' << own;
      if (weighing.size(own) == 1.0 || round % 2 == 0) {
        scoring.undo_remove(own, members[own]);
        continue;
      }
      weighing.transfer(members[own], own, other);
      scoring.add(other, members[own]);
      weighing.weigh(members[own], other);
      weighing.transfer(members[own], other, own);
      scoring.remove(other, members[own]);
      scoring.add(own, members[own]);
    }
  }
}

}  // namespace
}  // namespace caucus::dp_mallows
