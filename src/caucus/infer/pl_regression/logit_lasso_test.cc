#include "caucus/infer/pl_regression/logit_lasso.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numbers>

namespace caucus::pl_regression {
namespace {

// Kolmogorov distance times sqrt(n): above 2.7 with probability 2 exp(-2 * 2.7^2) < 1e-6.
double kolmogorov(std::vector<double> uniforms) {
  std::sort(uniforms.begin(), uniforms.end());
  double largest = 0.0;
  const auto n = static_cast<double>(uniforms.size());
  for (std::size_t i = 0; i < uniforms.size(); ++i)
    largest = std::max(
        {largest, std::abs(uniforms[i] - static_cast<double>(i) / n), std::abs(uniforms[i] - static_cast<double>(i + 1) / n)});
  return largest * std::sqrt(n);
}

// A logistic r and its scale drawn given r: r / sqrt(scale) is standard normal, and E scale = pi^2 / 3.
TEST(LogitLasso, ScaleMixtureOfNormals) {
  RandomStream stream(1);
  std::vector<double> uniforms;
  double sum = 0.0, squares = 0.0;
  constexpr int draws = 200000;
  const boost::math::normal normal;
  for (int i = 0; i < draws; ++i) {
    const double u = stream.uniform_open(), r = std::log(u / (1.0 - u)), scale = sample_logistic_scale(r, stream);
    uniforms.push_back(boost::math::cdf(normal, r / std::sqrt(scale)));
    sum += scale;
    squares += scale * scale;
  }
  EXPECT_LT(kolmogorov(uniforms), 2.7);
  const double mean = sum / draws, error = std::sqrt((squares / draws - mean * mean) / draws);
  EXPECT_NEAR(mean, std::numbers::pi * std::numbers::pi / 3.0, 6.0 * error);
}

TEST(LogitLasso, TruncatedLogistic) {
  RandomStream stream(2);
  const auto cdf = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  for (const double m : {-3.0, 0.0, 2.0}) {
    std::vector<double> above, below;
    for (int i = 0; i < 50000; ++i) {
      const double z = sample_truncated_logistic(m, true, stream), y = sample_truncated_logistic(m, false, stream);
      ASSERT_GE(z, 0.0);
      ASSERT_LE(y, 0.0);
      above.push_back((cdf(z - m) - cdf(-m)) / (1.0 - cdf(-m)));
      below.push_back(cdf(y - m) / cdf(-m));
    }
    EXPECT_LT(kolmogorov(above), 2.7) << m;
    EXPECT_LT(kolmogorov(below), 2.7) << m;
  }
  for (const double m : {-800.0, 800.0}) {
    EXPECT_TRUE(std::isfinite(sample_truncated_logistic(m, true, stream)));
    EXPECT_TRUE(std::isfinite(sample_truncated_logistic(m, false, stream)));
  }
}

// Mean m and variance m^3 / shape.
TEST(LogitLasso, InverseGaussianMoments) {
  RandomStream stream(3);
  constexpr int draws = 400000;
  for (const auto& [mean, shape] : {std::pair{1.0, 2.0}, std::pair{0.3, 0.5}}) {
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < draws; ++i) {
      const double x = sample_inverse_gaussian(mean, shape, stream);
      sum += x;
      squares += x * x;
    }
    const double variance = mean * mean * mean / shape;
    EXPECT_NEAR(sum / draws, mean, 6.0 * std::sqrt(variance / draws));
    EXPECT_NEAR(squares / draws - sum / draws * sum / draws, variance, 0.05 * variance);
  }
  for (int i = 0; i < 1000; ++i) {  // a coefficient at 0: the reciprocal is theta / chi-squared, and finite
    const double x = sample_inverse_gaussian(1e100, 1.0, stream);
    EXPECT_TRUE(std::isfinite(x) && x > 0.0);
  }
}

struct Prior {
  LogitOptions options{4.0, 3.0, 1.0};
  void draw(const LogitData& data, RandomStream& stream, RowMatrix& beta, RowMatrix& tau, double& theta) const {
    const auto k = static_cast<Eigen::Index>(data.num_classes) - 1, p = data.x.cols();
    theta = stream.gamma(options.shape) / options.rate;
    beta.resize(k, p);
    tau.resize(k, p);
    for (Eigen::Index c = 0; c < k; ++c)
      for (Eigen::Index j = 0; j < p; ++j) {
        tau(c, j) = j + 1 == p ? options.intercept_variance : stream.exponential() * 2.0 / theta;
        beta(c, j) = std::sqrt(tau(c, j)) * stream.normal();
      }
  }
  static void outcomes(LogitData& data, const RowMatrix& beta, RandomStream& stream) {
    const RowMatrix probability = logit_probabilities(data.x, beta);
    data.labels.resize(static_cast<std::size_t>(data.x.rows()));
    for (Eigen::Index i = 0; i < data.x.rows(); ++i)
      data.labels[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(
          stream.categorical(std::span(probability.data() + i * probability.cols(), static_cast<std::size_t>(probability.cols()))));
  }
};

LogitData random_covariates(Eigen::Index n, Eigen::Index p, std::size_t k, std::uint64_t seed) {
  RandomStream stream(seed);
  LogitData data;
  data.num_classes = k;
  data.x.resize(n, p);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < p; ++j) data.x(i, j) = j + 1 == p ? 1.0 : stream.normal();
  return data;
}

// Geweke (2004), with batch means: six standard errors on 99 degrees of freedom, a false alarm once in 3e7 per statistic.
void geweke(LogitData data, std::uint64_t seed) {
  const Prior prior;
  RandomStream stream(seed), fresh(seed + 1);
  constexpr int draws = 100000, batches = 100;
  const auto statistics = [&](const RowMatrix& beta, const RowMatrix& tau, double theta) {
    double zero = 0.0;
    for (const std::uint32_t label : data.labels) zero += label == 0 ? 1.0 : 0.0;
    return std::vector<double>{theta / (1.0 + theta),
                               std::tanh(beta(0, 0)),
                               std::abs(std::tanh(beta(0, 0))),
                               std::tanh(beta(0, beta.cols() - 1)),
                               tau(0, 0) / (1.0 + tau(0, 0)),
                               std::tanh(beta(0, 0)) * zero,
                               zero,
                               zero * zero,
                               std::tanh(beta(0, 0) * beta(beta.rows() - 1, 1))};
  };
  RowMatrix beta, tau;
  double theta = 1.0;
  std::vector<std::vector<double>> sums(2, std::vector<double>(9, 0.0)), squares = sums, batch = sums;
  const auto add = [&](std::size_t kind, int i, const std::vector<double>& values) {
    for (std::size_t j = 0; j < values.size(); ++j) {
      batch[kind][j] += values[j] * batches / draws;
      if ((i + 1) % (draws / batches) != 0) continue;
      sums[kind][j] += batch[kind][j];
      squares[kind][j] += batch[kind][j] * batch[kind][j];
      batch[kind][j] = 0.0;
    }
  };
  for (int i = 0; i < draws; ++i) {
    prior.draw(data, stream, beta, tau, theta);
    Prior::outcomes(data, beta, stream);
    add(0, i, statistics(beta, tau, theta));
  }
  LogitChain chain(data, prior.options, RandomStream(seed + 2, Purpose::chain, 0));
  chain.set_state(beta, tau, theta);
  for (int i = 0; i < draws; ++i) {
    Prior::outcomes(data, chain.coefficients(), fresh);
    add(1, i, statistics(chain.coefficients(), chain.tau(), chain.hyper()));
    chain.sweep(false);
  }
  for (std::size_t j = 0; j < 9; ++j) {
    double variance = 0.0, mean[2];
    for (const std::size_t kind : {0u, 1u}) {
      mean[kind] = sums[kind][j] / batches;
      variance += (squares[kind][j] / batches - mean[kind] * mean[kind]) / (batches - 1);
    }
    EXPECT_LT(std::abs(mean[0] - mean[1]), 6.0 * std::sqrt(variance)) << j << ": " << mean[0] << " " << mean[1];
  }
}

TEST(LogitLasso, GewekeThreeClasses) { geweke(random_covariates(6, 3, 3, 5), 31); }
TEST(LogitLasso, GewekeMoreCoefficientsThanRows) { geweke(random_covariates(3, 6, 2, 6), 41); }

// Simulation-based calibration (Talts et al. 2018): the rank of the truth among 19 thinned draws is uniform on 0..19. 400
// replications, three quantities; chi-squared with 19 degrees of freedom at 3e-7 each.
TEST(LogitLasso, SimulationBasedCalibration) {
  const Prior prior;
  LogitData data = random_covariates(15, 3, 3, 7);
  RandomStream stream(51);
  constexpr int replications = 400, bins = 20, thin = 10;
  std::vector<std::vector<double>> histogram(3, std::vector<double>(bins, 0.0));
  for (int replication = 0; replication < replications; ++replication) {
    RowMatrix beta, tau;
    double theta = 1.0;
    prior.draw(data, stream, beta, tau, theta);
    Prior::outcomes(data, beta, stream);
    LogitChain chain(data, prior.options, RandomStream(52, Purpose::chain, static_cast<std::uint64_t>(replication)));
    for (int i = 0; i < 150; ++i) chain.sweep(false);
    std::vector<std::size_t> rank(3, 0);
    for (int draw = 0; draw + 1 < bins; ++draw) {
      for (int i = 0; i < thin; ++i) chain.sweep(false);
      rank[0] += chain.coefficients()(0, 0) < beta(0, 0) ? 1 : 0;
      rank[1] += chain.coefficients()(1, 2) < beta(1, 2) ? 1 : 0;
      rank[2] += chain.hyper() < theta ? 1 : 0;
    }
    for (std::size_t j = 0; j < 3; ++j) histogram[j][rank[j]] += 1.0;
  }
  const double limit = boost::math::quantile(boost::math::complement(boost::math::chi_squared(bins - 1), 3e-7));
  for (const auto& counts : histogram) {
    double statistic = 0.0;
    for (const double count : counts)
      statistic += (count - replications / bins) * (count - replications / bins) * bins / replications;
    EXPECT_LT(statistic, limit);
  }
}

}  // namespace
}  // namespace caucus::pl_regression
