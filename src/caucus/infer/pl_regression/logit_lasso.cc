#include "caucus/infer/pl_regression/logit_lasso.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/model/decompositions.h"

namespace caucus::pl_regression {

double sample_inverse_gaussian(double mean, double shape, RandomStream& stream) {
  const double normal = stream.normal(), uniform = stream.uniform();
  const double w = mean * normal * normal / (2.0 * shape);
  const double ratio = 1.0 / (1.0 + w + std::sqrt(w * (w + 2.0)));  // the smaller root over the mean
  return uniform * (1.0 + ratio) <= 1.0 ? mean * ratio : mean / ratio;
}

namespace {

// Does U lie below the alternating series? Holmes & Held (2006), appendix A4, for lambda > 4/3 and below.
bool accept_right(double uniform, double lambda) {
  const double x = std::exp(-0.5 * lambda);
  double z = 1.0;
  for (int j = 1;; j += 2) {
    const double odd = (j + 1.0) * (j + 1.0), even = (j + 2.0) * (j + 2.0);
    z -= odd * std::pow(x, odd - 1.0);
    if (z > uniform) return true;
    z += even * std::pow(x, even - 1.0);
    if (z < uniform) return false;
  }
}

bool accept_left(double uniform, double lambda) {
  constexpr double pi2 = std::numbers::pi * std::numbers::pi;
  const double h =
      0.5 * std::numbers::ln2 + 2.5 * std::log(std::numbers::pi) - 2.5 * std::log(lambda) - pi2 / (2.0 * lambda) + 0.5 * lambda;
  const double log_uniform = std::log(uniform), x = std::exp(-pi2 / (2.0 * lambda)), factor = lambda / pi2;
  double z = 1.0;
  for (int j = 1;; j += 2) {
    const double odd = static_cast<double>(j) * j, even = (j + 2.0) * (j + 2.0);
    z -= factor * std::pow(x, odd - 1.0);
    if (z > 0.0 && h + std::log(z) > log_uniform) return true;
    z += even * std::pow(x, even - 1.0);
    if (!(z > 0.0) || h + std::log(z) < log_uniform) return false;
  }
}

}  // namespace

double sample_logistic_scale(double r, RandomStream& stream) {
  if (!std::isfinite(r)) throw DataError("logit-lasso: a coefficient is no longer a number; scale the covariates");
  r = std::max(std::abs(r), 1e-150);
  // Nearly every proposal is taken (Holmes & Held 2006): this many refusals in a row do not happen to numbers.
  for (int attempt = 0; attempt < 100'000; ++attempt) {
    // GIG(1/2, 1, r^2): the reciprocal of an inverse Gaussian of mean 1 / r and shape 1, times 1.
    const double lambda = 1.0 / sample_inverse_gaussian(1.0 / r, 1.0, stream);
    const double uniform = stream.uniform_open();
    if (lambda > 4.0 / 3.0 ? accept_right(uniform, lambda) : accept_left(uniform, lambda)) return lambda;
  }
  throw DataError("logit-lasso: no scale could be drawn; scale the covariates");
}

double sample_truncated_logistic(double location, bool above, RandomStream& stream) {
  // By symmetry below 0 is minus above 0. The survival function at z is uniform below its value at 0, taken in logs.
  const double m = above ? location : -location;
  const double softplus = m > 0.0 ? std::log1p(std::exp(-m)) : -m + std::log1p(std::exp(m));  // log(1 + e^-m)
  const double log_survival = std::log(stream.uniform_open()) - softplus;
  const double z = m + log1mexp(-log_survival) - log_survival;
  return above ? std::max(z, 0.0) : -std::max(z, 0.0);
}

LogitChain::LogitChain(const LogitData& data, const LogitOptions& options, RandomStream stream)
    : data_(data), options_(options), stream_(stream) {
  const auto k = static_cast<Eigen::Index>(data.num_classes) - 1, p = data.x.cols();
  beta_.resize(k, p);
  for (Eigen::Index i = 0; i < beta_.size(); ++i) beta_.data()[i] = 0.1 * stream_.normal();
  tau_ = RowMatrix::Constant(k, p, 1.0);
  tau_.col(p - 1).setConstant(options.intercept_variance);
  theta_ = stream_.gamma(2.0);
  refresh();
}

void LogitChain::set_state(const RowMatrix& beta, const RowMatrix& tau, double theta) {
  beta_ = beta;
  tau_ = tau;
  theta_ = theta;
  refresh();
}

void LogitChain::refresh() {
  eta_ = Eigen::MatrixXd::Zero(data_.x.rows(), beta_.rows() + 1);
  eta_.leftCols(beta_.rows()) = data_.x * beta_.transpose();
}

void LogitChain::sweep(bool) {
  const Eigen::Index n = data_.x.rows(), p = data_.x.cols(), classes = beta_.rows() + 1;
  Eigen::VectorXd target(n), scale(n);
  for (Eigen::Index k = 0; k < beta_.rows(); ++k) {
    for (Eigen::Index i = 0; i < n; ++i) {
      // The other classes enter as an offset, in the location of z and in the regression of beta alike.
      double largest = -infinity, sum = 0.0;
      for (Eigen::Index l = 0; l < classes; ++l)
        if (l != k) largest = std::max(largest, eta_(i, l));
      for (Eigen::Index l = 0; l < classes; ++l)
        if (l != k) sum += std::exp(eta_(i, l) - largest);
      const double offset = largest + std::log(sum), location = eta_(i, k) - offset;
      const double z =
          sample_truncated_logistic(location, data_.labels[static_cast<std::size_t>(i)] == static_cast<std::uint32_t>(k), stream_);
      scale[i] = sample_logistic_scale(z - location, stream_);
      target[i] = z + offset;
    }
    draw_coefficients(k, target, scale);
    eta_.col(k).noalias() = data_.x * beta_.row(k).transpose();
    for (Eigen::Index j = 0; j + 1 < p; ++j) {
      const double size = std::max(std::abs(beta_(k, j)), 1e-100);
      tau_(k, j) = 1.0 / sample_inverse_gaussian(std::sqrt(theta_) / size, theta_, stream_);
    }
  }
  const auto penalised = tau_.leftCols(p - 1);
  theta_ = stream_.gamma(options_.shape + static_cast<double>(penalised.size())) / (options_.rate + 0.5 * penalised.sum());
  loglik_ = 0.0;
  for (Eigen::Index i = 0; i < n; ++i) {
    const double largest = eta_.row(i).maxCoeff();
    loglik_ += eta_(i, data_.labels[static_cast<std::size_t>(i)]) - largest - std::log((eta_.row(i).array() - largest).exp().sum());
  }
}

// N(V X'L^-1 target, V), V = (X'L^-1 X + D^-1)^-1, D = diag(tau_k).
void LogitChain::draw_coefficients(Eigen::Index k, const Eigen::VectorXd& target, const Eigen::VectorXd& scale) {
  const Eigen::Index n = data_.x.rows(), p = data_.x.cols();
  const Eigen::VectorXd root = scale.cwiseInverse().cwiseSqrt();
  const Eigen::MatrixXd phi = root.asDiagonal() * data_.x;
  const Eigen::VectorXd alpha = root.cwiseProduct(target), prior = tau_.row(k).transpose();
  if (n >= p) {
    Eigen::MatrixXd precision = Eigen::MatrixXd::Zero(p, p);
    precision.selfadjointView<Eigen::Lower>().rankUpdate(phi.transpose());
    precision.diagonal() += prior.cwiseInverse();
    const Cholesky factor(precision);
    Eigen::VectorXd noise(p);
    for (Eigen::Index j = 0; j < p; ++j) noise[j] = stream_.normal();
    beta_.row(k) = factor.solve_upper(factor.solve_lower(phi.transpose() * alpha) + noise).transpose();
    return;
  }
  // Bhattacharya, Chakraborty & Mallick (2016): O(n^2 p).
  Eigen::VectorXd u(p), v(n);
  const Eigen::VectorXd deviation = prior.cwiseSqrt();
  for (Eigen::Index j = 0; j < p; ++j) u[j] = deviation[j] * stream_.normal();
  for (Eigen::Index i = 0; i < n; ++i) v[i] = stream_.normal();
  v.noalias() += phi * u;
  const Eigen::MatrixXd scaled = phi * deviation.asDiagonal();
  Eigen::MatrixXd gram = Eigen::MatrixXd::Identity(n, n);
  gram.selfadjointView<Eigen::Lower>().rankUpdate(scaled);
  const Eigen::VectorXd w = Cholesky(gram).solve(alpha - v);
  beta_.row(k) = (u + deviation.cwiseProduct(scaled.transpose() * w)).transpose();
}

void LogitChain::save(Saver& state) const {
  const auto all = [](const auto& matrix) { return std::span(matrix.data(), static_cast<std::size_t>(matrix.size())); };
  state(all(beta_), all(tau_), theta_, all(eta_), loglik_, stream_.drawn());
}

void LogitChain::load(Loader& state) {
  const auto all = [](auto& matrix) { return std::span(matrix.data(), static_cast<std::size_t>(matrix.size())); };
  std::uint64_t drawn = 0;
  state(all(beta_), all(tau_), theta_, all(eta_), loglik_, drawn);
  stream_.seek(drawn);
}

RowMatrix logit_probabilities(const Eigen::MatrixXd& x, const RowMatrix& beta) {
  RowMatrix result = RowMatrix::Zero(x.rows(), beta.rows() + 1);
  result.leftCols(beta.rows()) = x * beta.transpose();
  for (Eigen::Index i = 0; i < result.rows(); ++i) {
    const double largest = result.row(i).maxCoeff();
    result.row(i) = (result.row(i).array() - largest).exp();
    result.row(i) /= result.row(i).sum();
  }
  return result;
}

}  // namespace caucus::pl_regression
