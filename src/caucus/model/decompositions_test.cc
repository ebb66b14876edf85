#include "caucus/model/decompositions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "caucus/base/random.h"

namespace caucus {
namespace {

Eigen::MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  RandomStream random(seed, Purpose::svd, 0);
  Eigen::MatrixXd result(rows, columns);
  for (double& value : result.reshaped()) value = random.normal();
  return result;
}

const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(5, 5);

TEST(Cholesky, SolvesAndReadsTheLowerHalf) {
  const Eigen::MatrixXd root = random_matrix(5, 7, 1), whole = root * root.transpose();
  const Eigen::MatrixXd half = whole.triangularView<Eigen::Lower>();
  const Cholesky cholesky(half);
  ASSERT_TRUE(cholesky.is_positive_definite());
  EXPECT_GT(cholesky.reciprocal_condition(), 1e-6);
  EXPECT_LT((whole * cholesky.inverse() - identity).norm(), 1e-10);
  const Eigen::VectorXd right = random_matrix(5, 1, 2);
  EXPECT_LT((whole * cholesky.solve(right) - right).norm(), 1e-10);
  EXPECT_LT((cholesky.times_lower(cholesky.solve_lower(right)) - right).norm(), 1e-12);
  EXPECT_LT((cholesky.solve_upper(cholesky.solve_lower(right)) - cholesky.solve(right)).norm(), 1e-12);
}

TEST(Cholesky, SaysWhereAMatrixIsNotPositiveDefinite) { EXPECT_FALSE(Cholesky(-identity).is_positive_definite()); }

TEST(Decompositions, SymmetricMatricesThatAreNotPositiveDefinite) {
  const Eigen::MatrixXd square = random_matrix(5, 5, 3), matrix = square + square.transpose();
  const Eigen::VectorXd right = random_matrix(5, 1, 4);
  EXPECT_LT((matrix * solve_symmetric(matrix, right) - right).norm(), 1e-10);
  const auto [values, vectors] = symmetric_eigenvectors(matrix);
  EXPECT_LT((matrix * vectors - vectors * values.asDiagonal()).norm(), 1e-12);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  EXPECT_LT(values[0], 0.0);
}

TEST(Decompositions, SingularVectors) {
  const Eigen::MatrixXd matrix = random_matrix(4, 9, 5);
  const auto [values, vectors] = left_singular_vectors(matrix);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end(), std::greater<>()));
  const Eigen::MatrixXd squares = matrix * matrix.transpose();
  EXPECT_LT((squares * vectors - vectors * values.cwiseAbs2().asDiagonal()).norm(), 1e-11);
}

TEST(Decompositions, BasesAndLeastSquares) {
  const Eigen::MatrixXd design = random_matrix(9, 3, 6), right = random_matrix(9, 2, 7), basis = orthonormal_basis(design);
  EXPECT_LT((basis.transpose() * basis - identity.topLeftCorner(3, 3)).norm(), 1e-13);
  EXPECT_LT((basis * (basis.transpose() * design) - design).norm(), 1e-12);
  const LeastSquares found = least_squares(design, right);
  EXPECT_EQ(found.rank, 3);
  EXPECT_LT((design.transpose() * (design * found.solution - right)).norm(), 1e-12);
  Eigen::MatrixXd repeated = design;
  repeated.col(2) = repeated.col(0);
  EXPECT_EQ(rank_of(repeated), 2);
}

}  // namespace
}  // namespace caucus
