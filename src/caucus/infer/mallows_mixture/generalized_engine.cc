#include "caucus/infer/mallows_mixture/generalized_engine.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/model/stage.h"

namespace caucus::mallows_mixture {

struct GeneralizedEngine::Stats {
  double loglik = 0.0;
  std::vector<double> mass;         // K
  std::vector<double> stage_sum;    // K x n
  std::vector<double> stage_mass;   // K x n
  std::vector<double> beats, less;  // as in MallowsEngine; weighted by theta_j in code s

  void fold(const Stats& other) {
    loglik += other.loglik;
    const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    };
    add(mass, other.mass);
    add(stage_sum, other.stage_sum);
    add(stage_mass, other.stage_mass);
    add(beats, other.beats);
    add(less, other.less);
  }
};

GeneralizedEngine::GeneralizedEngine(const RankingSet& rankings, std::size_t num_items, Code code, ConsensusMethod consensus,
                                     ConsensusLimits limits)
    : rankings_(rankings),
      num_items_(num_items),
      code_(code),
      consensus_(consensus),
      limits_(limits),
      plain_(rankings, num_items, consensus, limits),
      solver_(code == Code::v && num_items <= 64 ? num_items : 0) {
  // Many M-steps: a short search each, whose failure to prove its centre does no harm.
  if (consensus == ConsensusMethod::automatic) limits_.max_nodes = std::min<std::uint64_t>(limits_.max_nodes, 2000);
}

namespace {

void write_code(Code code, std::span<const ItemId> ranking, std::span<const std::uint32_t> position, std::span<std::uint32_t> out) {
  if (code == Code::s)
    code_s(ranking, position, out);
  else
    code_v(ranking, position, out);
}

std::vector<double> running_log_z(std::span<const double> theta, std::size_t n) {
  std::vector<double> log_z(n + 1, 0.0);
  for (std::size_t j = 0; j < n; ++j) log_z[j + 1] = log_z[j] + (j < theta.size() ? log_stage_normalizer(theta[j], n - j) : 0.0);
  return log_z;
}

}  // namespace

GeneralizedEngine::Stats GeneralizedEngine::pass(const Parameters& now, bool want_pairs, int threads,
                                                 std::span<double> memberships) const {
  const std::size_t num_components = now.weight.size(), n = num_items_;
  std::vector<std::vector<std::uint32_t>> position(num_components);
  std::vector<std::vector<double>> log_z(num_components), theta(num_components),
      pair_weight(num_components);  // log_z less the log of the weight
  for (std::size_t k = 0; k < num_components; ++k) {
    position[k] = inverse_order(now.centre[k]);
    log_z[k] = running_log_z(now.theta[k], n);
    for (double& value : log_z[k]) value -= now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity;
    theta[k] = now.theta[k];
    theta[k].resize(n, 0.0);
    pair_weight[k] = theta[k];
    if (code_ == Code::v || sum(theta[k]) == 0.0) pair_weight[k].assign(n, 1.0);
  }
  const auto make = [&] {
    Stats stats;
    stats.mass.assign(num_components, 0.0);
    stats.stage_sum.assign(num_components * n, 0.0);
    stats.stage_mass.assign(num_components * n, 0.0);
    if (want_pairs) {
      stats.beats.assign(n * num_components, 0.0);
      stats.less.assign(n * n * num_components, 0.0);
    }
    return stats;
  };
  const auto body = [&](Stats& stats, std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> code(num_components * n);
    std::vector<double> part(num_components);
    for (std::size_t i = begin; i < end; ++i) {
      const auto ranking = rankings_[i].items();
      const std::size_t stages = ranking.size();
      for (std::size_t k = 0; k < num_components; ++k) {
        const auto own = std::span(code).subspan(k * n, n);
        write_code(code_, ranking, position[k], own);
        double value = -log_z[k][stages];
        for (std::size_t j = 0; j < stages; ++j) value -= theta[k][j] * static_cast<double>(static_cast<std::int32_t>(own[j]));
        part[k] = value;
      }
      const double largest = *std::ranges::max_element(part), weight = rankings_.weights()[i];
      double total = 0.0;
      for (double& value : part) total += value = std::exp(value - largest);
      stats.loglik += weight * (largest + std::log(total));
      for (std::size_t k = 0; k < num_components; ++k) {
        const double mass = part[k] *= weight / total;
        stats.mass[k] += mass;
        if (stages > 0) stats.stage_mass[k * n + stages - 1] += mass;  // of rankings of this length; summed up below
        double* const sums = &stats.stage_sum[k * n];
        for (std::size_t j = 0; j < stages; ++j) sums[j] += mass * static_cast<double>(static_cast<std::int32_t>(code[k * n + j]));
        if (!memberships.empty()) memberships[i * num_components + k] = mass;
      }
      if (!want_pairs) continue;
      for (std::size_t j = 0; j < stages; ++j)
        for (std::size_t k = 0; k < num_components; ++k) {
          const double mass = part[k] * pair_weight[k][j];
          stats.beats[ranking[j] * num_components + k] += mass;
          for (std::size_t other = 0; other <= j; ++other)
            stats.less[(ranking[j] * n + ranking[other]) * num_components + k] += mass;
        }
    }
  };
  Stats stats =
      parallel_fold(Blocks(num_rankings()), threads, make, body, [](Stats& total, const Stats& partial) { total.fold(partial); });
  for (std::size_t k = 0; k < num_components; ++k)  // a ranking takes part in every stage up to its length
    for (std::size_t j = n - 1; j-- > 0;) stats.stage_mass[k * n + j] += stats.stage_mass[k * n + j + 1];
  return stats;
}

std::vector<double> GeneralizedEngine::stage_sums(std::span<const ItemId> centre, std::span<const double> memberships,
                                                  std::size_t k, std::size_t num_components, int threads) const {
  const std::size_t n = num_items_;
  const auto position = inverse_order(centre);
  return parallel_fold(
      Blocks(num_rankings()), threads, [&] { return std::vector<double>(n, 0.0); },
      [&](std::vector<double>& sums, std::size_t begin, std::size_t end) {
        std::vector<std::uint32_t> code(n);
        for (std::size_t i = begin; i < end; ++i) {
          const auto ranking = rankings_[i].items();
          write_code(code_, ranking, position, code);
          for (std::size_t j = 0; j < ranking.size(); ++j)
            sums[j] += memberships[i * num_components + k] * static_cast<double>(code[j]);
        }
      },
      [](std::vector<double>& total, const std::vector<double>& partial) {
        for (std::size_t j = 0; j < total.size(); ++j) total[j] += partial[j];
      });
}

double GeneralizedEngine::step(const Parameters& now, bool move_centres, int threads, Parameters& next) const {
  const std::size_t num_components = now.weight.size(), n = num_items_;
  std::vector<double> memberships;
  if (move_centres && code_ == Code::s) memberships.resize(num_rankings() * num_components);
  Stats stats = pass(now, move_centres, threads, memberships);
  next = now;
  for (std::size_t k = 0; k < num_components; ++k) {
    next.weight[k] = stats.mass[k] / total_weight();
    if (!(stats.mass[k] > 1e-9 * total_weight())) continue;
    if (move_centres) {
      PairMatrix pairs(n);
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b)
          if (a != b)
            pairs(a, b) = std::max(0.0, stats.beats[a * num_components + k] - stats.less[(a * n + b) * num_components + k]);
      if (code_ == Code::v && n <= 64) {
        double cost = 0.0;
        for (std::size_t j = 0; j + 1 < n; ++j)
          cost += stats.mass[k] * stage_cost(stats.stage_sum[k * n + j] / stats.mass[k], n - j);
        const GeneralizedConsensus found = solver_.solve_v(pairs, stats.mass[k], consensus_, limits_, now.centre[k]);
        if (found.cost < cost) {
          next.centre[k] = found.order;
          next.theta[k] = found.theta;
          continue;
        }
      } else {
        const Consensus found = find_consensus(pairs, consensus_, limits_);
        if (found.order != now.centre[k] && found.cost < consensus_cost(now.centre[k], pairs)) {
          if (code_ == Code::v) memberships.assign(num_rankings() * num_components, 0.0), pass(now, false, threads, memberships);
          const std::vector<double> sums = stage_sums(found.order, memberships, k, num_components, threads);
          double before = 0.0, after = 0.0;
          for (std::size_t j = 0; j + 1 < n; ++j) {
            const double mass = stats.stage_mass[k * n + j];
            if (!(mass > 0.0)) continue;
            before += mass * stage_cost(stats.stage_sum[k * n + j] / mass, n - j);
            after += mass * stage_cost(sums[j] / mass, n - j);
          }
          if (after < before) {
            next.centre[k] = found.order;
            std::copy(sums.begin(), sums.end(), stats.stage_sum.begin() + static_cast<std::ptrdiff_t>(k * n));
          }
        }
      }
    }
    for (std::size_t j = 0; j + 1 < n; ++j) {
      const double mass = stats.stage_mass[k * n + j];
      // A stage that no ballot reaches stays uniform.
      next.theta[k][j] = mass > 0.0 ? solve_stage_theta(stats.stage_sum[k * n + j] / mass, n - j) : 0.0;
    }
  }
  return stats.loglik;
}

std::vector<double> GeneralizedEngine::centre_gaps(const Parameters& now, int threads) const {
  const std::size_t num_components = now.weight.size(), n = num_items_;
  std::vector<double> gaps(num_components, infinity);
  if (code_ == Code::s || n > 64) return gaps;
  const Stats stats = pass(now, true, threads, {});
  for (std::size_t k = 0; k < num_components; ++k) {
    gaps[k] = 0.0;
    if (!(stats.mass[k] > 1e-9 * total_weight())) continue;
    PairMatrix pairs(n);
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b)
        if (a != b) pairs(a, b) = std::max(0.0, stats.beats[a * num_components + k] - stats.less[(a * n + b) * num_components + k]);
    double cost = 0.0;
    for (std::size_t j = 0; j + 1 < n; ++j) cost += stats.mass[k] * stage_cost(stats.stage_sum[k * n + j] / stats.mass[k], n - j);
    const GeneralizedConsensus found = solver_.solve_v(pairs, stats.mass[k], ConsensusMethod::exact, limits_, now.centre[k]);
    const double gap = cost - found.lower_bound;
    if (!found.optimal || gap > 1e-9 * (1.0 + found.cost)) gaps[k] = std::max(gap, 0.0);
  }
  return gaps;
}

void GeneralizedEngine::derivatives(const Parameters& now, std::size_t k, std::span<double> score,
                                    std::span<double> information) const {
  const std::size_t n = num_items_, stages = n - 1;
  const auto position = inverse_order(now.centre[k]);
  std::vector<double> mean(stages), variance(stages);
  for (std::size_t j = 0; j < stages; ++j)
    mean[j] = stage_mean(now.theta[k][j], n - j), variance[j] = stage_variance(now.theta[k][j], n - j);
  std::vector<std::uint32_t> code(n);
  for (std::size_t i = 0; i < num_rankings(); ++i) {
    const auto ranking = rankings_[i].items();
    write_code(code_, ranking, position, code);
    for (std::size_t j = 0; j < stages; ++j) {
      score[i * stages + j] = j < ranking.size() ? mean[j] - static_cast<double>(code[j]) : 0.0;
      information[i * stages + j] = j < ranking.size() ? variance[j] : 0.0;
    }
  }
}

Parameters GeneralizedEngine::from_labels(std::span<const std::uint32_t> labels, std::size_t num_components) const {
  Parameters result = plain_.from_labels(labels, num_components);
  for (auto& theta : result.theta) theta.assign(num_items_ > 0 ? num_items_ - 1 : 0, theta[0]);
  return result;
}

void GeneralizedEngine::log_joint(const Parameters& now, int threads, std::span<double> out) const {
  const std::size_t num_components = now.weight.size(), n = num_items_;
  for (std::size_t k = 0; k < num_components; ++k) {
    const auto position = inverse_order(now.centre[k]);
    const std::vector<double> log_z = running_log_z(now.theta[k], n);
    const double log_weight = now.weight[k] > 0.0 ? std::log(now.weight[k]) : -infinity;
    const Blocks blocks(num_rankings());
    parallel_for(blocks.count(), threads, [&](std::size_t b) {
      std::vector<std::uint32_t> code(n);
      for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i) {
        const auto ranking = rankings_[i].items();
        write_code(code_, ranking, position, code);
        double value = log_weight - log_z[ranking.size()];
        for (std::size_t j = 0; j < std::min(ranking.size(), now.theta[k].size()); ++j)
          value -= now.theta[k][j] * static_cast<double>(code[j]);
        out[i * num_components + k] = value;
      }
    });
  }
}

}  // namespace caucus::mallows_mixture
