// Gibbs and variational against the exact posterior of a tiny problem, by quadrature over the simplex of the normalised weights.
#include <gtest/gtest.h>

#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <functional>

#include "caucus/infer/pl_regression/gibbs.h"
#include "caucus/infer/pl_regression/testing.h"
#include "caucus/infer/pl_regression/variational.h"

namespace caucus::pl_regression {
namespace {

using namespace testing;

// Integrates over the simplex of 4 weights; `f` is given them as a 2 x 2 matrix.
template <unsigned Nodes>
double integrate_simplex(const std::function<double(const RowMatrix&)>& f) {
  using Rule = boost::math::quadrature::gauss<double, Nodes>;
  std::vector<std::pair<double, double>> nodes;  // on (0, 1)
  for (std::size_t i = 0; i < Rule::abscissa().size(); ++i)
    for (const double sign : {-1.0, 1.0}) nodes.emplace_back(0.5 + 0.5 * sign * Rule::abscissa()[i], 0.5 * Rule::weights()[i]);
  double total = 0.0;
  RowMatrix lambda(2, 2);
  for (const auto& [u, wu] : nodes)
    for (const auto& [v, wv] : nodes)
      for (const auto& [t, wt] : nodes) {
        lambda << u, (1 - u) * v, (1 - u) * (1 - v) * t, (1 - u) * (1 - v) * (1 - t);
        total += wu * wv * wt * (1 - u) * (1 - u) * (1 - v) * f(lambda);
      }
  return total;
}

double log_dirichlet(const RowMatrix& lambda, double a) {
  return std::lgamma(4.0 * a) - 4.0 * std::lgamma(a) + (a - 1.0) * lambda.array().log().sum();
}

// Labels, or rankings of both classes, which say the same; then pairs with a third weight row would not fit the quadrature.
RegressionData tiny() {
  RegressionData data;
  data.num_classes = 2;
  data.w.resize(7, 2);
  data.w << 3.0, 1.0, 2.0, 1.0, 0.3, 1.0, 0.5, 1.0, 1.0, 1.0, 4.0, 1.0, 0.1, 1.0;
  data.outcome = {0, 0, 1, 1, 0, 0, 1};
  return data;
}

struct Moments {
  double evidence = 0.0;
  RowMatrix mean;
};
Moments exact(const RegressionData& data, double a) {
  const auto density = [&](const RowMatrix& lambda) {
    return std::exp(regression_loglik(data, lambda) + log_dirichlet(lambda, a));
  };
  Moments moments;
  moments.evidence = integrate_simplex<30>(density);
  moments.mean.resize(2, 2);
  for (Eigen::Index i = 0; i < 4; ++i)
    moments.mean.data()[i] =
        integrate_simplex<30>([&](const RowMatrix& lambda) { return lambda.data()[i] * density(lambda); }) / moments.evidence;
  return moments;
}

// The mean of a chain and its standard error by 100 batch means. Six of them, with 99 degrees of freedom: a false alarm once in
// 3e7.
struct Average {
  double sum = 0.0, batch = 0.0, squares = 0.0;
  int count = 0, batch_size;
  explicit Average(int total) : batch_size(total / 100) {}
  void add(double value) {
    sum += value;
    batch += value;
    if (++count % batch_size == 0) squares += batch * batch, batch = 0.0;
  }
  double mean() const { return sum / count; }
  double error() const {
    const double per_batch = batch_size;
    return std::sqrt((squares / (per_batch * per_batch * 100.0) - mean() * mean()) / 99.0);
  }
};

TEST(PlRegressionPosterior, GibbsAgreesWithQuadrature) {
  const RegressionData data = tiny();
  RegressionData rankings = data;  // the loser after the winner adds a sure stage only
  rankings.ranking = true;
  rankings.outcome.clear();
  rankings.offsets = {0};
  for (const std::uint32_t winner : data.outcome) {
    rankings.outcome.insert(rankings.outcome.end(), {winner, 1 - winner});
    rankings.offsets.push_back(rankings.outcome.size());
  }
  const Moments truth = exact(data, 2.0);
  for (const RegressionData* outcome : {&data, static_cast<const RegressionData*>(&rankings)}) {
    GibbsChain chain(*outcome, {2.0}, RandomStream(1, Purpose::chain, 0));
    constexpr int sweeps = 200000;
    std::vector<Average> averages(4, Average(sweeps));
    for (int i = 0; i < 100; ++i) chain.sweep(false);
    for (int i = 0; i < sweeps; ++i) {
      chain.sweep(false);
      for (std::size_t j = 0; j < 4; ++j) averages[j].add(chain.coefficients().data()[j]);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_LT(averages[j].error(), 0.001);
      EXPECT_NEAR(averages[j].mean(), truth.mean.data()[j], 6.0 * averages[j].error()) << j;
    }
  }
}

TEST(PlRegressionPosterior, LearnedShapeAgreesWithQuadrature) {
  const RegressionData data = tiny();
  // p(a | Y) on [1, 6] under 1/a.
  double total = 0.0, first = 0.0;
  using Rule = boost::math::quadrature::gauss<double, 20>;
  for (std::size_t i = 0; i < Rule::abscissa().size(); ++i)
    for (const double sign : {-1.0, 1.0}) {
      const double a = std::exp(std::log(6.0) * (0.5 + 0.5 * sign * Rule::abscissa()[i]));
      const double density = Rule::weights()[i] * integrate_simplex<20>([&](const RowMatrix& lambda) {
                               return std::exp(regression_loglik(data, lambda) + log_dirichlet(lambda, a));
                             });
      total += density;
      first += density * a;
    }
  for (const ShapeStep step : {ShapeStep::collapsed, ShapeStep::given_weights}) {
    GibbsChain chain(data, {std::nullopt, 1.0, 6.0, step}, RandomStream(2, Purpose::chain, 0));
    constexpr int sweeps = 200000;
    Average average(sweeps);
    for (int i = 0; i < 1000; ++i) chain.sweep(true);
    for (int i = 0; i < sweeps; ++i) {
      chain.sweep(false);
      average.add(chain.hyper());
    }
    EXPECT_LT(average.error(), 0.03);
    EXPECT_NEAR(average.mean(), first / total, 6.0 * average.error()) << name_of(step);
  }
}

TEST(PlRegressionPosterior, VariationalBoundIsBelowTheEvidenceAndItsMeanIsNear) {
  const RegressionData data = tiny();
  const Moments truth = exact(data, 2.0);
  VariationalOptions options;
  options.a = 2.0;
  const VariationalResult q = fit_variational(data, options, {});
  EXPECT_EQ(q.stop_reason, StopReason::converged);
  EXPECT_LT(q.bound, std::log(truth.evidence));
  EXPECT_GT(q.bound, std::log(truth.evidence) - 1.5);
  EXPECT_LT((q.mean() - truth.mean).cwiseAbs().maxCoeff(), 0.05);
}

TEST(PlRegressionVariational, BoundRisesAtEveryStep) {
  RegressionData subset = ranking_problem(80, 2, 5, 3, 4);
  subset.unranked = Unranked::absent;
  for (const RegressionData& data :
       {labelled_problem(60, 3, 3, 1), ranking_problem(40, 2, 4, 3, 2), subset, labelled_problem(15, 60, 2, 3)}) {
    for (const std::optional<double> a : {std::optional<double>{}, std::optional{0.05}, std::optional{1.0}, std::optional{5.0}}) {
      VariationalOptions options;
      options.a = a;
      options.b = 2.0;
      options.max_steps = 3000;
      const VariationalResult q = fit_variational(data, options, {});
      for (std::size_t i = 1; i < q.trace.size(); ++i) EXPECT_GE(q.trace[i], q.trace[i - 1] - 1e-9) << i;
      EXPECT_EQ(q.trace.back(), q.bound);
      EXPECT_TRUE(q.mean().allFinite());
      EXPECT_NEAR(q.shape.cwiseQuotient(q.rate).sum(), q.a * static_cast<double>(q.shape.size()) / 2.0, 1e-8)
          << "the mass at its best";
    }
  }
}

// b sets the scale only.
TEST(PlRegressionVariational, RateOfThePriorDoesNotMatter) {
  const RegressionData data = labelled_problem(60, 3, 3, 1);
  VariationalOptions one, two;
  two.b = 50.0;
  const VariationalResult first = fit_variational(data, one, {}), second = fit_variational(data, two, {});
  EXPECT_NEAR(first.bound, second.bound, 1e-6);
  EXPECT_LT((first.mean() - second.mean()).cwiseAbs().maxCoeff(), 1e-6);
}

// Geweke (2004): draws of (a, lambda) from the prior, and from a chain that alternates a sweep with fresh outcomes, have the same
// law.
void geweke(RegressionData data, std::size_t ranking_length, ShapeStep step = ShapeStep::collapsed) {
  const GibbsOptions options{std::nullopt, 0.3, 3.0, step};
  const std::size_t k = data.num_classes, p = data.num_features();
  const auto outcomes = [&](const RowMatrix& lambda, RandomStream& stream) {
    if (ranking_length > 0)
      draw_rankings(data, lambda, ranking_length, stream);
    else
      draw_labels(data, lambda, stream);
  };
  const auto statistics = [&](const RowMatrix& lambda, double a) {
    double zero = 0.0;
    for (std::size_t i = 0; i < data.num_rows(); ++i) zero += data.order(i)[0] == 0 ? 1.0 : 0.0;
    return std::vector<double>{std::log(a),        std::log(a) * std::log(a),  lambda(0, 0), lambda(0, 0) * lambda(0, 0),
                               lambda.maxCoeff(),  lambda(1, 1) * std::log(a), zero,         zero * zero,
                               zero * lambda(0, 0)};
  };
  constexpr int draws = 200000;
  const std::size_t count = 9;
  std::vector<Average> prior(count, Average(draws)), chained(count, Average(draws));
  RandomStream stream(11), fresh(12);
  const auto draw_prior = [&](RowMatrix& lambda, RandomStream& from) {
    const double a = std::exp(std::log(0.3) + from.uniform() * std::log(10.0));
    lambda = random_weights(k, p, a, from);
    return a;
  };
  RowMatrix lambda;
  for (int i = 0; i < draws; ++i) {
    const double a = draw_prior(lambda, stream);
    outcomes(lambda, stream);
    const auto values = statistics(lambda, a);
    for (std::size_t j = 0; j < count; ++j) prior[j].add(values[j]);
  }
  GibbsChain chain(data, options, RandomStream(13, Purpose::chain, 0));
  chain.set_state(lambda, draw_prior(lambda, stream));
  for (int i = 0; i < draws; ++i) {
    outcomes(chain.coefficients(), fresh);
    const auto values = statistics(chain.coefficients(), chain.hyper());
    for (std::size_t j = 0; j < count; ++j) chained[j].add(values[j]);
    chain.sweep(false);
  }
  for (std::size_t j = 0; j < count; ++j)
    EXPECT_LT(std::abs(prior[j].mean() - chained[j].mean()), 6.0 * std::hypot(prior[j].error(), chained[j].error()))
        << j << ": " << prior[j].mean() << " " << chained[j].mean();
}

TEST(PlRegressionPosterior, GewekeLabels) {
  RandomStream stream(21);
  RegressionData data;
  data.num_classes = 3;
  data.w = random_features(5, 1, stream);
  geweke(data, 0);
  geweke(data, 0, ShapeStep::given_weights);
}

TEST(PlRegressionPosterior, GewekeRankings) {
  RandomStream stream(22);
  RegressionData data;
  data.num_classes = 4;
  data.w = random_features(4, 1, stream);
  geweke(data, 2);
}

TEST(PlRegressionPosterior, GewekeWeights) {
  RandomStream stream(23);
  RegressionData data;
  data.num_classes = 2;
  data.w = random_features(3, 1, stream);
  // A row of weight 2 is two equal outcomes: not what fresh outcomes look like, so weights are checked against copies instead.
  data.outcome = {0, 1, 1};
  data.weights = {2.0, 3.0, 1.0};
  const RegressionData copies = [&] {
    RegressionData all = data.select(std::vector<std::size_t>{0, 0, 1, 1, 1, 2});
    all.weights.clear();
    return all;
  }();
  constexpr int sweeps = 100000;
  std::vector<Average> averages;
  for (const RegressionData* one : {static_cast<const RegressionData*>(&data), &copies}) {
    GibbsChain chain(*one, {1.0}, RandomStream(3, Purpose::chain, averages.size()));
    averages.emplace_back(sweeps);
    for (int i = 0; i < sweeps; ++i) {
      chain.sweep(false);
      averages.back().add(chain.coefficients()(0, 0));
    }
  }
  EXPECT_NEAR(averages[0].mean(), averages[1].mean(), 6.0 * std::hypot(averages[0].error(), averages[1].error()));
}

}  // namespace
}  // namespace caucus::pl_regression
