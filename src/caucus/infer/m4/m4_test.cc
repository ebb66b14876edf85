// The multiplicative mixture held to enumeration; falling objectives; the Gibbs sampler; recovery.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/infer/m4/family.h"
#include "caucus/infer/m4/fitted.h"
#include "caucus/model/generalized_mallows.h"
#include "caucus/model/kendall.h"
#include "support/shared_data.h"
#include "support/strict_orders.h"

namespace caucus::m4 {
namespace {

std::vector<ItemId> identity(std::size_t n) {
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  return order;
}

Components random_components(std::size_t n, std::size_t num, double theta, std::uint64_t seed) {
  RandomStream stream(seed, Purpose::generate);
  Components components;
  for (std::size_t m = 0; m < num; ++m) {
    auto order = identity(n);
    stream.shuffle(std::span<ItemId>(order));
    components.center.push_back(order);
    components.theta.emplace_back();
    for (std::size_t j = 0; j + 1 < n; ++j) components.theta.back().push_back(theta * (0.5 + stream.uniform()));
  }
  return components;
}

double direct_log_c(const Components& components, const Weights& z) {
  auto order = identity(components.num_items());
  double total = 0.0;
  std::vector<double> energy(components.size());
  do {
    energies(components, order, energy);
    total += std::exp(-z.share * energy[z.first] - (1.0 - z.share) * energy[z.second]);
  } while (std::next_permutation(order.begin(), order.end()));
  return std::log(total);
}

TEST(M4, BothNormalisersByEnumeration) {
  for (std::size_t n : {2, 5, 6}) {
    const Components components = random_components(n, 3, 0.8, n);
    const NormalizerTable table = exact_normalizers(components, 2);
    EXPECT_TRUE(table.exact);
    const auto pairs = all_pairs(3);
    for (std::size_t p = 0; p < pairs.size(); ++p)
      for (std::size_t g = 0; g <= NormalizerTable::cells; g += 5) {
        const Weights z{static_cast<std::uint16_t>(pairs[p].first), static_cast<std::uint16_t>(pairs[p].second),
                        static_cast<double>(g) / NormalizerTable::cells};
        EXPECT_NEAR(table.log_c[p][g], direct_log_c(components, z), 1e-11);
        EXPECT_GE(paper_log_normalizer(components, z), table.log_c[p][g] - 1e-11);  // the product formula overstates it
        if (g == 0 || g == NormalizerTable::cells) {
          EXPECT_NEAR(paper_log_normalizer(components, z), table.log_c[p][g], 1e-11);
        }
      }
    EXPECT_NEAR(table.at(1, 0.52), direct_log_c(components, {0, 2, 0.52}), 2e-3);
  }
  // Equal consensus rankings: the product formula is right.
  Components same = random_components(5, 2, 0.7, 9);
  same.center[1] = same.center[0];
  EXPECT_NEAR(paper_log_normalizer(same, {0, 1, 0.4}), direct_log_c(same, {0, 1, 0.4}), 1e-11);
}

// What is used beyond ten items, run where the sum over all rankings is known. Seven standard errors for each of 21 points.
TEST(M4, ImportanceSamplingStatesItsError) {
  const Components components = random_components(7, 2, 0.6, 4);
  const NormalizerTable exact = exact_normalizers(components, 2), estimate = exact_normalizers(components, 2, 1, 4000, 0);
  EXPECT_FALSE(estimate.exact);
  for (std::size_t g = 0; g <= NormalizerTable::cells; ++g) {
    EXPECT_NEAR(estimate.log_c[0][g], exact.log_c[0][g], 7.0 * estimate.standard_error[0][g] + 1e-11);
    EXPECT_LT(estimate.standard_error[0][g], 0.1);
  }
}

TEST(M4, WeightsAreTheBestOnAFineGrid) {
  const Components components = random_components(6, 3, 0.9, 5);
  RankingSetBuilder builder;
  RandomStream stream(6);
  auto order = identity(6);
  for (int i = 0; i < 30; ++i) stream.shuffle(std::span<ItemId>(order)), builder.add(order);
  const RankingSet rankings = builder.build();
  State state{components, std::vector<Weights>(rankings.size())};
  solve_weights(rankings, state);
  std::vector<double> energy(3);
  for (std::size_t k = 0; k < rankings.size(); ++k) {
    energies(components, rankings[k].items(), energy);
    const auto value = [&](const Weights& z) {
      return z.share * energy[z.first] + (1.0 - z.share) * energy[z.second] + paper_log_normalizer(components, z);
    };
    double best = infinity;
    for (const auto& [a, b] : all_pairs(3))
      for (int g = 0; g <= 2000; ++g)
        best = std::min(best, value({static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b), g / 2000.0}));
    EXPECT_LE(value(state.z[k]), best + 1e-9);
  }
}

Dataset gibbs_data(const Components& truth, std::size_t count, std::uint64_t seed) {
  const std::size_t n = truth.num_items();
  Dataset data;
  data.source = "gibbs";
  for (std::size_t i = 0; i < n; ++i) data.items.push_back(std::to_string(i));
  const auto pairs = all_pairs(truth.size());
  RankingSetBuilder builder;
  for (std::size_t k = 0; k < count; ++k) {
    RandomStream stream(seed, Purpose::generate, k);
    const auto [a, b] = pairs[stream.below(pairs.size())];
    const double share = stream.uniform() < 0.5 ? 0.9 : 0.1;
    std::vector<ItemId> order = truth.center[a];
    stream.shuffle(std::span<ItemId>(order));
    gibbs_sweeps(truth, {static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b), truth.size() == 1 ? 1.0 : share}, 15, stream,
                 order);
    builder.add(order);
  }
  data.rankings = builder.build();
  return data;
}

TEST(M4, ObjectiveFallsAtEveryStep) {
  const Dataset data = gibbs_data(random_components(6, 3, 1.2, 7), 300, 1);
  const std::vector<std::uint32_t> labels = [&] {
    std::vector<std::uint32_t> made(data.rankings.size());
    for (std::size_t k = 0; k < made.size(); ++k) made[k] = static_cast<std::uint32_t>(k % 3);
    return made;
  }();
  State state = start_from_labels(data.rankings, 6, labels, 3);
  double before = paper_objective(data.rankings, state);
  const auto falls = [&](const char* what, auto&& step) {
    step(data.rankings, state);
    const double now = paper_objective(data.rankings, state);
    EXPECT_LE(now, before + 1e-9 * std::abs(before)) << what;
    before = now;
  };
  for (int sweep = 0; sweep < 10; ++sweep) {
    falls("weights", solve_weights);
    falls("cccp", [](const RankingSet& rankings, State& at) { cccp_sweep(rankings, at); });
    falls("centers", solve_centers);
    falls("dispersions", [](const RankingSet& rankings, State& at) { solve_dispersions(rankings, at); });
  }
  // CCCP alone, many sweeps.
  State other = start_from_labels(data.rankings, 6, labels, 3);
  double last = paper_objective(data.rankings, other);
  for (int sweep = 0; sweep < 30; ++sweep) {
    cccp_sweep(data.rankings, other);
    const double now = paper_objective(data.rankings, other);
    EXPECT_LE(now, last + 1e-9 * std::abs(last));
    last = now;
  }
  for (M4Method method : {M4Method::exact, M4Method::cccp, M4Method::searchpi}) {
    M4Options options;
    options.method = method;
    RandomStream stream(1);
    const Result result = run_start(data.rankings, start_from_labels(data.rankings, 6, labels, 3), options, caucus::Run{}, stream);
    for (std::size_t i = 1; i < result.trace.size(); ++i)
      EXPECT_GE(result.trace[i], result.trace[i - 1] - 1e-9 * std::abs(result.trace[i]));
  }
}

TEST(M4, GradientStepsLowerTheObjective) {
  const Dataset data = gibbs_data(random_components(6, 2, 1.0, 8), 300, 2);
  std::vector<std::uint32_t> labels(data.rankings.size());
  for (std::size_t k = 0; k < labels.size(); ++k) labels[k] = static_cast<std::uint32_t>(k % 2);
  State state = start_from_labels(data.rankings, 6, labels, 2);
  const double before = paper_objective(data.rankings, state);
  RandomStream stream(3);
  for (int sweep = 1; sweep <= 20; ++sweep) sgd_sweep(data.rankings, state, 0.02, 1.0, sweep, stream);
  EXPECT_LT(paper_objective(data.rankings, state), before);
}

// All 24 rankings of 4 items, 2^14 chains of 25 sweeps: chi-square with 23 degrees of freedom, upper 1e-7 point 80.
TEST(M4, GibbsSamplerDrawsTheModel) {
  const Components components = random_components(4, 2, 0.8, 3);
  const Weights z{0, 1, 0.35};
  std::map<std::vector<ItemId>, double> seen;
  const int draws = 1 << 14;
  for (int i = 0; i < draws; ++i) {
    RandomStream stream(2, Purpose::test, static_cast<std::uint64_t>(i));
    auto order = identity(4);
    gibbs_sweeps(components, z, 25, stream, order);
    seen[order] += 1.0;
  }
  const double log_c = direct_log_c(components, z);
  auto order = identity(4);
  double chi = 0.0;
  std::vector<double> energy(2);
  do {
    energies(components, order, energy);
    const double expected = draws * std::exp(-z.share * energy[0] - (1.0 - z.share) * energy[1] - log_c);
    chi += (seen[order] - expected) * (seen[order] - expected) / expected;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_LT(chi, 80.0);
}

TEST(M4, RecoversTwoConsensusRankingsAndScoresAreProbabilities) {
  const Components truth = random_components(6, 2, 1.6, 15);
  const Dataset data = gibbs_data(truth, 600, 4);
  const auto family = make_m4_family();
  for (const char* normalizer : {"paper", "exact"}) {
    const FitOutcome outcome =
        family->fit(data, {{"components", "2"}, {"normalizer", normalizer}, {"restarts", "4"}}, caucus::Run{});
    std::vector<std::vector<ItemId>> found;
    for (const Group& group : outcome.model->profile()) found.push_back(group.order);
    std::sort(found.begin(), found.end());
    auto expected = truth.center;
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(found, expected) << normalizer;
    const RecordView details = outcome.summary.details.view();
    EXPECT_EQ(details.text("normalizer"), normalizer);
    EXPECT_GE(details.number("loglik_exact_normalizer"), details.number("loglik_paper_normalizer") - 1e-6);
    // The marginal sums to one over all rankings.
    RankingSetBuilder builder;
    auto order = identity(6);
    do builder.add(order);
    while (std::next_permutation(order.begin(), order.end()));
    Dataset all = data;
    all.rankings = builder.build();
    double total = 0.0;
    for (double value : log_probs(*outcome.model, all, 1)) total += std::exp(value);
    EXPECT_NEAR(total, 1.0, 1e-9);
  }
}

TEST(M4, OneComponentIsTheGeneralizedMallowsModel) {
  const std::string path = testing::shared_data("classic/apa1980_complete.soc");
  CAUCUS_NEEDS(path);
  const Dataset apa = testing::strict_orders(path);
  const FitOutcome outcome = make_m4_family()->fit(apa, {{"components", "1"}}, caucus::Run{});
  EXPECT_NEAR(outcome.summary.loglik, -27388.3008, 1e-4);
  // The paper's Table I, M = 1: BIC -5.48e4.
  EXPECT_NEAR(outcome.summary.details.view().number("paper_bic") / 1e4, -5.48, 0.005);
}

}  // namespace
}  // namespace caucus::m4
