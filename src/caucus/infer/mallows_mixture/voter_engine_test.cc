// Mallows models of voters with several rankings, against the definition.
#include "caucus/infer/mallows_mixture/voter_engine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/random.h"
#include "caucus/infer/mallows_mixture/family.h"
#include "caucus/infer/mallows_mixture/generalized_engine.h"
#include "caucus/model/generalized_mallows.h"
#include "caucus/model/mallows.h"
#include "caucus/result/fitted_model.h"

namespace caucus::mallows_mixture {
namespace {

// Two groups about opposite orders of five items; voters with two or three rankings, complete or of the first three items.
struct Drawn {
  Dataset data;
  std::vector<std::size_t> group;
};
Drawn draw(std::size_t count, bool complete, std::uint64_t seed, double theta = 1.2) {
  Drawn drawn;
  drawn.data.items = {"a", "b", "c", "d", "e"};
  drawn.data.source = "voters";
  RankingSetBuilder builder;
  std::vector<std::uint32_t> of_row;
  std::vector<double> weights;
  for (std::size_t v = 0; v < count; ++v) {
    RandomStream random(seed, Purpose::generate, v);
    const std::size_t group = random.below(2);
    drawn.group.push_back(group);
    weights.push_back(1.0 + static_cast<double>(random.below(2)));
    for (std::size_t r = 2 + random.below(2); r > 0; --r) {
      // Repeated insertion: the item of rank j goes behind s of those before it with probability proportional to exp(-theta s).
      std::vector<ItemId> order;
      for (std::size_t j = 0; j < 5; ++j) {
        std::vector<double> odds;
        for (std::size_t s = 0; s <= j; ++s) odds.push_back(std::exp(-theta * static_cast<double>(s)));
        const std::size_t s = random.categorical(odds);
        order.insert(order.end() - static_cast<std::ptrdiff_t>(s), static_cast<ItemId>(group == 0 ? j : 4 - j));
      }
      if (!complete) order.resize(3);
      builder.add(order, weights.back());
      of_row.push_back(static_cast<std::uint32_t>(v));
    }
  }
  drawn.data.rankings = builder.build();
  set_voters(drawn.data, of_row, {}, weights);
  return drawn;
}

TEST(VoterEngine, LikelihoodIsThatOfTheDefinition) {
  for (const bool complete : {true, false}) {
    const Dataset data = draw(6, complete, 3).data;
    const VoterEngine engine(data, [&](const RankingSet& rankings) -> std::unique_ptr<Engine> {
      return std::make_unique<MallowsEngine>(rankings, 5, ConsensusMethod::automatic, ConsensusLimits{});
    });
    const Parameters at{{0.3, 0.7}, {{2, 0, 1, 3, 4}, {4, 3, 0, 1, 2}}, {{0.7}, {1.4}}};
    double slow = 0.0;
    std::vector<double> joint(data.voters.size() * 2);
    engine.log_joint(at, 1, joint);
    for (std::size_t v = 0; v < data.voters.size(); ++v) {
      std::vector<double> by_group;
      for (std::size_t k = 0; k < 2; ++k) {
        const Mallows model(at.center[k], at.theta[k][0]);
        double sum = std::log(at.weight[k]);
        for (std::size_t j = data.voters.rankings.begin[v]; j < data.voters.rankings.begin[v + 1]; ++j)
          sum += data.voters.rankings.count(j) * model.log_prob(data.rankings[data.voters.rankings.other[j]]);
        by_group.push_back(sum);
        EXPECT_NEAR(joint[v * 2 + k], sum, 1e-9);
      }
      slow += data.voters.weights[v] * log_sum_exp(by_group);
    }
    Parameters next;
    EXPECT_NEAR(engine.step(at, true, 1, next), slow, 1e-9 * std::abs(slow));
  }
}

TEST(VoterEngine, NeverFalls) {
  const Dataset data = draw(60, false, 4, 0.6).data;
  const auto check = [&](const MakeEngine& make, std::size_t stages) {
    const VoterEngine engine(data, make);
    Parameters start{
        {0.5, 0.5}, {{2, 0, 1, 3, 4}, {4, 3, 0, 1, 2}}, {std::vector<double>(stages, 0.4), std::vector<double>(stages, 0.9)}};
    const EmResult result = run_em(engine, start, {500, 1e-10, true}, 1, [](int, double) -> StopReason* { return nullptr; });
    for (std::size_t t = 1; t < result.trace.size(); ++t)
      EXPECT_GE(result.trace[t], result.trace[t - 1] - 1e-9 * std::abs(result.trace[t]));
  };
  check(
      [&](const RankingSet& rankings) -> std::unique_ptr<Engine> {
        return std::make_unique<MallowsEngine>(rankings, 5, ConsensusMethod::exact, ConsensusLimits{});
      },
      1);
  check(
      [&](const RankingSet& rankings) -> std::unique_ptr<Engine> {
        return std::make_unique<GeneralizedEngine>(rankings, 5, Code::s, ConsensusMethod::exact, ConsensusLimits{});
      },
      4);
}

// Two or three rankings at theta 1.2 about opposite orders: a voter is misplaced where most of the 10 pairs of each are turned
// around, which happens to fewer than one in a hundred; more than 5 % of 150 has a chance below 1e-6.
TEST(VoterEngine, GroupsOfVotersAreFound) {
  const Drawn drawn = draw(150, true, 5);
  for (const auto& family : {make_mallows_family(), make_generalized_mallows_family()}) {
    const FitOutcome fitted = family->fit(drawn.data, {{"components", "2"}}, caucus::Run{});
    const std::vector<double> memberships = voter_memberships(*fitted.model, drawn.data, 1);
    std::size_t same = 0;
    for (std::size_t v = 0; v < 150; ++v) same += (memberships[v * 2] > 0.5) == (drawn.group[v] == 0) ? 1 : 0;
    EXPECT_LT(150 - std::max(same, 150 - same), 8U);
    EXPECT_NEAR(log_likelihood(*fitted.model, drawn.data, 1), fitted.summary.loglik, 1e-8 * std::abs(fitted.summary.loglik));
    EXPECT_EQ(fitted.summary.num_voters, drawn.data.voters.total_weight());
    EXPECT_TRUE(fitted.model->profile()[0].errors.weight_error.has_value());
  }
}

TEST(VoterEngine, BootstrapResamplesVoters) {
  const Drawn drawn = draw(60, true, 6);
  const FitOutcome fitted = make_mallows_family()->fit(drawn.data, {{"components", "2"}, {"bootstrap", "20"}}, caucus::Run{});
  ASSERT_TRUE(fitted.model->profile()[0].errors.stability.has_value());
  EXPECT_EQ(fitted.model->profile()[0].errors.stability->resamples, 20);
  EXPECT_GT(fitted.model->profile()[0].errors.stability->unchanged, 0.5);
}

}  // namespace
}  // namespace caucus::mallows_mixture
