// The samplers against the exact posterior of tiny data, and Geweke's joint test.
#include "caucus/infer/dp_mallows/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/numeric.h"

namespace caucus::dp_mallows {
namespace {

Points make(std::size_t n, const std::vector<std::vector<Item>>& rankings) {
  Points points;
  points.num_items = n;
  for (const auto& ranking : rankings) {
    points.add_ranking(ranking);
    points.ranking.push_back(static_cast<std::uint32_t>(points.ranking.size()));
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
      for (std::size_t i : block) add(points.of_point(i), 1.0, 1.0);
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
    for (std::size_t i : block) {
      const auto ranking = points.of_point(i);
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
  std::size_t num_items;
  std::vector<std::vector<Item>> rankings;
  PriorParameters parameters;
  ChainSettings settings;
};

PriorParameters parameters(double alpha, double nu, std::vector<double> r) {
  PriorParameters result;
  result.alpha = alpha;
  result.nu = nu;
  result.r = std::move(r);
  return result;
}

// Independent replicates: a state from the exact posterior, one sweep, the state again. A sampler that keeps the
// posterior gives exact draws, so the counts are multinomial.
Comparison one_sweep_from_exact(const Case& c, int draws, std::uint64_t index) {
  const Points points = make(c.num_items, c.rankings);
  const Prior prior(c.parameters, c.num_items, points.num_stages, c.settings.method == Method::beta_gibbs);
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

ChainSettings settings(Method method) {
  ChainSettings result;
  result.method = method;
  result.gibbs_steps = 2;
  result.slice_steps = 2;
  return result;
}

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

// Leaving out what is negligible changes no other score.
TEST(ClusterTable, ScoresBelowTheFloorAreLeftOut) {
  constexpr std::size_t n = 80, num_clusters = 37;
  const Prior prior(parameters(1.0, 5.0, {1.0}), n, 6, true);
  ClusterTable table(prior, Method::beta_gibbs);
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
  const Points points = make(5, {{2, 0, 3}});
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
        const Points points = make(8, rankings);
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
    const Points points = make(n, rankings);
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

// Geweke (2004): data and state drawn from the model must look the same as data and state after rounds of
// (sweep given data, data given state). Replicates are independent, so the two-sample z statistics are calibrated.
struct GewekeStatistics {
  std::vector<double> sum, squares;
  double count = 0.0;
  void add(const std::vector<double>& values) {
    sum.resize(values.size()), squares.resize(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) sum[k] += values[k], squares[k] += values[k] * values[k];
    count += 1.0;
  }
};

class Geweke {
 public:
  Geweke(std::size_t n, std::vector<std::size_t> lengths, PriorParameters prior_parameters, ChainSettings chain_settings)
      : lengths_(std::move(lengths)),
        settings_(chain_settings),
        prior_(std::move(prior_parameters), n, *std::max_element(lengths_.begin(), lengths_.end()), false) {
    points_.num_items = n;
    std::vector<Item> any(n);
    std::iota(any.begin(), any.end(), 0);
    for (std::size_t length : lengths_) {
      points_.add_ranking(std::span(any).first(length));
      points_.ranking.push_back(static_cast<std::uint32_t>(points_.ranking.size()));
    }
    points_.index_points();
  }

  double worst_z(int replicates, int rounds) {
    const Prior sampler_prior(prior_.parameters(), points_.num_items, prior_.num_stages(), settings_.method == Method::beta_gibbs);
    Chain chain(points_, sampler_prior, settings_, RandomStream(13, Purpose::chain, 1));
    GewekeStatistics before, after;
    std::uint64_t drawn = 0;
    for (int i = 0; i < replicates; ++i) {
      ChainState state = forward();
      simulate_data(state);
      before.add(statistics(state));
      state = forward();
      simulate_data(state);
      for (int round = 0; round < rounds; ++round) {
        state.drawn = drawn;
        chain.restore(state);
        chain.sweep();
        state = chain.state();
        drawn = state.drawn;
        if (settings_.method != Method::slice_gibbs) draw_theta_given(state);
        simulate_data(state);
      }
      after.add(statistics(state));
    }
    double worst = 0.0;
    for (std::size_t k = 0; k < before.sum.size(); ++k) {
      const auto moments = [&](const GewekeStatistics& s) {
        const double mean = s.sum[k] / s.count;
        return std::pair{mean, (s.squares[k] / s.count - mean * mean) / s.count};
      };
      const auto [mean0, error0] = moments(before);
      const auto [mean1, error1] = moments(after);
      worst = std::max(worst, std::abs(mean0 - mean1) / std::sqrt(error0 + error1 + 1e-300));
    }
    return worst;
  }

 private:
  ChainState forward() {
    ChainState state;
    state.alpha = settings_.alpha_prior ? rng_.gamma(settings_.alpha_prior->first) / settings_.alpha_prior->second
                                        : prior_.parameters().alpha;
    std::vector<double> sizes;
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      std::vector<double> weights = sizes;
      weights.push_back(state.alpha);
      const std::size_t label = rng_.categorical(weights);
      if (label == sizes.size()) sizes.push_back(0.0);
      sizes[label] += 1.0;
      state.labels.push_back(static_cast<std::uint32_t>(label));
    }
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      Center center;
      prior_.draw_center(center, rng_);
      state.centers.push_back(center.order);
      std::vector<double> a(prior_.num_stages());
      prior_.stage_priors(center, a);
      state.theta.emplace_back();
      for (std::size_t j = 0; j < a.size(); ++j)
        state.theta.back().push_back(draw_theta(prior_.stage_size(j), a[j], prior_.nu(), rng_));
    }
    return state;
  }
  void draw_theta_given(ChainState& state) {
    state.theta.clear();
    for (std::size_t c = 0; c < state.centers.size(); ++c) {
      Center center;
      set_order(center, state.centers[c]);
      std::vector<double> a(prior_.num_stages()), b(prior_.num_stages(), prior_.nu());
      prior_.stage_priors(center, a);
      for (std::size_t i = 0; i < lengths_.size(); ++i) {
        if (state.labels[i] != c) continue;
        const auto ranking = points_.of_point(i);
        std::vector<std::int32_t> s(ranking.size());
        codes(
            ranking, [&](Item item) { return static_cast<std::int32_t>(center.position[static_cast<std::size_t>(item)]); }, s);
        for (std::size_t j = 0; j < s.size(); ++j) a[j] += s[j], b[j] += 1.0;
      }
      state.theta.emplace_back();
      for (std::size_t j = 0; j < a.size(); ++j) state.theta.back().push_back(draw_theta(prior_.stage_size(j), a[j], b[j], rng_));
    }
  }
  void simulate_data(const ChainState& state) {
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      std::vector<Item> left = state.centers[state.labels[i]];
      for (std::size_t j = 0; j < lengths_[i]; ++j) {
        std::vector<double> logs(left.size());
        for (std::size_t s = 0; s < logs.size(); ++s) logs[s] = -state.theta[state.labels[i]][j] * static_cast<double>(s);
        const auto s = static_cast<std::ptrdiff_t>(rng_.categorical_log(logs));
        points_.items[points_.offsets[i] + j] = left[static_cast<std::size_t>(s)];
        left.erase(left.begin() + s);
      }
    }
  }
  std::vector<double> statistics(const ChainState& state) const {
    const double clusters = static_cast<double>(state.centers.size());
    double same = 0.0;
    for (std::uint32_t label : state.labels) same += label == state.labels[0] ? 1.0 : 0.0;
    Center center;
    set_order(center, state.centers[0]);
    const auto ranking = points_.of_point(0);
    std::vector<std::int32_t> s(ranking.size());
    codes(
        ranking, [&](Item item) { return static_cast<std::int32_t>(center.position[static_cast<std::size_t>(item)]); }, s);
    double agree = 0.0;
    for (std::size_t i = 1; i < lengths_.size(); ++i)
      agree += points_.of_point(i)[0] == ranking[0] ? (state.labels[i] == state.labels[0] ? 1.0 : 0.3) : 0.0;
    return {clusters,
            clusters * clusters,
            same,
            static_cast<double>(s[0]),
            s.size() > 1 ? static_cast<double>(s[1]) : 0.0,
            std::exp(-state.theta[0][0]),
            state.theta[0].back(),
            agree,
            same * s[0],
            center.position[0] == 0 ? 1.0 : 0.0,
            std::log(state.alpha)};
  }

  std::vector<std::size_t> lengths_;
  ChainSettings settings_;
  Prior prior_;
  Points points_;
  RandomStream rng_{13, Purpose::test, 1};
};

// 11 statistics, |z| < 5.2 each: a false alarm has probability 11 * 2e-7 = 2.2e-6.
TEST(Geweke, ExactGibbs) {
  ChainSettings with = settings(Method::exact_gibbs);
  with.alpha_prior = {2.0, 2.0};
  EXPECT_LT(Geweke(5, {3, 1, 4, 2, 4, 2}, parameters(1.0, 1.5, {0.8, 1.2}), with).worst_z(3000, 3), 5.2);
  with.split_merge = 2;
  EXPECT_LT(Geweke(5, {3, 1, 4, 2, 4, 2}, parameters(1.0, 1.5, {0.8, 1.2}), with).worst_z(3000, 3), 5.2);
}

TEST(Geweke, SliceGibbs) {
  EXPECT_LT(Geweke(5, {3, 1, 4, 2, 4, 2}, parameters(1.0, 1.5, {0.8, 1.2}), settings(Method::slice_gibbs)).worst_z(3000, 3), 5.2);
  ChainSettings with = settings(Method::slice_gibbs);
  with.split_merge = 2;
  EXPECT_LT(Geweke(5, {3, 1, 4, 2}, parameters(1.0, 1.5, {0.8, 1.2}), with).worst_z(3000, 3), 5.2);
}

// beta-gibbs is exact only for an infinite stage: t = 2 of 60 items and a prior that keeps codes small leave no
// error that 3000 replicates could see.
TEST(Geweke, BetaGibbsWhereTheApproximationHolds) {
  EXPECT_LT(Geweke(60, {2, 1, 2, 2, 1, 2}, parameters(1.0, 8.0, {0.5}), settings(Method::beta_gibbs)).worst_z(3000, 3), 5.2);
}

TEST(Geweke, BetaGibbsFailsWhereItDoesNot) {
  EXPECT_GT(Geweke(5, {3, 1, 4, 2, 4, 2}, parameters(1.0, 1.5, {0.8, 1.2}), settings(Method::beta_gibbs)).worst_z(5000, 3), 8.0);
}

}  // namespace
}  // namespace caucus::dp_mallows
