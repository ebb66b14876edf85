#include "caucus/infer/pl_mixture/m_steps.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "caucus/model/decompositions.h"

namespace caucus::pl_mixture {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::size_t largest_chain = 50;  // items; beyond, the product without the chain is quicker (n = 100: twice as quick)
constexpr std::size_t largest_shared_chain = 256;  // beyond, partial chains of all blocks would be more than the rankings

bool builds_chain(Chain chain, std::size_t num_items) {
  return chain == Chain::explicit_chain || (chain == Chain::automatic && num_items <= largest_chain);
}
bool shares_chain(std::size_t num_items) { return num_items <= largest_shared_chain; }

// visit(row of the batch, items, group) for the rankings [begin, end) of the batch.
template <class Visit>
void for_each_ranking(const Batch& batch, std::size_t begin, std::size_t end, Visit&& visit) {
  for (const Batch::Group& group : batch.groups) {
    for (std::size_t r = std::max(group.first, begin); r < std::min(group.first + group.count, end); ++r) {
      const std::size_t at = group.begin + (r - group.first) * group.length;
      if (batch.items32.empty())
        visit(r, batch.items16.data() + at, group);
      else
        visit(r, batch.items32.data() + at, group);
    }
  }
}

std::vector<double> worths_of(std::span<const double> utilities, double& largest) {
  largest = *std::ranges::max_element(utilities);
  std::vector<double> worths;
  for (double utility : utilities) worths.push_back(std::exp(std::max(utility - largest, -narrow_spread)));
  return worths;
}

// What is left at each stage: left[p] for p < stages; the unlisted rest is summed afresh where subtraction would cancel.
template <class Item>
void stage_sums(const Item* items, const Batch::Group& group, const std::vector<double>& worths, double total,
                std::vector<double>& left, std::vector<char>& mark) {
  double rest = 0.0;
  if (group.implicit) {
    double listed = 0.0;
    for (std::size_t p = 0; p < group.stages; ++p) listed += worths[items[p]];
    rest = total - listed;
    if (rest < 1e-4 * total) {
      rest = 0.0;
      std::ranges::fill(mark, 0);
      for (std::size_t p = 0; p < group.stages; ++p) mark[items[p]] = 1;
      for (std::size_t i = 0; i < worths.size(); ++i)
        if (mark[i] == 0) rest += worths[i];
    }
  } else {
    for (std::size_t p = group.length; p-- > group.stages;) rest += worths[items[p]];
  }
  left.resize(group.stages);
  for (std::size_t p = group.stages; p-- > 0;) left[p] = rest += worths[items[p]];
}

// What one pass over the rankings of a component says of the worths.
struct ChainFlow {
  std::vector<double> wins;  // per item: sum of q over its choices; also the flow into it where the masses are the worths
  std::vector<double> out;   // per item: sum of q / S over the stages where it is there
  double everyone = 0.0;     // the same for all items, on the way
};
auto parts(IsA<ChainFlow> auto& flow) { return std::tie(flow.wins, flow.out, flow.everyone); }

void add(std::vector<double>& total, const std::vector<double>& part) {
  for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i];
}

// The stages of all rankings lie one after the other: where those of ranking r of a group begin.
std::vector<std::size_t> first_stages(const Batch& batch) {
  std::vector<std::size_t> first;
  std::size_t next = 0;
  for (const Batch::Group& group : batch.groups) {
    first.push_back(next);
    next += group.count * group.stages;
  }
  first.push_back(next);
  return first;
}
std::size_t stage_of(const Batch& batch, const std::vector<std::size_t>& first, const Batch::Group& group, std::size_t r) {
  return first[static_cast<std::size_t>(&group - batch.groups.data())] + (r - group.first) * group.stages;
}

// Room for a number per stage of the own rankings.
Buffer<double> numbers_by_stage(const Objective& objective) {
  const Batch& batch = objective.batch();
  const std::vector<std::size_t> first = first_stages(batch);
  const auto before = [&](std::size_t r) {
    for (const Batch::Group& group : batch.groups)
      if (r < group.first + group.count) return stage_of(batch, first, group, r);
    return first.back();
  };
  return scratch_array<double>(objective.data().rankings.scratch(), first.back(), before(batch.first), before(batch.last));
}

// rates: q / S of every stage of the own blocks, where wanted.
ChainFlow chain_flow(const Objective& objective, const Shares& shares, const std::vector<double>& worths, Buffer<double>* rates) {
  const Batch& batch = objective.batch();
  const std::size_t n = worths.size();
  const double total = sum(worths);
  const std::vector<std::size_t> first = first_stages(batch);
  if (rates != nullptr && rates->empty()) *rates = numbers_by_stage(objective);
  ChainFlow flow = parallel_fold(
      pass_blocks(batch), objective.workers().without_journal(),
      [&] {
        return ChainFlow{std::vector<double>(n, 0.0), std::vector<double>(n, 0.0)};
      },
      [&](ChainFlow& part, std::size_t begin, std::size_t end) {
        std::vector<double> left;
        std::vector<char> mark(n);
        for_each_ranking(batch, begin, end, [&](std::size_t r, const auto* items, const Batch::Group& group) {
          const double q = shares.weight(batch, r);
          if (!(q > 0.0)) return;
          stage_sums(items, group, worths, total, left, mark);
          for (double& s : left) s = q / s;
          if (rates != nullptr) std::ranges::copy(left, rates->data() + stage_of(batch, first, group, r));
          const double whole = sum(left);
          double so_far = 0.0;
          for (std::size_t p = 0; p < group.stages; ++p) {
            so_far += left[p];
            part.wins[items[p]] += q;
            part.out[items[p]] += group.implicit ? so_far - whole : so_far;
          }
          if (group.implicit)
            part.everyone += whole;
          else
            for (std::size_t p = group.stages; p < group.length; ++p) part.out[items[p]] += whole;
        });
      },
      [](ChainFlow& all, const ChainFlow& part) {
        add(all.wins, part.wins);
        add(all.out, part.out);
        all.everyone += part.everyone;
      });
  for (double& value : flow.out) value = std::max(value + flow.everyone, 0.0);
  return flow;
}

// Flow into each item for other masses than the worths: one product with the chain, which is not built.
std::vector<double> flow_in(const Objective& objective, const Shares& shares, const Buffer<double>& rates,
                            const std::vector<double>& mass) {
  const Batch& batch = objective.batch();
  const double total = sum(mass);
  const std::vector<std::size_t> first = first_stages(batch);
  return parallel_fold(
      pass_blocks(batch), objective.workers().without_journal(), [&] { return std::vector<double>(mass.size(), 0.0); },
      [&](std::vector<double>& in, std::size_t begin, std::size_t end) {
        std::vector<double> there;
        std::vector<char> mark(mass.size());
        for_each_ranking(batch, begin, end, [&](std::size_t r, const auto* items, const Batch::Group& group) {
          if (!(shares.weight(batch, r) > 0.0)) return;
          stage_sums(items, group, mass, total, there, mark);
          const double* const rate = rates.data() + stage_of(batch, first, group, r);
          for (std::size_t p = 0; p < group.stages; ++p) in[items[p]] += there[p] * rate[p];
        });
      },
      add);
}

// Transition rates, eq. (12): rate(i, j) = sum of q / S over the choices of j where i was there too. The last state is the item of
// utility 0 of the pseudo-comparisons, if there are any.
MatrixXd chain_rates(const Objective& objective, const Shares& shares, const std::vector<double>& worths, double largest) {
  const std::size_t n = worths.size();
  const Batch& batch = shares_chain(n) ? objective.batch() : objective.whole_batch();
  const bool ghost = objective.strength() > 0.0;
  const auto size = static_cast<Index>(n + (ghost ? 1 : 0));
  const double total = sum(worths);
  // Columns of rates between items, then from everyone to each.
  const std::vector<double> sums = parallel_fold(
      shares_chain(n) ? pass_blocks(batch) : Blocks(batch.count, batch.count + 1), objective.workers().without_journal(),
      [&] { return std::vector<double>(n * (n + 1), 0.0); },
      [&](std::vector<double>& part, std::size_t begin, std::size_t end) {
        std::vector<double> left;
        std::vector<char> mark(n);
        double* const to_all = part.data() + n * n;
        for_each_ranking(batch, begin, end, [&](std::size_t r, const auto* items, const Batch::Group& group) {
          const double q = shares.weight(batch, r);
          if (!(q > 0.0)) return;
          stage_sums(items, group, worths, total, left, mark);
          for (std::size_t p = 0; p < group.stages; ++p) {
            const double value = q / left[p];
            double* column = part.data() + items[p] * n;
            if (group.implicit) {
              // From everyone, but those who have left.
              to_all[items[p]] += value;
              for (std::size_t s = 0; s < p; ++s) column[items[s]] -= value;
            } else {
              for (std::size_t s = p + 1; s < group.length; ++s) column[items[s]] += value;
            }
          }
        });
      },
      add);
  MatrixXd rate = MatrixXd::Zero(size, size);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i)
      rate(static_cast<Index>(i), static_cast<Index>(j)) = i == j ? 0.0 : std::max(sums[j * n + i] + sums[n * n + j], 0.0);
    if (ghost) {
      const double value = objective.strength() / (worths[j] + std::exp(-largest));
      rate(static_cast<Index>(j), size - 1) = value;
      rate(size - 1, static_cast<Index>(j)) = value;
    }
  }
  return rate;
}

// Stationary distribution by the elimination of Grassmann, Taksar & Heyman (1985): no subtraction, O(n^3 / 3).
VectorXd stationary(MatrixXd rate) {
  const Index n = rate.rows();
  for (Index k = n - 1; k > 0; --k) {
    const double out = rate.row(k).head(k).sum();
    if (!(out > 0.0)) continue;
    rate.col(k).head(k) /= out;
    rate.topLeftCorner(k, k).noalias() += rate.col(k).head(k) * rate.row(k).head(k);
  }
  VectorXd pi = VectorXd::Zero(n);
  pi[0] = 1.0;
  for (Index k = 1; k < n; ++k) pi[k] = pi.head(k).dot(rate.col(k).head(k));
  return pi / pi.sum();
}

}  // namespace

Objective::Whose memberships_for_lsr(const Objective& objective, Chain chain) {
  const std::size_t n = objective.num_items();
  return builds_chain(chain, n) && !shares_chain(n) ? Objective::Whose::all : Objective::Whose::own;
}

std::vector<double> weighted_gradient(const Objective& objective, const Shares& shares, std::span<const double> utilities) {
  double largest = 0.0;
  const std::vector<double> worths = worths_of(utilities, largest);
  const ChainFlow flow = chain_flow(objective, shares, worths, nullptr);
  std::vector<double> gradient(utilities.size());
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = flow.wins[i] - worths[i] * flow.out[i];
    if (objective.strength() > 0.0) gradient[i] -= objective.strength() * std::tanh(0.5 * utilities[i]);
  }
  return gradient;
}

void weighted_lsr(const Objective& objective, const Shares& shares, Chain chain, int max_steps, double tolerance,
                  std::span<double> utilities) {
  const std::size_t n = utilities.size();
  const bool ghost = objective.strength() > 0.0;
  const bool build = builds_chain(chain, n);
  Buffer<double> rates;
  for (int step = 0; step < max_steps; ++step) {
    double largest = 0.0;
    const std::vector<double> worths = worths_of(utilities, largest);
    const ChainFlow own = chain_flow(objective, shares, worths, build ? nullptr : &rates);
    double choices = 0.0, steepest = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      double slope = own.wins[i] - worths[i] * own.out[i];
      if (ghost) slope -= objective.strength() * std::tanh(0.5 * utilities[i]);
      choices += own.wins[i];
      steepest = std::max(steepest, std::abs(slope));
    }
    if (!(choices > 0.0) || steepest <= tolerance * choices) return;
    std::vector<double> next(n);
    if (build) {
      const VectorXd pi = stationary(chain_rates(objective, shares, worths, largest));
      const double reference = ghost ? pi[static_cast<Index>(n)] : 1.0;
      for (std::size_t i = 0; i < n; ++i)
        next[i] = std::log(std::max(pi[static_cast<Index>(i)], 1e-300) / std::max(reference, 1e-300));
    } else {
      // Jacobi iteration on the balance equations: mass_j * (rate out of j) = flow into j. Its fixed point for these
      // worths is the stationary distribution; a hundredth of its distance is enough, since the next chain is another one.
      std::vector<double> mass = worths;
      double first = 0.0;
      for (int iteration = 0; iteration < 50; ++iteration) {
        const std::vector<double> arriving = iteration == 0 ? own.wins : flow_in(objective, shares, rates, mass);
        double change = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
          double in = arriving[i], out = own.out[i];
          if (ghost) {
            const double value = objective.strength() / (worths[i] + std::exp(-largest));
            in += value * (std::exp(-largest) + mass[i]);
            out += 2.0 * value;
          }
          if (!(out > 0.0)) continue;
          const double updated = std::max(in / out, 1e-300);
          change = std::max(change, std::abs(std::log(updated / mass[i])));
          mass[i] = updated;
        }
        if (iteration == 0) first = change;
        if (change <= 0.01 * first) break;
      }
      for (std::size_t i = 0; i < n; ++i) next[i] = std::log(mass[i]) + largest;
    }
    if (!ghost) center(next);
    for (std::size_t i = 0; i < n; ++i) utilities[i] = std::clamp(next[i], -0.5 * narrow_spread, 0.5 * narrow_spread);
  }
}

std::vector<MatrixXd> pair_counts(const Objective& objective, std::span<const double> posterior, std::size_t num) {
  const Batch& batch = objective.whole_batch();
  const std::size_t n = objective.num_items();
  std::vector<MatrixXd> above(num, MatrixXd::Zero(static_cast<Index>(n), static_cast<Index>(n)));
  std::vector<VectorXd> over_rest(num, VectorXd::Zero(static_cast<Index>(n)));
  for_each_ranking(batch, 0, batch.count, [&](std::size_t r, const auto* items, const Batch::Group& group) {
    for (std::size_t k = 0; k < num; ++k) {
      const double q = batch.weights[r] * posterior[batch.source[r] * num + k];
      if (!(q > 0.0)) continue;
      double* const counts = above[k].data();
      for (std::size_t p = 0; p < group.stages; ++p) {
        if (group.implicit) {
          over_rest[k][static_cast<Index>(items[p])] += q;
          for (std::size_t s = 0; s < p; ++s) counts[items[s] * n + items[p]] -= q;
        } else {
          for (std::size_t s = p + 1; s < group.length; ++s) counts[items[s] * n + items[p]] += q;
        }
      }
    }
  });
  for (std::size_t k = 0; k < num; ++k) {
    above[k].colwise() += over_rest[k];
    above[k].diagonal().setZero();
    above[k] = above[k].cwiseMax(0.0);
  }
  return above;
}

PairCounter::PairCounter(const Objective& objective) : objective_(objective) {
  const Batch& batch = objective.layout();
  double pairs = 0.0;
  for (const Batch::Group& group : batch.groups)
    pairs += static_cast<double>(group.count * group.stages * (group.implicit ? group.stages : group.length)) / 2.0;
  const std::size_t n = objective.num_items(), count = objective.data().rankings.size();
  const double bytes = static_cast<double>(n) * static_cast<double>(n + 8) / 16.0 * static_cast<double>(count);
  if (objective.has_ties() || pairs < 3.0 * bytes || bytes > 5e8) return;
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0u);
  bits_.emplace(objective.data(), all, objective.threads());
}

std::vector<MatrixXd> PairCounter::count(std::span<const double> posterior) const {
  const std::size_t num = objective_.num_components(), n = objective_.num_items();
  if (!bits_) return pair_counts(objective_, posterior, num);
  const RankingSet& rankings = objective_.data().rankings;
  RowMatrix shares(static_cast<Index>(rankings.size()), static_cast<Index>(num));
  for (std::size_t i = 0; i < rankings.size(); ++i)
    for (std::size_t k = 0; k < num; ++k)
      shares(static_cast<Index>(i), static_cast<Index>(k)) = rankings.weight(i) * posterior[i * num + k];
  const RowMatrix wins = bits_->multiply_transposed(shares, true), seen = bits_->observed_transposed(shares);
  std::vector<MatrixXd> above(num, MatrixXd::Zero(static_cast<Index>(n), static_cast<Index>(n)));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      const auto column = static_cast<Index>(bits_->column(i, j));
      for (std::size_t k = 0; k < num; ++k) {
        const double won = wins(column, static_cast<Index>(k)), all = seen(column, static_cast<Index>(k));
        above[k](static_cast<Index>(i), static_cast<Index>(j)) = won;
        above[k](static_cast<Index>(j), static_cast<Index>(i)) = std::max(all - won, 0.0);
      }
    }
  return above;
}

double composite_objective(const MatrixXd& above, double strength, std::span<const double> utilities) {
  double value = 0.0;
  const auto log_sigma = [](double x) { return x > 0.0 ? -std::log1p(std::exp(-x)) : x - std::log1p(std::exp(x)); };
  for (Index i = 0; i < above.rows(); ++i) {
    const double u = utilities[static_cast<std::size_t>(i)];
    value += strength * (log_sigma(u) + log_sigma(-u));
    for (Index j = 0; j < above.cols(); ++j)
      if (i != j) value += above(i, j) * log_sigma(u - utilities[static_cast<std::size_t>(j)]);
  }
  return value;
}

void composite_step(const MatrixXd& above, double strength, std::span<double> utilities) {
  const Index n = above.rows();
  Eigen::Map<VectorXd> u(utilities.data(), n);
  const double total = above.sum();
  if (!(total > 0.0)) return;
  // A trace of ridge keeps a pair that always ends the same way finite.
  const double ridge = 1e-9 * total;
  for (int iteration = 0; iteration < 50; ++iteration) {
    VectorXd gradient(n);
    MatrixXd hessian = MatrixXd::Zero(n, n);
    const VectorXd worth = (u.array() - u.maxCoeff()).max(-narrow_spread).exp();
    for (Index i = 0; i < n; ++i) {
      const double p = 1.0 / (1.0 + std::exp(-u[i]));
      gradient[i] = strength * (1.0 - 2.0 * p) - ridge * u[i];
      hessian(i, i) += 2.0 * strength * p * (1.0 - p) + ridge + 1e-12 * total;
    }
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < i; ++j) {
        const double p = worth[i] / (worth[i] + worth[j]), both = above(i, j) + above(j, i);
        const double slope = above(i, j) - both * p, curve = both * p * (1.0 - p);
        gradient[i] += slope;
        gradient[j] -= slope;
        hessian(i, i) += curve;
        hessian(j, j) += curve;
        hessian(i, j) -= curve;
        hessian(j, i) -= curve;
      }
    }
    VectorXd step = Cholesky(hessian).solve(gradient);
    const double longest = step.lpNorm<Eigen::Infinity>();
    if (!std::isfinite(longest)) return;
    if (longest > 2.0) step *= 2.0 / longest;
    u += step;
    if (longest < 1e-10) break;
  }
  if (!(strength > 0.0)) center(utilities);
}

double moment_objective(const MatrixXd& above, std::span<const double> utilities) {
  double value = 0.0;
  const Eigen::Map<const VectorXd> u(utilities.data(), above.rows());
  const VectorXd worth = (u.array() - u.maxCoeff()).max(-narrow_spread).exp();
  for (Index j = 0; j < above.cols(); ++j) {
    for (Index i = j + 1; i < above.rows(); ++i) {
      const double both = above(i, j) + above(j, i);
      if (!(both > 0.0)) continue;
      const double gap = above(i, j) / both - worth[i] / (worth[i] + worth[j]);
      value += 2.0 * gap * gap;  // (i, j) and (j, i)
    }
  }
  return value;
}

void moment_step(const MatrixXd& above, std::span<double> utilities) {
  const Index n = above.rows();
  Eigen::Map<VectorXd> u(utilities.data(), n);
  double damping = 1e-6, value = moment_objective(above, utilities);
  for (int iteration = 0; iteration < 100; ++iteration) {
    VectorXd gradient = VectorXd::Zero(n);
    MatrixXd normal = MatrixXd::Zero(n, n);
    const VectorXd worth = (u.array() - u.maxCoeff()).max(-narrow_spread).exp();
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < i; ++j) {
        const double both = above(i, j) + above(j, i);
        if (!(both > 0.0)) continue;
        const double p = worth[i] / (worth[i] + worth[j]), slope = p * (1.0 - p), gap = above(i, j) / both - p;
        gradient[i] += 2.0 * slope * gap;
        gradient[j] -= 2.0 * slope * gap;
        const double curve = 2.0 * slope * slope;
        normal(i, i) += curve;
        normal(j, j) += curve;
        normal(i, j) -= curve;
        normal(j, i) -= curve;
      }
    }
    bool better = false;
    double moved = 0.0;
    for (int attempt = 0; attempt < 12 && !better; ++attempt, damping *= 10.0) {
      MatrixXd matrix = normal;
      matrix.diagonal().array() += damping + 1e-12;
      const VectorXd step = Cholesky(matrix).solve(gradient);
      std::vector<double> trial(utilities.begin(), utilities.end());
      for (Index i = 0; i < n; ++i) trial[static_cast<std::size_t>(i)] = std::clamp(u[i] + step[i], -30.0, 30.0);
      const double there = moment_objective(above, trial);
      if (!(there < value)) continue;
      better = true;
      moved = step.lpNorm<Eigen::Infinity>();
      value = there;
      std::ranges::copy(trial, utilities.begin());
    }
    damping = std::max(damping * 1e-3, 1e-9);
    if (!better || moved < 1e-9) break;
  }
  center(utilities);
}

}  // namespace caucus::pl_mixture
