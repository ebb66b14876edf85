#include "caucus/infer/m4/fit.h"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <mutex>
#include <numeric>
#include <optional>

#include "caucus/base/numeric.h"
#include "caucus/base/parallel.h"
#include "caucus/infer/stopping.h"
#include "caucus/infer/tasks.h"
#include "caucus/model/consensus.h"
#include "caucus/model/generalized_consensus.h"
#include "caucus/model/kendall.h"
#include "caucus/model/stage.h"

namespace caucus::m4 {

namespace {

// k-means++ and Lloyd steps under Kendall's distance.
std::vector<std::uint32_t> kmeans_labels(const RankingSet& rankings, std::size_t n, std::size_t num_components,
                                         RandomStream& stream, const Stop& stop) {
  const std::size_t count = rankings.size();
  ConsensusLimits limits;
  limits.stop = stop;
  std::vector<std::uint32_t> labels(count, 0);
  std::vector<double> least(count, infinity), chance(count);
  const auto assign = [&](std::span<const ItemId> center, std::uint32_t k) {
    const auto position = inverse_order(center);
    for (std::size_t i = 0; i < count; ++i) {
      const auto d = static_cast<double>(strict_discordances(rankings[i], position));
      if (d < least[i]) least[i] = d, labels[i] = k;
    }
  };
  for (std::size_t k = 0; k < num_components; ++k) {
    double total = 0.0;
    for (std::size_t i = 0; i < count; ++i) total += chance[i] = rankings.weights()[i] * (k == 0 ? 1.0 : least[i]);
    const std::size_t pick = total > 0.0 ? stream.categorical(chance) : stream.below(count);
    assign(rankings[pick].items(), static_cast<std::uint32_t>(k));
  }
  for (int round = 0; round < 5; ++round) {
    std::vector<PairMatrix> pairs(num_components, PairMatrix(n));
    for (std::size_t i = 0; i < count; ++i) pairs[labels[i]].add(rankings[i], rankings.weights()[i]);
    std::fill(least.begin(), least.end(), infinity);
    const std::vector<std::uint32_t> before = labels;
    for (std::size_t k = 0; k < num_components; ++k)
      assign(find_consensus(pairs[k], ConsensusMethod::local, limits).order, static_cast<std::uint32_t>(k));
    if (labels == before) break;
  }
  return labels;
}

// Components by their total weight, largest first.
void sort_components(const RankingSet& rankings, State& state) {
  const std::size_t num_components = state.components.size();
  std::vector<double> mass(num_components, 0.0);
  for (std::size_t k = 0; k < rankings.size(); ++k) {
    mass[state.z[k].first] += rankings.weights()[k] * state.z[k].share;
    mass[state.z[k].second] += rankings.weights()[k] * (1.0 - state.z[k].share);
  }
  std::vector<std::size_t> order(num_components), place(num_components);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return mass[a] > mass[b]; });
  Components sorted;
  for (std::size_t m = 0; m < num_components; ++m) {
    place[order[m]] = m;
    sorted.center.push_back(state.components.center[order[m]]);
    sorted.theta.push_back(state.components.theta[order[m]]);
  }
  state.components = std::move(sorted);
  for (Weights& z : state.z) {
    z.first = static_cast<std::uint16_t>(place[z.first]);
    z.second = static_cast<std::uint16_t>(place[z.second]);
    if (z.first > z.second) std::swap(z.first, z.second), z.share = 1.0 - z.share;
  }
}

std::size_t pair_number(const Weights& z, std::size_t num_components) {
  if (num_components == 1) return 0;
  const std::size_t a = z.first, b = z.second;
  return a * (2 * num_components - a - 1) / 2 + (b - a - 1);
}

}  // namespace

State start_from_labels(const RankingSet& rankings, std::size_t num_items, std::span<const std::uint32_t> labels,
                        std::size_t num_components, const Stop& stop) {
  State state;
  state.z.resize(rankings.size());
  std::vector<PairMatrix> pairs(num_components, PairMatrix(num_items));
  std::vector<double> mass(num_components, 0.0);
  for (std::size_t k = 0; k < rankings.size(); ++k) {
    pairs[labels[k]].add(rankings[k], rankings.weights()[k]);
    mass[labels[k]] += rankings.weights()[k];
    if (num_components == 1) continue;
    const std::size_t own = labels[k], other = own == 0 ? 1 : 0;
    state.z[k] = {static_cast<std::uint16_t>(std::min(own, other)), static_cast<std::uint16_t>(std::max(own, other)),
                  own < other ? 0.9 : 0.1};
  }
  for (std::size_t m = 0; m < num_components; ++m) {
    ConsensusLimits limits;
    limits.stop = stop;
    const Consensus found = find_consensus(pairs[m], ConsensusMethod::automatic, limits);
    state.components.center.push_back(found.order);
    const double theta = mass[m] > 0.0 ? solve_mallows_theta(found.cost, mass[m], num_items, {}) : 0.1;
    state.components.theta.emplace_back(num_items - 1, std::clamp(theta, 0.05, 3.0));
  }
  return state;
}

Result run_start(const RankingSet& rankings, State start, const M4Options& options, const Run& run, RandomStream& stream) {
  Result result;
  const Stop stop = [&run] { return should_stop(run); };
  State now = std::move(start);
  if (now.components.size() > 1) solve_weights(rankings, now);
  double objective = paper_objective(rankings, now);
  result.trace.push_back(-objective);
  result.stop_reason = StopReason::iteration_limit;
  for (int sweep = 1; sweep <= options.iterations; ++sweep) {
    State next = now;
    if (options.method == M4Method::searchpi) {
      search_pi(rankings, next);
      // The greedy search may lose what the steps below had won: keep the better consensus.
      if (paper_objective(rankings, next) > objective) next = now;
    } else {
      solve_centers(rankings, next);
    }
    switch (options.method) {
      case M4Method::exact:
      case M4Method::searchpi:
        solve_dispersions(rankings, next, stop);
        solve_weights(rankings, next);
        break;
      case M4Method::cccp:
        if (next.components.size() > 2) solve_weights(rankings, next);  // the pair of each ballot
        cccp_sweep(rankings, next, stop);
        break;
      case M4Method::sgd:
        if (next.components.size() > 2 && sweep % 10 == 1) solve_weights(rankings, next);
        sgd_sweep(rankings, next, options.step, options.decay, sweep, stream, stop);
        break;
    }
    const double value = paper_objective(rankings, next);
    result.iterations = sweep;
    const double fall = objective - value;
    if (fall >= 0.0) {
      now = std::move(next);
      objective = value;
    } else if (options.method == M4Method::sgd) {
      now = std::move(next);  // stochastic: may rise
      objective = value;
    }
    result.trace.push_back(-objective);
    if (should_stop(run)) {
      result.stop_reason = why_stopped(run);
      break;
    }
    if (std::abs(fall) <= options.tolerance * (1.0 + std::abs(objective)) || (fall < 0.0 && options.method != M4Method::sgd)) {
      result.stop_reason = StopReason::converged;
      break;
    }
  }
  result.loglik_paper = -objective;
  result.state = std::move(now);
  return result;
}

Prior fit_prior(const RankingSet& rankings, const Components& components, const NormalizerTable& table, double* loglik,
                const Stop& stop) {
  const auto pairs = all_pairs(components.size());
  const std::size_t points = components.size() == 1 ? 1 : NormalizerTable::cells + 1, atoms = pairs.size() * points,
                    count = rankings.size();
  std::vector<double> likelihood(count * atoms), offset(count), energy(components.size());
  for (std::size_t k = 0; k < count; ++k) {
    energies(components, rankings[k].items(), energy);
    const auto row = std::span(likelihood).subspan(k * atoms, atoms);
    for (std::size_t p = 0; p < pairs.size(); ++p)
      for (std::size_t g = 0; g < points; ++g) {
        const double share = points == 1 ? 1.0 : static_cast<double>(g) / static_cast<double>(NormalizerTable::cells);
        row[p * points + g] =
            -(share * energy[pairs[p].first] + (1.0 - share) * energy[pairs[p].second]) - table.log_c[p][points == 1 ? 0 : g];
      }
    offset[k] = *std::max_element(row.begin(), row.end());
    for (double& value : row) value = std::exp(value - offset[k]);
  }
  std::vector<double> rho(atoms, 1.0 / static_cast<double>(atoms)), next(atoms);
  double total = 0.0, value = 0.0, before = -infinity;
  for (double weight : rankings.weights()) total += weight;
  for (int iteration = 0; iteration < 500; ++iteration) {
    std::fill(next.begin(), next.end(), 0.0);
    value = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
      const auto row = std::span<const double>(likelihood).subspan(k * atoms, atoms);
      double sum_of = 0.0;
      for (std::size_t a = 0; a < atoms; ++a) sum_of += rho[a] * row[a];
      value += rankings.weights()[k] * (std::log(sum_of) + offset[k]);
      const double factor = rankings.weights()[k] / (total * sum_of);
      for (std::size_t a = 0; a < atoms; ++a) next[a] += factor * rho[a] * row[a];
    }
    if ((value - before <= 1e-9 * (1.0 + std::abs(value)) && iteration > 1) || (stop && stop())) break;
    before = value;
    if (iteration + 1 < 500) rho = next;
  }
  if (loglik != nullptr) *loglik = value;
  Prior prior;
  for (std::size_t p = 0; p < pairs.size(); ++p)
    prior.probability.emplace_back(rho.begin() + static_cast<std::ptrdiff_t>(p * points),
                                   rho.begin() + static_cast<std::ptrdiff_t>((p + 1) * points));
  return prior;
}

namespace {

// One component is the generalized Mallows model in code v: solved outright.
Result fit_one_component(const RankingSet& rankings, std::size_t n, const Run& run, const Stop& stop) {
  Result result;
  const std::vector<std::uint32_t> labels(rankings.size(), 0);
  result.state = start_from_labels(rankings, n, labels, 1, stop);
  if (n <= 64) {
    const GeneralizedConsensusSolver solver(n);
    const GeneralizedConsensus found = solver.solve_v(pair_matrix(rankings, n), rankings.total_weight(),
                                                      n <= 14 ? ConsensusMethod::exact : ConsensusMethod::automatic);
    result.state.components.center[0] = found.order;
    result.state.components.theta[0] = found.theta;
  }
  result.loglik_paper = -paper_objective(rankings, result.state);
  result.trace = {result.loglik_paper};
  result.iterations = 1;
  StopReason why{};
  if (run.report({"m4", 1, 1, result.loglik_paper}, why) == Flow::stop) result.stop_reason = why;
  return result;
}

// The best of many starts by the paper's objective.
Result fit_by_starts(const RankingSet& rankings, std::size_t n, const M4Options& options, const Run& run, const Stop& stop) {
  const auto num_components = static_cast<std::size_t>(options.components);
  std::mutex mutex;
  bool stopped = false;
  StopReason why = StopReason::interrupted;
  const Run alone = run.alone();
  const auto body = [&](std::size_t s) -> std::optional<Result> {
    {
      const std::lock_guard lock(mutex);
      if ((stopped || should_stop(run)) && s > 0) return std::nullopt;
    }
    RandomStream stream(run.seed, Purpose::initialise, s);
    const auto labels = kmeans_labels(rankings, n, num_components, stream, stop);
    M4Options used = options;
    {
      const std::lock_guard lock(mutex);
      if (stopped || should_stop(run)) used.iterations = 1;
    }
    Result end = run_start(rankings, start_from_labels(rankings, n, labels, num_components, stop), used, alone, stream);
    const std::lock_guard lock(mutex);
    if (!stopped && alone.report({"m4 starts", static_cast<int>(s) + 1, options.restarts, end.loglik_paper}, why) == Flow::stop)
      stopped = true;
    if (used.iterations != options.iterations && !was_cut_short(end.stop_reason)) end.stop_reason = StopReason::interrupted;
    return end;
  };
  auto ended = run_tasks<Result>(run.workers(), static_cast<std::size_t>(options.restarts), body,
                                 [](const Result& one) { return !was_cut_short(one.stop_reason); });
  std::erase_if(ended, [](const auto& one) { return !one; });
  const auto better = [](const auto& a, const auto& b) { return a->loglik_paper < b->loglik_paper; };
  const auto chosen = std::ranges::max_element(ended, better);
  const double highest = (*chosen)->loglik_paper;
  const auto agreed = std::ranges::count_if(
      ended, [&](const auto& one) { return highest - one->loglik_paper <= 1e-6 * (1.0 + std::abs(highest)); });
  Result best = std::move(**chosen);
  best.agreed = static_cast<int>(agreed);
  if (run.agreed(stopped)) best.stop_reason = why;
  sort_components(rankings, best.state);
  return best;
}

// The log-likelihood at each ballot's own weights under the exact normaliser, and the entropy of these weights.
void add_exact_loglik(const RankingSet& rankings, Result& result) {
  const std::size_t num_components = result.state.components.size();
  std::vector<double> energy(num_components);
  result.loglik_exact = result.z_entropy = 0.0;
  for (std::size_t k = 0; k < rankings.size(); ++k) {
    const Weights& z = result.state.z[k];
    energies(result.state.components, rankings[k].items(), energy);
    const std::size_t pair = pair_number(z, num_components);
    result.loglik_exact -= rankings.weights()[k] *
                           (z.share * energy[z.first] + (1.0 - z.share) * energy[z.second] + result.normalizers.at(pair, z.share));
    for (double part : {z.share, 1.0 - z.share})
      if (part > 0.0 && z.first != z.second) result.z_entropy -= rankings.weights()[k] * part * std::log(part);
    if (!result.normalizers.exact) {
      const auto cell = static_cast<std::size_t>(std::lround(z.share * static_cast<double>(NormalizerTable::cells)));
      result.loglik_exact_error += rankings.weights()[k] * result.normalizers.standard_error[pair][cell];
    }
  }
}

}  // namespace

Result fit_m4(const Dataset& data, const M4Options& options, const Run& run) {
  validate_options(options);
  const RankingSet& rankings = data.rankings;
  const std::size_t n = data.num_items();
  const auto num_components = static_cast<std::size_t>(options.components);
  const Stop stop = [&run] { return should_stop(run); };
  Result best = num_components == 1 ? fit_one_component(rankings, n, run, stop) : fit_by_starts(rankings, n, options, run, stop);

  // After a stop a rough estimate must do where there is no exact one.
  const auto normalizers = [&] {
    return exact_normalizers(best.state.components, run.threads, run.seed, 20000, NormalizerTable::max_enumerated_items, stop);
  };
  best.normalizers = normalizers();
  if (options.normalizer == M4Normalizer::exact && num_components > 1) {
    // The product formula overstates the normaliser, so dispersions come out too small: one common scale, then the weights, under
    // the exact one. The scale is searched for where the sum over all rankings is cheap.
    const Components base = best.state.components;
    const auto at_scale = [&](double scale) {
      for (std::size_t m = 0; m < num_components; ++m)
        for (std::size_t j = 0; j + 1 < n; ++j) best.state.components.theta[m][j] = std::min(base.theta[m][j] * scale, max_theta);
      best.normalizers = normalizers();
      double value = 0.0;
      fit_prior(rankings, best.state.components, best.normalizers, &value, stop);
      return value;
    };
    if (n <= 8 && !should_stop(run)) {
      std::uintmax_t most_calls = 14;
      const auto loss = [&](double scale) { return should_stop(run) ? infinity : -at_scale(scale); };
      at_scale(boost::math::tools::brent_find_minima(loss, 0.5, 3.0, 12, most_calls).first);
    }
    solve_weights_exact(rankings, best.normalizers, best.state);
  }
  best.prior = fit_prior(rankings, best.state.components, best.normalizers, &best.loglik_marginal, stop);
  best.loglik_paper = -paper_objective(rankings, best.state);
  add_exact_loglik(rankings, best);
  return best;
}

}  // namespace caucus::m4
