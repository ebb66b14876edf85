// The updates of the multiplicative mixture: weights, dispersions, the CCCP majoriser and stochastic gradients.
#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/infer/m4/fit.h"
#include "caucus/model/decompositions.h"
#include "caucus/model/kendall.h"
#include "caucus/model/pair_matrix.h"
#include "caucus/model/stage.h"

namespace caucus::m4 {

namespace {

constexpr double least_theta = 1e-8;

struct Codes {
  std::size_t n;
  std::vector<std::vector<std::uint32_t>> of;  // per component, n per ranking
  Codes(const RankingSet& rankings, const Components& components) : n(components.num_items()) {
    for (const auto& center : components.center) of.push_back(stage_codes(rankings, center));
  }
  double operator()(std::size_t m, std::size_t i, std::size_t j) const { return static_cast<double>(of[m][i * n + j]); }
  double energy(const Components& components, std::size_t m, std::size_t i) const {
    double total = 0.0;
    for (std::size_t j = 0; j + 1 < n; ++j) total += components.theta[m][j] * static_cast<double>(of[m][i * n + j]);
    return total;
  }
};

// Everything about one pair of components that no ballot changes.
class PairProblem {
 public:
  PairProblem(const Components& components, std::size_t a, std::size_t b)
      : components_(components), a_(a), b_(b), n_(components.num_items()) {
    for (std::size_t g = 0; g <= cells; ++g) {
      const double share = static_cast<double>(g) / cells;
      slope_.push_back(slope(share));
    }
  }
  double log_c(double share) const {
    return paper_log_normalizer(components_, {static_cast<std::uint16_t>(a_), static_cast<std::uint16_t>(b_), share});
  }
  // Minimises share A_a + (1 - share) A_b + log c(share): convex, so the root of A_a - A_b = slope(share), which falls.
  double best_share(double difference) const {
    if (difference >= slope_.front()) return 0.0;
    if (difference <= slope_.back()) return 1.0;
    const auto below = std::partition_point(slope_.begin(), slope_.end(), [&](double value) { return value > difference; });
    const auto cell = static_cast<std::size_t>(below - slope_.begin());
    double low = static_cast<double>(cell - 1) / cells, high = static_cast<double>(cell) / cells;
    double low_value = slope_[cell - 1] - difference, high_value = slope_[cell] - difference;
    double share = 0.5 * (low + high);
    for (int step = 0; step < 4; ++step) {
      share = low + (high - low) * low_value / (low_value - high_value);
      const double value = slope(share) - difference;
      if (std::abs(value) < 1e-13 || high - low < 1e-12) break;
      if (value > 0.0)
        low = share, low_value = value;
      else
        high = share, high_value = value;
    }
    return std::clamp(share, 0.0, 1.0);
  }

 private:
  static constexpr std::size_t cells = 64;
  double slope(double share) const {
    double total = 0.0;
    for (std::size_t j = 0; j + 1 < n_; ++j) {
      const double a = components_.theta[a_][j], b = components_.theta[b_][j];
      total += (a - b) * stage_mean(share * a + (1.0 - share) * b, n_ - j);
    }
    return total;
  }
  const Components& components_;
  std::size_t a_, b_, n_;
  std::vector<double> slope_;
};

// Newton steps with projection on x >= floor and backtracking. evaluate(x, gradient, hessian) returns the value.
template <class Evaluate>
void projected_newton(Eigen::VectorXd& x, double floor, int steps, Evaluate&& evaluate) {
  const Eigen::Index size = x.size();
  Eigen::VectorXd gradient(size);
  Eigen::MatrixXd hessian(size, size);
  double value = evaluate(x, &gradient, &hessian);
  for (int step = 0; step < steps; ++step) {
    std::vector<Eigen::Index> free;
    for (Eigen::Index m = 0; m < size; ++m)
      if (x[m] > floor || gradient[m] < 0.0) free.push_back(m);
    if (free.empty()) return;
    const auto count = static_cast<Eigen::Index>(free.size());
    Eigen::MatrixXd h(count, count);
    Eigen::VectorXd g(count);
    for (Eigen::Index r = 0; r < count; ++r) {
      g[r] = gradient[free[static_cast<std::size_t>(r)]];
      for (Eigen::Index c = 0; c < count; ++c)
        h(r, c) = hessian(free[static_cast<std::size_t>(r)], free[static_cast<std::size_t>(c)]);
      h(r, r) += 1e-9 * (1.0 + h(r, r));
    }
    const Eigen::VectorXd direction = solve_symmetric(h, g);
    bool moved = false;
    for (double length = 1.0; length > 1e-6; length *= 0.5) {
      Eigen::VectorXd trial = x;
      for (Eigen::Index r = 0; r < count; ++r) {
        double& entry = trial[free[static_cast<std::size_t>(r)]];
        entry = std::clamp(entry - length * direction[r], floor, max_theta);
      }
      const double trial_value = evaluate(trial, nullptr, nullptr);
      if (trial_value < value) {
        moved = value - trial_value > 1e-13 * (1.0 + std::abs(value));
        x = trial;
        break;
      }
    }
    if (!moved) return;
    value = evaluate(x, &gradient, &hessian);
  }
}

// theta_j of all components for one stage: sum_k w_k [ sum_m z_km x_m v_km + link(S_k) - c_k S_k ], S_k = sum_m z_km x_m.
// Link(S) -> value, first and second derivative.
template <class Value, class Link>
void solve_stage(const RankingSet& rankings, State& state, std::size_t j, double floor, int steps, std::span<const double> c,
                 Value&& v, Link&& link) {
  const std::size_t num_components = state.components.size();
  Eigen::VectorXd x(static_cast<Eigen::Index>(num_components));
  for (std::size_t m = 0; m < num_components; ++m) x[static_cast<Eigen::Index>(m)] = std::max(state.components.theta[m][j], floor);
  projected_newton(x, floor, steps, [&](const Eigen::VectorXd& at, Eigen::VectorXd* gradient, Eigen::MatrixXd* hessian) {
    if (gradient != nullptr) gradient->setZero(), hessian->setZero();
    double total = 0.0;
    for (std::size_t k = 0; k < rankings.size(); ++k) {
      const Weights& z = state.z[k];
      const double weight = rankings.weights()[k], za = z.share, zb = 1.0 - z.share;
      const auto a = static_cast<Eigen::Index>(z.first), b = static_cast<Eigen::Index>(z.second);
      const double va = v(z.first, k), vb = v(z.second, k), sum_at = za * at[a] + zb * at[b], ck = c.empty() ? 0.0 : c[k];
      double value, first, second;
      link(sum_at, gradient != nullptr, value, first, second);
      total += weight * (za * at[a] * va + zb * at[b] * vb + value - ck * sum_at);
      if (gradient == nullptr) continue;
      (*gradient)[a] += weight * za * (va + first - ck);
      (*gradient)[b] += weight * zb * (vb + first - ck);
      (*hessian)(a, a) += weight * za * za * second;
      (*hessian)(b, b) += weight * zb * zb * second;
      if (a != b) {
        (*hessian)(a, b) += weight * za * zb * second;
        (*hessian)(b, a) += weight * za * zb * second;
      } else {
        (*hessian)(a, a) += 2.0 * weight * za * zb * second;
      }
    }
    return total;
  });
  for (std::size_t m = 0; m < num_components; ++m) state.components.theta[m][j] = x[static_cast<Eigen::Index>(m)];
}

// c_kj of (16).
double linear_term(double sum, double m) { return -m / std::expm1(m * std::max(sum, 1e-12)); }

}  // namespace

std::vector<std::uint32_t> stage_codes(const RankingSet& rankings, std::span<const ItemId> center) {
  const std::size_t n = center.size();
  const auto position = inverse_order(center);
  std::vector<std::uint32_t> codes(rankings.size() * n);
  for (std::size_t i = 0; i < rankings.size(); ++i) code_v(rankings[i].items(), position, std::span(codes).subspan(i * n, n));
  return codes;
}

double paper_objective(const RankingSet& rankings, const State& state) {
  const Codes codes(rankings, state.components);
  double total = 0.0;
  for (std::size_t k = 0; k < rankings.size(); ++k) {
    const Weights& z = state.z[k];
    total += rankings.weights()[k] *
             (z.share * codes.energy(state.components, z.first, k) + (1.0 - z.share) * codes.energy(state.components, z.second, k) +
              paper_log_normalizer(state.components, z));
  }
  return total;
}

void solve_weights(const RankingSet& rankings, State& state) {
  const Codes codes(rankings, state.components);
  const std::size_t num_components = state.components.size();
  if (num_components == 1) return;
  std::vector<double> least(rankings.size(), infinity);
  std::vector<std::vector<double>> energy(num_components, std::vector<double>(rankings.size()));
  for (std::size_t m = 0; m < num_components; ++m)
    for (std::size_t k = 0; k < rankings.size(); ++k) energy[m][k] = codes.energy(state.components, m, k);
  for (const auto& [a, b] : all_pairs(num_components)) {
    const PairProblem problem(state.components, a, b);
    for (std::size_t k = 0; k < rankings.size(); ++k) {
      const double share = problem.best_share(energy[a][k] - energy[b][k]);
      const double value = share * energy[a][k] + (1.0 - share) * energy[b][k] + problem.log_c(share);
      if (value < least[k]) {
        least[k] = value;
        state.z[k] = {static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b), share};
      }
    }
  }
}

void solve_weights_exact(const RankingSet& rankings, const NormalizerTable& table, State& state) {
  const Codes codes(rankings, state.components);
  const auto pairs = all_pairs(state.components.size());
  for (std::size_t k = 0; k < rankings.size(); ++k) {
    double least = infinity;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const double a = codes.energy(state.components, pairs[p].first, k), b = codes.energy(state.components, pairs[p].second, k);
      for (std::size_t g = 0; g <= NormalizerTable::cells; ++g) {
        const double share = static_cast<double>(g) / static_cast<double>(NormalizerTable::cells);
        const double value = share * a + (1.0 - share) * b + table.log_c[p][g];
        if (value < least) {
          least = value;
          state.z[k] = {static_cast<std::uint16_t>(pairs[p].first), static_cast<std::uint16_t>(pairs[p].second), share};
        }
      }
    }
  }
}

void solve_dispersions(const RankingSet& rankings, State& state, const Stop& stop) {
  const Codes codes(rankings, state.components);
  const std::size_t n = state.components.num_items();
  for (std::size_t j = 0; j + 1 < n && !(stop && stop()); ++j)
    solve_stage(
        rankings, state, j, 0.0, 4, {}, [&](std::size_t m, std::size_t k) { return codes(m, k, j); },
        [&](double sum, bool derivatives, double& value, double& first, double& second) {
          value = log_stage_normalizer(sum, n - j);
          if (derivatives) first = -stage_mean(sum, n - j), second = stage_variance(sum, n - j);
        });
}

void cccp_sweep(const RankingSet& rankings, State& state, const Stop& stop) {
  const Codes codes(rankings, state.components);
  const std::size_t n = state.components.num_items(), count = rankings.size();
  for (auto& theta : state.components.theta)
    for (double& value : theta) value = std::max(value, least_theta);
  const auto sum_of = [&](std::size_t k, std::size_t j) {
    const Weights& z = state.z[k];
    return z.share * state.components.theta[z.first][j] + (1.0 - z.share) * state.components.theta[z.second][j];
  };
  std::vector<double> c(count * n, 0.0);
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t j = 0; j + 1 < n; ++j) c[k * n + j] = linear_term(sum_of(k, j), static_cast<double>(n - j));
  // (17): weights of each ballot on its pair. The derivative by the share rises.
  for (std::size_t k = 0; k < count && state.components.size() > 1 && !(stop && stop()); ++k) {
    Weights& z = state.z[k];
    const auto& a = state.components.theta[z.first];
    const auto& b = state.components.theta[z.second];
    const auto derivative = [&](double share) {
      double total = 0.0;
      for (std::size_t j = 0; j + 1 < n; ++j) {
        const double sum = share * a[j] + (1.0 - share) * b[j];
        total +=
            a[j] * codes(z.first, k, j) - b[j] * codes(z.second, k, j) - (c[k * n + j] + 1.0 / std::expm1(sum)) * (a[j] - b[j]);
      }
      return total;
    };
    if (derivative(0.0) >= 0.0) {
      z.share = 0.0;
    } else if (derivative(1.0) <= 0.0) {
      z.share = 1.0;
    } else {
      std::uintmax_t most_calls = 60;
      const auto [low, high] = boost::math::tools::toms748_solve(derivative, 0.0, 1.0, derivative(0.0), derivative(1.0),
                                                                 boost::math::tools::eps_tolerance<double>(45), most_calls);
      z.share = 0.5 * (low + high);
    }
  }
  std::vector<double> stage_c(count);
  for (std::size_t j = 0; j + 1 < n && !(stop && stop()); ++j) {
    for (std::size_t k = 0; k < count; ++k) stage_c[k] = c[k * n + j];
    solve_stage(
        rankings, state, j, least_theta, 4, stage_c, [&](std::size_t m, std::size_t k) { return codes(m, k, j); },
        [](double sum, bool derivatives, double& value, double& first, double& second) {
          value = -log1mexp(sum);
          if (!derivatives) return;
          const double e = std::expm1(sum);
          first = -1.0 / e;
          second = (e + 1.0) / (e * e);
        });
  }
}

void sgd_sweep(const RankingSet& rankings, State& state, double step, double decay, int sweep, RandomStream& stream,
               const Stop& stop) {
  const Codes codes(rankings, state.components);
  const std::size_t n = state.components.num_items(), count = rankings.size();
  const double rate = step * std::pow(static_cast<double>(sweep), -decay);
  const auto sum_of = [&](const Weights& z, std::size_t j) {
    return z.share * state.components.theta[z.first][j] + (1.0 - z.share) * state.components.theta[z.second][j];
  };
  std::vector<std::size_t> order(count);
  for (std::size_t k = 0; k < count; ++k) order[k] = k;
  stream.shuffle(std::span<std::size_t>(order));
  std::vector<double> c(count * n, 0.0);
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t j = 0; j + 1 < n; ++j) c[k * n + j] = linear_term(sum_of(state.z[k], j), static_cast<double>(n - j));
  for (std::size_t k : order) {
    if (state.components.size() == 1 || (stop && stop())) break;
    Weights& z = state.z[k];
    for (std::size_t j = 0; j + 1 < n; ++j) {
      // (18), (19) with the term of (17) that (19) leaves out.
      const double slope = 1.0 / std::expm1(std::max(sum_of(z, j), least_theta)) + c[k * n + j];
      const double first = state.components.theta[z.first][j] * (codes(z.first, k, j) - slope);
      const double second = state.components.theta[z.second][j] * (codes(z.second, k, j) - slope);
      // Projection of (share - rate first, 1 - share - rate second) on the simplex.
      z.share = std::clamp(z.share - 0.5 * rate * (first - second), 0.0, 1.0);
    }
  }
  for (std::size_t j = 0; j + 1 < n && !(stop && stop()); ++j)
    for (std::size_t k : order) {
      // (20), (21), likewise. A ballot that stands for several takes one longer step.
      const Weights& z = state.z[k];
      const double slope = 1.0 / std::expm1(std::max(sum_of(z, j), least_theta)) + c[k * n + j];
      const double length = rate * std::min(rankings.weights()[k], 10.0);
      const auto move = [&](std::size_t m, double share) {
        double& theta = state.components.theta[m][j];
        theta = std::clamp(theta - length * share * (codes(m, k, j) - slope), least_theta, max_theta);
      };
      move(z.first, z.share);
      if (z.first != z.second) move(z.second, 1.0 - z.share);
    }
}

namespace {

// Pair matrices of the ballots weighted by z_m, eq. (23).
std::vector<PairMatrix> weighted_pairs(const RankingSet& rankings, const State& state, std::vector<double>& mass) {
  const std::size_t num_components = state.components.size(), n = state.components.num_items();
  std::vector<PairMatrix> pairs(num_components, PairMatrix(n));
  mass.assign(num_components, 0.0);
  for (std::size_t k = 0; k < rankings.size(); ++k) {
    const Weights& z = state.z[k];
    const double weight = rankings.weights()[k];
    const auto add = [&](std::size_t m, double share) {
      if (!(share > 0.0)) return;
      mass[m] += weight * share;
      pairs[m].add(rankings[k], weight * share);
    };
    if (z.first == z.second) {
      add(z.first, 1.0);
    } else {
      add(z.first, z.share);
      add(z.second, 1.0 - z.share);
    }
  }
  return pairs;
}

// V_j: the weight of what was ranked above item j of the order although it comes later there.
std::vector<double> staged_sums(std::span<const ItemId> order, const PairMatrix& pairs) {
  std::vector<double> sums(order.size(), 0.0);
  for (std::size_t j = 0; j + 1 < order.size(); ++j)
    for (std::size_t l = j + 1; l < order.size(); ++l) sums[j] += pairs(order[l], order[j]);
  return sums;
}

double staged_cost(std::span<const ItemId> order, const PairMatrix& pairs, std::span<const double> theta) {
  const std::vector<double> sums = staged_sums(order, pairs);
  double cost = 0.0;
  for (std::size_t j = 0; j + 1 < order.size(); ++j) cost += theta[j] * sums[j];
  return cost;
}

// The order that minimises sum_j theta_j V_j for given dispersions: by sets for n <= 12, else by moves of single items.
std::vector<ItemId> staged_center(const PairMatrix& pairs, std::span<const double> theta, const std::vector<ItemId>& now) {
  const std::size_t n = pairs.num_items();
  if (n <= 12) {
    const std::size_t sets = std::size_t{1} << n;
    std::vector<double> best(sets, infinity);
    std::vector<std::uint8_t> last(sets, 0);
    best[0] = 0.0;
    for (std::size_t set = 0; set + 1 < sets; ++set) {
      const auto level = static_cast<std::size_t>(std::popcount(set));
      const double weight = level + 1 < n ? theta[level] : 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        if (set >> i & 1) continue;
        double v = 0.0;
        for (std::size_t l = 0; l < n; ++l)
          if (l != i && !(set >> l & 1)) v += pairs(l, i);
        const std::size_t to = set | std::size_t{1} << i;
        if (const double cost = best[set] + weight * v; cost < best[to]) best[to] = cost, last[to] = static_cast<std::uint8_t>(i);
      }
    }
    std::vector<ItemId> order(n);
    for (std::size_t set = sets - 1, at = n; at-- > 0; set &= ~(std::size_t{1} << last[set])) order[at] = last[set];
    return order;
  }
  // Single items walk up or down the order by swaps of neighbours, each of which changes the sums of two stages.
  std::vector<ItemId> order = now;
  std::vector<double> order_sums = staged_sums(order, pairs);
  const auto weight_of = [&](std::size_t j) { return j + 1 < n ? theta[j] : 0.0; };
  const double least_gain = 1e-12 * staged_cost(order, pairs, theta);
  constexpr int most_rounds = 1000;  // a round that gains nothing ends the search, after tens of them
  bool improved = true;
  for (int round = 0; round < most_rounds && improved; ++round) {
    improved = false;
    for (std::size_t from = 0; from < n; ++from)
      for (int direction : {-1, 1}) {
        std::vector<ItemId> trial = order, best_order;
        std::vector<double> sums = order_sums;
        double change = 0.0, best = -least_gain;
        for (std::size_t at = from; direction < 0 ? at > 0 : at + 1 < n; at = direction < 0 ? at - 1 : at + 1) {
          const std::size_t p = direction < 0 ? at - 1 : at;
          const ItemId x = trial[p], y = trial[p + 1];
          const double first = sums[p + 1] + pairs(x, y), second = sums[p] - pairs(y, x);
          change += weight_of(p) * (first - sums[p]) + weight_of(p + 1) * (second - sums[p + 1]);
          sums[p] = first, sums[p + 1] = second;
          std::swap(trial[p], trial[p + 1]);
          if (change < best) best = change, best_order = trial;
        }
        if (best_order.empty()) continue;
        order = std::move(best_order);
        order_sums = staged_sums(order, pairs);
        improved = true;
      }
  }
  return order;
}

}  // namespace

void solve_centers(const RankingSet& rankings, State& state) {
  std::vector<double> mass;
  const std::vector<PairMatrix> pairs = weighted_pairs(rankings, state, mass);
  for (std::size_t m = 0; m < state.components.size(); ++m) {
    if (!(mass[m] > 0.0)) continue;
    std::vector<ItemId> order = staged_center(pairs[m], state.components.theta[m], state.components.center[m]);
    const double cost = staged_cost(state.components.center[m], pairs[m], state.components.theta[m]);
    if (staged_cost(order, pairs[m], state.components.theta[m]) < cost * (1.0 - 1e-12))
      state.components.center[m] = std::move(order);
  }
}

void search_pi(const RankingSet& rankings, State& state) {
  const std::size_t num_components = state.components.size(), n = state.components.num_items();
  std::vector<double> mass;
  const std::vector<PairMatrix> pairs = weighted_pairs(rankings, state, mass);
  std::vector<std::vector<ItemId>> left(num_components), placed(num_components);
  for (std::size_t m = 0; m < num_components; ++m)
    for (std::size_t i = 0; i < n; ++i) left[m].push_back(static_cast<ItemId>(i));
  for (std::size_t j = 0; j + 1 < n; ++j) {
    std::vector<double> mean(num_components, 0.0);
    for (std::size_t m = 0; m < num_components; ++m) {
      // L of Algorithm 1 in units of theta_mj: V of the candidate plus, for what would be left, the sum of pairwise minima. That
      // sum is the one of all that are left, the same for every candidate, less the candidate's own minima.
      double least = infinity;
      std::size_t pick = 0;
      for (std::size_t r = 0; r < left[m].size(); ++r) {
        double cost = 0.0;
        for (std::size_t a = 0; a < left[m].size(); ++a) {
          if (a == r) continue;
          const double above = pairs[m](left[m][a], left[m][r]);
          cost += above - std::min(above, pairs[m](left[m][r], left[m][a]));
        }
        if (cost < least) least = cost, pick = r;
      }
      const ItemId item = left[m][pick];
      left[m].erase(left[m].begin() + static_cast<std::ptrdiff_t>(pick));
      placed[m].push_back(item);
      for (ItemId other : left[m]) mean[m] += pairs[m](other, item);
      mean[m] = mass[m] > 0.0 ? mean[m] / mass[m] : 0.5 * static_cast<double>(left[m].size());
    }
    // theta_j of all components with the means in place of the ballots' own stage values.
    solve_stage(
        rankings, state, j, 0.0, 8, {}, [&](std::size_t m, std::size_t) { return mean[m]; },
        [&](double sum, bool derivatives, double& value, double& first, double& second) {
          value = log_stage_normalizer(sum, n - j);
          if (derivatives) first = -stage_mean(sum, n - j), second = stage_variance(sum, n - j);
        });
  }
  for (std::size_t m = 0; m < num_components; ++m) {
    placed[m].push_back(left[m].back());
    state.components.center[m] = placed[m];
  }
  solve_weights(rankings, state);
}

}  // namespace caucus::m4
