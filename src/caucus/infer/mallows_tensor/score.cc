#include "caucus/infer/mallows_tensor/score.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "caucus/model/decompositions.h"

namespace caucus::mallows_tensor {
namespace {

constexpr double tiny = 1e-300;

// d/dtheta of the tables by central differences. Fisher scoring needs no exact slope: at the maximum the residual is what vanishes.
struct Slopes {
  Slopes(double theta, std::size_t n)
      : step(1e-5 * std::max(1.0, theta)),
        above(theta + step, n),
        below(std::max(theta - step, 0.0), n),
        width(theta + step - std::max(theta - step, 0.0)) {}
  double step;
  ModelTable above, below;
  double width;
};

}  // namespace

MomentScore::MomentScore(const TopCounts& counts) : num_items_(counts.num_items()), total_(counts.total()) {
  const std::size_t n = num_items_;
  for (std::uint32_t e = 0; e < n; ++e)
    for (std::uint32_t i = 0; i < n; ++i) {
      if (i == e) {
        cells_.push_back({e, e, 0, counts.first(e)});
        continue;
      }
      for (std::uint32_t j = 1; j < n; ++j) cells_.push_back({e, i, j, counts.joint(e, i, j)});
    }
  counts.for_each_triple([&](std::size_t i, std::size_t j, std::size_t k, double count) {
    triples_.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j), static_cast<std::uint32_t>(k), count});
  });
}

double MomentScore::value(const std::array<ModelTable, 2>& tables, const std::array<double, 2>& weight,
                          const std::array<std::vector<std::uint32_t>, 2>& rank) const {
  double positions = 0.0, sets = 0.0;
  for (const Cell& cell : cells_) {
    if (cell.count == 0.0) continue;
    double p = 0.0;
    for (std::size_t r = 0; r < 2; ++r) {
      const std::uint32_t e = rank[r][cell.e];
      p += weight[r] * (cell.j == 0 ? tables[r].first[e] : tables[r].joint(e, rank[r][cell.i], cell.j));
    }
    positions += cell.count * std::log(std::max(p, tiny));
  }
  for (const Triple& set : triples_) {
    if (set.count == 0.0) continue;
    double p = 0.0;
    for (std::size_t r = 0; r < 2; ++r) p += weight[r] * tables[r].triple(rank[r][set.i] + rank[r][set.j] + rank[r][set.k]);
    sets += set.count * std::log(std::max(p, tiny));
  }
  return positions / static_cast<double>(num_items_) + sets;
}

double MomentScore::operator()(const MallowsPair& pair) const {
  return (*this)(pair, {ModelTable(pair.theta[0], num_items_), ModelTable(pair.theta[1], num_items_)});
}

double MomentScore::operator()(const MallowsPair& pair, const std::array<ModelTable, 2>& tables) const {
  return value(tables, pair.weight, {ranks_of(pair.center[0]), ranks_of(pair.center[1])});
}

template <class Visit>
void MomentScore::for_each_cell(const MallowsPair& pair, Visit&& visit) const {
  const std::array<ModelTable, 2> tables{ModelTable(pair.theta[0], num_items_), ModelTable(pair.theta[1], num_items_)};
  const std::array<std::vector<std::uint32_t>, 2> rank{ranks_of(pair.center[0]), ranks_of(pair.center[1])};
  const auto at = [&](const ModelTable& table, std::size_t r, const Cell& cell) {
    const std::uint32_t e = rank[r][cell.e];
    return cell.j == 0 ? table.first[e] : table.joint(e, rank[r][cell.i], cell.j);
  };
  const auto at_set = [&](const ModelTable& table, std::size_t r, const Triple& set) {
    return table.triple(rank[r][set.i] + rank[r][set.j] + rank[r][set.k]);
  };
  visit(tables, at, at_set);
}

MallowsPair MomentScore::fit_parameters(MallowsPair pair, int max_steps) const {
  for (std::size_t r = 0; r < 2; ++r) {
    pair.weight[r] = std::clamp(pair.weight[r], 1e-9, 1.0 - 1e-9);
    pair.theta[r] = std::clamp(pair.theta[r], 1e-6, max_pair_theta);
  }
  pair.weight[1] = 1.0 - pair.weight[0];
  double current = (*this)(pair);
  double damping = 1e-3;
  for (int step = 0; step < max_steps; ++step) {
    Eigen::Vector3d score = Eigen::Vector3d::Zero();
    Eigen::Matrix3d information = Eigen::Matrix3d::Zero();
    const std::array<Slopes, 2> slopes{Slopes(pair.theta[0], num_items_), Slopes(pair.theta[1], num_items_)};
    for_each_cell(pair, [&](const auto& tables, const auto& at, const auto& at_set) {
      const auto gather = [&](const auto& cell, const auto& probability, double importance) {
        const double a = probability(tables[0], 0, cell), b = probability(tables[1], 1, cell);
        const double p = pair.weight[0] * a + pair.weight[1] * b;
        if (!(p > 1e-200)) return;
        const double da = (probability(slopes[0].above, 0, cell) - probability(slopes[0].below, 0, cell)) / slopes[0].width;
        const double db = (probability(slopes[1].above, 1, cell) - probability(slopes[1].below, 1, cell)) / slopes[1].width;
        const Eigen::Vector3d slope(pair.weight[0] * pair.weight[1] * (a - b), pair.weight[0] * da, pair.weight[1] * db);
        score += importance * (cell.count - total_ * p) / p * slope;
        information += (importance * total_ / p) * slope * slope.transpose();
      };
      for (const Cell& cell : cells_) gather(cell, at, 1.0 / static_cast<double>(num_items_));
      for (const Triple& set : triples_) gather(set, at_set, 1.0);
    });
    bool moved = false;
    double length = 0.0;
    for (int attempt = 0; attempt < 12 && !moved; ++attempt) {
      Eigen::Matrix3d damped = information;
      damped.diagonal() *= 1.0 + damping;
      damped.diagonal().array() += 1e-14 * (information.trace() + tiny);
      Eigen::Vector3d change = solve_symmetric(damped, score);
      if (!change.allFinite()) break;
      change = change.cwiseMax(-1.0).cwiseMin(1.0);
      MallowsPair next = pair;
      const double logit = std::clamp(std::log(pair.weight[0] / pair.weight[1]) + change(0), -20.0, 20.0);
      next.weight[0] = 1.0 / (1.0 + std::exp(-logit));
      next.weight[1] = 1.0 / (1.0 + std::exp(logit));
      for (std::size_t r = 0; r < 2; ++r)
        next.theta[r] = std::clamp(pair.theta[r] + change(static_cast<Eigen::Index>(r) + 1), 1e-6, max_pair_theta);
      const double reached = (*this)(next);
      // Near the maximum the score is flat to rounding: there a small step is taken on the word of its slope.
      if (reached >= current - 1e-13 * std::abs(current)) {
        length = std::abs(next.weight[0] - pair.weight[0]) + std::abs(next.theta[0] - pair.theta[0]) +
                 std::abs(next.theta[1] - pair.theta[1]);
        pair = next;
        current = reached;
        damping = std::max(damping * 0.1, 1e-12);
        moved = true;
      } else {
        damping = std::max(damping * 10.0, 1e-6);
      }
    }
    if (!moved || length < 1e-14) break;
  }
  return pair;
}

MallowsPair MomentScore::climb(MallowsPair pair, bool insertions, const std::function<bool()>& stop) const {
  const std::size_t n = num_items_;
  const double least_gain = 1e-10 * total_;
  for (int round = 0; round < 50; ++round) {
    pair = fit_parameters(pair, 15);
    const std::array<ModelTable, 2> tables{ModelTable(pair.theta[0], n), ModelTable(pair.theta[1], n)};
    std::array<std::vector<std::uint32_t>, 2> rank{ranks_of(pair.center[0]), ranks_of(pair.center[1])};
    double current = value(tables, pair.weight, rank);
    const auto attempt = [&](const MallowsPair& next) {
      if (stop && stop()) return false;
      const std::array<std::vector<std::uint32_t>, 2> next_rank{ranks_of(next.center[0]), ranks_of(next.center[1])};
      const double reached = value(tables, pair.weight, next_rank);
      if (!(reached > current + least_gain)) return false;
      pair = next;
      rank = next_rank;
      current = reached;
      return true;
    };
    bool any = false;
    // Gains are larger than rounding; the bound is for scores that are no numbers.
    constexpr int most_sweeps = 1000;
    bool gained = true;
    for (int sweep = 0; sweep < most_sweeps && gained; ++sweep) {
      gained = false;
      for (std::size_t r = 0; r < 2; ++r)
        for (std::size_t p = 0; p + 1 < n; ++p) {
          MallowsPair next = pair;
          std::swap(next.center[r][p], next.center[r][p + 1]);
          gained = attempt(next) || gained;
          // The same two items in the other center as well, where they are neighbours there too.
          next = pair;
          const ItemId a = pair.center[r][p], b = pair.center[r][p + 1];
          auto& other = next.center[1 - r];
          const std::uint32_t pa = rank[1 - r][a], pb = rank[1 - r][b];
          if (pa + 1 != pb && pb + 1 != pa) continue;
          std::swap(next.center[r][p], next.center[r][p + 1]);
          std::swap(other[pa], other[pb]);
          gained = attempt(next) || gained;
        }
      if (insertions && !gained)
        for (std::size_t r = 0; r < 2; ++r)
          for (std::size_t from = 0; from < n; ++from)
            for (std::size_t to = 0; to < n; ++to) {
              if (from == to) continue;
              MallowsPair next = pair;
              auto& center = next.center[r];
              const auto begin = center.begin();
              const auto f = static_cast<std::ptrdiff_t>(from), t = static_cast<std::ptrdiff_t>(to);
              if (from < to)
                std::rotate(begin + f, begin + f + 1, begin + t + 1);
              else
                std::rotate(begin + t, begin + f, begin + f + 1);
              gained = attempt(next) || gained;
            }
      any = any || gained;
    }
    if (!any) break;
  }
  return fit_parameters(pair);
}

double MomentScore::triple_misfit(const MallowsPair& pair) const {
  double deviance = 0.0;
  std::size_t used = 0;
  for_each_cell(pair, [&](const auto& tables, const auto&, const auto& at_set) {
    for (const Triple& set : triples_) {
      const double expected = total_ * (pair.weight[0] * at_set(tables[0], 0, set) + pair.weight[1] * at_set(tables[1], 1, set));
      // Sets that are hardly ever on top add nothing to the deviance and would only dilute it.
      if (expected < 1.0 && set.count < 1.0) continue;
      ++used;
      if (set.count > 0.0) deviance += 2.0 * (set.count * std::log(set.count / std::max(expected, tiny)) - set.count);
      deviance += 2.0 * expected;
    }
  });
  return deviance / std::max(1.0, static_cast<double>(used) - 4.0);
}

double MomentScore::largest_error(const MallowsPair& pair) const {
  double worst = 0.0;
  for_each_cell(pair, [&](const auto& tables, const auto& at, const auto& at_set) {
    for (const Cell& cell : cells_)
      worst = std::max(
          worst, std::abs(cell.count / total_ - pair.weight[0] * at(tables[0], 0, cell) - pair.weight[1] * at(tables[1], 1, cell)));
    for (const Triple& set : triples_)
      worst = std::max(worst, std::abs(set.count / total_ - pair.weight[0] * at_set(tables[0], 0, set) -
                                       pair.weight[1] * at_set(tables[1], 1, set)));
  });
  return worst;
}

}  // namespace caucus::mallows_tensor
