// Mallows mixtures on rankings of subsets: the maximum held to enumeration, Monte Carlo held to the exact engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "caucus/base/numeric.h"
#include "caucus/infer/mallows_mixture/completion_engine.h"
#include "caucus/infer/mallows_mixture/fit.h"
#include "caucus/infer/mallows_mixture/subset_engine.h"
#include "caucus/model/kendall.h"
#include "caucus/model/mallows.h"
#include "caucus/model/stage.h"

namespace caucus::mallows_mixture {
namespace {

std::vector<ItemId> identity(std::size_t n) {
  std::vector<ItemId> order(n);
  std::iota(order.begin(), order.end(), ItemId{0});
  return order;
}

// Draws of a mixture restricted to `lengths` in turn, with a tie in every `tied`-th ballot of three or more.
Dataset races(std::size_t n, std::size_t count, const Parameters& truth, std::vector<std::size_t> lengths, std::size_t tied,
              std::uint64_t seed) {
  Dataset data;
  data.source = "races";
  data.unranked = Unranked::absent;
  for (std::size_t i = 0; i < n; ++i) data.items.push_back(std::to_string(i));
  RandomStream stream(seed, Purpose::generate);
  RankingSetBuilder builder;
  std::vector<ItemId> order(n), took_part = identity(n), kept;
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t k = stream.categorical(truth.weight), length = lengths[r % lengths.size()];
    draw_mallows(truth.center[k], truth.theta[k][0], stream, order);
    stream.shuffle(std::span<ItemId>(took_part));
    kept.clear();
    for (ItemId item : order)
      if (std::find(took_part.begin(), took_part.begin() + static_cast<std::ptrdiff_t>(length), item) !=
          took_part.begin() + static_cast<std::ptrdiff_t>(length))
        kept.push_back(item);
    std::vector<std::uint8_t> ends;
    if (tied > 0 && r % tied == 0 && length > 2) ends.assign(length, 1), ends[stream.below(length - 1)] = 0;
    builder.add(kept, 1.0, ends);
  }
  data.rankings = builder.build();
  return data;
}

// All orders of n items, and per ballot which of them agree with it: a likelihood by enumeration.
class Enumeration {
 public:
  explicit Enumeration(const Dataset& data) : data_(data), n_(data.num_items()) {
    std::vector<ItemId> order = identity(n_);
    do orders_.push_back(order);
    while (std::next_permutation(order.begin(), order.end()));
    for (std::size_t i = 0; i < data.rankings.size(); ++i) {
      std::vector<std::uint32_t> group(n_, 0);
      std::uint32_t number = 0;
      data.rankings[i].for_each_group([&](std::span<const ItemId> items) {
        ++number;
        for (ItemId item : items) group[item] = number;
      });
      agree_.emplace_back();
      for (std::size_t o = 0; o < orders_.size(); ++o) {
        std::uint32_t seen = 0;
        bool agrees = true;
        for (ItemId item : orders_[o])
          if (group[item] > 0) agrees = agrees && group[item] >= seen, seen = group[item];
        if (agrees) agree_.back().push_back(o);
      }
    }
  }

  const std::vector<std::vector<ItemId>>& orders() const { return orders_; }
  // histogram[i][d]: orders at distance d from the center that agree with ballot i.
  std::vector<std::vector<double>> histogram(const std::vector<ItemId>& center) const {
    std::vector<std::size_t> distance;
    for (const auto& order : orders_) distance.push_back(kendall_distance(order, center));
    std::vector<std::vector<double>> result;
    for (const auto& agree : agree_) {
      result.emplace_back(n_ * (n_ - 1) / 2 + 1, 0.0);
      for (std::size_t o : agree) result.back()[distance[o]] += 1.0;
    }
    return result;
  }
  double probability(const std::vector<double>& histogram, double theta) const {
    double total = 0.0;
    for (std::size_t d = 0; d < histogram.size(); ++d) total += histogram[d] * std::exp(-theta * static_cast<double>(d));
    return total / std::exp(log_q_factorial(theta, n_));
  }
  double loglik(const Parameters& p) const {
    std::vector<double> total(data_.rankings.size(), 0.0);
    for (std::size_t k = 0; k < p.weight.size(); ++k) {
      const auto counts = histogram(p.center[k]);
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += p.weight[k] * probability(counts[i], p.theta[k][0]);
    }
    double sum = 0.0;
    for (std::size_t i = 0; i < total.size(); ++i) sum += data_.rankings.weights()[i] * std::log(total[i]);
    return sum;
  }
  // The best theta of one center for weighted ballots, and its log-likelihood.
  std::pair<double, double> best_theta(const std::vector<std::vector<double>>& counts, std::span<const double> weight) const {
    const auto loss = [&](double theta) {
      double value = 0.0;
      for (std::size_t i = 0; i < counts.size(); ++i) value -= weight[i] * std::log(probability(counts[i], theta));
      return value;
    };
    const auto [theta, value] = boost::math::tools::brent_find_minima(loss, 0.0, 8.0, 52);
    return {theta, -value};
  }

 private:
  const Dataset& data_;
  std::size_t n_;
  std::vector<std::vector<ItemId>> orders_;
  std::vector<std::vector<std::size_t>> agree_;
};

FitResult fitted(const Dataset& data, int components, std::uint64_t seed) {
  MallowsOptions options;
  options.components = components;
  Run run;
  run.seed = seed;
  return fit_mallows(data, options, run);
}

// The likelihood of pairs of n items in closed form: P(a before b) by the distance of their places, here by enumeration of the
// pairs' distances.
TEST(MallowsSubsets, PairsEndAtTheMaximumForEverySeed) {
  const Parameters truth{{1.0}, {{2, 0, 3, 1}}, {{0.8}}};
  const Dataset data = races(4, 100'000, truth, {2}, 0, 11);
  const Enumeration all(data);
  double best = -infinity, best_theta = 0.0;
  std::vector<ItemId> best_center;
  for (const auto& center : all.orders())
    if (const auto [theta, loglik] = all.best_theta(all.histogram(center), data.rankings.weights()); loglik > best)
      best = loglik, best_theta = theta, best_center = center;
  for (std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const FitResult result = fitted(data, 1, seed);
    EXPECT_NEAR(result.parameters.theta[0][0], best_theta, 1e-6) << seed;
    EXPECT_EQ(result.parameters.center[0], best_center) << seed;
    EXPECT_NEAR(result.loglik, best, 1e-6) << seed;
    ASSERT_TRUE(result.errors && result.errors->available);
    EXPECT_NEAR(result.parameters.theta[0][0], 0.8, 6.0 * *result.errors->theta[0][0]);
  }
}

TEST(MallowsSubsets, OneGroupHeldToAllCenters) {
  for (std::size_t n : {4, 5, 6})
    for (std::size_t tied : {0, 3})
      for (std::uint64_t seed : {1, 2, 3}) {
        RandomStream stream(seed, Purpose::generate, n);
        Parameters truth{{1.0}, {identity(n)}, {{0.5}}};
        stream.shuffle(std::span<ItemId>(truth.center[0]));
        const Dataset data = races(n, 40, truth, {2, 3, n - 1, 3}, tied, seed);
        const Enumeration all(data);
        double best = -infinity, best_theta = 0.0;
        for (const auto& center : all.orders())
          if (const auto [theta, loglik] = all.best_theta(all.histogram(center), data.rankings.weights()); loglik > best)
            best = loglik, best_theta = theta;
        const FitResult result = fitted(data, 1, seed);
        EXPECT_NEAR(result.loglik, all.loglik(result.parameters), 1e-9) << n << ' ' << tied << ' ' << seed;
        EXPECT_NEAR(result.loglik, best, 1e-8) << n << ' ' << tied << ' ' << seed;
        EXPECT_NEAR(result.parameters.theta[0][0], best_theta, 1e-6) << n << ' ' << tied << ' ' << seed;
      }
}

// Two groups: plain EM by enumeration from every pair of centers, weights and dispersions free.
TEST(MallowsSubsets, TwoGroupsHeldToAllPairsOfCenters) {
  const std::size_t n = 4;
  const Parameters truth{{0.6, 0.4}, {{0, 1, 2, 3}, {3, 1, 0, 2}}, {{1.4}, {1.0}}};
  const Dataset data = races(n, 600, truth, {3, 4, 2}, 0, 5);
  const Enumeration all(data);
  std::vector<std::vector<std::vector<double>>> counts;
  for (const auto& center : all.orders()) counts.push_back(all.histogram(center));
  double best = -infinity;
  for (std::size_t a = 0; a < counts.size(); ++a)
    for (std::size_t b = a + 1; b < counts.size(); ++b) {
      double weight = 0.5, theta[2] = {0.7, 0.7}, loglik = -infinity;
      for (int step = 0; step < 400; ++step) {
        std::vector<double> mass[2];
        double now = 0.0, in_first = 0.0;
        for (std::size_t i = 0; i < data.rankings.size(); ++i) {
          const double first = weight * all.probability(counts[a][i], theta[0]);
          const double second = (1.0 - weight) * all.probability(counts[b][i], theta[1]), w = data.rankings.weights()[i];
          now += w * std::log(first + second);
          mass[0].push_back(w * first / (first + second));
          mass[1].push_back(w * second / (first + second));
          in_first += mass[0].back();
        }
        const bool rests = now - loglik < (step < 4 ? 0.0 : 1e-9);
        loglik = now;
        if (rests || (step == 20 && loglik < best - 20.0)) break;
        weight = in_first / data.rankings.total_weight();
        theta[0] = all.best_theta(counts[a], mass[0]).first;
        theta[1] = all.best_theta(counts[b], mass[1]).first;
      }
      best = std::max(best, loglik);
    }
  for (std::uint64_t seed : {1, 2}) {
    const FitResult result = fitted(data, 2, seed);
    EXPECT_NEAR(result.loglik, all.loglik(result.parameters), 1e-8);
    EXPECT_GE(result.loglik, best - 1e-5) << seed;
  }
}

// The Monte Carlo engine comes within the error it states of the exact one, and the error shrinks.
TEST(MallowsSubsets, CompletionsWithinTheirError) {
  const std::size_t n = 12;
  const Parameters truth{{1.0}, {identity(n)}, {{0.25}}};
  const Dataset data = races(n, 60, truth, {5, 7}, 4, 2);
  const std::vector<std::uint32_t> labels(data.rankings.size(), 0);
  const auto run = [&](const Engine& engine) {
    return run_em(engine, engine.from_labels(labels, 1), {200, 1e-12, false}, 1,
                  [](int, double) -> StopReason* { return nullptr; });
  };
  const SubsetEngine exact(data.rankings, n);
  const EmResult best = run(exact);
  double last = infinity;
  for (std::size_t completions : {64, 512}) {
    const CompletionEngine engine(data.rankings, n, ConsensusMethod::automatic, completions, 3);
    // The same center, so that the dispersions are those of one equation.
    Parameters now = best.parameters, next;
    for (int step = 0; step < 25; ++step) engine.step(now, false, 1, next), now = next;
    const MonteCarloError error = engine.error(now, 1);
    EXPECT_NEAR(now.theta[0][0], best.parameters.theta[0][0], 6.0 * error.theta[0]) << completions;
    EXPECT_NEAR(engine.step(best.parameters, false, 1, next), best.loglik, 6.0 * error.loglik) << completions;
    EXPECT_LT(error.theta[0], 0.6 * last);
    last = error.theta[0];
  }
}

// Long rankings of many items: the fit says what its draws leave open.
TEST(MallowsSubsets, LongRankingsStateTheirError) {
  const std::size_t n = 60;
  const Parameters truth{{1.0}, {identity(n)}, {{0.05}}};
  const Dataset data = races(n, 12, truth, {30}, 0, 2);
  MallowsOptions options;
  options.completions = 64;
  const FitResult result = fit_mallows(data, options, caucus::Run{});
  ASSERT_TRUE(result.monte_carlo);
  const RecordView error = result.details.view().object("monte_carlo");
  EXPECT_EQ(error.number("completions"), 64.0);
  EXPECT_GT(error.number("loglik_error"), 0.0);
  EXPECT_GT(result.parameters.theta[0][0], 0.02);
  EXPECT_LT(result.parameters.theta[0][0], 0.12);
}

}  // namespace
}  // namespace caucus::mallows_mixture
