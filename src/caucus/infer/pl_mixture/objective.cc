#include "caucus/infer/pl_mixture/objective.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "caucus/base/parallel.h"
#include "caucus/model/plackett_luce_ties.h"

namespace caucus::pl_mixture {

namespace {

// A ranking says something if some stage has more than one possible outcome.
bool informative(RankingView ranking, std::size_t num_items, Unranked unranked) {
  return unranked == Unranked::last ? ranking.size() > 0 && num_items > 1 : ranking.size() > 1;
}

std::vector<double> shifted(std::span<const double> utilities) {
  const double largest = *std::ranges::max_element(utilities);
  std::vector<double> result;
  for (double utility : utilities) result.push_back(std::max(utility - largest, -max_spread));
  return result;
}

}  // namespace

Objective::Objective(const Dataset& data, std::size_t num_components, double strength, int threads)
    : data_(&data), num_components_(num_components), strength_(strength), threads_(threads), batch_(std::make_shared<Batch>()) {
  const RankingSet& rankings = data.rankings;
  if (!rankings.has_ties()) {
    batch_ = std::make_shared<Batch>(make_batch(data));
    telling_weight_ = batch_->total_weight - batch_->silent_weight;
    silent_weight_ = batch_->silent_weight;
    count_voters();
    return;
  }
  std::map<int, double> counts;
  for (std::size_t i = 0; i < rankings.size(); ++i) {
    const double weight = rankings.weight(i);
    if (!(weight > 0.0)) continue;
    (informative(rankings[i], data.num_items(), data.unranked) ? telling_weight_ : silent_weight_) += weight;
    rankings[i].for_each_group([&](std::span<const ItemId> group) {
      if (group.size() > 1) counts[static_cast<int>(group.size())] += weight;
    });
  }
  for (const auto& [order, count] : counts) {
    tie_orders_.push_back(order);
    tie_counts_.push_back(count);
  }
  count_voters();
}

// One group is the same with and without voters.
void Objective::count_voters() {
  by_voter_ = (data_->voters.share() || logit_ != nullptr) && num_components_ > 1;
  total_weight_ = by_voter_ && telling_weight_ > 0.0 ? data_->voters.total_weight() : telling_weight_;
}

Objective::Objective(const Objective& other, std::size_t num_components, int threads) : Objective(other) {
  num_components_ = num_components;
  threads_ = threads;
  count_voters();
}

void Objective::use_membership(std::shared_ptr<const MembershipLogit> logit) {
  logit_ = std::move(logit);
  count_voters();
}

void Objective::complete(Parameters& parameters) const {
  if (membership() != nullptr && parameters.gamma.size() != logit_->size()) parameters.gamma = logit_->start(parameters.weights);
}

void Objective::update_weights(const Evaluation& at, Parameters& parameters) const {
  const double total = sum(at.responsibility);
  if (num_components_ == 1 || !(total > 0.0)) return;
  for (std::size_t k = 0; k < num_components_; ++k) parameters.weights[k] = at.responsibility[k] / total;
  if (logit_ != nullptr) logit_->maximise(at.memberships, parameters.gamma);
}

std::size_t Objective::num_weight_variables() const {
  return num_components_ == 1 ? 0 : logit_ != nullptr ? logit_->size() : num_components_;
}

std::vector<double> Objective::weight_gradient(const Evaluation& at, const Parameters& parameters) const {
  if (num_components_ == 1) return {};
  if (logit_ != nullptr) return logit_->gradient(at.memberships, parameters.gamma);
  std::vector<double> gradient;
  for (std::size_t k = 0; k < num_components_; ++k)
    gradient.push_back(at.responsibility[k] - total_weight_ * parameters.weights[k]);
  return gradient;
}

std::vector<double> Objective::weight_curvature(const Evaluation& at, const Parameters& parameters) const {
  if (num_components_ == 1) return {};
  return logit_ != nullptr ? logit_->curvature(parameters.gamma) : at.responsibility;
}

Evaluation Objective::evaluate(const Parameters& parameters, std::vector<double>* posterior) const {
  Evaluation evaluation = by_voter_    ? evaluate_voters(parameters, posterior)
                          : has_ties() ? evaluate_ties(parameters, posterior, nullptr)
                                       : evaluate_strict(parameters, posterior, nullptr);
  add_penalty(parameters, evaluation);
  return evaluation;
}

std::vector<double> Objective::row_logliks(const Parameters& parameters) const {
  std::vector<double> rows;
  if (has_ties())
    evaluate_ties(parameters, nullptr, &rows);
  else
    evaluate_strict(parameters, nullptr, &rows);
  return rows;
}

Evaluation Objective::evaluate_strict(const Parameters& parameters, std::vector<double>* posterior,
                                      std::vector<double>* rows) const {
  const std::size_t n = num_items(), num = num_components_, lanes = padded_components(num);
  std::vector<double> worths(n * lanes, 1.0), prior(lanes, 0.0), kept, row_kept;
  for (std::size_t k = 0; k < num; ++k) {
    prior[k] = parameters.weights[k];
    const auto utilities = parameters.component(k);
    const double largest = *std::ranges::max_element(utilities);
    for (std::size_t i = 0; i < n; ++i) worths[i * lanes + k] = std::exp(std::max(utilities[i] - largest, -max_spread));
  }
  PassInput input{worths, prior, num, nullptr, nullptr};
  if (posterior != nullptr) {
    kept.resize(batch_->count * num);
    input.posterior = kept.data();
  }
  if (rows != nullptr) {
    row_kept.resize(batch_->count);
    input.row_loglik = row_kept.data();
  }
  const PassSums sums = run_pass(*batch_, input, threads_);
  Evaluation result;
  result.loglik = sums.loglik;
  result.responsibility.assign(sums.responsibility.begin(), sums.responsibility.begin() + static_cast<std::ptrdiff_t>(num));
  result.wins.resize(num * n);
  result.expected.resize(num * n);
  for (std::size_t k = 0; k < num; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      result.wins[k * n + i] = std::max(sums.wins[i * lanes + k], 0.0);
      result.expected[k * n + i] = std::max(worths[i * lanes + k] * sums.exposure[i * lanes + k], 0.0);
    }
  }
  if (posterior != nullptr) {
    posterior->assign(data_->rankings.size() * num, 0.0);
    for (std::size_t i = 0; i < data_->rankings.size(); ++i)
      for (std::size_t k = 0; k < num; ++k) (*posterior)[i * num + k] = parameters.weights[k];
    for (std::size_t r = 0; r < batch_->count; ++r)
      for (std::size_t k = 0; k < num; ++k) (*posterior)[batch_->source[r] * num + k] = kept[r * num + k];
  }
  if (rows != nullptr) {
    rows->assign(data_->rankings.size(), 0.0);
    for (std::size_t r = 0; r < batch_->count; ++r) (*rows)[batch_->source[r]] = row_kept[r];
  }
  return result;
}

Evaluation Objective::evaluate_ties(const Parameters& parameters, std::vector<double>* posterior, std::vector<double>* rows) const {
  const std::size_t n = num_items(), num = num_components_, orders = tie_orders_.size();
  const RankingSet& rankings = data_->rankings;
  const std::span<const double> log_delta = parameters.ties.log_delta;
  std::vector<double> delta;
  for (double value : log_delta) delta.push_back(std::exp(value));
  std::vector<std::vector<double>> log_worths(num), powers(num);
  for (std::size_t k = 0; k < num; ++k) {
    log_worths[k] = shifted(parameters.component(k));
    TieSweep(tie_orders_, n).fill_powers(log_worths[k], powers[k]);
  }
  if (posterior != nullptr) posterior->assign(rankings.size() * num, 0.0);
  if (rows != nullptr) rows->assign(rankings.size(), 0.0);

  const auto zero = [&] {
    Evaluation e;
    e.responsibility.assign(num, 0.0);
    e.wins.assign(num * n, 0.0);
    e.expected.assign(num * n, 0.0);
    e.tie_expected.assign(orders, 0.0);
    return e;
  };
  const auto body = [&](Evaluation& e, std::size_t begin, std::size_t end) {
    std::vector<TieSweep> sweeps(num, TieSweep(tie_orders_, n));
    std::vector<ItemId> rest;
    std::vector<char> listed(n);
    std::vector<double> joint(num);
    for (std::size_t i = begin; i < end; ++i) {
      const RankingView ranking = rankings[i];
      const double weight = rankings.weight(i);
      if (posterior != nullptr) std::ranges::copy(parameters.weights, posterior->begin() + static_cast<std::ptrdiff_t>(i * num));
      if (!(weight > 0.0) || !informative(ranking, n, data_->unranked)) continue;
      rest.clear();
      if (data_->unranked == Unranked::last && ranking.size() < n) {
        std::ranges::fill(listed, 0);
        for (ItemId item : ranking.items()) listed[item] = 1;
        for (std::size_t j = 0; j < n; ++j)
          if (listed[j] == 0) rest.push_back(static_cast<ItemId>(j));
      }
      for (std::size_t k = 0; k < num; ++k) {
        const double log_weight = parameters.weights[k] > 0.0 ? std::log(parameters.weights[k]) : -infinity;
        joint[k] = log_weight + sweeps[k].log_prob(ranking, rest, powers[k], log_worths[k], log_delta, delta);
      }
      const double total = log_sum_exp(joint);
      e.loglik += weight * total;
      if (rows != nullptr) (*rows)[i] = total;
      for (std::size_t k = 0; k < num; ++k) {
        const double membership = std::exp(joint[k] - total), q = weight * membership;
        if (posterior != nullptr) (*posterior)[i * num + k] = membership;
        e.responsibility[k] += q;
        if (!(q > 0.0)) continue;
        sweeps[k].accumulate(q, powers[k], delta, std::span(e.expected).subspan(k * n, n), e.tie_expected);
        ranking.for_each_group([&](std::span<const ItemId> group) {
          for (ItemId item : group) e.wins[k * n + item] += q / static_cast<double>(group.size());
        });
      }
    }
  };
  const auto fold = [](Evaluation& total, const Evaluation& part) {
    total.loglik += part.loglik;
    const auto add = [](std::vector<double>& a, const std::vector<double>& b) {
      for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    };
    add(total.responsibility, part.responsibility);
    add(total.wins, part.wins);
    add(total.expected, part.expected);
    add(total.tie_expected, part.tie_expected);
  };
  return parallel_fold(Blocks(rankings.size(), 64), threads_, zero, body, fold);
}

void Objective::add_penalty(const Parameters& parameters, Evaluation& evaluation) const {
  if (logit_ != nullptr && by_voter_) evaluation.penalty += logit_->penalty(parameters.gamma);
  if (!(strength_ > 0.0)) return;
  const std::size_t n = num_items();
  for (std::size_t k = 0; k < num_components_; ++k) {
    const auto utilities = parameters.component(k);
    for (std::size_t i = 0; i < n; ++i) {
      // One win and one loss against worth 1: log a - 2 log(1 + a).
      const double utility = utilities[i], magnitude = std::abs(utility);
      evaluation.penalty -= strength_ * (magnitude + 2.0 * std::log1p(std::exp(-magnitude)));
      evaluation.wins[k * n + i] += strength_;
      evaluation.expected[k * n + i] += strength_ * 2.0 / (1.0 + std::exp(-utility));
    }
  }
}

}  // namespace caucus::pl_mixture
