// Small problems for the tests of this family.
#pragma once

#include <cmath>

#include "caucus/base/random.h"
#include "caucus/model/pl_regression.h"

namespace caucus::pl_regression::testing {

inline RowMatrix random_weights(std::size_t k, std::size_t p, double shape, RandomStream& stream) {
  RowMatrix lambda(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(p));
  for (Eigen::Index i = 0; i < lambda.size(); ++i) lambda.data()[i] = stream.gamma(shape);
  return lambda / lambda.sum();
}

// exp(x), exp(-x), offset of standard normal covariates.
inline RowMatrix random_features(std::size_t n, std::size_t d, RandomStream& stream) {
  RowMatrix w(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(2 * d + 1));
  for (Eigen::Index i = 0; i < w.rows(); ++i) {
    for (Eigen::Index j = 0; j < static_cast<Eigen::Index>(d); ++j) {
      const double x = stream.normal();
      w(i, j) = std::exp(x);
      w(i, j + static_cast<Eigen::Index>(d)) = std::exp(-x);
    }
    w(i, w.cols() - 1) = 1.0;
  }
  return w;
}

inline void draw_labels(RegressionData& data, const RowMatrix& lambda, RandomStream& stream) {
  data.outcome.resize(data.num_rows());
  for (std::size_t i = 0; i < data.num_rows(); ++i) {
    std::vector<double> strength(data.num_classes);
    for (std::size_t k = 0; k < data.num_classes; ++k)
      strength[k] = dot(data.features(i), lambda.data() + k * data.num_features(), data.num_features());
    data.outcome[i] = static_cast<std::uint32_t>(stream.categorical(strength));
  }
}

// Rankings of the first `length` places.
inline void draw_rankings(RegressionData& data, const RowMatrix& lambda, std::size_t length, RandomStream& stream) {
  data.ranking = true;
  data.outcome.clear();
  data.offsets = {0};
  for (std::size_t i = 0; i < data.num_rows(); ++i) {
    std::vector<double> strength(data.num_classes);
    for (std::size_t k = 0; k < data.num_classes; ++k)
      strength[k] = dot(data.features(i), lambda.data() + k * data.num_features(), data.num_features());
    for (std::size_t t = 0; t < length; ++t) {
      const std::size_t winner = stream.categorical(strength);
      data.outcome.push_back(static_cast<std::uint32_t>(winner));
      strength[winner] = 0.0;
    }
    data.offsets.push_back(data.outcome.size());
  }
}

inline RegressionData labelled_problem(std::size_t n, std::size_t d, std::size_t k, std::uint64_t seed) {
  RandomStream stream(seed);
  RegressionData data;
  data.num_classes = k;
  data.w = random_features(n, d, stream);
  draw_labels(data, random_weights(k, 2 * d + 1, 0.5, stream), stream);
  return data;
}

inline RegressionData ranking_problem(std::size_t n, std::size_t d, std::size_t k, std::size_t length, std::uint64_t seed) {
  RandomStream stream(seed);
  RegressionData data;
  data.num_classes = k;
  data.w = random_features(n, d, stream);
  draw_rankings(data, random_weights(k, 2 * d + 1, 0.5, stream), length, stream);
  return data;
}

}  // namespace caucus::pl_regression::testing
