// The samplers by Geweke's joint test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/infer/dp_mallows/chain.h"
#include "caucus/infer/dp_mallows/testing.h"

namespace caucus::dp_mallows {
namespace {

using testing::parameters;
using testing::settings;

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
  // per_voter: how many of the rankings, in turn, each voter casts; empty: every ranking is a point.
  Geweke(std::size_t n, std::vector<std::size_t> lengths, PriorParameters prior_parameters, ChainSettings chain_settings,
         const std::vector<std::size_t>& per_voter = {})
      : lengths_(std::move(lengths)),
        settings_(chain_settings),
        prior_(std::move(prior_parameters), n, *std::max_element(lengths_.begin(), lengths_.end()), false) {
    points_.num_items = n;
    std::vector<Item> any(n);
    std::iota(any.begin(), any.end(), 0);
    for (std::size_t length : lengths_) {
      points_.add_ranking(std::span(any).first(length));
      if (per_voter.empty()) points_.ranking.push_back(static_cast<std::uint32_t>(points_.ranking.size()));
    }
    std::uint32_t next = 0;
    for (const std::size_t count : per_voter) {
      std::vector<std::uint32_t> own(count);
      std::iota(own.begin(), own.end(), next);
      next += static_cast<std::uint32_t>(count);
      points_.add_voter(own);
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
    for (std::size_t i = 0; i < points_.size(); ++i) {
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
        if (state.labels[points_.point_of(i)] != c) continue;
        const auto ranking = points_[i];
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
      const std::uint32_t label = state.labels[points_.point_of(i)];
      std::vector<Item> left = state.centers[label];
      for (std::size_t j = 0; j < lengths_[i]; ++j) {
        std::vector<double> logs(left.size());
        for (std::size_t s = 0; s < logs.size(); ++s) logs[s] = -state.theta[label][j] * static_cast<double>(s);
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
      agree += points_[i][0] == ranking[0] ? (state.labels[points_.point_of(i)] == state.labels[0] ? 1.0 : 0.3) : 0.0;
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

// Voters with two, one, three and one rankings: ballots are drawn from the one cluster of their voter.
TEST(Geweke, SeatedVoters) {
  const std::vector<std::size_t> lengths{3, 1, 4, 2, 4, 2, 3}, per_voter{2, 1, 3, 1};
  for (const Method method : {Method::exact_gibbs, Method::slice_gibbs}) {
    ChainSettings with = settings(method);
    if (method == Method::exact_gibbs) with.alpha_prior = {2.0, 2.0};
    EXPECT_LT(Geweke(5, lengths, parameters(1.0, 1.5, {0.8, 1.2}), with, per_voter).worst_z(3000, 3), 5.2);
    with.split_merge = 2;
    EXPECT_LT(Geweke(5, lengths, parameters(1.0, 1.5, {0.8, 1.2}), with, per_voter).worst_z(2000, 3), 5.2);
  }
}

// beta-gibbs is exact only for an infinite stage: t = 2 of 60 items and a prior that keeps codes small leave no
// error that 3000 replicates could see.
TEST(Geweke, BetaGibbsWhereTheApproximationHolds) {
  const ChainSettings with = settings(Method::beta_gibbs);
  EXPECT_LT(Geweke(60, {2, 1, 2, 2, 1, 2}, parameters(1.0, 8.0, {0.5}), with).worst_z(3000, 3), 5.2);
  EXPECT_LT(Geweke(60, {2, 1, 2, 2, 1, 2}, parameters(1.0, 8.0, {0.5}), with, {3, 1, 2}).worst_z(3000, 3), 5.2);
}

TEST(Geweke, BetaGibbsFailsWhereItDoesNot) {
  EXPECT_GT(Geweke(5, {3, 1, 4, 2, 4, 2}, parameters(1.0, 1.5, {0.8, 1.2}), settings(Method::beta_gibbs)).worst_z(5000, 3), 8.0);
}

}  // namespace
}  // namespace caucus::dp_mallows
