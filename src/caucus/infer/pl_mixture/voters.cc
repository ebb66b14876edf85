#include "caucus/infer/pl_mixture/voters.h"

#include <algorithm>
#include <cmath>

#include "caucus/base/parallel.h"
#include "caucus/base/random.h"
#include "caucus/infer/pl_mixture/known_voters.h"
#include "caucus/infer/pl_mixture/start.h"
#include "caucus/infer/pl_mixture/thread_limits.h"
#include "caucus/infer/voter_starts.h"
#include "caucus/model/plackett_luce_ties.h"

namespace caucus::pl_mixture {

namespace {

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
      for (const double utility : utilities) logs.push_back(std::max(utility - largest, -tie_spread));
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
  const std::vector<double> worths = lane_worths(parameters);
  run_pass(batch, {.worths = worths, .prior = {}, .num_components = parameters.num_components(), .logs = logs.data()}, threads);
  return logs;
}

SharedSums add_shares(const Batch& batch, const Parameters& parameters, std::span<const double> shares, const Workers& workers) {
  const std::size_t num = parameters.num_components();
  const std::vector<double> worths = lane_worths(parameters);
  Evaluation sums = evaluation_of(
      run_pass(batch, {.worths = worths, .prior = {}, .num_components = num, .shares = shares.data()}, workers), worths, num);
  return {std::move(sums.wins), std::move(sums.expected)};
}

namespace {

struct StepSums {
  double loglik = 0.0;
  std::vector<double> responsibility;
};
auto parts(IsA<StepSums> auto& sums) { return std::tie(sums.loglik, sums.responsibility); }

}  // namespace

Objective::VoterStep Objective::voter_step(std::span<const double> logs, std::span<const double> log_weights) const {
  const Voters& voters = data_->voters;
  const std::size_t num = num_components_, count = voters.size();
  const bool own = log_weights.size() > num;  // each voter has weights of their own
  VoterStep step;
  step.memberships.resize(count * num);
  step.responsibility.assign(num, 0.0);
  const Workers used = voters.rankings.other.size() * num < least_pass_for_threads ? Workers(1) : workers_.without_journal();
  const Blocks blocks(count);
  const StepSums sums = parallel_fold(
      blocks, used,
      [&] {
        return StepSums{0.0, std::vector<double>(num, 0.0)};
      },
      [&](StepSums& part, std::size_t begin, std::size_t end) {
        for (std::size_t v = begin; v < end; ++v) {
          double* const joint = &step.memberships[v * num];
          for (std::size_t k = 0; k < num; ++k) joint[k] = log_weights[own ? v * num + k : k];
          for (std::size_t j = voters.rankings.begin[v]; j < voters.rankings.begin[v + 1]; ++j) {
            const double* const log = &logs[voters.rankings.other[j] * num];
            const double times = voters.rankings.count(j);
            for (std::size_t k = 0; k < num; ++k) joint[k] += times * log[k];
          }
          const double top = *std::max_element(joint, joint + num), weight = voters.weights[v];
          double total = 0.0;
          for (std::size_t k = 0; k < num; ++k) total += joint[k] = std::exp(joint[k] - top);
          part.loglik += weight * (top + std::log(total));
          for (std::size_t k = 0; k < num; ++k) {
            joint[k] /= total;
            part.responsibility[k] += weight * joint[k];
          }
        }
      },
      [](StepSums& total, const StepSums& part) {
        total.loglik += part.loglik;
        for (std::size_t k = 0; k < total.responsibility.size(); ++k) total.responsibility[k] += part.responsibility[k];
      });
  share_rows(blocks, used, step.memberships.data(), num);
  step.loglik = sums.loglik;
  step.responsibility = sums.responsibility;
  return step;
}

std::vector<double> Objective::shares_of_rankings(std::span<const double> memberships) const {
  const Voters& voters = data_->voters;
  const std::size_t num = num_components_;
  std::vector<double> shares(data_->rankings.size() * num, 0.0);
  const Blocks blocks(data_->rankings.size());
  const Workers used = voters.rankings.other.size() * num < least_pass_for_threads ? Workers(1) : workers_;
  parallel_fill(blocks, used, shares.data(), num, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
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
  parallel_fill(blocks, workers_, logs.data(), num, [&](std::size_t begin, std::size_t end) {
    TiedWalk walk(*this, parameters);
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t k = walk.begin(i) ? 0 : num; k < num; ++k) logs[i * num + k] = walk.log_prob(k);
  });
  return logs;
}

void Objective::add_ranking_shares(const Parameters& parameters, std::span<const double> shares, Evaluation& evaluation) const {
  const std::size_t num = num_components_, n = num_items();
  if (!has_ties()) {
    std::vector<double> of_batch(batch_->count * num);
    for (std::size_t r = 0; r < batch_->count; ++r) std::copy_n(&shares[batch_->source[r] * num], num, &of_batch[r * num]);
    SharedSums sums = add_shares(*batch_, parameters, of_batch, workers_.without_journal());
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
      Blocks(data_->rankings.size(), 64), workers_.without_journal(), zero,
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

Evaluation Objective::pass_over_voters(const Parameters& parameters, std::vector<double>* memberships) const {
  const std::size_t num = num_components_;
  std::vector<double> own;
  if (logit_ != nullptr) own = has_ties() ? logit_->log_weights(parameters.gamma) : weights_of_voters(*logit_, parameters.gamma);
  if (memberships != nullptr) memberships->resize(cast_->size() * num);
  double* const kept = memberships != nullptr ? memberships->data() : nullptr;
  const double* const voter_prior = own.empty() ? nullptr : own.data();
  if (has_ties()) return tie_pass(parameters, cast_.get(), voter_prior, kept, nullptr);
  const std::vector<double> worths = lane_worths(parameters), prior = lane_prior(parameters);
  const PassInput input{.worths = worths,
                        .prior = prior,
                        .num_components = num,
                        .posterior = kept,
                        .voters = cast_.get(),
                        .voter_prior = voter_prior};
  return evaluation_of(run_pass(*batch_, input, workers_), worths, num);
}

Evaluation Objective::steps_over_voters(const Parameters& parameters, std::vector<double>* memberships) const {
  std::vector<double> log_weights;
  if (logit_ != nullptr)
    log_weights = logit_->log_weights(parameters.gamma);
  else
    for (const double weight : parameters.weights) log_weights.push_back(weight > 0.0 ? std::log(weight) : -infinity);
  VoterStep step = voter_step(ranking_logs(parameters), log_weights);
  Evaluation result;
  result.loglik = step.loglik;
  result.responsibility = std::move(step.responsibility);
  add_ranking_shares(parameters, shares_of_rankings(step.memberships), result);
  if (memberships != nullptr) *memberships = std::move(step.memberships);
  return result;
}

// A ranking cast costs about 1.3 passes over one in the one pass, and a third of a pass in steps that cost 2.5 passes over the
// distinct rankings.
bool Objective::in_steps() const { return cast_->ranking.size() > 3 * (has_ties() ? tie_batch_->count() : batch_->count); }

Evaluation Objective::evaluate_voters(const Parameters& parameters, std::vector<double>* posterior) const {
  std::vector<double> memberships;
  std::vector<double>* const kept = logit_ != nullptr || posterior != nullptr ? &memberships : nullptr;
  Evaluation result = in_steps() ? steps_over_voters(parameters, kept) : pass_over_voters(parameters, kept);
  if (posterior != nullptr) {
    std::vector<double> shares = shares_of_rankings(memberships);
    for (std::size_t i = 0; i < data_->rankings.size(); ++i)
      for (std::size_t k = 0; k < num_components_; ++k)
        shares[i * num_components_ + k] /= std::max(data_->rankings.weight(i), 1e-300);
    *posterior = std::move(shares);
  }
  if (logit_ != nullptr) result.memberships = std::move(memberships);
  return result;
}

std::vector<double> Objective::voter_memberships(const Parameters& parameters) const {
  std::vector<double> memberships;
  in_steps() ? steps_over_voters(parameters, &memberships) : pass_over_voters(parameters, &memberships);
  return memberships;
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
