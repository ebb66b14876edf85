#include "caucus/infer/mallows_mixture/uncertainty.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "caucus/base/error.h"
#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/data/weights.h"
#include "caucus/infer/stopping.h"
#include "caucus/infer/tasks.h"
#include "caucus/model/assignment.h"
#include "caucus/model/decompositions.h"
#include "caucus/model/kendall.h"
#include "caucus/model/stage.h"

namespace caucus::mallows_mixture {

namespace {
constexpr double most_draws = 1e7;  // ballots of a resample: a second each
}

namespace {

// Free parameters: weights of components that are neither empty nor all (the last such one is one minus the others), and
// dispersions inside their bounds.
struct FreeParameters {
  struct Dispersion {
    std::size_t k, j;
  };
  std::vector<std::size_t> live;
  std::vector<Dispersion> dispersions;

  explicit FreeParameters(const Parameters& p) {
    for (std::size_t k = 0; k < p.weight.size(); ++k)
      if (p.weight[k] > 1e-6) live.push_back(k);
    for (std::size_t k : live)
      for (std::size_t j = 0; j < p.theta[k].size(); ++j)
        if (p.theta[k][j] > 1e-6 && p.theta[k][j] < max_theta - 1.0) dispersions.push_back({k, j});
  }
  Eigen::Index num_weights() const { return static_cast<Eigen::Index>(live.size()) - 1; }
  Eigen::Index place(std::size_t f) const { return num_weights() + static_cast<Eigen::Index>(f); }
  Eigen::Index size() const { return place(dispersions.size()); }
};

// Observed information (Louis): of the complete data, less what is lost by not knowing the components.
Eigen::MatrixXd observed_information(const Engine& engine, const Parameters& p, const FreeParameters& free,
                                     std::span<const double> ranking_weights, int threads) {
  const std::size_t num_components = p.weight.size(), stages = p.theta[0].size(), count = engine.num_rankings();
  const Eigen::Index head = free.num_weights(), dimension = free.size();
  std::vector<double> joint(count * num_components);
  engine.log_joint(p, threads, joint);
  std::vector<std::vector<double>> score(num_components, std::vector<double>(count * stages)), information = score;
  for (std::size_t k : free.live) engine.derivatives(p, k, score[k], information[k]);
  return parallel_fold(
      Blocks(count), threads, [&] { return Eigen::MatrixXd(Eigen::MatrixXd::Zero(dimension, dimension)); },
      [&](Eigen::MatrixXd& total, std::size_t begin, std::size_t end) {
        Eigen::VectorXd mean(dimension), row(dimension);
        for (std::size_t i = begin; i < end; ++i) {
          const auto log_parts = std::span(joint).subspan(i * num_components, num_components);
          const double log_total = log_sum_exp(log_parts), weight = ranking_weights[i];
          mean.setZero();
          for (std::size_t l = 0; l < free.live.size(); ++l) {
            const std::size_t k = free.live[l];
            const double share = std::exp(log_parts[k] - log_total);
            row.setZero();
            // The weight's own second derivatives cancel against the square of its score.
            if (const auto at = static_cast<Eigen::Index>(l); at < head)
              row[at] = 1.0 / p.weight[k];
            else
              row.head(head).setConstant(-1.0 / p.weight[k]);
            for (std::size_t f = 0; f < free.dispersions.size(); ++f)
              if (free.dispersions[f].k == k) row[free.place(f)] = score[k][i * stages + free.dispersions[f].j];
            mean += share * row;
            Eigen::MatrixXd square = row * row.transpose();
            square.topLeftCorner(head, head).setZero();
            total -= weight * share * square;
            for (std::size_t f = 0; f < free.dispersions.size(); ++f)
              if (free.dispersions[f].k == k)
                total(free.place(f), free.place(f)) += weight * share * information[k][i * stages + free.dispersions[f].j];
          }
          total += weight * mean * mean.transpose();
        }
      },
      [](Eigen::MatrixXd& total, const Eigen::MatrixXd& part) { total += part; });
}

}  // namespace

bool affordable_errors(const Parameters& p, std::size_t num_rankings) {
  const FreeParameters free(p);
  const auto numbers = static_cast<double>(p.theta[0].size() * p.weight.size());
  return free.size() > 0 && free.size() <= 400 && static_cast<double>(num_rankings) * numbers <= 4e8;
}

std::vector<double> information_of(const Engine& engine, const Parameters& p, std::span<const double> ranking_weights,
                                   int threads) {
  const Eigen::MatrixXd information = observed_information(engine, p, FreeParameters(p), ranking_weights, threads);
  return {information.data(), information.data() + information.size()};
}

StandardErrors standard_errors(const Engine& engine, const Parameters& p, std::span<const double> ranking_weights, int threads) {
  if (!affordable_errors(p, engine.num_rankings())) return standard_errors(p, {});
  return standard_errors(p, information_of(engine, p, ranking_weights, threads));
}

StandardErrors standard_errors(const Parameters& p, std::span<const double> information) {
  StandardErrors result;
  const std::size_t num_components = p.weight.size(), stages = p.theta[0].size();
  result.weight.resize(num_components);
  result.theta.assign(num_components, std::vector<std::optional<double>>(stages));
  if (information.empty()) return result;
  const FreeParameters free(p);
  const Cholesky factor(Eigen::Map<const Eigen::MatrixXd>(information.data(), free.size(), free.size()));
  if (!factor.is_positive_definite()) return result;
  const Eigen::MatrixXd covariance = factor.inverse();
  if (!covariance.allFinite()) return result;
  result.available = true;
  const Eigen::Index head = free.num_weights();
  for (std::size_t l = 0; l < free.live.size() && head > 0; ++l) {
    const auto at = static_cast<Eigen::Index>(l);
    const double variance = at < head ? covariance(at, at) : covariance.topLeftCorner(head, head).sum();
    if (variance >= 0.0) result.weight[free.live[l]] = std::sqrt(variance);
  }
  for (std::size_t f = 0; f < free.dispersions.size(); ++f) {
    const double variance = covariance(free.place(f), free.place(f));
    if (variance >= 0.0) result.theta[free.dispersions[f].k][free.dispersions[f].j] = std::sqrt(variance);
  }
  return result;
}

Stability bootstrap(const RankingSet& rankings, std::size_t num_items, const Parameters& fitted, const EmOptions& options,
                    const MakeEngine& make_engine, int resamples, const Run& run) {
  const std::size_t count = rankings.size();
  // Cumulative weights: a resample draws as many ballots as there are. Weights that are no counts have no scale of their own.
  std::vector<double> cumulative(count);
  double total = 0.0;
  for (std::size_t i = 0; i < count; ++i) cumulative[i] = total += rankings.weights()[i];
  const double wanted = std::max(effective_size(rankings), 1.0);
  if (wanted > most_draws)
    throw DataError(
        fmt::format("a bootstrap would draw {:.3g} ballots each time, more than {:g}; leave it out, or divide the weights", wanted,
                    most_draws));
  const auto draws = static_cast<std::size_t>(std::llround(wanted));
  const auto draw = [&](RandomStream& stream, const Refit& refit) {
    std::vector<double> weights(count, 0.0);
    for (std::size_t d = 0; d < draws; ++d) {
      const auto place = std::upper_bound(cumulative.begin(), cumulative.end(), stream.uniform() * total) - cumulative.begin();
      weights[std::min(static_cast<std::size_t>(place), count - 1)] += total / static_cast<double>(draws);
    }
    const RankingSet resample = rankings.with_weights(std::move(weights));
    refit(*make_engine(resample));
  };
  return bootstrap(num_items, fitted, options, draw, resamples, run);
}

Stability bootstrap(std::size_t num_items, const Parameters& fitted, const EmOptions& options,
                    const std::function<void(RandomStream&, const Refit&)>& draw, int resamples, const Run& run) {
  const std::size_t num_components = fitted.weight.size(), n = num_items;
  EmOptions quick = options;
  quick.tolerance = std::max(options.tolerance, 1e-7);
  const auto body = [&](std::size_t b) -> std::optional<Parameters> {
    std::optional<Parameters> fit;
    if (should_stop(run)) return fit;
    RandomStream stream(run.seed, Purpose::bootstrap, b);
    draw(stream, [&](const Engine& engine) {
      StopReason why = StopReason::time_limit;
      EmResult end = run_em(engine, fitted, quick, 1, [&](int, double) { return should_stop(run) ? &why : nullptr; });
      if (!should_stop(run)) fit = std::move(end.parameters);  // one that was cut short would be biased towards the fit
    });
    return fit;
  };
  const auto fits =
      run_tasks<Parameters>(run.workers(), static_cast<std::size_t>(resamples), body, [](const Parameters&) { return true; });
  Stability result;
  result.pairs.assign(num_components, std::vector<double>(n * n, 0.0));
  result.unchanged.assign(num_components, 0.0);
  std::vector<std::vector<double>> weights(num_components), thetas(num_components);
  for (const std::optional<Parameters>& one : fits) {
    if (!one) continue;
    const Parameters& fit = *one;
    ++result.resamples;
    std::vector<double> cost(num_components * num_components);
    for (std::size_t k = 0; k < num_components; ++k)
      for (std::size_t l = 0; l < num_components; ++l)
        cost[k * num_components + l] =
            static_cast<double>(kendall_distance(fitted.center[k], fit.center[l])) + std::abs(fitted.weight[k] - fit.weight[l]);
    const std::vector<std::size_t> match = solve_assignment(cost, num_components);
    for (std::size_t k = 0; k < num_components; ++k) {
      const std::vector<ItemId>& center = fit.center[match[k]];
      result.unchanged[k] += center == fitted.center[k];
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i + 1; j < n; ++j) result.pairs[k][center[i] * n + center[j]] += 1.0;
      weights[k].push_back(fit.weight[match[k]]);
      thetas[k].push_back(fit.theta[match[k]][0]);
    }
  }
  if (result.resamples == 0) return result;
  const double share = 1.0 / result.resamples;
  const auto interval = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&](double q) {
      return values[static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
    };
    return std::pair{at(0.025), at(0.975)};
  };
  for (std::size_t k = 0; k < num_components; ++k) {
    for (double& value : result.pairs[k]) value *= share;
    result.unchanged[k] *= share;
    result.weight_interval.push_back(interval(weights[k]));
    if (fitted.theta[k].size() == 1) result.theta_interval.push_back(interval(thetas[k]));
  }
  return result;
}

}  // namespace caucus::mallows_mixture
