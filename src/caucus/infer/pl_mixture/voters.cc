#include "caucus/infer/pl_mixture/voters.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/parallel.h"
#include "caucus/base/random.h"
#include "caucus/infer/pl_mixture/start.h"
#include "caucus/infer/pl_mixture/thread_limits.h"
#include "caucus/infer/voter_starts.h"
#include "caucus/model/plackett_luce_ties.h"

namespace caucus::pl_mixture {

namespace {

constexpr std::size_t most_lanes = 8;

// Up to L groups side by side, so that the loops over them are vectors.
template <std::size_t L>
struct Lanes {
  Lanes(const Parameters& parameters, std::size_t first) : n(parameters.num_items), worths(n * L, 1.0), logs(n * L, 0.0) {
    used = std::min(L, parameters.num_components() - first);
    for (std::size_t l = 0; l < used; ++l) {
      const auto utilities = parameters.component(first + l);
      const double largest = *std::ranges::max_element(utilities);
      for (std::size_t i = 0; i < n; ++i) {
        logs[i * L + l] = std::max(utilities[i] - largest, -max_spread);
        worths[i * L + l] = std::exp(logs[i * L + l]);
      }
    }
    for (std::size_t l = 0; l < L; ++l) {
      total[l] = 0.0;
      for (std::size_t i = 0; i < n; ++i) total[l] += worths[i * L + l];
    }
  }
  std::size_t n, used;
  std::vector<double> worths, logs;
  double total[L];
};

template <std::size_t L, class Item>
class Walk {
 public:
  Walk(const Lanes<L>& lanes, std::size_t max_length) : lanes_(lanes), mark_(lanes.n, 0), left_(max_length * L) {}

  // What is left after the last stage; tells whether that is so little that it was added up item by item.
  bool rest(const Item* items, const Batch::Group& group, double* out) {
    std::fill_n(out, L, 0.0);
    if (!group.implicit) {
      for (std::size_t p = group.stages; p < group.length; ++p) add(out, items[p]);
      return false;
    }
    for (std::size_t p = 0; p < group.stages; ++p) add(out, items[p]);
    bool light = false;
    for (std::size_t l = 0; l < L; ++l) {
      out[l] = lanes_.total[l] - out[l];
      light = light || out[l] < 1e-4 * lanes_.total[l];
    }
    if (!light) return false;
    ++stamp_;
    for (std::size_t p = 0; p < group.stages; ++p) mark_[items[p]] = stamp_;
    std::fill_n(out, L, 0.0);
    for (std::size_t i = 0; i < lanes_.n; ++i)
      if (mark_[i] != stamp_) add(out, i);
    return true;
  }
  bool unlisted(std::size_t item) const { return mark_[item] != stamp_; }

  void logs(const Item* items, const Batch::Group& group, double* out) {
    double left[L], product[L], result[L];
    rest(items, group, left);
    std::fill_n(product, L, 1.0);
    std::fill_n(result, L, 0.0);
    for (std::size_t p = group.stages; p-- > 0;) {
      const double* worth = &lanes_.worths[items[p] * L];
      const double* log = &lanes_.logs[items[p] * L];
      for (std::size_t l = 0; l < L; ++l) {
        left[l] += worth[l];
        product[l] *= left[l];
        result[l] += log[l];
      }
      // Each factor is at least exp(-max_spread): eight of them stay in range.
      if (p % 8 != 0) continue;
      for (std::size_t l = 0; l < L; ++l) {
        result[l] -= std::log(product[l]);
        product[l] = 1.0;
      }
    }
    std::copy_n(result, lanes_.used, out);
  }

  void add_shares(const Item* items, const Batch::Group& group, const double* share, double* wins, double* exposure,
                  double* everyone) {
    double left[L], so_far[L];
    const bool light = rest(items, group, left);
    for (std::size_t p = group.stages; p-- > 0;) {
      const double* worth = &lanes_.worths[items[p] * L];
      for (std::size_t l = 0; l < L; ++l) left_[p * L + l] = left[l] += worth[l];
    }
    std::fill_n(so_far, L, 0.0);
    for (std::size_t p = 0; p < group.stages; ++p) {
      double *won = wins + items[p] * L, *there = exposure + items[p] * L;
      for (std::size_t l = 0; l < L; ++l) {
        so_far[l] += share[l] / left_[p * L + l];
        won[l] += share[l];
        there[l] += so_far[l];
      }
    }
    const auto add_all = [&](std::size_t item, double sign) {
      for (std::size_t l = 0; l < L; ++l) exposure[item * L + l] += sign * so_far[l];
    };
    if (light) {
      for (std::size_t i = 0; i < lanes_.n; ++i)
        if (unlisted(i)) add_all(i, 1.0);
    } else if (group.implicit) {
      for (std::size_t l = 0; l < L; ++l) everyone[l] += so_far[l];
      for (std::size_t p = 0; p < group.stages; ++p) add_all(items[p], -1.0);
    } else {
      for (std::size_t p = group.stages; p < group.length; ++p) add_all(items[p], 1.0);
    }
  }

 private:
  void add(double* out, std::size_t item) const {
    for (std::size_t l = 0; l < L; ++l) out[l] += lanes_.worths[item * L + l];
  }

  const Lanes<L>& lanes_;
  std::vector<std::uint32_t> mark_;
  std::uint32_t stamp_ = 0;
  std::vector<double> left_;
};

template <class Visit>
void for_each_in(const Batch& batch, std::size_t begin, std::size_t end, Visit&& visit) {
  for (const Batch::Group& group : batch.groups)
    for (std::size_t r = std::max(begin, group.first); r < std::min(end, group.first + group.count); ++r)
      visit(group, r, group.begin + (r - group.first) * group.length);
}

int threads_for(const Batch& batch, std::size_t num, int threads) {
  return (batch.items16.size() + batch.items32.size()) * num < least_pass_for_threads ? 1 : threads;
}

template <std::size_t L, class Item>
void logs_of_lanes(const Batch& batch, const Buffer<Item>& items, const Parameters& parameters, std::size_t first, int threads,
                   std::vector<double>& logs) {
  const Lanes<L> lanes(parameters, first);
  const std::size_t num = parameters.num_components();
  const Blocks blocks(batch.count);
  parallel_for(blocks.count(), threads_for(batch, num, threads), [&](std::size_t b) {
    Walk<L, Item> walk(lanes, batch.max_length);
    for_each_in(batch, blocks.begin(b), blocks.end(b), [&](const Batch::Group& group, std::size_t r, std::size_t at) {
      walk.logs(items.data() + at, group, &logs[r * num + first]);
    });
  });
}

template <std::size_t L, class Item>
void add_lanes(const Batch& batch, const Buffer<Item>& items, const Parameters& parameters, std::size_t first,
               std::span<const double> shares, int threads, SharedSums& sums) {
  const Lanes<L> lanes(parameters, first);
  const std::size_t num = parameters.num_components(), n = batch.num_items;
  struct Part {
    std::vector<double> wins, exposure;
    double everyone[L];
  };
  const Part part = parallel_fold(
      Blocks(batch.count, std::max<std::size_t>(1024, 4 * n), 64), threads_for(batch, num, threads),
      [&] {
        Part zero{std::vector<double>(n * L, 0.0), std::vector<double>(n * L, 0.0), {}};
        return zero;
      },
      [&](Part& own, std::size_t begin, std::size_t end) {
        Walk<L, Item> walk(lanes, batch.max_length);
        double share[L] = {};
        for_each_in(batch, begin, end, [&](const Batch::Group& group, std::size_t r, std::size_t at) {
          std::copy_n(&shares[r * num + first], lanes.used, share);
          walk.add_shares(items.data() + at, group, share, own.wins.data(), own.exposure.data(), own.everyone);
        });
      },
      [](Part& total, const Part& one) {
        for (std::size_t j = 0; j < total.wins.size(); ++j) total.wins[j] += one.wins[j], total.exposure[j] += one.exposure[j];
        for (std::size_t l = 0; l < L; ++l) total.everyone[l] += one.everyone[l];
      });
  for (std::size_t l = 0; l < lanes.used; ++l)
    for (std::size_t i = 0; i < n; ++i) {
      sums.wins[(first + l) * n + i] = part.wins[i * L + l];
      sums.expected[(first + l) * n + i] = std::max(lanes.worths[i * L + l] * (part.exposure[i * L + l] + part.everyone[l]), 0.0);
    }
}

// Calls body with the number of lanes and the items, for all groups in turn.
template <class Body>
void by_lanes(const Batch& batch, std::size_t num, Body&& body) {
  const auto with_items = [&](auto lanes, std::size_t first) {
    batch.items32.empty() ? body(lanes, first, batch.items16) : body(lanes, first, batch.items32);
  };
  for (std::size_t first = 0; first < num; first += most_lanes) {
    const std::size_t left = num - first;
    if (left == 1)
      with_items(std::integral_constant<std::size_t, 1>{}, first);
    else if (left == 2)
      with_items(std::integral_constant<std::size_t, 2>{}, first);
    else if (left <= 4)
      with_items(std::integral_constant<std::size_t, 4>{}, first);
    else
      with_items(std::integral_constant<std::size_t, 8>{}, first);
  }
}

// Tied rankings, one at a time: log P_k and then, where asked for, what it expects of every item.
class TiedWalk {
 public:
  TiedWalk(const Objective& objective, const Parameters& parameters)
      : data_(objective.data()), log_delta_(parameters.ties.log_delta), n_(objective.num_items()), listed_(n_, 0) {
    for (const double value : log_delta_) delta_.push_back(std::exp(value));
    for (std::size_t k = 0; k < parameters.num_components(); ++k) {
      const auto utilities = parameters.component(k);
      const double largest = *std::ranges::max_element(utilities);
      auto& logs = log_worths_.emplace_back();
      for (const double utility : utilities) logs.push_back(std::max(utility - largest, -max_spread));
      sweeps_.emplace_back(objective.tie_orders(), n_).fill_powers(logs, powers_.emplace_back());
    }
  }

  // Of the next calls. False where the ranking says nothing.
  bool begin(std::size_t i) {
    ranking_ = i;
    const RankingView ranking = data_.rankings[i];
    if (data_.unranked == Unranked::absent) return ranking.size() > 1;
    rest_.clear();
    if (ranking.size() == n_) return true;
    ++stamp_;
    for (const ItemId item : ranking.items()) listed_[item] = stamp_;
    for (std::size_t j = 0; j < n_; ++j)
      if (listed_[j] != stamp_) rest_.push_back(static_cast<ItemId>(j));
    return ranking.size() > 0 && n_ > 1;
  }
  double log_prob(std::size_t k) {
    return sweeps_[k].log_prob(data_.rankings[ranking_], rest_, powers_[k], log_worths_[k], log_delta_, delta_);
  }
  void add(std::size_t k, double share, Evaluation& e) {
    log_prob(k);
    sweeps_[k].accumulate(share, powers_[k], delta_, std::span(e.expected).subspan(k * n_, n_), e.tie_expected);
    data_.rankings[ranking_].for_each_group([&](std::span<const ItemId> group) {
      for (const ItemId item : group) e.wins[k * n_ + item] += share / static_cast<double>(group.size());
    });
  }

 private:
  const Dataset& data_;
  std::span<const double> log_delta_;
  std::size_t n_, ranking_ = 0;
  std::vector<double> delta_;
  std::vector<std::vector<double>> log_worths_, powers_;
  std::vector<TieSweep> sweeps_;
  std::vector<std::uint32_t> listed_;
  std::uint32_t stamp_ = 0;
  std::vector<ItemId> rest_;
};

}  // namespace

std::vector<double> component_logs(const Batch& batch, const Parameters& parameters, int threads) {
  std::vector<double> logs(batch.count * parameters.num_components());
  by_lanes(batch, parameters.num_components(), [&](auto lanes, std::size_t first, const auto& items) {
    logs_of_lanes<decltype(lanes)::value>(batch, items, parameters, first, threads, logs);
  });
  return logs;
}

SharedSums add_shares(const Batch& batch, const Parameters& parameters, std::span<const double> shares, int threads) {
  const std::size_t size = parameters.num_components() * batch.num_items;
  SharedSums sums{std::vector<double>(size, 0.0), std::vector<double>(size, 0.0)};
  by_lanes(batch, parameters.num_components(), [&](auto lanes, std::size_t first, const auto& items) {
    add_lanes<decltype(lanes)::value>(batch, items, parameters, first, shares, threads, sums);
  });
  return sums;
}

Objective::VoterStep Objective::voter_step(std::span<const double> logs, std::span<const double> log_weights) const {
  const Voters& voters = data_->voters;
  const std::size_t num = num_components_, count = voters.size();
  const bool own = log_weights.size() > num;  // each voter has weights of their own
  VoterStep step;
  step.memberships.resize(count * num);
  step.responsibility.assign(num, 0.0);
  struct Sums {
    double loglik = 0.0;
    std::vector<double> responsibility;
  };
  const int threads = voters.rankings.other.size() * num < least_pass_for_threads ? 1 : workers_.threads;
  const Sums sums = parallel_fold(
      Blocks(count), threads,
      [&] {
        return Sums{0.0, std::vector<double>(num, 0.0)};
      },
      [&](Sums& part, std::size_t begin, std::size_t end) {
        for (std::size_t v = begin; v < end; ++v) {
          double* const joint = &step.memberships[v * num];
          for (std::size_t k = 0; k < num; ++k) joint[k] = log_weights[own ? v * num + k : k];
          for (std::size_t j = voters.rankings.begin[v]; j < voters.rankings.begin[v + 1]; ++j) {
            const double* const log = &logs[voters.rankings.other[j] * num];
            const double times = voters.rankings.count(j);
            for (std::size_t k = 0; k < num; ++k) joint[k] += times * log[k];
          }
          const double total = log_sum_exp(std::span(joint, num)), weight = voters.weights[v];
          part.loglik += weight * total;
          for (std::size_t k = 0; k < num; ++k) {
            joint[k] = std::exp(joint[k] - total);
            part.responsibility[k] += weight * joint[k];
          }
        }
      },
      [](Sums& total, const Sums& part) {
        total.loglik += part.loglik;
        for (std::size_t k = 0; k < total.responsibility.size(); ++k) total.responsibility[k] += part.responsibility[k];
      });
  step.loglik = sums.loglik;
  step.responsibility = sums.responsibility;
  return step;
}

std::vector<double> Objective::shares_of_rankings(std::span<const double> memberships) const {
  const Voters& voters = data_->voters;
  const std::size_t num = num_components_;
  std::vector<double> shares(data_->rankings.size() * num, 0.0);
  const Blocks blocks(data_->rankings.size());
  const int threads = voters.rankings.other.size() * num < least_pass_for_threads ? 1 : workers_.threads;
  parallel_for(blocks.count(), threads, [&](std::size_t b) {
    for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i) {
      double* const share = &shares[i * num];
      for (std::size_t j = voters.casters.begin[i]; j < voters.casters.begin[i + 1]; ++j) {
        const std::size_t v = voters.casters.other[j];
        const double weight = voters.weights[v] * voters.casters.count(j);
        for (std::size_t k = 0; k < num; ++k) share[k] += weight * memberships[v * num + k];
      }
    }
  });
  return shares;
}

std::vector<double> Objective::ranking_logs(const Parameters& parameters) const {
  const std::size_t num = num_components_;
  const RankingSet& rankings = data_->rankings;
  std::vector<double> logs(rankings.size() * num, 0.0);
  if (!has_ties()) {
    const std::vector<double> of_batch = component_logs(*batch_, parameters, workers_.threads);
    for (std::size_t r = 0; r < batch_->count; ++r) std::copy_n(&of_batch[r * num], num, &logs[batch_->source[r] * num]);
    return logs;
  }
  const Blocks blocks(rankings.size(), 64);
  parallel_for(blocks.count(), workers_.threads, [&](std::size_t b) {
    TiedWalk walk(*this, parameters);
    for (std::size_t i = blocks.begin(b); i < blocks.end(b); ++i)
      for (std::size_t k = walk.begin(i) ? 0 : num; k < num; ++k) logs[i * num + k] = walk.log_prob(k);
  });
  return logs;
}

void Objective::add_ranking_shares(const Parameters& parameters, std::span<const double> shares, Evaluation& evaluation) const {
  const std::size_t num = num_components_, n = num_items();
  if (!has_ties()) {
    std::vector<double> of_batch(batch_->count * num);
    for (std::size_t r = 0; r < batch_->count; ++r) std::copy_n(&shares[batch_->source[r] * num], num, &of_batch[r * num]);
    SharedSums sums = add_shares(*batch_, parameters, of_batch, workers_.threads);
    evaluation.wins = std::move(sums.wins);
    evaluation.expected = std::move(sums.expected);
    return;
  }
  const auto zero = [&] {
    Evaluation e;
    e.wins.assign(num * n, 0.0);
    e.expected.assign(num * n, 0.0);
    e.tie_expected.assign(tie_orders_.size(), 0.0);
    return e;
  };
  Evaluation sums = parallel_fold(
      Blocks(data_->rankings.size(), 64), workers_.threads, zero,
      [&](Evaluation& e, std::size_t begin, std::size_t end) {
        TiedWalk walk(*this, parameters);
        for (std::size_t i = begin; i < end; ++i)
          for (std::size_t k = walk.begin(i) ? 0 : num; k < num; ++k)
            if (shares[i * num + k] > 0.0) walk.add(k, shares[i * num + k], e);
      },
      [](Evaluation& total, const Evaluation& part) {
        for (std::size_t j = 0; j < total.wins.size(); ++j) total.wins[j] += part.wins[j], total.expected[j] += part.expected[j];
        for (std::size_t o = 0; o < total.tie_expected.size(); ++o) total.tie_expected[o] += part.tie_expected[o];
      });
  evaluation.wins = std::move(sums.wins);
  evaluation.expected = std::move(sums.expected);
  evaluation.tie_expected = std::move(sums.tie_expected);
}

namespace {

std::vector<double> log_weights_of(const Parameters& parameters) {
  std::vector<double> logs;
  for (const double weight : parameters.weights) logs.push_back(weight > 0.0 ? std::log(weight) : -infinity);
  return logs;
}

}  // namespace

Evaluation Objective::evaluate_voters(const Parameters& parameters, std::vector<double>* posterior) const {
  VoterStep step =
      voter_step(ranking_logs(parameters), logit_ != nullptr ? logit_->log_weights(parameters.gamma) : log_weights_of(parameters));
  std::vector<double> shares = shares_of_rankings(step.memberships);
  Evaluation result;
  result.loglik = step.loglik;
  result.responsibility = std::move(step.responsibility);
  add_ranking_shares(parameters, shares, result);
  if (logit_ != nullptr) result.memberships = std::move(step.memberships);
  if (posterior != nullptr) {
    for (std::size_t i = 0; i < data_->rankings.size(); ++i)
      for (std::size_t k = 0; k < num_components_; ++k)
        shares[i * num_components_ + k] /= std::max(data_->rankings.weight(i), 1e-300);
    *posterior = std::move(shares);
  }
  return result;
}

std::vector<double> Objective::voter_memberships(const Parameters& parameters) const {
  return voter_step(ranking_logs(parameters),
                    logit_ != nullptr ? logit_->log_weights(parameters.gamma) : log_weights_of(parameters))
      .memberships;
}

namespace {

// How often each item won and lost in pairs with each group of voters, from shares [ranking * K + k] in weighted rankings.
Parameters start_from_shares(const Objective& objective, std::span<const double> shares, std::span<const double> sizes) {
  const Dataset& data = objective.data();
  const std::size_t num = objective.num_components(), n = objective.num_items();
  Parameters start(num, n);
  const bool rest = data.unranked == Unranked::last;
  double all = 0.0;
  for (const double size : sizes) all += size;
  for (std::size_t k = 0; k < num; ++k) {
    std::vector<double> wins(n, 0.0), losses(n, 0.0);
    double unlisted = 0.0;
    for (std::size_t i = 0; i < data.rankings.size(); ++i) {
      const double share = shares[i * num + k];
      if (!(share > 0.0)) continue;
      const RankingView ranking = data.rankings[i];
      const std::size_t others = rest ? n : ranking.size();
      if (rest) unlisted += share * static_cast<double>(ranking.size());
      for (std::size_t p = 0; p < ranking.size(); ++p) {
        wins[ranking[p]] += share * static_cast<double>(others - 1 - p);
        losses[ranking[p]] += share * (static_cast<double>(p) - (rest ? static_cast<double>(ranking.size()) : 0.0));
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      start.component(k)[i] = std::log((wins[i] + 1.0) / (std::max(0.0, losses[i] + unlisted) + 1.0));
    start.weights[k] = (sizes[k] + 1e-3 * all) / (all * (1.0 + 1e-3 * static_cast<double>(num)));
  }
  start.center_all();
  start.ties = initial_ties(objective);
  return start;
}

}  // namespace

Parameters labelled_voters_start(const Objective& objective, std::span<const std::uint32_t> labels) {
  const Voters& voters = objective.data().voters;
  const std::size_t num = objective.num_components();
  std::vector<double> memberships(voters.size() * num, 0.0), sizes(num, 0.0);
  for (std::size_t v = 0; v < voters.size(); ++v) {
    memberships[v * num + labels[v]] = 1.0;
    sizes[labels[v]] += voters.weights[v];
  }
  return start_from_shares(objective, objective.shares_of_rankings(memberships), sizes);
}

Parameters voter_start(const Objective& objective, std::uint64_t seed, std::uint64_t index) {
  return labelled_voters_start(objective,
                               voter_labels(objective.data(), objective.num_components(), seed, index, objective.threads()));
}

}  // namespace caucus::pl_mixture
