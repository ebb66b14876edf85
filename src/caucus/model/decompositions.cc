#include "caucus/model/decompositions.h"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>

namespace caucus {

Cholesky::Cholesky(const Eigen::MatrixXd& matrix) : factor_(matrix) {}
bool Cholesky::is_positive_definite() const { return factor_.info() == Eigen::Success; }
double Cholesky::reciprocal_condition() const { return factor_.rcond(); }
Eigen::VectorXd Cholesky::solve(const Eigen::VectorXd& right) const { return factor_.solve(right); }
Eigen::MatrixXd Cholesky::inverse() const { return factor_.solve(Eigen::MatrixXd::Identity(factor_.rows(), factor_.cols())); }
Eigen::VectorXd Cholesky::times_lower(const Eigen::VectorXd& right) const { return factor_.matrixL() * right; }
Eigen::VectorXd Cholesky::solve_lower(const Eigen::VectorXd& right) const { return factor_.matrixL().solve(right); }
Eigen::VectorXd Cholesky::solve_upper(const Eigen::VectorXd& right) const { return factor_.matrixU().solve(right); }

Eigen::VectorXd solve_symmetric(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& right) { return matrix.ldlt().solve(right); }

Directions symmetric_eigenvectors(const Eigen::MatrixXd& matrix) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(matrix);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

Eigen::VectorXd tridiagonal_eigenvalues(const Eigen::VectorXd& diagonal, const Eigen::VectorXd& next) {
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, next, Eigen::EigenvaluesOnly);
  return solver.eigenvalues();
}

Directions left_singular_vectors(const Eigen::MatrixXd& matrix) {
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(matrix, Eigen::ComputeThinU);
  return {svd.singularValues(), svd.matrixU()};
}

Eigen::MatrixXd orthonormal_basis(const Eigen::MatrixXd& matrix) {
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(matrix);
  return qr.householderQ() * Eigen::MatrixXd::Identity(matrix.rows(), std::min(matrix.rows(), matrix.cols()));
}

LeastSquares least_squares(const Eigen::MatrixXd& design, const Eigen::MatrixXd& right) {
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(design);
  return {qr.rank(), qr.solve(right)};
}

Eigen::Index rank_of(const Eigen::MatrixXd& matrix) { return Eigen::ColPivHouseholderQR<Eigen::MatrixXd>(matrix).rank(); }

}  // namespace caucus
