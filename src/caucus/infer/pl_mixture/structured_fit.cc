#include "caucus/infer/pl_mixture/structured_fit.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "caucus/infer/lbfgs.h"
#include "caucus/infer/pl_mixture/eigen_index.h"
#include "caucus/model/decompositions.h"

namespace caucus::pl_mixture {

StructuredFit maximise_structured(const StructuredObjective& structured, std::vector<double> start, int iterations,
                                  double tolerance, const Run& run) {
  StructuredFit fit;
  fit.variables = std::move(start);
  const Objective& objective = structured.objective();
  const std::size_t num = objective.num_components();
  const double total = std::max(1.0, objective.data().rankings.total_weight());
  const std::vector<double> metric(structured.size(), static_cast<double>(objective.num_items()) / (10.0 * total));
  bool stopped = false;
  const int limit = std::max(iterations, 100);
  const auto value = [&](const std::vector<double>& at, std::vector<double>& gradient) {
    // Far out nothing is learned, and exponentials must stay numbers.
    if (stopped || std::ranges::any_of(at, [](double one) { return !(std::abs(one) < 60.0); })) return -infinity;
    const double here = structured.evaluate(at, &gradient);
    stopped = run.report({"structure", ++fit.evaluations, limit, here}, fit.stop_reason) == Flow::stop;
    return here;
  };
  fit.objective = lbfgs_maximise(value, fit.variables, metric, limit,
                                 tolerance * std::max(1.0, std::abs(structured.evaluate(fit.variables, nullptr))));
  if (fit.evaluations >= limit) fit.stop_reason = StopReason::iteration_limit;
  std::vector<std::size_t> order(num);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::vector<double> weights = structured.unpack(fit.variables).weights;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  fit.variables = structured.permuted(fit.variables, order);
  structured.evaluate(fit.variables, nullptr, &fit.loglik);
  return fit;
}

Eigen::MatrixXd structured_information(const StructuredObjective& structured, const std::vector<double>& variables) {
  const std::size_t size = structured.size();
  Eigen::MatrixXd information = Eigen::MatrixXd::Zero(index(size), index(size));
  // Differences of the gradient over one step and over two, so that the third derivatives cancel: what is left is the fifth over
  // 3e13. Exponents bend the likelihood so much that one step alone leaves errors beyond 1e-6.
  constexpr double h = 1e-3;
  std::vector<double> high, low, moved = variables;
  for (std::size_t j = 0; j < size; ++j) {
    const auto difference = [&](double step, double factor) {
      moved[j] = variables[j] + step;
      structured.evaluate(moved, &high);
      moved[j] = variables[j] - step;
      structured.evaluate(moved, &low);
      moved[j] = variables[j];
      for (std::size_t i = 0; i < size; ++i) information(index(i), index(j)) += factor * (low[i] - high[i]);
    };
    difference(h, 8.0 / (12.0 * h));
    difference(2.0 * h, -1.0 / (12.0 * h));
  }
  return 0.5 * (information + information.transpose());
}

namespace {

// Errors of everything from the inverse of the information; directions that the likelihood does not see are left out of it.
void add_errors(const StructuredObjective& structured, const Structure& structure, const std::vector<double>& variables,
                double one_ballot, Structured& result) {
  const std::size_t num = structured.objective().num_components(), n = structured.objective().num_items();
  const std::size_t q = structure.scale.size(), per_group = structured.per_group();
  auto [inverse, vectors] = symmetric_eigenvectors(structured_information(structured, variables) / one_ballot);
  const double largest = inverse.maxCoeff();
  for (double& one : inverse) one = one > 1e-7 * largest ? 1.0 / one : 0.0;
  const Eigen::MatrixXd covariance = vectors * inverse.asDiagonal() * vectors.transpose();
  const auto at = [&](std::size_t j) { return std::sqrt(std::max(0.0, covariance(index(j), index(j)))); };
  for (std::size_t k = 0; k < num; ++k) {
    if (q > 0) {
      const Eigen::Map<const Eigen::VectorXd> scale(structure.scale.data(), index(q));
      const Eigen::MatrixXd own = covariance.block(index(k * per_group), index(k * per_group), index(q), index(q));
      result.item_covariances.push_back(scale.cwiseInverse().asDiagonal() * own * scale.cwiseInverse().asDiagonal());
    }
    for (std::size_t j = 0; j < q; ++j) result.coefficient_errors[k * q + j] = at(k * per_group + j) / structure.scale[j];
    for (std::size_t i = 0; i < n; ++i) {
      Eigen::VectorXd direction = Eigen::VectorXd::Zero(index(structured.size()));
      for (std::size_t other = 0; other < n; ++other) {
        const double by = (other == i ? 1.0 : 0.0) - 1.0 / static_cast<double>(n);
        for (std::size_t j = 0; j < q; ++j) direction[index(k * per_group + j)] += by * structure.x(index(other), index(j));
        if (q == 0) direction[index(k * n + other)] += by;
        if (q > 0 && structure.options.free_utilities) direction[index(k * per_group + q + other)] += by;
      }
      result.utility_errors[k * n + i] = std::sqrt(std::max(0.0, direction.dot(covariance * direction)));
    }
  }
  const std::size_t first = structured.first_weight(), weights = structured.first_tie() - first;
  if (weights > 0) result.weight_covariance = covariance.block(index(first), index(first), index(weights), index(weights));
  if (weights > 0 && structured.objective().membership() == nullptr) {
    const Eigen::Map<const Eigen::VectorXd> b(result.parameters.weights.data(), index(num));
    const Eigen::MatrixXd map = Eigen::MatrixXd(b.asDiagonal()) - b * b.transpose();
    const Eigen::MatrixXd own = map * result.weight_covariance * map.transpose();
    for (std::size_t k = 0; k < num; ++k) result.weight_errors.push_back(std::sqrt(std::max(0.0, own(index(k), index(k)))));
  }
  for (std::size_t j = structured.first_tie(); j < structured.first_exponent(); ++j) result.log_tie_errors.push_back(at(j));
  for (std::size_t j = 0; j < result.exponents.size(); ++j)
    result.exponent_errors[j] = result.exponents[j] * at(structured.first_exponent() + j);
}

}  // namespace

Structured describe_structured(const StructuredObjective& structured, const Structure& structure,
                               const std::vector<double>& variables, bool standard_errors, double one_ballot) {
  const std::size_t num = structured.objective().num_components(), n = structured.objective().num_items();
  const std::size_t q = structure.scale.size();
  Structured result;
  result.parameters = structured.unpack(variables, &result.exponents);
  result.num_stages = structure.num_stages;
  result.items = structure.items;
  for (std::size_t k = 0; k < num; ++k)
    for (std::size_t j = 0; j < q; ++j)
      result.coefficients.push_back(variables[k * structured.per_group() + j] / structure.scale[j]);
  result.num_parameters = static_cast<std::int64_t>(structured.num_parameters());
  const double none = std::numeric_limits<double>::quiet_NaN();
  result.coefficient_errors.assign(result.coefficients.size(), none);
  result.exponent_errors.assign(result.exponents.size(), none);
  result.utility_errors.assign(num * n, none);
  constexpr std::size_t most_variables = 600;
  if (standard_errors && structured.size() <= most_variables) add_errors(structured, structure, variables, one_ballot, result);
  result.parameters.center_all();
  return result;
}

}  // namespace caucus::pl_mixture
