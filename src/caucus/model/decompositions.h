// Decompositions of dense matrices, written out once. Eigen writes a decomposition and its products anew in every source that names
// one, which had been a third of the time that compiling infer/ took; here is the only place that names them.
#pragma once

#include <Eigen/Cholesky>

namespace caucus {

// A = L L' of a symmetric matrix, of which the lower half is read.
class Cholesky {
 public:
  explicit Cholesky(const Eigen::MatrixXd& matrix);
  bool is_positive_definite() const;
  double reciprocal_condition() const;
  Eigen::VectorXd solve(const Eigen::VectorXd& right) const;  // A^-1 right, not finite where A is not positive definite
  Eigen::MatrixXd inverse() const;
  Eigen::VectorXd times_lower(const Eigen::VectorXd& right) const;  // L right: of covariance A where right is white noise
  Eigen::VectorXd solve_lower(const Eigen::VectorXd& right) const;  // L^-1 right
  Eigen::VectorXd solve_upper(const Eigen::VectorXd& right) const;  // L'^-1 right: of precision A where right is white noise

 private:
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

// A^-1 right by A = P' L D L' P: of a symmetric matrix that may be next to singular.
Eigen::VectorXd solve_symmetric(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& right);

struct Directions {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;  // one column a value
};

Directions symmetric_eigenvectors(const Eigen::MatrixXd& matrix);  // smallest value first
// Of the symmetric matrix with this diagonal and the numbers next to it.
Eigen::VectorXd tridiagonal_eigenvalues(const Eigen::VectorXd& diagonal, const Eigen::VectorXd& next);  // smallest first
Directions left_singular_vectors(const Eigen::MatrixXd& matrix);                                        // largest value first

// An orthonormal basis of the columns, of which there are to be no more than rows.
Eigen::MatrixXd orthonormal_basis(const Eigen::MatrixXd& matrix);

// argmin ||design x - right|| by Householder reflections with pivots, and the rank of the design.
struct LeastSquares {
  Eigen::Index rank = 0;
  Eigen::MatrixXd solution;  // one column a column of right
};
LeastSquares least_squares(const Eigen::MatrixXd& design, const Eigen::MatrixXd& right);
Eigen::Index rank_of(const Eigen::MatrixXd& matrix);

}  // namespace caucus
