// The samplers against the exact posterior of tiny data.
#include "caucus/infer/dp_mallows/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/testing.h"

namespace caucus::dp_mallows {
namespace {

using testing::parameters;
using testing::points_of;
using testing::settings;

// Voters, each with all of its rankings.
Points make_voters(std::size_t n, const std::vector<std::vector<std::vector<Item>>>& voters) {
  Points points;
  points.num_items = n;
  std::uint32_t next = 0;
  for (const auto& rankings : voters) {
    std::vector<std::uint32_t> own;
    for (const auto& ranking : rankings) {
      points.add_ranking(ranking);
      own.push_back(next++);
    }
    points.add_voter(own);
  }
  points.index_points();
  return points;
}

// I_m(a, b) in u = e^-theta, with Z as the plain sum; a >= 1 keeps the integrand smooth.
double integral(std::size_t m, double a, double b) {
  const auto f = [&](double u) {
    double z = 0.0;
    for (std::size_t s = 0; s < m; ++s) z += std::pow(u, static_cast<double>(s));
    return std::pow(u, a - 1.0) * std::pow(z, -b);
  };
  return boost::math::quadrature::gauss_kronrod<double, 61>::integrate(f, 0.0, 1.0, 8, 1e-13);
}

using Labels = std::vector<std::uint32_t>;

std::vector<Labels> partitions(std::size_t size) {
  std::vector<Labels> result{{0}};
  for (std::size_t i = 1; i < size; ++i) {
    std::vector<Labels> longer;
    for (const Labels& labels : result)
      for (std::uint32_t label = 0; label <= *std::max_element(labels.begin(), labels.end()) + 1; ++label) {
        longer.push_back(labels);
        longer.back().push_back(label);
      }
    result = std::move(longer);
  }
  return result;
}

// The exact posterior over partitions, and over the center of each block.
struct Oracle {
  std::vector<std::vector<Item>> orders;
  std::vector<Labels> partition;
  std::vector<double> probability;
  std::map<std::vector<std::size_t>, std::vector<double>> center;  // block -> P(order | block)

  Oracle(const Points& points, double alpha, double nu, const std::vector<double>& r, const std::vector<Item>& prior_center,
         double strength) {
    std::vector<Item> order(points.num_items);
    std::iota(order.begin(), order.end(), 0);
    do orders.push_back(order);
    while (std::next_permutation(order.begin(), order.end()));
    const std::size_t stages = std::max(points.num_stages, prior_center.size());
    // log of the joint weight of sigma and a block's data.
    const auto weight = [&](const std::vector<std::size_t>& block, const std::vector<Item>& sigma) {
      std::vector<double> a(stages), b(stages, nu);
      for (std::size_t j = 0; j < stages; ++j) a[j] = nu * r[std::min(j, r.size() - 1)];
      const auto add = [&](std::span<const Item> ranking, double times, double count) {
        std::vector<Item> left = sigma;
        for (std::size_t j = 0; j < ranking.size(); ++j) {
          const auto found = std::find(left.begin(), left.end(), ranking[j]);
          a[j] += times * static_cast<double>(found - left.begin());
          b[j] += count;
          left.erase(found);
        }
      };
      add(prior_center, nu * strength, 0.0);
      for (std::size_t i : block)
        for (const std::uint32_t r : points.of(i)) add(points[r], 1.0, 1.0);
      double value = 1.0;
      for (std::size_t j = 0; j < stages; ++j) value *= cached(points.num_items - j, a[j], b[j]);
      return value;
    };
    double normalizer = 0.0;
    for (const auto& sigma : orders) normalizer += weight({}, sigma);
    partition = partitions(points.size());
    for (const Labels& labels : partition) {
      double value = 1.0;
      for (const auto& block : blocks(labels)) {
        value *= alpha * std::tgamma(static_cast<double>(block.size()));
        std::vector<double>& weights = center[block];
        if (weights.empty()) {
          for (const auto& sigma : orders) weights.push_back(weight(block, sigma));
          block_total[block] = std::accumulate(weights.begin(), weights.end(), 0.0);
          for (double& w : weights) w /= block_total[block];
        }
        value *= block_total[block] / normalizer;
      }
      probability.push_back(value);
    }
    const double total = std::accumulate(probability.begin(), probability.end(), 0.0);
    for (double& p : probability) p /= total;
  }

  static std::vector<std::vector<std::size_t>> blocks(const Labels& labels) {
    std::vector<std::vector<std::size_t>> result(*std::max_element(labels.begin(), labels.end()) + 1);
    for (std::size_t i = 0; i < labels.size(); ++i) result[labels[i]].push_back(i);
    return result;
  }

 private:
  double cached(std::size_t m, double a, double b) {
    double& value = integrals[{m, a, b}];
    if (value == 0.0) value = integral(m, a, b);
    return value;
  }
  std::map<std::tuple<std::size_t, double, double>, double> integrals;
  std::map<std::vector<std::size_t>, double> block_total;
};

// A draw of the whole state from the exact posterior.
ChainState draw_state(const Oracle& oracle, const Points& points, const Prior& prior, Method method, RandomStream& rng) {
  ChainState state;
  state.labels = oracle.partition[rng.categorical(oracle.probability)];
  state.alpha = prior.parameters().alpha;
  for (const auto& block : Oracle::blocks(state.labels)) {
    const auto& order = oracle.orders[rng.categorical(oracle.center.at(block))];
    state.centers.push_back(order);
    Center center;
    set_order(center, order);
    std::vector<double> a(prior.num_stages()), b(prior.num_stages(), prior.nu());
    prior.stage_priors(center, a);
    for (std::size_t i : block)
      for (const std::uint32_t r : points.of(i)) {
        const auto ranking = points[r];
        std::vector<std::int32_t> s(ranking.size());
        codes(
            ranking, [&](Item item) { return static_cast<std::int32_t>(center.position[static_cast<std::size_t>(item)]); }, s);
        for (std::size_t j = 0; j < s.size(); ++j) a[j] += s[j], b[j] += 1.0;
      }
    state.theta.emplace_back();
    if (method == Method::slice_gibbs)
      for (std::size_t j = 0; j < a.size(); ++j) state.theta.back().push_back(draw_theta(prior.stage_size(j), a[j], b[j], rng));
  }
  return state;
}

// Cells: (partition, center of the first point's cluster). Cells that expect fewer than 8 draws are pooled.
struct Comparison {
  double chi_square = 0.0;
  double degrees = 0.0;
  double partition_distance = 0.0;  // total variation over partitions
  // Standard normal by Wilson & Hilferty (1931).
  double z() const { return (std::cbrt(chi_square / degrees) - (1.0 - 2.0 / (9.0 * degrees))) / std::sqrt(2.0 / (9.0 * degrees)); }
};

using Counts = std::map<std::pair<Labels, std::vector<Item>>, double>;

Comparison compare(const Oracle& oracle, const Counts& counts, double draws) {
  Comparison result;
  double pooled_expected = 0.0, pooled_seen = 0.0;
  const auto cell = [&](double expected, double seen) {
    if (expected <= 0.0) return;
    result.chi_square += (seen - expected) * (seen - expected) / expected;
    result.degrees += 1.0;
  };
  for (std::size_t p = 0; p < oracle.partition.size(); ++p) {
    const auto& first = oracle.center.at(Oracle::blocks(oracle.partition[p])[0]);
    double seen_partition = 0.0;
    for (std::size_t k = 0; k < oracle.orders.size(); ++k) {
      const auto found = counts.find({oracle.partition[p], oracle.orders[k]});
      const double seen = found == counts.end() ? 0.0 : found->second, expected = draws * oracle.probability[p] * first[k];
      seen_partition += seen;
      if (expected >= 8.0)
        cell(expected, seen);
      else
        pooled_expected += expected, pooled_seen += seen;
    }
    result.partition_distance += 0.5 * std::abs(seen_partition / draws - oracle.probability[p]);
  }
  cell(pooled_expected, pooled_seen);
  result.degrees -= 1.0;
  return result;
}

struct Case {
  Case(std::size_t n, const std::vector<std::vector<Item>>& rankings, PriorParameters prior, ChainSettings with)
      : points(points_of(n, rankings)), parameters(std::move(prior)), settings(with) {}
  Case(Points given, PriorParameters prior, ChainSettings with)
      : points(std::move(given)), parameters(std::move(prior)), settings(with) {}
  Points points;
  PriorParameters parameters;
  ChainSettings settings;
};

// Independent replicates: a state from the exact posterior, one sweep, the state again. A sampler that keeps the
// posterior gives exact draws, so the counts are multinomial.
Comparison one_sweep_from_exact(const Case& c, int draws, std::uint64_t index) {
  const Points& points = c.points;
  const Prior prior(c.parameters, points.num_items, points.num_stages, c.settings.method == Method::beta_gibbs);
  const double strength = c.parameters.center_weight / c.parameters.nu;
  const Oracle oracle(points, c.parameters.alpha, c.parameters.nu, c.parameters.r, c.parameters.center, strength);
  RandomStream rng(11, Purpose::test, index);
  Chain chain(points, prior, c.settings, RandomStream(11, Purpose::chain, index));
  Counts counts;
  std::uint64_t drawn = 0;
  for (int i = 0; i < draws; ++i) {
    ChainState state = draw_state(oracle, points, prior, c.settings.method, rng);
    state.drawn = drawn;
    chain.restore(state);
    chain.sweep();
    drawn = chain.state().drawn;
    counts[{chain.labels(), chain.clusters()[0].center.order}] += 1.0;
  }
  return compare(oracle, counts, draws);
}

const std::vector<std::vector<Item>> four_of_four{{2, 0, 1}, {0}, {1, 3}, {2, 0}};
const std::vector<std::vector<Item>> five_of_three{{2, 0}, {0, 2}, {0}, {2, 1}, {1}};

// z is standard normal when the sampler is right: beyond 5 has probability 3e-7 (one-sided) per case.
TEST(Chain, ExactGibbsKeepsTheExactPosterior) {
  EXPECT_LT(one_sweep_from_exact({4, four_of_four, parameters(0.8, 1.0, {1.0, 1.5}), settings(Method::exact_gibbs)}, 40000, 1).z(),
            5.0);
  EXPECT_LT(one_sweep_from_exact({3, five_of_three, parameters(1.3, 2.0, {0.6}), settings(Method::exact_gibbs)}, 40000, 2).z(),
            5.0);
}

TEST(Chain, SliceGibbsKeepsTheExactPosterior) {
  EXPECT_LT(one_sweep_from_exact({4, four_of_four, parameters(0.8, 1.0, {1.0, 1.5}), settings(Method::slice_gibbs)}, 40000, 3).z(),
            5.0);
  EXPECT_LT(one_sweep_from_exact({3, five_of_three, parameters(1.3, 2.0, {0.6}), settings(Method::slice_gibbs)}, 40000, 4).z(),
            5.0);
}

TEST(Chain, SplitMergeKeepsTheExactPosterior) {
  for (Method method : {Method::exact_gibbs, Method::slice_gibbs}) {
    ChainSettings with = settings(method);
    with.split_merge = 2;
    with.split_merge_scans = 1;
    EXPECT_LT(one_sweep_from_exact({4, four_of_four, parameters(0.8, 1.0, {1.0, 1.5}), with}, 8000, 5).z(), 5.0);
  }
}

TEST(Chain, InformativePriorKeepsTheExactPosterior) {
  for (Method method : {Method::exact_gibbs, Method::slice_gibbs}) {
    PriorParameters prior = parameters(0.8, 1.0, {1.0, 1.5});
    prior.center = {1, 2, 0};
    prior.center_weight = 1.4;
    ChainSettings with = settings(method);
    with.split_merge = 1;
    EXPECT_LT(one_sweep_from_exact({4, four_of_four, prior, with}, 8000, 6).z(), 5.0);
  }
}

// Four voters with three, one, two and two rankings of four items, mixed lengths: 15 partitions of the voters, 24 centers each.
const std::vector<std::vector<std::vector<Item>>> four_voters{
    {{2, 0, 1}, {2, 1}, {0}}, {{0, 2}}, {{1, 3}, {3, 1, 0}}, {{2, 0}, {2}}};

TEST(ChainOfVoters, EverySamplerKeepsTheExactPosterior) {
  std::uint64_t index = 20;
  for (const Method method : {Method::exact_gibbs, Method::slice_gibbs})
    for (const int split_merge : {0, 2}) {
      ChainSettings with = settings(method);
      with.split_merge = split_merge;
      with.split_merge_scans = 1;
      with.auxiliary = split_merge == 0 ? 2 : 3;
      EXPECT_LT(one_sweep_from_exact({make_voters(4, four_voters), parameters(0.8, 1.0, {1.0, 1.5}), with},
                                     split_merge == 0 ? 40000 : 8000, index++)
                    .z(),
                5.0);
    }
}

TEST(ChainOfVoters, InformativePriorKeepsTheExactPosterior) {
  for (const Method method : {Method::exact_gibbs, Method::slice_gibbs}) {
    PriorParameters prior = parameters(0.8, 1.0, {1.0, 1.5});
    prior.center = {1, 2, 0};
    prior.center_weight = 1.4;
    EXPECT_LT(one_sweep_from_exact({make_voters(4, four_voters), prior, settings(method)}, 8000, 26).z(), 5.0);
  }
}

// What the test must be able to see: the same sampler on the posterior of ballots, each seated by itself.
TEST(ChainOfVoters, SeatingBallotsIsAnotherPosterior) {
  const Points voters = make_voters(4, four_voters);
  const Oracle oracle(voters, 0.8, 1.0, {1.0, 1.5}, {}, 0.0);
  const Points first_only = points_of(4, {{2, 0, 1}, {0, 2}, {1, 3}, {2, 0}});
  const Oracle other(first_only, 0.8, 1.0, {1.0, 1.5}, {}, 0.0);
  double distance = 0.0;
  for (std::size_t p = 0; p < oracle.partition.size(); ++p)
    distance += 0.5 * std::abs(oracle.probability[p] - other.probability[p]);
  EXPECT_GT(distance, 0.05);
}

// Where nobody has more than one ranking the draws are those of ballots, bit by bit.
TEST(ChainOfVoters, OneRankingEachIsTheSameBits) {
  std::vector<std::vector<std::vector<Item>>> alone;
  for (const auto& ranking : five_of_three) alone.push_back({ranking});
  const Points voters = make_voters(3, alone), ballots = points_of(3, five_of_three);
  for (const Method method : {Method::exact_gibbs, Method::beta_gibbs, Method::slice_gibbs}) {
    ChainSettings with = settings(method);
    with.split_merge = 1;
    const Prior prior(parameters(0.8, 1.0, {1.0}), 3, ballots.num_stages, method == Method::beta_gibbs);
    Chain a(voters, prior, with, RandomStream(3, Purpose::chain, 1)), b(ballots, prior, with, RandomStream(3, Purpose::chain, 1));
    a.start_randomly();
    b.start_randomly();
    for (int sweep = 0; sweep < 50; ++sweep) {
      a.sweep();
      b.sweep();
      ASSERT_EQ(a.labels(), b.labels());
      ASSERT_EQ(a.state().drawn, b.state().drawn);
      ASSERT_EQ(a.log_joint(), b.log_joint());
    }
  }
}

// Leaving out what is negligible changes no other score.
TEST(ClusterTable, ScoresBelowTheFloorAreLeftOut) {
  constexpr std::size_t n = 80, num_clusters = 37;
  const Prior prior(parameters(1.0, 5.0, {1.0}), n, 6, true);
  StageCache cache(prior);
  ClusterTable table(cache, Method::beta_gibbs);
  table.reset(num_clusters);
  RandomStream rng(15, Purpose::test, 1);
  for (std::size_t slot = 0; slot < num_clusters; ++slot) {
    Cluster cluster;
    sample_uniform(n, cluster.center, rng);
    cluster.size = static_cast<double>(1 + slot);
    cluster.prior.assign(6, 5.0);
    cluster.sums.assign(6, cluster.size);
    cluster.counts.assign(6, cluster.size);
    table.set(slot, cluster);
  }
  int kept = 0, dropped = 0;
  for (int i = 0; i < 50; ++i) {
    Center ballot;
    sample_uniform(n, ballot, rng);
    const auto ranking = std::span<const Item>(ballot.order).first(1 + static_cast<std::size_t>(i) % 6);
    const std::span<double> all = table.score(ranking);
    const std::vector<double> expected(all.begin(), all.end());
    const double floor = -40.0;
    const std::span<double> scores = table.score(ranking, floor);
    for (std::size_t slot = 0; slot < num_clusters; ++slot) {
      EXPECT_EQ(scores[slot], expected[slot] < floor ? -infinity : expected[slot]);
      (expected[slot] < floor ? dropped : kept) += 1;
    }
  }
  EXPECT_GT(kept, 100);
  EXPECT_GT(dropped, 100);
}

// A lone ballot always opens a new cluster: sigma given the ballot, then theta given both. sigma being uniform, the ballot says
// nothing of theta, which must follow its prior: E e^(-theta_j) = I(a + 1, nu) / I(a, nu). Three means, |z| < 5 each:
// a false alarm has probability 2e-6.
TEST(Chain, ANewClustersThetaCountsItsBallot) {
  const Points points = points_of(5, {{2, 0, 3}});
  const PriorParameters prior_parameters = parameters(1.0, 1.5, {1.0, 2.0});
  const Prior prior(prior_parameters, 5, points.num_stages, false);
  Chain chain(points, prior, settings(Method::slice_gibbs), RandomStream(14, Purpose::chain, 1));
  chain.start_randomly();
  constexpr double draws = 40000.0;
  std::vector<double> sum(3, 0.0), squares(3, 0.0);
  for (double i = 0.0; i < draws; i += 1.0) {
    chain.restore(chain.state());
    chain.resample_assignments();
    for (std::size_t j = 0; j < 3; ++j) {
      const double u = std::exp(-chain.clusters()[0].theta[j]);
      sum[j] += u, squares[j] += u * u;
    }
  }
  for (std::size_t j = 0; j < 3; ++j) {
    const double a = prior.a(j), mean = sum[j] / draws, variance = squares[j] / draws - mean * mean;
    const double expected = integral(5 - j, a + 1.0, 1.5) / integral(5 - j, a, 1.5);
    EXPECT_LT(std::abs(mean - expected) / std::sqrt(variance / draws), 5.0) << "stage " << j + 1;
  }
}

// With random centers the start does not look at the ballots, but the codes of its clusters are theirs: log_joint() is the same
// after a restore, which counts them anew. With fitted centers other ballots give other centers.
TEST(Chain, RandomCentersOfTheStartDoNotDependOnTheBallots) {
  RandomStream rng(15);
  std::vector<std::vector<Item>> ascending, drawn;
  for (int i = 0; i < 40; ++i) {
    std::vector<Item> ranking(8);
    std::iota(ranking.begin(), ranking.end(), Item{0});
    ascending.push_back(ranking);
    rng.shuffle(std::span(ranking));
    drawn.push_back(ranking);
  }
  for (const Method method : {Method::exact_gibbs, Method::beta_gibbs, Method::slice_gibbs})
    for (const StartCenters start : {StartCenters::random, StartCenters::fitted}) {
      ChainSettings with = settings(method);
      with.start_clusters = 3;
      with.start_centers = start;
      std::vector<ChainState> states;
      for (const auto& rankings : {ascending, drawn}) {
        const Points points = points_of(8, rankings);
        const Prior prior(parameters(1.0, 1.0, {1.0}), 8, points.num_stages, method == Method::beta_gibbs);
        Chain chain(points, prior, with, RandomStream(16, Purpose::chain, 1));
        chain.start_randomly();
        states.push_back(chain.state());
        const double log_joint = chain.log_joint();
        chain.restore(chain.state());
        EXPECT_NEAR(chain.log_joint(), log_joint, 1e-9) << name_of(method) << " " << name_of(start);
      }
      EXPECT_EQ(states[0].labels, states[1].labels);
      EXPECT_EQ(states[0].centers == states[1].centers, start == StartCenters::random) << name_of(method);
    }
}

// The uncorrected draw of sigma (Lemma 2) does not keep it.
TEST(Chain, ThePapersCenterMoveIsBiased) {
  ChainSettings paper = settings(Method::exact_gibbs);
  paper.center_move = CenterMove::paper;
  EXPECT_GT(one_sweep_from_exact({4, four_of_four, parameters(0.8, 1.0, {1.0, 1.5}), paper}, 40000, 7).z(), 10.0);
}

// The Beta approximation does not either; after one sweep the partitions are this far off at n = 4.
TEST(Chain, BetaGibbsShowsItsBias) {
  const Comparison result =
      one_sweep_from_exact({4, four_of_four, parameters(0.8, 1.0, {1.0, 1.5}), settings(Method::beta_gibbs)}, 40000, 8);
  EXPECT_GT(result.z(), 10.0);
  RecordProperty("total_variation_after_one_sweep", std::to_string(result.partition_distance));
}

// Long chains from a random start: total variation between visited and exact partitions. Each of the 15 (52)
// frequencies has a standard error below sqrt(p(1-p) tau / T), with tau < 10 measured; the sum over partitions at
// T = 25000 stays below 0.03 by more than six standard errors.
TEST(Chain, LongRunsReachTheExactPosterior) {
  const auto run = [](const std::vector<std::vector<Item>>& rankings, std::size_t n, Method method, int split_merge) {
    const Points points = points_of(n, rankings);
    const PriorParameters prior_parameters = parameters(0.8, 1.0, {1.0});
    const Prior prior(prior_parameters, n, points.num_stages, method == Method::beta_gibbs);
    const Oracle oracle(points, 0.8, 1.0, {1.0}, {}, 0.0);
    ChainSettings with = settings(method);
    with.split_merge = split_merge;
    Chain chain(points, prior, with, RandomStream(12, Purpose::chain, 1));
    chain.start_randomly();
    std::map<Labels, double> counts;
    constexpr int sweeps = 25000;
    for (int i = 0; i < sweeps; ++i) {
      chain.sweep();
      counts[chain.labels()] += 1.0;
    }
    double distance = 0.0;
    for (std::size_t p = 0; p < oracle.partition.size(); ++p)
      distance += 0.5 * std::abs(counts[oracle.partition[p]] / sweeps - oracle.probability[p]);
    return distance;
  };
  EXPECT_LT(run(four_of_four, 4, Method::exact_gibbs, 0), 0.03);
  EXPECT_LT(run(four_of_four, 4, Method::slice_gibbs, 0), 0.03);
  EXPECT_LT(run(five_of_three, 3, Method::exact_gibbs, 1), 0.03);
  const double beta = run(four_of_four, 4, Method::beta_gibbs, 0);
  EXPECT_GT(beta, 0.03);
  EXPECT_LT(beta, 0.5);
  RecordProperty("beta_gibbs_total_variation", std::to_string(beta));
}

}  // namespace
}  // namespace caucus::dp_mallows
