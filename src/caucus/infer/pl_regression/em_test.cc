#include "caucus/infer/pl_regression/em.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caucus/base/error.h"
#include "caucus/infer/pl_regression/testing.h"

namespace caucus::pl_regression {
namespace {

using namespace testing;

// Straight from eq. (2) and the race: products over stages, nothing shared with the code under test.
double slow_loglik(const RegressionData& data, const RowMatrix& lambda) {
  double sum = 0.0;
  for (std::size_t i = 0; i < data.num_rows(); ++i) {
    const Eigen::VectorXd strength = lambda * data.w.row(static_cast<Eigen::Index>(i)).transpose();
    const auto order = data.order(i);
    std::vector<bool> in(data.num_classes, !data.ranking || data.unranked == Unranked::last);
    for (const auto item : order) in[item] = true;
    for (const auto item : order) {
      double total = 0.0;
      for (std::size_t k = 0; k < data.num_classes; ++k)
        if (in[k]) total += strength[static_cast<Eigen::Index>(k)];
      sum += data.weight(i) * std::log(strength[item] / total);
      in[item] = false;
    }
  }
  return sum;
}

double slow_posterior(const RegressionData& data, const RowMatrix& lambda, double a, double b) {
  double sum = slow_loglik(data, lambda);
  for (Eigen::Index i = 0; i < lambda.size(); ++i)
    if (lambda.data()[i] > 0.0) sum += (a - 1.0) * std::log(lambda.data()[i]) - b * lambda.data()[i];
  return sum;
}

// Derivative along log lambda_kj by central differences.
RowMatrix slow_log_gradient(const RegressionData& data, const RowMatrix& lambda, double a, double b) {
  RowMatrix gradient = RowMatrix::Zero(lambda.rows(), lambda.cols());
  for (Eigen::Index i = 0; i < lambda.size(); ++i) {
    if (!(lambda.data()[i] > 0.0)) continue;
    RowMatrix up = lambda, down = lambda;
    up.data()[i] *= std::exp(1e-4);
    down.data()[i] *= std::exp(-1e-4);
    gradient.data()[i] = (slow_posterior(data, up, a, b) - slow_posterior(data, down, a, b)) / 2e-4;
  }
  return gradient;
}

std::vector<RegressionData> problems() {
  RegressionData subset = ranking_problem(80, 2, 5, 3, 4);
  subset.unranked = Unranked::absent;
  return {labelled_problem(60, 2, 3, 1), labelled_problem(40, 3, 2, 2), ranking_problem(30, 2, 4, 2, 3),
          ranking_problem(25, 2, 4, 4, 5), subset};
}

TEST(PlRegression, LoglikAgreesWithItsDefinition) {
  RandomStream stream(8);
  for (const auto& data : problems()) {
    const RowMatrix lambda = random_weights(data.num_classes, data.num_features(), 0.7, stream);
    EXPECT_NEAR(regression_loglik(data, lambda), slow_loglik(data, lambda), 1e-10);
    EXPECT_NEAR(regression_loglik(data, 7.0 * lambda), slow_loglik(data, lambda), 1e-10) << "the scale is not seen";
  }
}

TEST(PlRegression, RankingProbabilitiesSumToOne) {
  RandomStream stream(4);
  RegressionData data;
  data.num_classes = 4;
  data.ranking = true;
  data.w = random_features(1, 2, stream);
  const RowMatrix lambda = random_weights(4, 5, 0.7, stream);
  double total = 0.0;
  for (std::uint32_t a = 0; a < 4; ++a)
    for (std::uint32_t b = 0; b < 4; ++b)
      if (a != b) {
        data.outcome = {a, b};
        data.offsets = {0, 2};
        total += std::exp(regression_loglik(data, lambda));
      }
  EXPECT_NEAR(total, 1.0, 1e-12);
}

TEST(PlRegressionEm, GradientVanishesForAAboveOne) {
  for (const auto& data : problems()) {
    const EmResult fit = fit_em(data, {1.5, 2.0}, {});
    EXPECT_EQ(fit.stop_reason, StopReason::converged);
    EXPECT_NEAR(fit.log_posterior, slow_posterior(data, fit.lambda, 1.5, 2.0), 1e-8);
    EXPECT_NEAR(fit.lambda.sum(), 0.5 * static_cast<double>(fit.lambda.size()) / 2.0, 1e-9);
    EXPECT_LT(slow_log_gradient(data, fit.lambda, 1.5, 2.0).cwiseAbs().maxCoeff(), 2e-5);
    EXPECT_EQ(fit.num_nonzero, static_cast<std::size_t>(fit.lambda.size()));
  }
}

TEST(PlRegressionEm, MaximumLikelihoodMeetsTheKuhnTuckerConditions) {
  for (const auto& data : problems()) {
    const EmResult fit = fit_em(data, {1.0, 0.0}, {});
    EXPECT_EQ(fit.stop_reason, StopReason::converged);
    EXPECT_NEAR(fit.loglik, slow_loglik(data, fit.lambda), 1e-8);
    EXPECT_EQ(fit.loglik, fit.log_posterior);
    EXPECT_LT(slow_log_gradient(data, fit.lambda, 1.0, 0.0).cwiseAbs().maxCoeff(), 2e-5);
    for (Eigen::Index i = 0; i < fit.lambda.size(); ++i) {  // no zero would like to come back
      if (fit.lambda.data()[i] > 0.0) continue;
      RowMatrix more = fit.lambda;
      more.data()[i] = 1e-6;
      EXPECT_LT(slow_loglik(data, more), fit.loglik + 1e-9);
    }
  }
}

TEST(PlRegressionEm, SparseAnswersAreStationaryOnTheActiveSetOfFixedMass) {
  for (const auto& data : problems()) {
    for (const double a : {0.9, 0.5, 0.1}) {
      const EmResult fit = fit_em(data, {a, 1.0}, {});
      EXPECT_EQ(fit.stop_reason, StopReason::converged);
      EXPECT_NEAR(fit.lambda.sum(), 1.0, 1e-12);
      EXPECT_LT(fit.num_nonzero, static_cast<std::size_t>(fit.lambda.size())) << a;
      // Under fixed mass the log-gradient is lambda times one multiplier.
      RowMatrix gradient = slow_log_gradient(data, fit.lambda, a, 0.0);
      gradient -= gradient.sum() * fit.lambda;
      EXPECT_LT(gradient.cwiseAbs().maxCoeff(), 5e-5) << a;
      EXPECT_NEAR(fit.log_posterior, slow_posterior(data, fit.lambda, a, 1.0), 1e-8);
    }
  }
}

TEST(PlRegressionEm, ObjectiveRisesWhileTheActiveSetStands) {
  for (const auto& data : problems()) {
    for (const double a : {2.0, 1.0, 0.5}) {
      const EmResult fit = fit_em(data, {a, a == 1.0 ? 0.0 : 1.0}, {});
      ASSERT_GT(fit.trace.size(), 3u);
      EXPECT_EQ(fit.trace.back(), fit.log_posterior);
      for (std::size_t i = 1; i < fit.trace.size(); ++i) {
        if (a < 1.0 && fit.active[i] != fit.active[i - 1]) continue;
        EXPECT_GE(fit.trace[i], fit.trace[i - 1] - 1e-9) << a << " step " << i;
      }
    }
  }
}

TEST(PlRegressionEm, PlainStepsAgreeWithEquationTen) {
  const RegressionData data = labelled_problem(30, 1, 2, 6);
  const double a = 1.5, b = 2.0;
  RowMatrix lambda = RowMatrix::Constant(2, 3, 0.5);
  for (int step = 0; step < 20000; ++step) {
    RowMatrix next = RowMatrix::Zero(2, 3);
    for (Eigen::Index k = 0; k < 2; ++k)
      for (Eigen::Index j = 0; j < 3; ++j) {
        double n = 0.0, rate = b;
        for (Eigen::Index i = 0; i < data.w.rows(); ++i) {
          if (data.outcome[static_cast<std::size_t>(i)] == k) n += data.w(i, j) * lambda(k, j) / data.w.row(i).dot(lambda.row(k));
          rate += data.w(i, j) / data.w.row(i).dot(lambda.colwise().sum());
        }
        next(k, j) = (a - 1.0 + n) / rate;
      }
    lambda = next;
  }
  EXPECT_LT((fit_em(data, {a, b}, {}).lambda - lambda).cwiseAbs().maxCoeff(), 1e-6);
}

TEST(PlRegressionEm, WeightThreeIsThreeCopies) {
  for (RegressionData data : {labelled_problem(30, 2, 3, 1), ranking_problem(30, 2, 4, 2, 3)}) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < 30; ++i)
      for (std::size_t copy = 0; copy < (i % 2 == 0 ? 3u : 1u); ++copy) rows.push_back(i);
    const RegressionData copies = data.select(rows);
    data.weights.assign(30, 1.0);
    for (std::size_t i = 0; i < 30; i += 2) data.weights[i] = 3.0;
    const EmResult weighted = fit_em(data, {1.5, 1.0}, {}), repeated = fit_em(copies, {1.5, 1.0}, {});
    EXPECT_NEAR(weighted.loglik, repeated.loglik, 1e-9);
    EXPECT_LT((weighted.lambda - repeated.lambda).cwiseAbs().maxCoeff(), 1e-6);
  }
}

TEST(PlRegressionEm, SameBitsForAnyNumberOfThreads) {
  const RegressionData data = labelled_problem(9000, 3, 3, 7);
  caucus::Run one, two;
  one.threads = 1;
  two.threads = 4;
  EXPECT_EQ(fit_em(data, {0.5, 1.0, 200}, one).lambda, fit_em(data, {0.5, 1.0, 200}, two).lambda);
}

TEST(PlRegressionEm, ManyFeaturesDoNotEmptyAClass) {
  const RegressionData data = labelled_problem(20, 200, 2, 9);
  const EmResult fit = fit_em(data, {0.5, 1.0}, {});
  for (Eigen::Index k = 0; k < 2; ++k) EXPECT_GT(fit.lambda.row(k).maxCoeff(), 0.0);
  EXPECT_LT(fit.num_nonzero, 100u);
  EXPECT_TRUE(std::isfinite(fit.loglik));
}

TEST(PlRegressionEm, NoMaximumIsRefused) { EXPECT_THROW(fit_em(labelled_problem(10, 1, 2, 1), {2.0, 0.0}, {}), UsageError); }

TEST(PlRegressionEm, ClassesThatNeverBeatTheRestAreToldOf) {
  RegressionData data;
  data.num_classes = 4;
  data.ranking = true;
  data.w = RowMatrix::Ones(4, 1);
  data.outcome = {0, 1, 2, 1, 0, 3, 0, 1, 3, 2, 1, 0, 2, 3};
  data.offsets = {0, 3, 6, 10, 14};
  const EmResult fit = fit_em(data, {0.5, 1.0}, {});
  EXPECT_TRUE(fit.unbounded);
  EXPECT_TRUE(fit.lambda.allFinite());
  EXPECT_TRUE(std::isfinite(fit.loglik));
}

struct Stopper : Observer {
  Flow progress(const Progress& progress) override { return progress.iteration >= 5 ? Flow::stop : Flow::proceed; }
};
TEST(PlRegressionEm, StoppingKeepsThePartialResult) {
  Stopper stopper;
  caucus::Run run;
  run.observer = &stopper;
  const RegressionData data = labelled_problem(60, 2, 3, 1);
  const EmResult fit = fit_em(data, {1.5, 1.0}, run);
  EXPECT_EQ(fit.stop_reason, StopReason::interrupted);
  EXPECT_NEAR(fit.loglik, regression_loglik(data, fit.lambda), 1e-9);
}

}  // namespace
}  // namespace caucus::pl_regression
