#include "caucus/model/pl_regression.h"

#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"

namespace caucus {

double RegressionData::total_weight() const { return weights.empty() ? static_cast<double>(num_rows()) : sum(weights); }

RegressionData RegressionData::select(std::span<const std::size_t> rows) const {
  RegressionData part;
  part.num_classes = num_classes;
  part.ranking = ranking;
  part.unranked = unranked;
  part.w.resize(static_cast<Eigen::Index>(rows.size()), w.cols());
  if (ranking) part.offsets.push_back(0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    part.w.row(static_cast<Eigen::Index>(i)) = w.row(static_cast<Eigen::Index>(rows[i]));
    for (const std::uint32_t item : order(rows[i])) part.outcome.push_back(item);
    if (ranking) part.offsets.push_back(part.outcome.size());
    if (!weights.empty()) part.weights.push_back(weights[rows[i]]);
  }
  return part;
}

double dot(const double* a, const double* b, std::size_t size) {
  double sum0 = 0.0, sum1 = 0.0, sum2 = 0.0, sum3 = 0.0;
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    sum0 += a[i] * b[i];
    sum1 += a[i + 1] * b[i + 1];
    sum2 += a[i + 2] * b[i + 2];
    sum3 += a[i + 3] * b[i + 3];
  }
  for (; i < size; ++i) sum0 += a[i] * b[i];
  return (sum0 + sum1) + (sum2 + sum3);
}

double regression_loglik(const RegressionData& data, const RowMatrix& lambda, int threads) {
  const std::size_t k = data.num_classes, p = data.num_features();
  const Eigen::RowVectorXd total = lambda.colwise().sum();
  return parallel_fold(
      Blocks(data.num_rows(), 1 + 32768 / std::max<std::size_t>(p, 1)), threads, [] { return 0.0; },
      [&](double& loglik, std::size_t begin, std::size_t end) {
        std::vector<double> strength(k);
        std::vector<std::uint8_t> running;
        for (std::size_t i = begin; i < end; ++i) {
          const double* w = data.features(i);
          if (!data.ranking) {
            const double own = dot(w, lambda.data() + data.outcome[i] * p, p);
            loglik += data.weight(i) * (std::log(own) - std::log(dot(w, total.data(), p)));
            continue;
          }
          for (std::size_t j = 0; j < k; ++j) strength[j] = dot(w, lambda.data() + j * p, p);
          for_each_stage(data, i, strength, running, [&](std::size_t, std::uint32_t winner, double rate) {
            loglik += data.weight(i) * (std::log(strength[winner]) - std::log(rate));
          });
        }
      },
      [](double& all, double part) { all += part; });
}

RowMatrix class_probabilities(const RowMatrix& w, const RowMatrix& lambda) {
  RowMatrix probability = w * lambda.transpose();
  for (Eigen::Index i = 0; i < probability.rows(); ++i) {
    const double total = probability.row(i).sum();
    if (total > 0.0)
      probability.row(i) /= total;
    else
      probability.row(i).setConstant(1.0 / static_cast<double>(lambda.rows()));
  }
  return probability;
}

}  // namespace caucus
